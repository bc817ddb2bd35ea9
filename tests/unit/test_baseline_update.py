"""Acceptance: which cases are stored, which stay as they were, and what is said of each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_kernelperf.baseline.entry import Baseline
from pytest_kernelperf.baseline.format import decode, encode
from pytest_kernelperf.baseline.update import Acceptance, rounded_us, update
from pytest_kernelperf.model import CaseId, Decision, Floor, LaunchStep, Measurement, Record, Sample, Verdict
from pytest_kernelperf.report.run_file import read_run

GOLDEN = Path(__file__).parent.parent / "golden"
KEY = ("fused_column_tiles", 512)


@pytest.fixture
def old() -> Baseline:
    """A baseline with one case, 55.1044 us in graph mode."""
    return decode((GOLDEN / "baseline.json").read_bytes(), "golden")


@pytest.fixture
def acceptance() -> Acceptance:
    """An acceptance on a later day."""
    run = read_run(GOLDEN / "run.json")
    module = "kernels/moe_add_inject/test_moe_add_inject.py"
    return Acceptance("moe_add_inject", module, run.device, "new tiles", "2026-03-02", "0.2.0")


def measured(time_us: float, process: int = 0, **more: Any) -> Measurement:
    """Samples of the head beside the baseline's."""
    samples = (
        Sample("baseline", 0, 0, 1.0, 0.1),
        Sample("head", 0, 1, time_us, 0.1),
        Sample("head", 1, 0, time_us, 0.1),
    )
    return Measurement(**{"process": process, "mode": "graph", "rounds": 200, "seed": 1, "samples": samples, **more})


@pytest.fixture
def record() -> Callable[..., Record]:
    """Make a record of the lesson's kernel, by default as the golden baseline has it."""
    golden = read_run(GOLDEN / "run.json").records[0]

    def make(
        verdict: Verdict, *, fails: bool = False, variant: str = KEY[0], tokens: int = KEY[1], **more: Any
    ) -> Record:
        fields = {"measurements": tuple(measured(50.0, process) for process in range(5)), **more}
        case, decision = CaseId("moe_add_inject", variant, tokens), Decision(verdict, fails, "code", "because")
        return msgspec.structs.replace(golden, case=case, decision=decision, **fields)

    return make


def test_a_new_case_is_stored_with_what_runs_it_again(acceptance: Acceptance, record: Callable[..., Record]) -> None:
    """Claim: plan, buffers, digests and samples go into the baseline; floors do not."""
    result = update(None, [record(Verdict.NEW)], acceptance)
    assert result.baseline is not None
    assert (result.baseline.device_key, result.baseline.device.compute_units) == ("gfx1151-40cu", 40)
    case = result.baseline.cases[0]
    assert (case.time_us, len(case.processes), case.days) == (50.0, 5, 1)
    assert case.processes[0].times_us == (50.0, 50.0)
    assert (case.reason, case.accepted_at, case.tool_version) == ("new tiles", "2026-03-02", "0.2.0")
    assert list(case.instruction_digests) == ["fused_column_tiles"]
    assert [step.floor for step in case.plan.steps if isinstance(step, LaunchStep)] == [None]
    assert result.accepted == ("moe_add_inject fused_column_tiles at 512 tokens: new -> 50.00 us graph",)
    assert result.refused == ()
    assert decode(encode(result.baseline), "again") == result.baseline


def test_a_floor_does_not_change_the_stored_plans_digest(old: Baseline, record: Callable[..., Record]) -> None:
    """Claim: the stored plan has the digest of the plan that was accepted."""
    plan = record(Verdict.NEW).plan
    assert plan is not None
    assert Floor(10, "2,560 columns are ten tiles") in [launch.floor for launch in plan.launches]
    assert old.cases[0].plan.digest == plan.digest


@pytest.mark.parametrize("verdict", [Verdict.IDENTICAL, Verdict.UNCHANGED])
def test_an_unchanged_case_stays_to_the_byte(
    old: Baseline, acceptance: Acceptance, record: Callable[..., Record], verdict: Verdict
) -> None:
    """Claim: an entry is not replaced while its case is identical or within the tolerance."""
    kept = update(old, [record(verdict)], acceptance)
    assert (kept.baseline, kept.accepted, kept.refused) == (None, (), ())
    result = update(old, [record(verdict), record(Verdict.NEW, tokens=1)], acceptance)
    assert result.baseline is not None
    block = encode(old).split(b"\n    {\n")[1].split(b"\n    }")[0]
    assert block in encode(result.baseline)
    assert [case.tokens for case in result.baseline.cases] == [1, 512]


@pytest.mark.parametrize("verdict", [Verdict.IMPROVED, Verdict.ACCEPTED])
def test_a_changed_case_is_replaced_and_said(
    old: Baseline, acceptance: Acceptance, record: Callable[..., Record], verdict: Verdict
) -> None:
    """Claim: what is stored is said as old -> new with its change."""
    result = update(old, [record(verdict)], acceptance)
    assert result.baseline is not None
    assert result.baseline.cases[0].time_us == 50.0
    assert result.accepted == (
        "moe_add_inject fused_column_tiles at 512 tokens: 55.10 us graph -> 50.00 us graph (-9.3 %)",
    )


def test_modes_are_not_compared(old: Baseline, acceptance: Acceptance, record: Callable[..., Record]) -> None:
    """Claim: no change in percent is made of two modes."""
    queued = (measured(60.0, mode="queued"), measured(1.0, process=1))
    result = update(old, [record(Verdict.ACCEPTED, mode="queued", measurements=queued)], acceptance)
    assert result.baseline is not None
    assert result.baseline.cases[0].mode == "queued"
    assert len(result.baseline.cases[0].processes) == 1
    assert result.accepted[0].endswith(": 55.10 us graph -> 60.00 us queued (modes are not compared)")


def test_cache_states_are_not_compared_either(
    old: Baseline, acceptance: Acceptance, record: Callable[..., Record]
) -> None:
    """Claim: no change in percent is made of warm and cold; the line names the caches, the entry has them."""
    cold = update(old, [record(Verdict.ACCEPTED, cache="cold")], acceptance)
    assert cold.baseline is not None
    assert cold.baseline.cases[0].cache_state == "cold"
    assert cold.accepted[0].endswith(": 55.10 us graph -> 50.00 us graph cold (cache states are not compared)")
    again = update(cold.baseline, [record(Verdict.ACCEPTED, cache="cold")], acceptance)
    assert again.accepted[0].endswith(": 50.00 us graph cold -> 50.00 us graph cold (0 %)")


def test_stated_operations_are_stored(acceptance: Acceptance, record: Callable[..., Record]) -> None:
    """Claim: an entry has the record's operations, and none where the variant states none."""
    for operations, stored in ((2048, 2048), (None, msgspec.UNSET)):
        baseline = update(None, [record(Verdict.NEW, operations=operations)], acceptance).baseline
        assert baseline is not None
        assert baseline.cases[0].operations == stored


@pytest.mark.parametrize(
    "verdict",
    [verdict for verdict in Verdict if verdict.value not in ("identical", "unchanged", "improved", "new", "accepted")],
)
def test_what_is_not_clean_is_refused(
    old: Baseline, acceptance: Acceptance, record: Callable[..., Record], verdict: Verdict
) -> None:
    """Claim: a wrong, starved, contended, regressed or undecided case keeps its old entry, and that is said."""
    result = update(old, [record(verdict, fails=True)], acceptance)
    assert result.baseline is None
    assert result.accepted == ()
    assert result.refused == (
        f"moe_add_inject fused_column_tiles at 512 tokens: {verdict.value}, because; its old baseline stays",
    )
    assert update(None, [record(verdict, fails=True)], acceptance).refused[0].endswith("; not stored")


@pytest.mark.parametrize("spoiled", [{"contended_by": "firefox"}, {"invalid": "firefox"}])
def test_only_clean_measurements_are_stored(
    acceptance: Acceptance, record: Callable[..., Record], spoiled: dict[str, str]
) -> None:
    """Claim: contended and invalid samples never become a baseline, whatever the verdict says."""
    mixed = (measured(90.0, 0, **spoiled), measured(50.0, 0), measured(51.0, 1), measured(52.0, 1))
    result = update(None, [record(Verdict.NEW, measurements=mixed)], acceptance)
    assert result.baseline is not None
    assert [process.times_us for process in result.baseline.cases[0].processes] == [
        (50.0, 50.0),
        (51.0, 51.0, 52.0, 52.0),
    ]
    result = update(None, [record(Verdict.NEW, measurements=mixed[:1])], acceptance)
    assert result.baseline is None
    assert "no clean measurement in graph mode (firefox); not stored" in result.refused[0]


def test_mutations_are_never_stored(acceptance: Acceptance, record: Callable[..., Record]) -> None:
    """Claim: what is broken on purpose has no baseline."""
    result = update(None, [record(Verdict.CAUGHT, mutation_of="separate")], acceptance)
    assert (result.baseline, result.accepted, result.refused) == (None, (), ())


def test_cases_that_were_not_run_stay(old: Baseline, acceptance: Acceptance, record: Callable[..., Record]) -> None:
    """Claim: -k leaves the other cases as they are."""
    result = update(old, [record(Verdict.NEW, variant="separate", tokens=7)], acceptance)
    assert result.baseline is not None
    assert result.baseline.case(*KEY) == old.case(*KEY)


def test_a_test_that_moved_is_followed(old: Baseline, acceptance: Acceptance, record: Callable[..., Record]) -> None:
    """Claim: the test module is kept up to date even where no case changed."""
    moved = msgspec.structs.replace(acceptance, test_module="kernels/test_moved.py")
    result = update(old, [record(Verdict.IDENTICAL)], moved)
    assert result.baseline == msgspec.structs.replace(old, test_module="kernels/test_moved.py")


@pytest.mark.parametrize(("time_us", "rounded"), [(54.830049, 54.83), (0.00123456, 0.00123), (1e-9, 1e-9)])
def test_samples_are_rounded_but_never_to_zero(time_us: float, rounded: float) -> None:
    """Claim: four decimals of a microsecond are kept, three digits of less."""
    assert rounded_us(time_us) == rounded
