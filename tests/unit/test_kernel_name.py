"""Which kernel a launch means, and what is said where that is none or several."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_kernelperf.kernel_name import MOST_NAMED, explain_missing, find_kernel, kernels_meant, plain_name

ENGINE = [
    "(anonymous namespace)::inner::many<int, float, unsigned char>",
    "(anonymous namespace)::same",
    "a::same",
    "b::same",
    "engine::v2::detail::gemm<_Float16, 64, false, (Mode)0>",
    "engine::v2::detail::gemm<float, 128, true, (Mode)1>",
    "engine::Op<float>::apply<3>",
    "functor<Add>",
    "functor<host()::{lambda(int)#1}>",
    "over(double*)",
    "over(float*, void (*)(int))",
    "round_up<double, void>",
    "stat",
    "cast<HIP_vector_type<float, 4u> >",
    "pick<(a::(anonymous namespace)::Kind)2>",
]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("same", "(anonymous namespace)::same"),
        ("a::same", "a::same"),
        ("inner::many<int,float,uint8_t>", ENGINE[0]),
        ("many<int32_t, float, std::uint8_t>", ENGINE[0]),
        ("engine::v2::detail::gemm<float, 128, true, (Mode)1>", ENGINE[5]),
        ("engine::detail::gemm<__half, 64, false, (Mode)0>", ENGINE[4]),  # an inline namespace is never written
        ("gemm<half, 64>", ENGINE[4]),  # the rest has defaults
        ("engine::Op<float>::apply<3>", ENGINE[6]),
        ("apply<3>", ENGINE[6]),
        ("functor<Add>", ENGINE[7]),
        ("void over( double * )", ENGINE[9]),
        ("over(float*, void (*)(int))", ENGINE[10]),
        ("round_up<double>", ENGINE[11]),
        ("stat(float*, unsigned long long)", "stat"),  # nothing is overloaded, so parameters may stand
        ("cast<float4>", ENGINE[13]),
        ("&stat", "stat"),
        ("pick<(Kind)2>", "pick<(a::(anonymous namespace)::Kind)2>"),
        ("pick<(a::Kind)2>", "pick<(a::(anonymous namespace)::Kind)2>"),
    ],
)
def test_a_name_means_one_kernel(written: str, meant: str) -> None:
    """As the source writes it, from inside or outside its namespaces."""
    assert find_kernel(ENGINE, written) == meant


@pytest.mark.parametrize(
    "written",
    ["gemm<float, 64>", "c::same", "b::inner::same", "over(int*)", "round_up<float>", "functor<Sub>", "sta", "", "<"],
)
def test_a_name_that_says_something_else_means_none(written: str) -> None:
    """What is written must be so: nothing is guessed."""
    assert find_kernel(ENGINE, written) is None
    assert not kernels_meant(ENGINE, written)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("over", "'over' may mean over(double*) or over(float*, void (*)(int)): write one of them"),
        ("functor", "'functor' may mean functor<Add> or functor<host()::{lambda(int)#1}>: write one of them"),
        (
            "gemm<float, 128, true, Mode::kFast>",
            "no kernel is called 'gemm<float, 128, true, Mode::kFast>'; near it are "
            "engine::v2::detail::gemm<_Float16, 64, false, (Mode)0> and "
            "engine::v2::detail::gemm<float, 128, true, (Mode)1> (an enumerator is written as its type and number)",
        ),
        ("statt", "no kernel is called 'statt'; near it is stat"),
        (
            "b::same_as",
            "no kernel is called 'b::same_as'; near it are (anonymous namespace)::same, a::same and b::same",
        ),
        (
            "copy",
            "no kernel is called 'copy'; there are (anonymous namespace)::inner::many<int, float, unsigned char>, ",
        ),
    ],
)
def test_none_or_several_are_told_apart(written: str, said: str) -> None:
    """Several: which; none: what is near it, else what there is."""
    assert explain_missing(ENGINE, written).startswith(said)


def test_many_kernels_are_not_all_listed() -> None:
    """A file of three hundred instances is one sentence still; mangled names are left out where others are known."""
    names = [f"gemm<{size}>" for size in range(300)] + ["_Z4gemmILi0EEvv"]
    said = explain_missing(names, "gemm")
    assert said.count("gemm<") == MOST_NAMED
    assert said.endswith("or 292 more: write one of them")
    assert "_Z" not in explain_missing(names, "other")
    assert explain_missing([], "x") == "no kernel is called 'x'; there is none"


def test_ambiguity_is_looked_for_at_the_first_step_that_finds_any() -> None:
    """Another namespace's kernel of the same name does not hide one's own."""
    assert find_kernel(["scale", "a::scale"], "scale") == "scale"
    assert find_kernel(["a::scale<float>", "b::scale<float>"], "scale<float>") is None
    assert find_kernel(["tile<4u>", "tile<8u>"], "tile<4>") == "tile<4u>"
    assert find_kernel(["cast<_Float16>", "cast<__half>"], "cast<__half>") == "cast<__half>"
    assert kernels_meant(["cast<_Float16>", "cast<__half>"], "cast<half>") == ["cast<_Float16>", "cast<__half>"]


NAMES = st.text(alphabet="ab:<>(), *{}0u4_", max_size=24)


@given(st.lists(NAMES, max_size=6), NAMES)
def test_any_name_is_answered(names: list[str], written: str) -> None:
    """Whatever is written, one of the names or a sentence comes back; a name always means itself."""
    found = find_kernel(names, written)
    assert found is None or found in names
    assert explain_missing(names, written)
    for name in names:
        assert find_kernel(names, name) == name
    assert plain_name(plain_name(written)) == plain_name(plain_name(plain_name(written)))
