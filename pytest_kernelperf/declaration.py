"""Checks of what a kernel declares, made when the module that declares it is imported.

``__tracebackhide__`` keeps our frames out of what pytest shows: the user's line and the sentence are what helps.
"""

from __future__ import annotations

from collections.abc import Mapping

from pytest_kernelperf.errors import UsageError


def check_texts(where: str, values: object) -> None:
    """Refuse what is no list of texts."""
    __tracebackhide__ = True
    listed = isinstance(values, (list, tuple)) and all(isinstance(value, str) and "\0" not in value for value in values)
    if not listed:
        raise UsageError(f"{where} are a list of texts, not {values!r}")


def check_expectation(where: str, expected: object) -> None:
    """Refuse expectations of starvation that do not say why."""
    __tracebackhide__ = True
    if expected is None:
        return
    reasons = isinstance(expected, Mapping) and all(isinstance(why, str) and why.strip() for why in expected.values())
    if not reasons:
        raise UsageError(f"{where}: expect_starved maps a size to the reason, {{1: 'why'}}, not {expected!r}")


def function_name(where: str, function: object) -> str:
    """Return the name under which a decorated function is known."""
    __tracebackhide__ = True
    name = getattr(function, "__name__", None)
    if not callable(function) or not isinstance(name, str) or not name.isidentifier():
        raise UsageError(f"{where}: the decorator takes a function with a name of its own, not {function!r}")
    return name


def check_former_name(where: str, name: str, former: object) -> str | None:
    """Refuse a former name that is none, or the present one."""
    __tracebackhide__ = True
    if former is None:
        return None
    if not isinstance(former, str) or not former or former == name:
        raise UsageError(f"{where}: renamed_from is the name that it had before, another than {name!r}, not {former!r}")
    return former
