"""What a user writes is registered, and what is wrong with it is said at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pytest_kernelperf import Kernel, Tolerance, cdiv
from pytest_kernelperf.case import list_cases
from pytest_kernelperf.errors import UsageError


def make_kernel(**changes: Any) -> Kernel:
    """Return a kernel without functions."""
    return Kernel(**{"name": "scale", "source": "scale.hip", "tokens": (1, 7), **changes})


def complete_kernel() -> Kernel:
    """Return a kernel that doubles x."""
    kernel = make_kernel()
    kernel.inputs(lambda tokens: {"x": np.ones(tokens, np.float32), "y": np.zeros(tokens, np.float32)})
    kernel.reference(lambda tokens, x: {"y": 2 * x})
    return kernel


@pytest.mark.parametrize(("numerator", "denominator", "quotient"), [(0, 4, 0), (1, 4, 1), (4, 4, 1), (5, 4, 2)])
def test_cdiv_rounds_up(numerator: int, denominator: int, quotient: int) -> None:
    """cdiv covers every thread."""
    assert cdiv(numerator, denominator) == quotient


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": "a/b"}, "name is its baseline's file name"),
        ({"name": "../x"}, "name is its baseline's file name"),
        ({"name": ""}, "name is its baseline's file name"),
        ({"tokens": ()}, "whole numbers of 1 or more"),
        ({"tokens": (0,)}, "whole numbers of 1 or more"),
        ({"tokens": (True,)}, "whole numbers of 1 or more"),
        ({"tokens": (1, 1)}, "name a size twice"),
        ({"tokens": 8}, "a list of whole numbers"),
        ({"tokens": None}, "a list of whole numbers"),
        ({"source": None}, "source is the path of a file"),
        ({"source": "a\0b"}, "source is the path of a file"),
        ({"tolerance": 0.5}, "tolerance is a Tolerance"),
        ({"options": [1]}, "options are a list of texts"),
        ({"options": "-DN"}, "options are a list of texts"),
        ({"name_expressions": [3]}, "name_expressions are a list of texts"),
    ],
)
def test_a_kernel_refuses_what_it_cannot_use(change: dict[str, Any], sentence: str) -> None:
    """Names and sizes are checked when the kernel is made."""
    with pytest.raises(UsageError, match=sentence):
        make_kernel(**change)


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ((math.inf, 0, "why"), "absolute is a finite number of 0 or more"),
        ((0, math.nan, "why"), "relative is a finite number of 0 or more"),
        ((-1, 0, "why"), "absolute is a finite number"),
        (("1", 0, "why"), "absolute is a finite number"),
        ((1, 0, " "), "needs a reason"),
    ],
)
def test_a_tolerance_has_bounds_and_a_reason(numbers: tuple[Any, Any, Any], sentence: str) -> None:
    """One that tolerates anything would guard nothing."""
    with pytest.raises(UsageError, match=sentence):
        Tolerance(*numbers)


@pytest.mark.parametrize("expected", [{8: ""}, {8: None}, 8, ["why"]])
def test_an_expected_starvation_says_why(expected: Any) -> None:
    """The reason is what a reader of the report gets."""

    def plain(tokens: int, device: object) -> list[object]:
        return []

    with pytest.raises(UsageError, match="expect_starved"):
        make_kernel(tokens=(8,)).variant(expect_starved=expected)(plain)


def test_a_variant_is_a_function_with_a_name() -> None:
    """The name stands in reports, commands and baselines."""
    for thing in (5, lambda tokens, device: []):
        with pytest.raises(UsageError, match="a function with a name of its own"):
            make_kernel().variant(thing)


def test_a_source_is_found_beside_the_file_that_makes_the_kernel() -> None:
    """Paths are relative to the test module, not to the working folder."""
    assert make_kernel().source.parent.name == "unit"


def test_cases_come_size_by_size_with_mutations_behind_variants() -> None:
    """One size's inputs serve all its cases before the next size's are made."""
    kernel = make_kernel()

    @kernel.variant
    def plain(tokens: int, device: object) -> list[object]:
        return []

    @kernel.mutation(of="plain", options=["-DBROKEN"])
    def broken(tokens: int, device: object) -> list[object]:
        return []

    specs = list(list_cases(kernel))
    assert [spec.item_name for spec in specs] == ["plain-1", "broken-1", "plain-7", "broken-7"]
    assert [spec.mutation_of for spec in specs] == ["", "plain", "", "plain"]


def test_a_variant_or_mutation_stated_twice_is_refused() -> None:
    """Two functions of one name would be one case."""
    kernel = make_kernel()

    def plain(tokens: int, device: object) -> list[object]:
        return []

    kernel.variant(plain)
    with pytest.raises(UsageError, match="variant plain is stated twice"):
        kernel.variant(plain)
    with pytest.raises(UsageError, match="mutation plain has a name that is taken"):
        kernel.mutation(of="plain")(plain)


def test_names_that_refer_to_no_variant_are_refused() -> None:
    """``replaces``, ``of`` and ``expect_starved`` refer to what is there."""
    kernel = make_kernel()

    def plain(tokens: int, device: object) -> list[object]:
        return []

    with pytest.raises(UsageError, match="replaces='missing' is no variant"):
        kernel.variant(replaces="missing")(plain)
    with pytest.raises(UsageError, match="of='missing' is no variant"):
        kernel.mutation(of="missing")(plain)
    with pytest.raises(UsageError, match="expect_starved names 3 tokens"):
        kernel.variant(expect_starved={3: "never"})(plain)


def test_a_reference_gets_the_buffers_that_it_names() -> None:
    """Scratch buffers need not stand in its signature."""
    kernel = complete_kernel()
    expected = kernel.compute_reference(7, kernel.compute_inputs(7))
    assert expected["y"].tolist() == [2.0] * 7


def test_inputs_are_read_only_so_that_a_reference_cannot_change_them() -> None:
    """A reference that writes into its inputs would be compared with itself."""
    inputs = complete_kernel().compute_inputs(7)
    with pytest.raises(ValueError, match="read-only"):
        inputs["x"][0] = 5


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        (lambda tokens, x: {"z": x}, "returns 'z', but the buffers are x, y"),
        (lambda tokens, x: {"y": x[:1]}, r"must be float32 \(7,\) like its buffer, not float32 \(1,\)"),
        (lambda tokens, x: {"y": x.astype(np.float64)}, "not float64"),
        (lambda tokens, x: {"y": 1.0}, "not float"),
        (lambda tokens, x: {}, "expected a dictionary"),
        (lambda tokens, x: x, "expected a dictionary"),
        (lambda tokens, missing: {}, "asks for 'missing', but the inputs are x, y"),
    ],
)
def test_a_reference_that_does_not_fit_its_buffers_is_refused(reference: Callable[..., Any], sentence: str) -> None:
    """Unknown or misshapen results are named."""
    kernel = make_kernel()
    kernel.inputs(lambda tokens: {"x": np.ones(tokens, np.float32), "y": np.zeros(tokens, np.float32)})
    kernel.reference(reference)
    with pytest.raises(UsageError, match=sentence):
        kernel.compute_reference(7, kernel.compute_inputs(7))


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        (lambda tokens: [1], "expected a dictionary"),
        (lambda tokens: {}, "expected a dictionary"),
        (lambda tokens: {"a b": np.ones(1)}, "Python identifiers"),
        (lambda tokens: {"x": [1.0]}, "must be a numpy array"),
        (lambda tokens: {"x": np.array([object()])}, "must be a numpy array of numbers"),
        (lambda tokens: {"x": np.ones(0)}, "at least one value"),
    ],
)
def test_inputs_that_are_no_buffers_are_refused(inputs: Callable[[int], Any], sentence: str) -> None:
    """One sentence, before anything runs."""
    kernel = make_kernel()
    kernel.inputs(inputs)
    with pytest.raises(UsageError, match=sentence):
        kernel.compute_inputs(7)


def test_a_kernel_without_inputs_or_reference_says_so() -> None:
    """Nothing can be checked without a reference."""
    with pytest.raises(UsageError, match="has no inputs"):
        make_kernel().compute_inputs(1)
    with pytest.raises(UsageError, match="has no reference"):
        make_kernel().compute_reference(1, {})
