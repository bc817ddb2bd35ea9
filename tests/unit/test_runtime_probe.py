"""What the probes make of their readings, without a device."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_kernelperf.machine import CompileReading, TimerReading
from pytest_kernelperf.model import CodeObject, KernelFacts
from pytest_kernelperf.runtime.compile_probe import PLACES, compare_objects, probe_bundle
from pytest_kernelperf.runtime.probe import measure_steps


def code(data: bytes, **digests: str) -> CodeObject:
    """A code object whose kernels have these digests."""
    return CodeObject(data.hex(), data, {name: KernelFacts(digest) for name, digest in digests.items()})


def test_the_step_is_the_smallest_difference_of_two_times() -> None:
    """Claim: times of 1.76, 1.792 and 2.048 us come from a clock of 32 ns, and the shortest was 1.76 us."""
    found = measure_steps([1.792, 2.048, 1.76, 1.792])
    assert found.step_ns == pytest.approx(32.0)
    assert (found.least_ns, found.readings) == (pytest.approx(1760.0), 4)


def test_a_floats_last_digits_are_no_step() -> None:
    """Claim: HIP gives milliseconds as a float of 24 bits; what that rounds is not the clock's."""
    assert measure_steps([1.0, 1.0 + 1e-7, 1.5]).step_ns == pytest.approx(500.0)


def test_equal_times_show_a_step_of_their_own_length() -> None:
    """Claim: nothing finer than 1 us was seen, so nothing finer is said."""
    assert measure_steps([1.0, 1.0, 0.0]) == TimerReading(1000.0, 1000.0, 3)


@pytest.mark.parametrize("times", [[], [0.0, 0.0], [5000.0]])
def test_a_clock_that_shows_nothing_has_no_step(times: list[float]) -> None:
    """Claim: no time, no time above zero, or only times too long to be exact in a float of milliseconds."""
    assert measure_steps(times) == TimerReading(None, None, len(times))


@given(st.lists(st.integers(0, 500), min_size=1, max_size=63), st.sampled_from([1.0, 10.0, 32.0, 40.0, 1000.0]))
def test_the_step_is_a_multiple_of_the_clocks(ticks: list[int], step_ns: float) -> None:
    """Claim: whatever is read off a clock of given steps, no smaller step is said than it has."""
    found = measure_steps([tick * step_ns / 1000 for tick in ticks])
    if found.step_ns is not None:
        assert found.step_ns >= step_ns * 0.999
        assert math.isclose(found.step_ns / step_ns, round(found.step_ns / step_ns), rel_tol=1e-6)


def test_kernels_are_compared_by_their_digests() -> None:
    """Claim: other bytes round equal instructions do not count; a kernel of one object alone does."""
    one = code(b"one", add="a", mix="b")
    assert compare_objects(one, code(b"two", add="a", mix="b")) == CompileReading(2, (), False)
    assert compare_objects(one, one) == CompileReading(2, (), True)
    assert compare_objects(one, code(b"two", add="a", mix="c")) == CompileReading(2, ("mix",), False)
    assert compare_objects(one, code(b"two", add="a")) == CompileReading(2, ("mix",), False)


def test_the_same_source_lies_under_two_paths() -> None:
    """Claim: what is compiled twice differs in nothing but its place."""
    one, other = (probe_bundle(main) for main in PLACES)
    assert one.main != other.main
    assert one.files[one.main] == other.files[other.main]
