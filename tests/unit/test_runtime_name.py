"""Kernels by the names that people write."""

from __future__ import annotations

import pytest

from pytest_kernelperf.runtime.name import bare_name, find_symbol, written_names


@pytest.mark.parametrize(
    ("demangled", "bare"),
    [
        ("void ns::twice<float>(float*, int)", "ns::twice<float>"),
        ("scale(float*, void (*)(int))", "scale"),
        ("(anonymous namespace)::scale(float*)", "(anonymous namespace)::scale"),
        ("void tile<(Kind)1, 4u>(float const*)", "tile<(Kind)1, 4u>"),
        ("plain", "plain"),
        (")", ")"),
        ("", ""),
    ],
)
def test_return_type_and_parameters_are_left_out(demangled: str, bare: str) -> None:
    """What is left is what a plan or a name expression writes."""
    assert bare_name(demangled) == bare


def test_a_name_that_two_symbols_share_is_nobodys() -> None:
    """Overloads cannot be told apart by name, so neither is offered; plain C names stay as they are."""
    assert written_names(["_Z5scalePf", "_Z5scalePi", "_Z4fillPf", "count"]) == {"fill": "_Z4fillPf"}


@pytest.mark.parametrize("written", ["tile<4, float>", "tile<4u,float>", " tile< 4 , float > ", "&tile<4,float>"])
def test_spaces_and_suffixes_do_not_matter(written: str) -> None:
    """An expression means the symbol however it is spaced, and with or without the literal's suffix."""
    assert find_symbol(["_Z4tileILj4EfEvPT0_", "_Z4tileILj8EfEvPT0_"], written) == "_Z4tileILj4EfEvPT0_"


def test_a_name_that_is_not_there_is_none() -> None:
    """No symbol, no guess."""
    assert find_symbol(["_Z4fillPf", "count"], "fil") is None
