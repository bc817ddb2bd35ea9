"""Plans are plain data with a stable digest, and everything wrong in them is one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_kernelperf import At, Copy, Fill, Floor, Launch
from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import BufferSpec, CaseId, CodeObject, DeviceFacts, KernelFacts, Parameter, Plan
from pytest_kernelperf.plan import buffer_specs, build_plan, check_signature

CASE = CaseId("scale", "plain", 7)
DEVICE = DeviceFacts("cpu", "lib", "cpu-x", "x", "x86-64", 40, 20, 32, 1024, 65536, 2**30)
INPUTS = {"x": np.ones(8, np.float32), "y": np.zeros(8, np.float32), "n": np.zeros(3, np.int32)}
POINT = np.dtype([("a", "<f4"), ("b", "<i4")], align=True)


def planned(*steps: Any) -> Plan:
    """Build a plan of the steps."""
    return build_plan(CASE, lambda tokens, device: list(steps), DEVICE, INPUTS)


def launch(**changes: Any) -> Launch:
    """Return a launch that is right but for the changes."""
    return Launch(**{"kernel": "k", "grid": 1, "block": 64, "args": ["x"], **changes})


def test_dimensions_are_padded_to_three() -> None:
    """An integer, a pair and a triple all become a triple."""
    steps = planned(launch(grid=3), launch(grid=(3, 2)), launch(grid=(3, 2, 4))).launches
    assert [step.grid for step in steps] == [(3, 1, 1), (3, 2, 1), (3, 2, 4)]
    assert [step.workgroups for step in steps] == [3, 6, 24]


def test_a_structured_scalar_keeps_its_bytes_and_alignment() -> None:
    """Structs are passed by value, as the C compiler lays them out."""
    point = np.array((1.5, -2), POINT)[()]
    argument = planned(launch(args=[point])).launches[0].arguments[0]
    assert (argument.data, argument.alignment) == (point.tobytes(), 4)  # type: ignore[union-attr]


def test_an_offset_counts_elements_of_the_buffer() -> None:
    """At("x", 2) is the address of x[2]."""
    for offset in (2, np.int64(2)):
        argument = planned(launch(args=[At("x", offset)])).launches[0].arguments[0]  # type: ignore[arg-type]
        assert argument.offset_bytes == 8  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (launch(args=["missing"]), r"scale plain at 7 tokens, step 1 \(k\), argument 1: 'missing' is no buffer"),
        (launch(args=["x", 5]), r"argument 2: 5 is a bare Python number.*write np.int32\(5\)"),
        (launch(args=[0.5]), r"bare Python number.*np.float32\(0.5\)"),
        (launch(args=[True]), "bare Python number"),
        (launch(args=[np.ones(3)]), "got ndarray"),
        (launch(args=[None]), "got NoneType"),
        (launch(args=[At("x", 8)]), "outside the buffer's 8 values"),
        (launch(args=[At("x", -1)]), "outside the buffer's 8 values"),
        (launch(grid=0), "grid=0 has a zero or negative size"),
        (launch(grid=(1, 0)), "zero or negative size"),
        (launch(grid=1.5), "whole number"),
        (launch(grid=(1, 1, 1, 1)), "whole number or up to three"),
        (launch(block=1025), "1025 threads, the device takes 1024"),
        (launch(block=(64, 32)), "2048 threads"),
        (launch(grid=2**31, block=64), "threads along x are over"),
        (launch(shared=-1), "shared is dynamic shared memory"),
        (launch(shared=65537), "the device has 65536"),
        (launch(underfill=10), "underfill is Floor"),
        (launch(underfill=Floor(10, " ")), "underfill is Floor"),
        (launch(underfill=Floor(1.5, "why")), "underfill is Floor"),  # type: ignore[arg-type]
        (launch(underfill=Floor(float("nan"), "why")), "underfill is Floor"),  # type: ignore[arg-type]
        (launch(underfill=Floor(1, None)), "underfill is Floor"),  # type: ignore[arg-type]
        (launch(kernel=""), "names its kernel"),
        (Fill("x", 256), "from 0 to 255"),
        (Fill("missing"), "'missing' is no buffer"),
        (Copy("x", "n"), "two buffers of the same size"),
        (Copy("x", "x"), "two buffers of the same size"),
        ("k", "expected a Launch, Fill or Copy, got str"),
    ],
)
def test_a_wrong_step_is_one_sentence_that_says_where(step: Any, sentence: str) -> None:
    """Kernel, variant, size, step and argument are named."""
    with pytest.raises(UsageError, match=sentence) as raised:
        planned(step)
    assert str(raised.value).startswith("scale plain at 7 tokens")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("steps", [None, [], "k", launch()])
def test_a_plan_that_is_no_list_of_steps_is_refused(steps: Any) -> None:
    """A forgotten return is noticed."""
    with pytest.raises(UsageError, match="expected a list of Launch, Fill and Copy"):
        build_plan(CASE, lambda tokens, device: steps, DEVICE, INPUTS)


def test_a_plan_is_no_longer_than_a_queue() -> None:
    """A thousand steps are a round; more would fill the queue, the run file and the day."""
    assert len(planned(*[launch()] * 1000).steps) == 1000
    with pytest.raises(UsageError, match="one round of at most 1000 steps, not 1001"):
        planned(*[launch()] * 1001)


def test_a_plan_without_a_launch_is_refused() -> None:
    """Fills alone guard nothing."""
    with pytest.raises(UsageError, match="launches no kernel"):
        planned(Fill("x"))


def test_a_floor_is_no_part_of_the_digest() -> None:
    """Rewording a reason does not make a case be timed."""
    assert planned(launch()).digest == planned(launch(underfill=Floor(1, "why"))).digest


@given(
    grid=st.integers(1, 1000),
    block=st.integers(1, 1024),
    value=st.integers(-(2**31), 2**31 - 1),
    shared=st.integers(0, 64),
)
def test_a_digest_changes_with_all_that_runs(grid: int, block: int, value: int, shared: int) -> None:
    """Equal plans have equal digests, and a change of any part changes it."""
    given_plan = planned(launch(grid=grid, block=block, args=["x", np.int32(value)], shared=shared))
    again = planned(launch(grid=(grid, 1), block=block, args=["x", np.int32(value)], shared=shared))
    others = [
        launch(grid=grid + 1, block=block, args=["x", np.int32(value)], shared=shared),
        launch(grid=grid, block=block, args=["x", np.int32(value ^ 1)], shared=shared),
        launch(grid=grid, block=block, args=["y", np.int32(value)], shared=shared),
        launch(grid=grid, block=block, args=["x", np.uint32(value % 2**32)], shared=shared),
        launch(grid=grid, block=block, args=["x", np.int32(value)], shared=shared + 1),
        launch(kernel="other", grid=grid, block=block, args=["x", np.int32(value)], shared=shared),
    ]
    assert given_plan.digest == again.digest
    assert len({given_plan.digest, *(planned(other).digest for other in others)}) == 7


FLOATS = Parameter("pointer", 8, "float", 4)
INT = Parameter("signed", 4)


def code_with(parameters: tuple[Parameter, ...] | None) -> CodeObject:
    """Return a code object whose only kernel has the parameters."""
    return CodeObject("0" * 64, b"", {"k": KernelFacts("0" * 64, parameters)})


@pytest.mark.parametrize(
    ("arguments", "parameters", "sentence"),
    [
        (["x"], (FLOATS, INT), "takes 2 arguments, the launch gives 1"),
        (["x", np.int32(1)], (FLOATS,), "takes 1 arguments, the launch gives 2"),
        (["n"], (FLOATS,), "buffer n holds int32, the kernel's pointer is to float values of 4 bytes"),
        (["x"], (INT,), "buffer x is given where the kernel takes a signed value of 4 bytes"),
        ([np.int32(1)], (FLOATS,), "np.int32 is given where the kernel takes a pointer"),
        ([np.int64(1)], (INT,), "np.int64 is given where the kernel takes a signed value of 4 bytes"),
        ([np.float32(1)], (INT,), "np.float32 is given where the kernel takes a signed value"),
        ([np.uint32(1)], (INT,), "np.uint32 is given"),
        ([np.int32(1)], (Parameter("unknown", 8),), "np.int32 is given where the kernel takes a value of 8 bytes"),
        (["x"], (Parameter("unsigned", 8),), "buffer x is given where the kernel takes an unsigned value of 8 bytes"),
    ],
)
def test_arguments_are_held_against_the_kernels_own_signature(
    arguments: list[Any], parameters: tuple[Parameter, ...], sentence: str
) -> None:
    """HIP itself checks nothing: a wrong size would read the next argument's bytes."""
    with pytest.raises(UsageError, match=sentence):
        check_signature(CASE, planned(launch(args=arguments)), buffer_specs(INPUTS), code_with(parameters))


def test_arguments_that_fit_pass() -> None:
    """Also where the metadata says sizes alone, or nothing."""
    plan = planned(launch(args=["x", np.int32(1)]))
    specs = buffer_specs(INPUTS)
    for parameters in ((FLOATS, INT), (Parameter("pointer", 8), Parameter("unknown", 4)), None):
        check_signature(CASE, plan, specs, code_with(parameters))


def test_more_threads_than_the_kernel_is_compiled_for_are_refused() -> None:
    """Its launch bounds are in the code object; exactly as many are allowed, and what says nothing allows all."""
    plan = planned(launch(block=(64, 4, 1), args=["x", np.int32(1)]))
    for most, fits in ((255, False), (256, True), (None, True)):
        facts = KernelFacts("0" * 64, (FLOATS, INT), {"max_threads": most} if most else {})
        code = CodeObject("0" * 64, b"", {"k": facts})
        if fits:
            check_signature(CASE, plan, buffer_specs(INPUTS), code)
        else:
            with pytest.raises(UsageError, match="is 256 threads, the kernel is compiled for at most 255"):
                check_signature(CASE, plan, buffer_specs(INPUTS), code)


def test_a_kernel_that_the_source_lacks_is_named() -> None:
    """A renamed kernel is said by both names."""
    with pytest.raises(UsageError, match=r"step 1 \(other\): no kernel is called 'other'; there is k"):
        check_signature(CASE, planned(launch(kernel="other")), (BufferSpec("x", "<f4", (8,)),), code_with(None))
