"""From a marked test to its items, and which cases a project has."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_kernelperf.case import CaseSpec, list_cases
from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.kernel import Kernel
from pytest_kernelperf.settings import CaseSettings, case_settings

# Test module (posix, relative to the root) -> kernel name -> (variant, tokens) that some test has, in their order.
KNOWN_CASES = pytest.StashKey[dict[str, dict[str, list[tuple[str, int]]]]]()
# The run's case settings, which a marker's keywords lay themselves over; not there where nothing is guarded.
CASE_SETTINGS = pytest.StashKey[CaseSettings]()
# How many comparisons a case may fail by, which share the error that it is allowed.
COMPARISONS = pytest.StashKey[int]()


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Give a marked test one item per case, and note its cases as known.

    Errors of the marker are collection errors of one sentence.
    """
    marks = list(metafunc.definition.iter_markers("kernelperf"))
    try:
        kernel = _marked_kernel(metafunc, marks)
        specs = list(list_cases(kernel))
        if not kernel.variants:
            raise UsageError(f"kernel {kernel.name} has no variants: state one with @kernel.variant")
        settings = case_settings(metafunc.config.stash.get(CASE_SETTINGS, CaseSettings()), marks[0].kwargs)
        _check(settings, metafunc.config.stash.get(COMPARISONS, 1))
        _note(metafunc, kernel, specs)
    except UsageError as error:
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid}: {error}") from None
    metafunc.parametrize("kernelperf", [pytest.param(spec, id=spec.item_name) for spec in specs], indirect=True)


def _check(settings: CaseSettings, comparisons: int) -> None:
    """Refuse what could never reject, before anything is timed."""
    if settings.blocks is not None:
        # Imported here: collecting without guarding needs none of it.
        from pytest_kernelperf.session.timing import check_settings

        check_settings(settings, comparisons)


def _marked_kernel(metafunc: pytest.Metafunc, marks: list[pytest.Mark]) -> Kernel:
    if len(marks) != 1:
        raise UsageError(f"a test carries one kernelperf marker, not {len(marks)}")
    if len(marks[0].args) != 1 or not isinstance(marks[0].args[0], Kernel):
        raise UsageError("the kernelperf marker takes one Kernel: @pytest.mark.kernelperf(kernel)")
    if "kernelperf" not in metafunc.fixturenames:
        raise UsageError("a test with the kernelperf marker takes the argument kernelperf and calls kernelperf.check()")
    return marks[0].args[0]


def _note(metafunc: pytest.Metafunc, kernel: Kernel, specs: list[CaseSpec]) -> None:
    known = metafunc.config.stash.setdefault(KNOWN_CASES, {})
    module = module_name(metafunc.definition.path, metafunc.config.rootpath)
    kernels = known.setdefault(module, {})
    elsewhere = [other for other, held in known.items() if kernel.name in held]
    if elsewhere:
        raise UsageError(
            f"two tests guard a kernel named {kernel.name} ({elsewhere[0]} and {module}): a name is one baseline file"
        )
    kernels[kernel.name] = [(spec.doing.name, spec.tokens) for spec in specs if not spec.mutation_of]


def module_name(path: Path, root: Path) -> str:
    """Return a test module's path as baselines name it: posix, relative to the root where it lies below it."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def spec_of(item: pytest.Item) -> CaseSpec | None:
    """Return the case that an item is, None for any other item."""
    callspec = getattr(item, "callspec", None)
    spec = callspec.params.get("kernelperf") if callspec is not None else None
    return spec if isinstance(spec, CaseSpec) else None
