"""Kernels by the names that people write."""

from __future__ import annotations

import pytest

from pytest_kernelperf.runtime.name import bare_name, demangle, find_symbol, written_names


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


def test_a_name_that_two_symbols_share_needs_its_parameters() -> None:
    """Overloads are told apart by their parameters; plain C names stay as they are."""
    symbols = ["_Z5scalePf", "_Z5scalePi", "_Z4fillPf", "count"]
    assert written_names(symbols) == {
        "scale(float*)": "_Z5scalePf", "scale(int*)": "_Z5scalePi", "fill": "_Z4fillPf",
    }  # fmt: skip
    assert find_symbol(symbols, "scale(int *)") == "_Z5scalePi"
    assert find_symbol(symbols, "scale") is None


@pytest.mark.parametrize("written", ["scale<float>", "(anonymous namespace)::scale<float>"])
def test_an_anonymous_namespace_need_not_be_written(written: str) -> None:
    """The source's own spelling has no name for it."""
    symbol = "_ZN12_GLOBAL__N_15scaleIfEEvPT_iS1_"
    assert find_symbol([symbol, "_ZN2ns5scaleIfEEvPT_iS1_"], written) == symbol


@pytest.mark.parametrize("written", ["tile<4, float>", "tile<4u,float>", " tile< 4 , float > ", "&tile<4,float>"])
def test_spaces_and_suffixes_do_not_matter(written: str) -> None:
    """An expression means the symbol however it is spaced, and with or without the literal's suffix."""
    assert find_symbol(["_Z4tileILj4EfEvPT0_", "_Z4tileILj8EfEvPT0_"], written) == "_Z4tileILj4EfEvPT0_"


@pytest.mark.parametrize(
    ("symbol", "demangled"),
    [
        ("_Z5scaleIDF16_EvPT_S1_", "void scale<_Float16>(_Float16*, _Float16*)"),
        ("_ZN3eng4gemmIDF16bLi4EEEvPKT_", "void eng::gemm<__bf16, 4>(__bf16 const*)"),
        ("_Z4castIDF16_DF16bEvPT_PT0_", "void cast<_Float16, __bf16>(_Float16*, __bf16*)"),
    ],
)
def test_sixteen_bit_types_are_demangled(symbol: str, demangled: str) -> None:
    """Debian 12's C++ library, of 2022, does not know them; newer ones say std::bfloat16_t."""
    assert demangle(symbol).replace("std::bfloat16_t", "__bf16") == demangled
    assert find_symbol([symbol], bare_name(demangled)) == symbol


def test_a_name_that_is_not_there_is_none() -> None:
    """No symbol, no guess."""
    assert find_symbol(["_Z4fillPf", "count"], "fil") is None
