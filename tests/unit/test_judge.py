"""The order of deciding, every verdict with its code, and what fails closed."""

from __future__ import annotations

import itertools
import math
from typing import Any

import msgspec
import pytest

from pytest_kernelperf.judge import (
    Evidence,
    Failure,
    decide,
    fills_of,
    needs_timing,
    notes_of,
    verdict_of,
)
from pytest_kernelperf.model import (
    CaseId,
    Comparison,
    Decision,
    FillStep,
    Floor,
    LaunchFill,
    LaunchStep,
    Mismatch,
    Noise,
    Plan,
    StoredComparison,
    Verdict,
)
from pytest_kernelperf.reason import unchanged as unchanged_reason

CASE = CaseId("moe_add_inject", "fused_column_tiles", 1)
MISMATCH = Mismatch("x", 1024, 10240, 2304, "0.830200195", "0.189979553")
STARVED = LaunchFill("fused_one_block_per_token", 1, 10, 40, 8, Floor(10, "2,560 columns are ten tiles"))
BARE = LaunchFill("fused_one_block_per_token", 1, 40, 40, 8)
FULL = LaunchFill("inject_kernel", 40, 40, 40, 320)


def comparison(**changes: Any) -> Comparison:
    """Head 33.1 % slower than the baseline, all five processes agreed; changed as asked."""
    base = Comparison(
        arm="head",
        against="baseline",
        mode="graph",
        change_ratio=1.331,
        low_ratio=1.328,
        high_ratio=1.334,
        confidence=0.95,
        processes=5,
        slower=5,
        faster=0,
        blocks=29,
        alpha=1e-5,
        tolerance_ratio=1.01,
        floor_us=0.02,
        time_us=2.94,
        against_us=2.21,
        not_slower=0,
        needed=4,
        detectable_ratio=1.012,
    )
    return msgspec.structs.replace(base, **changes)


SLOWER = comparison()
FASTER = comparison(change_ratio=0.9, low_ratio=0.89, high_ratio=0.91, slower=0, faster=5, not_slower=5)
SAME = comparison(change_ratio=1.0001, low_ratio=0.999, high_ratio=1.001, slower=0, not_slower=5)
UNCLEAR = comparison(change_ratio=1.01, low_ratio=0.98, high_ratio=1.04, slower=0, not_slower=2)
NEARLY = comparison(change_ratio=1.008, low_ratio=1.0, high_ratio=1.015, slower=0, not_slower=2)
DIVIDED = comparison(
    change_ratio=1.02,
    low_ratio=0.99,
    high_ratio=1.05,
    slower=2,
    not_slower=3,
    per_process_ratio=(1.05, 0.999, 1.05, 1.0, 1.0),
)
STORED = StoredComparison(1.05, 0.0079, 5, 5, 1, gated=False, reason="too little stored: 5 stored processes from 1 day")


def evidence(**details: Any) -> Evidence:
    """A case that ran, was right, filled the device and was timed against its baseline."""
    return Evidence(CASE, **{"fills": (FULL,), "device": "gfx1151", "has_baseline": True, "time_us": 2.94, **details})


# Each stage's evidence, in the order in which they decide.
STAGES: list[tuple[dict[str, Any], Verdict, str]] = [
    ({"failure": Failure("crashed", "the worker died")}, Verdict.CRASHED, "crashed"),
    ({"mismatch": MISMATCH}, Verdict.WRONG, "mismatch"),
    ({"fills": (FULL, STARVED)}, Verdict.STARVED, "too_few_workgroups"),
    ({"profilers": ("librocprofiler-sdk.so",)}, Verdict.INVALID, "traced"),
    ({"identical": True}, Verdict.IDENTICAL, "identical"),
    ({"has_baseline": True, "contended_by": "stress, 1.8 cores"}, Verdict.INVALID, "busy"),
    ({"spoiled": "3 of 10,240 values of x were finite before timing and are not after it"}, Verdict.INVALID, "spoiled"),
    ({"time_us": None}, Verdict.INVALID, "no_samples"),
    ({"comparison": SLOWER}, Verdict.REGRESSED, "slower"),
    ({"replaced": SLOWER, "replaced_variant": "separate"}, Verdict.SLOWER_THAN_REPLACED, "slower_than_replaced"),
    ({"has_baseline": False}, Verdict.NEW, "new"),
    ({"comparison": SAME}, Verdict.UNCHANGED, "within_tolerance"),
]


@pytest.mark.parametrize(("details", "verdict", "code"), STAGES)
def test_each_stage_has_its_verdict_and_code(details: dict[str, Any], verdict: Verdict, code: str) -> None:
    """Alone, with everything after it unremarkable."""
    decision = decide(evidence(**details))
    assert (decision.verdict, decision.code) == (verdict, code)
    assert decision.fails is (verdict not in (Verdict.IDENTICAL, Verdict.NEW, Verdict.UNCHANGED))
    assert decision.reason


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(range(len(STAGES)), 2)))
def test_the_earlier_stage_decides(first: int, second: int) -> None:
    """Whatever a later stage would say: a wrong result is never called slow, a busy device never a regression."""
    details = {**STAGES[second][0], **STAGES[first][0]}
    decision = decide(evidence(**details))
    assert (decision.verdict, decision.code) == STAGES[first][1:]


@pytest.mark.parametrize("kind", ["crashed", "hung", "failed"])
def test_a_failure_keeps_its_own_sentence(kind: Any) -> None:
    """The worker's side knows what happened; the judge only passes it on."""
    decision = decide(evidence(failure=Failure(kind, "what happened")))
    assert decision == Decision(Verdict(kind), True, kind, "what happened")


@pytest.mark.parametrize(
    ("found", "verdict", "code", "fails"),
    [
        (SLOWER, Verdict.REGRESSED, "slower", True),
        (comparison(slower=4, not_slower=1), Verdict.REGRESSED, "slower", True),
        (comparison(slower=4, faster=1, not_slower=1), Verdict.UNDECIDED, "depends_on_process", True),
        (comparison(p_slower=0.04, agreement_alpha=0.05), Verdict.REGRESSED, "slower", True),
        (comparison(p_slower=0.06, agreement_alpha=0.05), Verdict.UNDECIDED, "not_proven", True),
        (comparison(slower=3, not_slower=2), Verdict.UNDECIDED, "depends_on_process", True),
        (FASTER, Verdict.IMPROVED, "faster", False),
        (comparison(slower=1, faster=4, not_slower=4), Verdict.UNDECIDED, "depends_on_process", True),
        (SAME, Verdict.UNCHANGED, "within_tolerance", False),
        (comparison(slower=1, not_slower=4), Verdict.UNDECIDED, "depends_on_process", True),
        (UNCLEAR, Verdict.UNDECIDED, "not_proven", True),
        (NEARLY, Verdict.UNDECIDED, "not_proven", False),
        (DIVIDED, Verdict.UNDECIDED, "depends_on_process", True),
        (comparison(processes=2, slower=2, needed=3), Verdict.UNDECIDED, "too_few_processes", True),
        (comparison(slower=0, low_ratio=None, high_ratio=None), Verdict.UNDECIDED, "not_proven", True),
        (comparison(slower=0, high_ratio=math.nan), Verdict.UNDECIDED, "not_proven", True),
        (comparison(slower=0, needed=0), Verdict.UNDECIDED, "not_proven", True),
    ],
)
def test_the_interleaved_test_needs_agreement(found: Comparison, verdict: Verdict, code: str, fails: bool) -> None:
    """With no process against it and by the test over processes, else undecided; that fails unless it is bounded."""
    decision = decide(evidence(comparison=found))
    assert (decision.verdict, decision.code, decision.fails) == (verdict, code, fails)
    assert verdict_of(found) is verdict


@pytest.mark.parametrize(("high_ratio", "fails"), [(1.0199, False), (1.02, True), (1.021, True), (None, True)])
def test_undecided_only_warns_below_twice_the_tolerance(high_ratio: float | None, fails: bool) -> None:
    """An upper bound of 2 % at a tolerance of 1 % is not below it."""
    assert decide(evidence(comparison=comparison(slower=0, high_ratio=high_ratio))).fails is fails


def test_the_floor_widens_what_undecided_may_leave_open() -> None:
    """For a kernel of 0.5 us a floor of 0.02 us is 4 %, so a bound of 7 % is under twice that."""
    short = {"slower": 0, "high_ratio": 1.07, "against_us": 0.5}
    assert not decide(evidence(comparison=comparison(**short))).fails
    assert decide(evidence(comparison=comparison(**{**short, "floor_us": 0.001}))).fails


def test_a_baseline_without_any_comparison_fails_closed() -> None:
    """Nothing measured against it is not unchanged."""
    decision = decide(evidence())
    assert (decision.verdict, decision.fails, decision.code) == (Verdict.UNDECIDED, True, "not_compared")


@pytest.mark.parametrize(
    ("stored", "verdict", "code", "fails"),
    [
        (STORED, Verdict.UNDECIDED, "not_gated", True),
        (msgspec.structs.replace(STORED, gated=True, reason=""), Verdict.UNDECIDED, "stored_open", True),
        (msgspec.structs.replace(STORED, gated=True, reason="", not_slower=True), Verdict.UNCHANGED, "stored", False),
        (
            msgspec.structs.replace(STORED, gated=True, reason="", slower=True),
            Verdict.REGRESSED,
            "slower_than_stored",
            True,
        ),
    ],
)
def test_stored_times_decide_only_where_nothing_was_replayed(
    stored: StoredComparison, verdict: Verdict, code: str, fails: bool
) -> None:
    """And gate only when there are enough of them, else fail as not proven; beside a comparison they are a note on the
    machine."""
    decision = decide(evidence(stored=stored, unplayable="it does not load"))
    assert "stored times alone, since it does not load: 5 % slower than when the baseline was" in decision.reason
    assert ("--update-baselines=REASON" in decision.reason) == fails
    assert (decision.verdict, decision.code, decision.fails) == (verdict, code, fails)
    assert decide(evidence(stored=stored, comparison=SAME)).verdict is Verdict.UNCHANGED


@pytest.mark.parametrize("time_us", [0.0, -1.0, math.nan, math.inf])
def test_a_time_that_is_none_is_never_new(time_us: float) -> None:
    """A baseline must not begin with it."""
    decision = decide(evidence(has_baseline=False, time_us=time_us))
    assert (decision.verdict, decision.fails) == (Verdict.INVALID, True)


# --- mutations --------------------------------------------------------------------------------


def test_a_mutation_passes_when_the_reference_notices() -> None:
    """Caught with the figures; unnoticed fails; nothing else of it is judged."""
    caught = decide(evidence(mutation_of="fused_column_tiles", mismatch=MISMATCH, fills=(STARVED,)))
    assert (caught.verdict, caught.fails) == (Verdict.CAUGHT, False)
    assert "1,024 of 10,240 values of x differ" in caught.reason
    unnoticed = decide(evidence(mutation_of="fused_column_tiles", identical=True))
    assert (unnoticed.verdict, unnoticed.fails) == (Verdict.UNNOTICED, True)
    assert not needs_timing(evidence(mutation_of="fused_column_tiles"))


def test_a_mutation_that_crashes_was_not_noticed_by_the_reference() -> None:
    """Its worker died before anything was compared."""
    decision = decide(evidence(mutation_of="fused_column_tiles", failure=Failure("crashed", "the worker died")))
    assert (decision.verdict, decision.fails) == (Verdict.CRASHED, True)


# --- starvation -------------------------------------------------------------------------------


def plan(*launches: LaunchStep) -> Plan:
    """A plan of these launches with a fill before them."""
    return Plan((FillStep("y", 0, 0, 4), *launches))


def test_fills_count_workgroups_against_compute_units_or_the_stated_floor() -> None:
    """A floor replaces the compute units, smaller or larger; a part-filled wave counts."""
    fills = fills_of(
        plan(
            LaunchStep("a", (10, 1, 1), (256, 1, 1)),
            LaunchStep("b", (2, 5, 1), (33, 1, 1), floor=Floor(10, "ten tiles")),
            LaunchStep("c", (40, 2, 1), (8, 8, 1), floor=Floor(120, "three a unit")),
        ),
        compute_units=40,
        warp_size=32,
    )
    assert [(f.kernel, f.workgroups, f.threshold, f.waves, f.starved) for f in fills] == [
        ("a", 10, 40, 80, True),
        ("b", 10, 10, 20, False),
        ("c", 80, 120, 160, True),
    ]
    assert all(fill.compute_units == 40 for fill in fills)


def test_one_starved_launch_starves_the_case() -> None:
    """The sentence names that launch only, its floor with the reason for it, and the device."""
    decision = decide(evidence(fills=(FULL, STARVED)))
    assert decision.verdict is Verdict.STARVED
    assert decision.reason.startswith(
        "fused_one_block_per_token: 1 workgroup, floor 10 (2,560 columns are ten tiles), 40 compute units (gfx1151)"
    )
    assert "inject_kernel" not in decision.reason
    assert "underfill=Floor" in decide(evidence(fills=(BARE,))).reason


def test_expected_starvation_goes_on_to_a_verdict_with_a_note() -> None:
    """It does not fail and does not stop the timing; where it is not starved, the note says so."""
    expected = evidence(fills=(BARE,), starved_expected="one block has one token", comparison=SAME)
    assert decide(expected).verdict is Verdict.UNCHANGED
    assert needs_timing(expected)
    assert "starved as expected (one block has one token)" in notes_of(expected)[0]
    assert decide(msgspec.structs.replace(expected, comparison=SLOWER)).verdict is Verdict.REGRESSED
    filled = msgspec.structs.replace(expected, fills=(FULL,), for_target=True)
    assert "but is not" in notes_of(filled)[0]
    # A device at hand with few compute units is filled by anything, which says nothing of the expectation.
    assert notes_of(msgspec.structs.replace(filled, for_target=False)) == ()


# --- trying again -----------------------------------------------------------------------------


def test_a_busy_device_fails_with_the_number_of_tries() -> None:
    """It is invalid and never a regression, whatever its samples say."""
    decision = decide(evidence(contended_by="stress", tries=3, comparison=SLOWER))
    assert (decision.verdict, decision.fails) == (Verdict.INVALID, True)
    assert decision.reason.startswith("not measured: the device is busy (stress), 3 tries")


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("outputs", ""),
        ("timer", "; look at the driver"),
        ("gate", "; let nothing else use the device"),
        ("mode", ""),
        ("traced", ""),
    ],
)
def test_samples_that_cannot_be_used_say_why_and_what_to_do(code: Any, advice: str) -> None:
    """Each cause has its code and its advice; older measurements have no code."""
    decision = decide(evidence(spoiled="something", spoiled_code=code, comparison=SLOWER))
    assert (decision.verdict, decision.fails) == (Verdict.INVALID, True)
    assert decision.code == ("spoiled" if code == "outputs" else code)
    assert decision.reason.startswith(f"not measured: something{advice}")


# --- noise that is not the code -----------------------------------------------------------------


def noise(kind: Any, *processes: int, settled: bool = False) -> tuple[tuple[int, Noise], ...]:
    """One kind of noise in some processes."""
    return tuple((process, Noise(kind, f"what {kind} is", settled=settled)) for process in processes)


@pytest.mark.parametrize("kind", ["contention", "two_speeds", "clock_ramp", "throttled", "power_limited", "timer"])
def test_noise_that_is_left_explains_what_cannot_be_decided(kind: Any) -> None:
    """Its kind is the code, and the sentence holds what it is; whether it fails does not hang on it."""
    for undecided in (UNCLEAR, NEARLY, DIVIDED):
        plain = decide(evidence(comparison=undecided))
        found = decide(evidence(comparison=undecided, noise=noise(kind, 0, 3)))
        assert (found.verdict, found.code, found.fails) == (Verdict.UNDECIDED, kind, plain.fails)
        assert f"what {kind} is" in found.reason


def test_noise_that_is_over_explains_nothing() -> None:
    """What was taken again is clean."""
    found = evidence(comparison=UNCLEAR, noise=noise("clock_ramp", 0, 1, settled=True))
    assert decide(found).code == "not_proven"
    assert notes_of(found) == ()


def test_the_commonest_noise_gives_the_code() -> None:
    """All kinds stand in the sentence."""
    decision = decide(evidence(comparison=UNCLEAR, noise=noise("two_speeds", 0) + noise("throttled", 1, 2)))
    assert decision.code == "throttled"
    assert "what two_speeds is" in decision.reason


@pytest.mark.parametrize("found", [SLOWER, FASTER, SAME])
def test_noise_changes_no_verdict_that_the_processes_agree_on(found: Comparison) -> None:
    """The arms shared it; it is said beside the verdict, once for each kind, with the number of processes."""
    noisy = evidence(comparison=found, noise=noise("two_speeds", 0, 2))
    assert decide(noisy) == decide(evidence(comparison=found))
    assert notes_of(noisy) == ("what two_speeds is (2 processes)",)


def test_a_time_that_rose_while_cycles_did_not_is_the_clocks_doing() -> None:
    """Never regressed; it fails as not measured, and says how to let power count."""
    decision = decide(evidence(comparison=comparison(cycles_ratio=1.001)))
    assert (decision.verdict, decision.code, decision.fails) == (Verdict.INVALID, "clock", True)
    assert decision.reason.startswith("the clock, not the code: 33.1 % slower than the baseline")
    assert "device cycles changed by +0.1 %" in decision.reason
    assert "kernelperf_dwell_s = 1" in decision.reason


def test_a_variant_that_only_the_clock_makes_slower_than_the_replaced_one_is_not_blamed() -> None:
    """As beside the baseline; after dwelling it counts."""
    slower = comparison(against="replaced", cycles_ratio=1.001)
    decision = decide(evidence(comparison=SAME, replaced=slower, replaced_variant="separate"))
    assert (decision.verdict, decision.code) == (Verdict.INVALID, "clock")
    assert "33.1 % slower than separate, which it replaces" in decision.reason
    dwelt = decide(evidence(comparison=SAME, replaced=slower, replaced_variant="separate", dwell_s=1.0))
    assert dwelt.verdict is Verdict.SLOWER_THAN_REPLACED


def test_after_dwelling_the_clock_is_the_codes_doing() -> None:
    """Each arm had the clock that its own power leaves it."""
    decision = decide(evidence(comparison=comparison(cycles_ratio=1.001), dwell_s=1.0))
    assert (decision.verdict, decision.code) == (Verdict.REGRESSED, "slower_by_power")
    assert "it draws more power" in decision.reason


@pytest.mark.parametrize(
    ("change", "cycles", "code"),
    [
        (1.331, None, "slower"),  # no counter
        (1.331, 1.330, "slower"),
        (1.331, 1.020, "slower"),  # most of it is the clock, but what is left is beyond the tolerance
        (1.011, 1.009, "slower"),  # a count that is off by 0.2 % takes nothing back
        (1.011, 1.001, "clock"),
        (1.331, 0.9, "clock"),
    ],
)
def test_a_slowdown_is_the_clocks_only_if_cycles_hardly_show_it(change: float, cycles: float | None, code: str) -> None:
    """Less than half of it is left in cycles, and that within the tolerance."""
    assert decide(evidence(comparison=comparison(change_ratio=change, cycles_ratio=cycles))).code == code


def test_a_gain_by_the_clock_alone_is_no_improvement() -> None:
    """Nor a failure."""
    gained = msgspec.structs.replace(FASTER, cycles_ratio=0.999)
    decision = decide(evidence(comparison=gained))
    assert (decision.verdict, decision.code, decision.fails) == (Verdict.UNDECIDED, "clock", False)
    assert decide(evidence(comparison=msgspec.structs.replace(FASTER, cycles_ratio=0.9))).verdict is Verdict.IMPROVED


# --- the toolchain ------------------------------------------------------------------------------

CHANGED = "compiler 19.1 -> 20.0"


def test_what_the_toolchain_did_is_a_note() -> None:
    """Beside whatever verdict, with its figure and what changed."""
    slower = comparison(arm="toolchain", change_ratio=1.031, low_ratio=1.03, high_ratio=1.032)
    found = evidence(comparison=SAME, toolchain=slower, toolchain_change=CHANGED)
    assert decide(found).verdict is Verdict.UNCHANGED
    assert notes_of(found) == (
        "the toolchain (compiler 19.1 -> 20.0): the accepted source, compiled today, is 3.1 % slower than the accepted "
        "binary (interval +3 to +3.2 %)",
    )


def test_a_toolchain_that_makes_the_same_instructions_did_nothing() -> None:
    """Then whatever is slower is the change under test."""
    found = evidence(comparison=SLOWER, toolchain_change=CHANGED)
    assert decide(found).code == "slower"
    assert notes_of(found) == (
        "the toolchain changed (compiler 19.1 -> 20.0) and makes the same instructions of the accepted source",
    )


def test_a_slowdown_that_is_the_toolchains_alone_is_blamed_on_it() -> None:
    """The accepted source gives the instructions under test: it still fails, but nobody looks into the source."""
    found = evidence(comparison=SLOWER, toolchain_change=CHANGED, toolchain_is_head=True)
    decision = decide(found)
    assert (decision.verdict, decision.code, decision.fails) == (Verdict.REGRESSED, "slower_by_toolchain", True)
    assert (
        "the toolchain, not the source: the accepted source compiled today (compiler 19.1 -> 20.0)" in decision.reason
    )
    assert notes_of(found) == ()


@pytest.mark.parametrize(("details", "timed"), [(details, place >= 5) for place, (details, _, _) in enumerate(STAGES)])
def test_only_what_timing_can_tell_is_timed(details: dict[str, Any], timed: bool) -> None:
    """Nothing wrong, starved, traced or identical takes the device's time."""
    assert needs_timing(evidence(**details)) is timed


# --- updating baselines -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("details", "verdict"), [({"has_baseline": False}, Verdict.NEW), ({"comparison": FASTER}, Verdict.IMPROVED)]
)
def test_what_needs_no_reason_stays_what_it_is(details: dict[str, Any], verdict: Verdict) -> None:
    """New and improved cases are stored under any reason, and nobody has to accept them."""
    assert decide(evidence(update_reason="first", **details)).verdict is verdict


@pytest.mark.parametrize(
    "details",
    [
        {"comparison": SLOWER},
        {"comparison": UNCLEAR},
        {"replaced": SLOWER, "comparison": SAME},
    ],
)
def test_a_reason_turns_a_slowdown_into_accepted(details: dict[str, Any]) -> None:
    """The reason and the numbers are both kept."""
    given = evidence(update_reason="bf16 needs the extra pass", **details)
    decision, without = decide(given), decide(msgspec.structs.replace(given, update_reason=None))
    assert (decision.verdict, decision.fails) == (Verdict.ACCEPTED, False)
    assert decision.reason == f"accepted: bf16 needs the extra pass ({without.reason})"


@pytest.mark.parametrize(("details", "verdict", "code"), [STAGES[i] for i in (0, 1, 2, 3, 5, 6, 7)])
def test_no_reason_accepts_what_is_wrong_starved_or_was_not_measured(
    details: dict[str, Any], verdict: Verdict, code: str
) -> None:
    """Such a case stays what it is, so that no baseline is taken from it."""
    given = evidence(update_reason="please", **details)
    decision = decide(given)
    assert (decision.verdict, decision.code, decision.fails) == (verdict, code, True)


def test_an_update_without_a_reason_accepts_nothing_slower() -> None:
    """New stays new and a regression one; the note says how to accept it. What is unchanged stays so with a reason."""
    assert decide(evidence(update_reason="", has_baseline=False)).verdict is Verdict.NEW
    assert decide(evidence(update_reason="", comparison=SLOWER)).verdict is Verdict.REGRESSED
    assert any("needs a reason" in note for note in notes_of(evidence(update_reason="", comparison=SLOWER)))
    assert decide(evidence(update_reason="why", comparison=SAME)).verdict is Verdict.UNCHANGED
    assert decide(evidence(update_reason="why", identical=True)).verdict is Verdict.IDENTICAL


# --- sentences --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("details", "sentence"),
    [
        (
            {"mismatch": MISMATCH},
            "1,024 of 10,240 values of x differ, first at 2304: got 0.830200195, want 0.189979553",
        ),
        (
            {"comparison": SLOWER},
            "33.1 % slower than the baseline (interval +32.8 to +33.4 %; 2.21 us -> 2.94 us in graph mode), "
            "5 of 5 processes agree, tolerance 1 % and 0.02 us",
        ),
        (
            {"comparison": FASTER},
            "10 % faster than the baseline (interval -11 to -9 %; 2.21 us -> 2.94 us in graph mode), "
            "5 of 5 processes agree, tolerance 1 % and 0.02 us; keep the gain with --update-baselines=REASON",
        ),
        (
            {"comparison": SAME},
            "0.01 % slower than the baseline (interval -0.1 to +0.1 %; 2.21 us -> 2.94 us in graph mode), "
            "5 of 5 processes rule out more than 1 %; would have caught 1.2 % or more, 95 times of 100",
        ),
        (
            {"comparison": DIVIDED},
            "depends on the process: 2 % slower than the baseline (interval -1 to +5 %; 2.21 us -> 2.94 us in graph "
            "mode), 2 say slower, 3 not slower, of 5 processes (4 must agree), tolerance 1 % and 0.02 us; a slowdown "
            "of twice the tolerance is not ruled out: not proven; two speeds: some processes show the same, the others "
            "5 % slower; find out what differs between processes",
        ),
        (
            {"replaced": comparison(arm="head", against="replaced"), "replaced_variant": "separate"},
            "33.1 % slower than separate, which it replaces (interval +32.8 to +33.4 %; 2.21 us -> 2.94 us in graph "
            "mode), 5 of 5 processes agree, tolerance 1 % and 0.02 us",
        ),
        (
            {"profilers": ("librocprofiler-sdk.so",)},
            "not measured: librocprofiler-sdk.so is loaded, and traced times are never compared with untraced ones; "
            "run again without it",
        ),
    ],
)
def test_the_reason_is_a_sentence_with_the_numbers(details: dict[str, Any], sentence: str) -> None:
    """In plain words, with what to do where something can be done."""
    assert decide(evidence(**details)).reason == sentence


def test_notes_say_what_stands_beside_the_verdict() -> None:
    """The machine, the variant that is replaced; nothing where there is nothing to say."""
    notes = notes_of(evidence(comparison=SAME, stored=STORED, replaced=FASTER, replaced_variant="separate"))
    assert notes[0].startswith("10 % faster than separate (interval -11 to -9 %")
    # What is not gated is shown in the details, not beside the verdict, where it reads like one.
    assert len(notes) == 1
    gated = msgspec.structs.replace(STORED, gated=True, reason="")
    assert notes_of(evidence(comparison=SAME, stored=gated)) == (
        "the accepted binary today: 5 % slower compared with its stored times (p = 0.0079, 5 processes against 5 "
        "stored on 1 day)",
    )
    assert notes_of(evidence(comparison=SAME)) == ()
    unclear = notes_of(evidence(comparison=SAME, replaced=UNCLEAR, replaced_variant="separate"))
    assert unclear[0].startswith("no change beside separate, which it replaces, is proven (only ")


def test_an_unchanged_case_says_what_it_was_allowed_where_the_floor_is_more_than_the_tolerance() -> None:
    """Claim: whoever reads that 15 % are unchanged at a tolerance of 10 % reads why."""
    short = comparison(tolerance_ratio=1.1, floor_us=0.02, against_us=0.116, slower=0, not_slower=5)
    assert "rule out more than 17.2 % (tolerance 10 %, floor 0.02 us = 17.2 % here)" in unchanged_reason(short)
    long = msgspec.structs.replace(short, against_us=100.0)
    assert "rule out more than 10 %;" in unchanged_reason(long)
