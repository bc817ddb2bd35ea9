"""Runs that a pull request's comment can be about, one for each thing that it may have to say."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from pytest_kernelperf.model import (
    AcceptanceUse,
    Accepted,
    BaselineEdit,
    Blame,
    CaseId,
    CaseTrace,
    Comparison,
    Creep,
    CreepStep,
    CurveRecord,
    Decision,
    DeviceFacts,
    Drift,
    Floor,
    LaunchFill,
    LimitEdit,
    Mismatch,
    ParentCase,
    Proposal,
    Record,
    Run,
    TracedArm,
    TracedKernel,
    TracedSpan,
    Verdict,
)
from pytest_kernelperf.report.comment import Links, render_banner, render_comment

HEAD, PARENT = "3c712f1d" * 5, "90ab12cd" * 5
LINKS = Links("owner/project", "https://github.com", HEAD, HEAD, "https://github.com/owner/project/actions/runs/7", 42)
TEST = "kernels/moe_add_inject/test_moe_add_inject.py"

DEVICE = DeviceFacts(
    "rocm", "/opt/rocm/lib/libamdhip64.so.7", "gfx1151-40cu", "AMD Radeon 8060S Graphics", "gfx1151", 40, 20, 32, 1024,
    65536, 68_719_476_736, 226.0, compiler="amdclang 20.0.0", driver="amdgpu 6.16.6", hip_version="7.2.53211",
    clock_policy="high", power_limit_w=120.0,
)  # fmt: skip

TILES = LaunchFill("fused_column_tiles", 10, 10, 40, 80, Floor(10, "2,560 columns are ten tiles"))
BUSY = LaunchFill("fused_column_tiles", 5120, 40, 40, 40_960)
ONE = LaunchFill("fused_one_block_per_token", 1, 40, 40, 8)


def compared(ratio: float, against_us: float, arm: str = "head", against: str = "baseline") -> Comparison:
    """Five processes that agree, or that see no change."""
    slower, faster = (5, 0) if ratio > 1.01 else (0, 5) if ratio < 0.99 else (0, 0)
    return Comparison(
        arm, against, "graph", ratio, ratio - 0.002, ratio + 0.002, 0.95, 5, slower, faster, 30, 1e-5, 1.01, 0.02,
        round(against_us * ratio, 3), against_us, tuple(ratio + step / 2000 for step in range(-2, 3)),
        not_slower=5 - slower, needed=4, detectable_ratio=1.012,
    )  # fmt: skip


def case(
    variant: str,
    tokens: int,
    verdict: Verdict,
    code: str = "",
    reason: str = "",
    *,
    fails: bool = False,
    ratio: float | None = None,
    us: float = 2.21,
    **more: object,
) -> Record:
    """A case of the lesson's kernel; ``ratio`` compares it with its baseline."""
    comparisons = (compared(ratio, us),) if ratio is not None else ()
    fields: dict[str, object] = {
        "comparisons": comparisons, "fills": (BUSY if tokens > 1 else TILES,), "time_us": us * (ratio or 1.0),
        "source": "kernels/moe_add_inject/moe_add_inject.hip",
    }  # fmt: skip
    found = CaseId("moe_add_inject", variant, tokens)
    decision = Decision(verdict, fails, code or verdict.value, reason or f"{found}: {verdict.value}")
    return Record(found, TEST, decision, **(fields | more))  # type: ignore[arg-type]


def trace() -> CaseTrace:
    """Two arms of one kernel each."""

    def arm(name: str, us: float) -> TracedArm:
        kernel = TracedKernel("fused_column_tiles(float*, float const*)", 5, us, us, us, us * 5, (10,), True)
        spans = (TracedSpan(0, 0.0, us, 10), TracedSpan(0, us + 2, us, 10))
        return TracedArm(name, (kernel,), spans, 5, 2.0, 0.5, False, f"traces/tiles-1/{name}.db")

    return CaseTrace("rocprofv3", (arm("head", 2.5), arm("baseline", 2.4)), ("a note",), 40)


WELL = tuple(
    case(variant, tokens, Verdict.IDENTICAL if tokens > 7 else Verdict.UNCHANGED, ratio=1.001 if tokens <= 7 else None,
         us=us)
    for variant, us in (("separate", 4.05), ("fused_column_tiles", 2.21))
    for tokens in (7, 64, 512)
)  # fmt: skip


def run(*records: Record, **more: object) -> Run:
    """A run of these cases among others that are well."""
    fields: dict[str, object] = {"commit": HEAD, "blame": Blame(HEAD, PARENT)}
    environment, settings = {"kernel": "Linux 6.16", "governor": "performance"}, {"mode": "graph", "tolerance": "0.01"}
    fields["records"] = (*records, *WELL)
    return Run(1, "0.1.0", "2026-03-01T12:00:00Z", DEVICE, environment, settings, **(fields | more))  # type: ignore[arg-type]


SLOWER = case(
    "fused_column_tiles", 1, Verdict.REGRESSED, "slower", "2.3 % slower than the baseline", fails=True, ratio=1.023,
    resources_changed=("fused_column_tiles: VGPRs 32 → 64 (accepted → now)",), trace=trace(),
)  # fmt: skip

EDIT = BaselineEdit(
    SLOWER.case, "changed", "baselines/gfx1151-40cu/moe_add_inject.json", 2.21, 2.40, "it is what it is", False
)

STATES: dict[str, Run | str] = {
    "all_well": run(drift=Drift(1.0004, 0.4, 0.01, 1.01, 6, 5, 15, False)),
    "regressed": run(SLOWER),
    "improved": run(
        case("fused_column_tiles", 1, Verdict.IMPROVED, "faster", ratio=0.92, us=12.5),
        blame=Blame(HEAD, PARENT, proposals=(Proposal(SLOWER.case, "improved", 12.5, 11.5),)),
    ),
    "starved": run(
        case(
            "fused_one_block_per_token",
            1,
            Verdict.STARVED,
            "too_few_workgroups",
            "fused_one_block_per_token: 1 workgroup, 40 compute units (gfx1151): split the work over more "
            "workgroups, or state underfill=Floor(workgroups, why)",
            fails=True,
            fills=(ONE,),
            time_us=None,
        )
    ),
    "wrong": run(
        case(
            "fused_column_tiles",
            1,
            Verdict.WRONG,
            "mismatch",
            "1,024 of 10,240 values of x differ, first at 2304: got 0.830200195, want 0.189979553",
            fails=True,
            time_us=None,
            mismatch=Mismatch("x", 1024, 10_240, 2304, "0.830200195", "0.189979553"),
        ),
        SLOWER,
    ),
    "undecided": run(
        case(
            "separate",
            1,
            Verdict.UNDECIDED,
            "depends_on_process",
            "depends on the process: 0.6 % slower "
            "than the baseline, 2 say slower, 3 not slower, of 5 processes (4 must agree)",
            fails=True,
            ratio=1.006,
            us=4.05,
        )
    ),
    "not_measured": run(
        *(
            case(
                "separate",
                tokens,
                Verdict.INVALID,
                "busy",
                "not measured: the device is busy (firefox, "
                "1.2 cores), 3 tries; stop the other program or wait for it, then run again",
                fails=True,
                time_us=None,
            )
            for tokens in (1, 2, 3)
        )
    ),
    "new": run(
        case("fused_column_tiles_64", 1, Verdict.NEW, reason="no baseline on this device yet", us=2.3),
        blame=Blame(
            HEAD, PARENT, proposals=(Proposal(CaseId("moe_add_inject", "fused_column_tiles_64", 1), "new", None, 2.3),)
        ),
    ),
    "new_too_long": run(
        case(
            "fused_column_tiles_64",
            1,
            Verdict.NEW,
            "new_too_long",
            "declared since 2026-02-01, and still without a baseline on this device",
            fails=True,
            new_since="2026-02-01",
        )
    ),
    "accepted": run(
        case(
            "separate",
            1,
            Verdict.ACCEPTED,
            "slower",
            "accepted by maintainer for commit 3c712f1d3c71: "
            "rounds as the reference does (2 % slower than the baseline)",
            ratio=1.02,
            us=4.05,
            accepted=Accepted("maintainer", "rounds as the reference does", HEAD),
        )
    ),
    "acceptance_refused": run(
        SLOWER,
        blame=Blame(
            HEAD,
            PARENT,
            acceptance=AcceptanceUse(
                "maintainer", "older", PARENT, "it is of commit 90ab12cd, and 3c712f1d is measured"
            ),
        ),
    ),
    "creep": run(
        case(
            "fused_column_tiles",
            1,
            Verdict.REGRESSED,
            "creep",
            "0.6 % slower than the parent and 1.4 % slower than the baseline: this change adds to what others began",
            fails=True,
            ratio=1.014,
            parent=ParentCase("timed", "0.6 % slower than the parent"),
            creep=Creep(
                "2026-01-05", 1.062, 1.05, (CreepStep("2026-02-01", "rounding", 1.04), CreepStep("", "", 1.014))
            ),
        )
    ),
    "other_limits": run(
        case(
            "fused_column_tiles",
            1,
            Verdict.REGRESSED,
            "slower_than_parent",
            "2 % slower than the parent",
            fails=True,
            comparisons=(compared(1.02, 2.21, "head", "parent"),),
            parent=ParentCase(
                "timed",
                "the parent's code is another, timed beside this one",
                (
                    LimitEdit("tolerance", "default", "50 %"),
                    LimitEdit("results", "bit for bit", "within 1 + 0 of the reference", "here"),
                ),
            ),
        ),
        case(
            "fused_column_tiles",
            2,
            Verdict.IDENTICAL,
            parent=ParentCase("identical", "the parent's code", (LimitEdit("tolerance", "default", "50 %"),)),
        ),
    ),
    "main_creep": run(
        case(
            "fused_column_tiles",
            1,
            Verdict.IDENTICAL,
            "main_creep",
            "the parent's code, which is 1.6 % slower than its baseline: not this change's doing",
            us=2.21,
            time_us=2.245,
            comparisons=(compared(1.016, 2.21, "parent", "baseline"),),
            parent=ParentCase("identical", "the parent's code"),
        )
    ),
    "slower_than_parent": run(
        case(
            "fused_column_tiles",
            1,
            Verdict.REGRESSED,
            "slower_than_parent",
            "2 % slower than the parent",
            fails=True,
            comparisons=(compared(1.02, 2.21, "head", "parent"), compared(1.005, 2.24)),
        )
    ),
    "edited_baseline": run(
        case(
            "fused_column_tiles",
            1,
            Verdict.FAILED,
            "own_baseline",
            "this change edits the case's baseline, which holds other code than this: 8 % slower than that baseline",
            fails=True,
            comparisons=(compared(1.086, 2.21, "head", "own"),),
            baseline_edit=EDIT,
        ),
        blame=Blame(
            HEAD, PARENT, baselines="base/baselines", edits=(EDIT,), vanished=(CaseId("moe_add_inject", "separate", 2),)
        ),
    ),
    "renamed": run(case("tiles", 1, Verdict.IDENTICAL, "identical", renamed_from=SLOWER.case)),
    "curve": run(
        curves=(
            CurveRecord(
                "moe_add_inject",
                "separate",
                TEST,
                Decision(Verdict.REGRESSED, True, "slower", "0.6 % slower than the baseline on average over 8 sizes"),
                (7, 64, 512),
                "graph",
                5,
                1.006,
                1.0058,
                1.0062,
                1.005,
                8,
            ),
        )
    ),
    "machine_moved": run(
        drift=Drift(
            1.041,
            1e-9,
            0.01,
            1.01,
            6,
            5,
            15,
            True,
            stored_from="2026-02-01",
            stored_to="2026-02-03",
            facts_known=True,
            changed=("power limit: 120 W → 85 W",),
        )
    ),
    "hosted": run(
        records=tuple(
            replace(record, decision=Decision(Verdict.NEW, False, "untimed", "not timed"), time_us=None, comparisons=())
            for record in WELL
        )
    ),
    "nothing_ran": run(records=()),
    "broken": "run.json: has no version, and this pytest-kernelperf reads version 1: make it anew",
}

TEXTS: dict[str, Callable[[], str]] = {
    "running": lambda: render_banner("running", LINKS),
    "superseded": lambda: render_banner("superseded", replace(LINKS, head=PARENT)),
}


def text_of(state: str) -> str:
    """The comment's text in a state."""
    return TEXTS[state]() if state in TEXTS else render_comment(STATES[state], LINKS)
