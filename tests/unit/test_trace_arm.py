"""What a replay's trace says of one arm: its kernels by whatever name, rounds only where they can be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rocpd_files import Agent, Dispatch, Process, write_rocpd

from pytest_kernelperf.errors import TraceError
from pytest_kernelperf.trace.arm import ArmTrace, Replayed, read_arm


def read(
    folder: Path, names: Sequence[str], launches: Sequence[str], gap_ns: int = 500, length_ns: int = 1000
) -> ArmTrace:
    """Read a trace of kernels one after the other, as five rounds of a plan's launches."""
    path = folder / "a.db"
    path.unlink(missing_ok=True)
    starts_ns = range(10**9, 2 * 10**9, 1500)
    dispatches = [Dispatch(name, start_ns, start_ns + 1000) for name, start_ns in zip(names, starts_ns, strict=False)]
    write_rocpd(path, [Process(dispatches)])
    return read_arm(path, "head", Replayed(4711, 5, tuple(launches)), "traces/x/head.db")


@pytest.mark.parametrize(
    ("recorded", "launched", "shown"),
    [
        ("scale", "scale", "scale"),
        ("void math::scale<float>(float*, int)", "math::scale<float>", "math::scale<float>"),
        ("void math::scale<float>(float*, int)", "_ZN4math5scaleIfEEvPT_i", "math::scale<float>"),
        ("void gemm<float, (Mode)1>(float const*)", "gemm<real, Mode::kFast>", "gemm<float, (Mode)1>"),
        ("_Z5scalePf.kd", "scale", "_Z5scalePf.kd"),
        ("scale", "math::scale<float>", "scale"),  # rocprofv3 -T
    ],
)
def test_a_kernel_is_the_plans_by_any_of_its_names(tmp_path: Path, recorded: str, launched: str, shown: str) -> None:
    """Claim: demangled with or without arguments, truncated or mangled, it is the kernel that was launched."""
    trace = read(tmp_path, [recorded] * 5, [launched])
    assert [kernel.name for kernel in trace.arm.kernels] == [shown]
    assert trace.notes == ()


def test_two_kernels_that_differ_in_their_arguments_keep_them(tmp_path: Path) -> None:
    """Claim: names stay apart where short ones would mean two kernels."""
    names = ["void f(int)", "void f(float)"] * 5
    assert {kernel.name for kernel in read(tmp_path, names, ["f", "f"]).arm.kernels} == set(names)


def test_kernels_in_another_order_are_no_rounds(tmp_path: Path) -> None:
    """Claim: as many dispatches as were launched are not enough."""
    trace = read(tmp_path, ["a", "b"] * 4 + ["b", "a"], ["a", "b"])
    assert trace.arm.spans == ()
    assert trace.notes == ("its dispatches are not in the plan's order, so rounds cannot be told apart",)


def test_the_first_round_is_left_out_of_gaps(tmp_path: Path) -> None:
    """Claim: busy share, median gap and starving are those of the later rounds."""
    path = tmp_path / "a.db"
    starts = [0, 90_000, 93_000, 96_000, 99_000]
    rows = [Dispatch("a", 10**9 + start, 10**9 + start + 2000) for start in starts]
    write_rocpd(path, [Process(rows, agents=(Agent(0, None, "CPU", "", ""), Agent(compute_units=None)))])
    trace = read_arm(path, "head", Replayed(4711, 5, ("a",)), "x")
    assert (trace.arm.median_gap_us, trace.arm.starving) == (1.0, False)
    assert trace.arm.busy_ratio == pytest.approx(8 / 11)
    assert (trace.compute_units, trace.arm.kernels[0].starved) == (None, None)


def test_a_trace_of_another_process_holds_no_kernel(tmp_path: Path) -> None:
    """Claim: only the replay's own process counts."""
    write_rocpd(tmp_path / "a.db", [Process([Dispatch("a", 10**9, 10**9 + 100)], pid=99)])
    with pytest.raises(TraceError, match=r"^no kernel of the plan was recorded$"):
        read_arm(tmp_path / "a.db", "head", Replayed(4711, 5, ("a",)), "x")


@settings(max_examples=30)
@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 3000)), min_size=1, max_size=40),
    st.integers(1, 7),
)
def test_whatever_was_recorded_makes_an_arm_that_a_run_file_takes(
    tmp_path_factory: pytest.TempPathFactory, kernels: int, times: list[tuple[int, int]], rounds: int
) -> None:
    """Claim: shares lie between 0 and 1, spans are in order and of kernels that are there, two rounds or none."""
    path = tmp_path_factory.mktemp("arm") / "a.db"
    rows, now_ns = [], 10**9
    for place, (gap_ns, length_ns) in enumerate(times):
        rows.append(Dispatch(f"k{place % kernels}", now_ns + gap_ns, now_ns + gap_ns + length_ns))
        now_ns = rows[-1].end_ns
    write_rocpd(path, [Process(rows)])
    launches = tuple(f"k{number}" for number in range(kernels))
    arm = read_arm(path, "head", Replayed(4711, rounds, launches), "x").arm
    assert 0 <= arm.busy_ratio <= 1
    assert len(arm.spans) in (0, 2 * kernels)
    assert (len(arm.spans) > 0) == (len(times) == rounds * kernels and rounds > 2)
    assert [span.start_us for span in arm.spans] == sorted(span.start_us for span in arm.spans)
    assert all(0 <= span.kernel < len(arm.kernels) and span.duration_us > 0 for span in arm.spans)
    assert sum(kernel.calls for kernel in arm.kernels) == len(times)
