"""The records that all golden texts are made from: every verdict, on a device with 40 compute units."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from pytest_kernelperf import model
from pytest_kernelperf.model import (
    BufferArgument,
    BufferSpec,
    CaseId,
    CaseTrace,
    Comparison,
    Decision,
    DeviceFacts,
    Floor,
    LaunchFill,
    LaunchStep,
    Measurement,
    Mismatch,
    Plan,
    Record,
    Run,
    Sample,
    ScalarArgument,
    SourceBundle,
    TracedArm,
    TracedKernel,
    TracedSpan,
    Verdict,
)

HERE = Path(__file__).parent

DEVICE = DeviceFacts(
    runtime="rocm",
    library="/opt/rocm/lib/libamdhip64.so.7",
    key="gfx1151-40cu",
    name="AMD Radeon 8060S Graphics",
    architecture="gfx1151",
    compute_units=40,
    hip_compute_units=20,
    warp_size=32,
    max_threads_per_block=1024,
    max_shared_bytes=65536,
    total_memory_bytes=68_719_476_736,
    peak_gb_per_s=226.0,
    compute_units_source="kfd simd_count / simd_per_cu",
    hip_version="7.2.53211",
    hip_python_version="7.2.0",
    compiler="amdclang 20.0.0",
    driver="amdgpu 6.16.6",
)

SOURCE = SourceBundle(main="moe_add_inject.hip", files={"moe_add_inject.hip": 'extern "C" __global__ void add() {}\n'})
OBJECT = b"\x7fELF a code object's bytes" * 20

PLAN = Plan(
    (
        LaunchStep(
            kernel="fused_column_tiles",
            grid=(10, 512, 1),
            block=(256, 1, 1),
            arguments=(
                ScalarArgument("<i4", np.int32(512).tobytes(), 4),
                BufferArgument("moe"),
                BufferArgument("x", 4096),
            ),
            floor=Floor(10, "2,560 columns are ten tiles"),
        ),
    )
)
BUFFERS = (BufferSpec("moe", "<f4", (512, 2560)), BufferSpec("x", "<f4", (512, 4, 2560)))


def traced(arm: str, add_us: float, inject_us: float) -> TracedArm:
    """One arm of a plan of two launches, five rounds of it recorded."""
    names, times_us = ("add_kernel", "inject_kernel"), (add_us, inject_us)
    spans, start_us = [], 0.0
    for number in (0, 1, 0, 1):
        spans.append(TracedSpan(number, round(start_us, 3), times_us[number], 5120))
        start_us += times_us[number] + 2.4
    kernels = sorted(
        (
            TracedKernel(name, 5, round(us * 1.04, 3), us, round(us * 0.99, 3), round(us * 5.2, 3), (5120,), False)
            for name, us in zip(names, times_us, strict=True)
        ),
        key=lambda kernel: -kernel.total_us,
    )
    place = [kernels.index(next(one for one in kernels if one.name == name)) for name in names]
    ordered = tuple(msgspec.structs.replace(span, kernel=place[span.kernel]) for span in spans)
    busy_us = 2 * (add_us + inject_us)
    folder = "traces/moe_add_inject-separate-512"
    return TracedArm(
        arm, tuple(kernels), ordered, 5, 2.4, round(busy_us / (busy_us + 7.2), 4), False, f"{folder}/{arm}.db"
    )


TRACE = CaseTrace(
    "rocprofv3",
    (traced("head", 43.9, 31.2), traced("baseline", 25.6, 31.1)),
    ("head: rocprofv3 recorded 10 kernels of the runtime's own (__amd_rocclr_copyBuffer), which are not shown",),
    40,
)

SMALL, FULL = 102_416, 52_436_992
TEN_TILES = LaunchFill("fused_column_tiles", 10, 10, 40, 80, Floor(10, "2,560 columns are ten tiles"))
BUSY = LaunchFill("fused_column_tiles", 5120, 40, 40, 40_960)
PAIR = (
    LaunchFill("inject_kernel", 40, 40, 40, 320),
    LaunchFill("add_kernel", 10, 10, 40, 80, Floor(10, "ten workgroups of 256")),
)
ONE = LaunchFill("fused_one_block_per_token", 1, 40, 40, 8)


def record(variant: str, tokens: int, verdict: Verdict, fails: bool, reason: str, **more: object) -> Record:
    """A record of the lesson's kernel with what all have in common."""
    case = CaseId("moe_add_inject", variant, tokens)
    return Record(
        case, "kernels/moe_add_inject/test_moe_add_inject.py", Decision(verdict, fails, verdict.value, reason), **more
    )  # type: ignore[arg-type]


def compared(against: str, ratios: tuple[float, ...], slower: int, faster: int, against_us: float) -> Comparison:
    """A comparison of five processes' ratios."""
    return Comparison(
        arm="head",
        against=against,
        mode="graph",
        change_ratio=float(np.median(ratios)),
        low_ratio=min(ratios),
        high_ratio=max(ratios),
        confidence=0.95,
        processes=5,
        slower=slower,
        faster=faster,
        blocks=30,
        alpha=1e-5,
        tolerance_ratio=1.01,
        floor_us=0.02,
        time_us=against_us * float(np.median(ratios)),
        against_us=against_us,
        per_process_ratio=ratios,
        not_slower=5 - slower,
        needed=4,
        detectable_ratio=1.012,
    )


def measured(time_us: float, process: int = 1, blocks: int = 3) -> Measurement:
    """One process's samples, each a little apart."""
    samples = tuple(Sample("head", block, 0, round(time_us * (1 + block / 1000), 6), 0.4) for block in range(blocks))
    return Measurement(process=process, mode="graph", rounds=200, seed=7 + process, samples=samples, discarded=1)


@pytest.fixture
def device() -> DeviceFacts:
    """A Strix Halo."""
    return DEVICE


@pytest.fixture
def source() -> SourceBundle:
    """A source bundle."""
    return SOURCE


@pytest.fixture
def code_object() -> bytes:
    """A code object's bytes."""
    return OBJECT


@pytest.fixture
def stored_record() -> Record:
    """A new case with all that a baseline keeps of it."""
    return record(
        "fused_column_tiles",
        512,
        Verdict.NEW,
        False,
        "no baseline on this device yet",
        plan=PLAN,
        plan_digest=PLAN.digest,
        buffers=BUFFERS,
        inputs_digest=model.digest_of("inputs"),
        source_digest=SOURCE.digest,
        object_digest=model.digest_of_bytes(OBJECT),
        instruction_digests={"fused_column_tiles": model.digest_of("instructions"), "unused": model.digest_of("more")},
        resources={"fused_column_tiles": {"vgprs": 24, "sgprs": 18, "lds_bytes": 0}},
        moved_bytes=FULL,
        fills=(BUSY,),
        time_us=54.83,
        measurements=tuple(measured(54.83 * (1 + process / 500), process) for process in range(5)),
    )


@pytest.fixture
def sample_run(stored_record: Record) -> Run:
    """One run with every verdict."""
    regressed = compared("baseline", (1.331, 1.328, 1.334, 1.3302, 1.3311), 5, 0, 54.83)
    replaced = compared("replaced", (1.052, 1.049, 1.0511, 1.05, 1.0533), 5, 0, 4.05)
    wide = compared("baseline", (1.0, 1.07, 0.99, 1.0002, 1.068), 2, 1, 9.31)
    records = (
        stored_record,
        record("separate", 1, Verdict.IDENTICAL, False, "instructions, plan and inputs are the baseline's",
               moved_bytes=122_896, fills=PAIR, time_us=4.05, time_is_stored=True),
        record("fused_one_block_per_token", 1, Verdict.NEW, False, "no baseline yet", moved_bytes=SMALL, fills=(ONE,),
               time_us=4.67, notes=("starved as expected (one workgroup a token): 1 workgroup, 40 compute units",)),
        record("fused_column_tiles", 1, Verdict.SLOWER_THAN_REPLACED, True, "5 % slower than separate",
               moved_bytes=SMALL, fills=(TEN_TILES,), time_us=4.26, comparisons=(replaced,),
               measurements=tuple(measured(4.26, process) for process in range(5))),
        record("separate", 512, Verdict.REGRESSED, True, "33.1 % slower than the baseline in 5 of 5 processes",
               moved_bytes=62_922_752, fills=(BUSY,), time_us=72.98, comparisons=(regressed,),
               measurements=tuple(measured(72.98, process) for process in range(5)), trace=TRACE),
        record("fused_column_tiles", 7, Verdict.UNCHANGED, False, "within the tolerance of 1 %", moved_bytes=716_912,
               fills=(BUSY,), time_us=9.3,
               comparisons=(compared("baseline", (1.0002, 0.9998, 1.0, 1.0001, 0.9999), 0, 0, 9.3),)),
        record("separate", 7, Verdict.UNDECIDED, False, "not proven: the upper bound is under twice the tolerance",
               moved_bytes=860_272, fills=PAIR, time_us=9.31, comparisons=(wide,)),
        record("fused_column_tiles", 64, Verdict.IMPROVED, False, "8 % faster than the baseline", moved_bytes=6_554_624,
               fills=(BUSY,), time_us=11.5,
               comparisons=(compared("baseline", (0.92, 0.921, 0.919, 0.9202, 0.9203), 0, 5, 12.5),)),
        record("separate", 64, Verdict.ACCEPTED, False, "accepted: needed for the new router (2 % slower)",
               moved_bytes=7_865_344, fills=(BUSY,), time_us=19.9, mode="queued"),
        record("fused_one_block_per_token", 7, Verdict.STARVED, True,
               "fused_one_block_per_token: 7 workgroups, 40 compute units (gfx1151): split the work",
               fills=(LaunchFill("fused_one_block_per_token", 7, 40, 40, 56),), moved_bytes=716_912),
        record("fused_one_block_per_token", 64, Verdict.WRONG, True,
               "1,024 of 10,240 values of x differ, first at 2304: got 0.830200195, want 0.189979553",
               mismatch=Mismatch("x", 1024, 10_240, 2304, "0.830200195", "0.189979553"), fills=(BUSY,)),
        record("fused_one_block_per_token", 512, Verdict.INVALID, True,
               "not measured: the device is busy (firefox, 1.2 cores), 3 tries; run again", fills=(BUSY,)),
        record("fused_column_tiles_64", 1, Verdict.FAILED, True,
               "fused.hip does not compile:\nfused.hip:3:5: unknown type name '\x1b[1mflaot\x1b[0m'\n    flaot x;"),
        record("fused_column_tiles_64", 7, Verdict.CRASHED, True, "the worker died of signal 6 (a memory fault)"),
        record("fused_column_tiles_64", 64, Verdict.HUNG, True, "the worker did not answer within 120 s and was ended"),
        record("last_tile_missing", 1, Verdict.CAUGHT, False, "1,024 of 10,240 values of x differ",
               mutation_of="fused_column_tiles"),
        record("stream_zero_weight", 1, Verdict.UNNOTICED, True, "the reference does not notice this mutation",
               mutation_of="fused_one_block_per_token"),
    )  # fmt: skip
    return Run(
        version=1,
        tool_version="0.1.0",
        started_at="2026-03-01T12:00:00Z",
        device=DEVICE,
        environment={"kernel": "Linux 6.16"},
        settings={"mode": "graph", "tolerance": "0.01"},
        records=records,
    )


@pytest.fixture
def golden() -> Callable[[str, bytes | str], None]:
    """Compare with a golden file; ``KERNELPERF_UPDATE_GOLDEN=1 scripts/test tests/golden`` writes them anew."""

    def compare(name: str, got: bytes | str) -> None:
        path = HERE / name
        data = got.encode() if isinstance(got, str) else got
        if os.environ.get("KERNELPERF_UPDATE_GOLDEN"):
            path.write_bytes(data)
        assert data.decode() == path.read_text(encoding="utf-8"), f"{name} has changed: see tests/golden/README.md"

    return compare
