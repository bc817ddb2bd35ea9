"""What a drill asks of a run: that what had to happen did, that nobody else is blamed, that CI hears of it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_workers import FACTS

from pytest_kernelperf.drill.alarm import VERSION, Alarm, Drill, State
from pytest_kernelperf.drill.expectation import expect, failing, passing
from pytest_kernelperf.drill.guard_run import GuardRun, read_failures, read_guard_run
from pytest_kernelperf.drill.slowness import Slowness, plain_slowness, small_slowness
from pytest_kernelperf.drill.text import render_alarm, render_ending
from pytest_kernelperf.model import CaseId, Comparison, Decision, Measurement, Record, Verdict


def record(name: str, verdict: Verdict, fails: bool, reason: str = "because", code: str = "code") -> Record:
    """A record of kernel ``k`` at 8 tokens."""
    return Record(CaseId("k", name, 8), "test_k.py", Decision(verdict, fails, code, reason))


def case(name: str) -> str:
    """How records name it."""
    return f"k {name} at 8 tokens"


def guard_run(*records: Record, files: tuple[tuple[str, str], ...] = (), code: int | None = None) -> GuardRun:
    """A run whose exit code and JUnit file tell what its records and files do."""
    failed = tuple((f"test_k[{r.case.variant}-8]", r.decision.reason) for r in records if r.decision.fails) + files
    return GuardRun(int(bool(failed)) if code is None else code, 1.0, failed, records, FACTS)


SLOW = record("a", Verdict.REGRESSED, True, "20 % slower")
FINE = record("b", Verdict.UNCHANGED, False)
WANTED = failing(case("a"), "regressed", words="slower") | passing((case("b"),), "unchanged")


def test_what_had_to_happen_did() -> None:
    """Claim: the answer tells the cases that it is asked to tell."""
    answer = expect(guard_run(SLOW, FINE), WANTED, tell=(case("a"),))
    assert (answer.rang, answer.found) == (True, "k a at 8 tokens: regressed and fails, 20 % slower")


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (guard_run(record("a", Verdict.UNCHANGED, False), FINE), "k a at 8 tokens: unchanged"),
        (guard_run(FINE), "k a at 8 tokens: was not judged"),
        (guard_run(record("a", Verdict.REGRESSED, False, "20 % slower"), FINE), "k a at 8 tokens: regressed, 20 %"),
        (guard_run(SLOW, record("b", Verdict.UNCHANGED, True)), "k b at 8 tokens: unchanged and fails"),
        (guard_run(record("a", Verdict.REGRESSED, True, "no such word"), FINE), "no such word"),
        (guard_run(SLOW, record("b", Verdict.REGRESSED, True)), "k b at 8 tokens: regressed and fails"),
        (guard_run(SLOW, FINE, record("c", Verdict.WRONG, True)), "blamed: k c at 8 tokens"),
        (guard_run(SLOW, FINE, files=((".baselines.k.json", "is cut off"),)), "blamed: .baselines.k.json: is cut off"),
        (guard_run(SLOW, FINE, code=0), "exit code 0 and 1 failure in JUnit's file do not tell the same"),
        (msgspec.structs.replace(guard_run(SLOW, FINE), failed=()), "exit code 1 and 0 failures"),
        (GuardRun(2, 1.0, (), output="one\ntwo"), "exit code 2; the end of what pytest said: one / two"),
    ],
)
def test_what_is_silent_or_blames_somebody_else(run: GuardRun, words: str) -> None:
    """Claim: a verdict that is missing, passes, gives no reason, or hits another case is no alarm that rang."""
    answer = expect(run, WANTED)
    assert not answer.rang
    assert words in answer.found


def test_a_files_item_must_fail_with_its_words() -> None:
    """Claim: that file's, no other's, and for the reason that was made."""
    run = guard_run(FINE, files=((".baselines.k.json", "baselines/k.json: is cut off\nmore"),))
    fine = passing((case("b"),), "unchanged")
    answer = expect(run, fine, file="k.json", file_words="is cut off")
    assert (answer.rang, answer.found) == (True, "baselines/k.json: is cut off; 1 unchanged")
    assert not expect(run, fine, file="k.json", file_words="version").rang
    assert not expect(run, fine, file="other.json", file_words="is cut off").rang
    assert not expect(guard_run(FINE), fine, file="k.json").rang


def test_a_busy_machine_is_no_silent_alarm() -> None:
    """Claim: what could not be measured is said to be so, and does not pass; unless that was what had to happen."""
    busy = record("a", Verdict.INVALID, True, "not measured: the device is busy (pid 7 (x))", "busy")
    answer = expect(guard_run(busy, FINE), WANTED)
    assert (answer.rang, answer.disturbed) == (False, True)
    asked = expect(guard_run(busy), failing(case("a"), "invalid", words="busy (pid 7 "))
    assert (asked.rang, asked.disturbed) == (True, False)


verdicts = st.sampled_from(list(Verdict))
records = st.builds(record, st.sampled_from("abcd"), verdicts, st.booleans())


@given(st.lists(records, max_size=5, unique_by=lambda each: each.case.variant))
def test_an_alarm_never_rings_while_somebody_else_fails(found: list[Record]) -> None:
    """Claim: whatever the records, it rings only if the one case fails as wanted and no other fails."""
    run = guard_run(*found)
    if expect(run, failing(case("a"), "regressed")).rang:
        assert [(str(each.case), each.decision.verdict) for each in run.failing] == [(case("a"), Verdict.REGRESSED)]


def test_junit_is_read_as_ci_reads_it(tmp_path: Path) -> None:
    """Claim: failures and errors with their text; a file that is none, or is missing, has none."""
    junit = tmp_path / "junit.xml"
    junit.write_text(
        "<testsuites><testsuite><testcase name='x[a-8]'><failure message='short'>long\ntext</failure></testcase>"
        "<testcase name='.baselines.k.json'><error message='short'/></testcase>"
        "<testcase name='x[b-8]'/><testcase name='x[c-8]'><skipped/></testcase></testsuite></testsuites>"
    )
    assert read_failures(junit) == [("x[a-8]", "long\ntext"), (".baselines.k.json", "short")]
    run = read_guard_run(tmp_path, 1, 2.0, "output")
    assert (run.failed_files, run.records, run.agrees) == (((".baselines.k.json", "short"),), (), False)
    junit.write_text("<testsuites><testsuite>")
    assert read_failures(junit) == []
    assert read_guard_run(tmp_path / "none", 1, 2.0, "").failed == ()


# --- how much an arm is slowed ----------------------------------------------------------------------


def untouched(tolerance: float, detectable: float | None, floor_us: float = 0.0, time_us: float = 10.0) -> Record:
    """What the guard said of the code before it was slowed."""
    comparison = Comparison(
        *("head", "baseline", "graph", 1.0, 0.99, 1.01, 0.95, 5, 0, 0, 30, 1e-5),
        *(1 + tolerance, floor_us, time_us, time_us),
        detectable_ratio=detectable,
    )
    measured = Measurement(0, "graph", 10, 0, ())
    return msgspec.structs.replace(FINE, comparisons=(comparison,), measurements=(measured,))


def test_a_plain_slowdown_is_beyond_tolerance_and_samples() -> None:
    """Claim: four times what is allowed, more where the samples show less, and always regressed."""
    assert plain_slowness(untouched(0.01, 1.012)) == Slowness(pytest.approx(1.04), ("regressed",))
    assert plain_slowness(untouched(0.01, 1.10)).ratio == pytest.approx(1.15)
    assert plain_slowness(untouched(0.01, 1.012, floor_us=1.0)).ratio == pytest.approx(1.4)
    assert plain_slowness(untouched(0.01, None)).ratio == pytest.approx(1.15)
    assert plain_slowness(None).ratio > 1.05


def test_a_small_slowdown_must_be_proven_where_that_can_be() -> None:
    """Claim: twice what is allowed must be regressed on a quiet machine, and must not pass on any."""
    assert small_slowness(untouched(0.01, 1.012)) == Slowness(pytest.approx(1.02), ("regressed",))
    assert small_slowness(untouched(0.01, 1.03)) == Slowness(pytest.approx(1.02), ("regressed", "undecided"))


def test_what_was_put_in_is_told_in_whole_rounds() -> None:
    """Claim: 1.5 % of ten rounds is one round more, ten percent."""
    assert Slowness(1.015, ()).describe(untouched(0.01, None)) == "11 rounds for 10 (+10 %)"
    assert Slowness(1.015, ()).describe(None) == "+1.5 % asked for"


# --- the report -------------------------------------------------------------------------------------


def drill_of(*states: State, problem: str = "") -> Drill:
    """A drill with alarms of these states."""
    alarms = tuple(Alarm("wrong", "flipped a bit", "it is wrong", "it was", state, 1.5) for state in states)
    return Drill(VERSION, "0", "Test CPU", "cpu-test", (), alarms, 61.0, problem)


@pytest.mark.parametrize(
    ("states", "passed"),
    [
        (("rang",), True),
        (("rang", "left out"), True),
        (("rang", "silent"), False),
        (("rang", "disturbed"), False),
        (("left out",), False),
        ((), False),
    ],
)
def test_one_silent_alarm_fails_the_drill(states: tuple[State, ...], passed: bool) -> None:
    """Claim: and so does a drill in which nothing rang."""
    assert drill_of(*states).passed == passed
    assert not drill_of(*states, problem="it ended").passed


def test_the_report_says_what_was_done_what_had_to_happen_and_what_did() -> None:
    """Claim: three lines an alarm, and an end that says what it means."""
    drill = drill_of("silent")
    assert render_alarm(drill.alarms[0]) == (
        "silent    wrong: flipped a bit (2 s)\n          must:  it is wrong\n          found: it was\n"
    )
    assert render_ending(drill).splitlines() == [
        "1 alarm on Test CPU (cpu-test): 1 silent; 1 min 01 s",
        "an alarm stayed silent or blamed somebody else: the guard's word cannot be relied on here",
    ]


def test_a_reason_that_names_its_case_names_it_once() -> None:
    """Claim: the answer does not say twice which case it tells of."""
    died = record("a", Verdict.CRASHED, True, f"{case('a')}: killed by SIGKILL")
    answer = expect(guard_run(died), failing(case("a"), "crashed", words="SIGKILL"), tell=(case("a"),))
    assert answer.found == f"{case('a')}: crashed and fails, killed by SIGKILL"
