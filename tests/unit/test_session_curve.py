"""Which sizes are pooled into a variant's curve, and what its verdict is."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_kernelperf.model import CaseId, Comparison, Decision, Record, Verdict
from pytest_kernelperf.report.curve import curve_note, curve_text
from pytest_kernelperf.session.curve import judge_curve

EIGHT = (1, 2, 4, 8, 16, 32, 64, 128)


def sized(
    tokens: int, percent: float, verdict: Verdict = Verdict.UNCHANGED, *, fails: bool = False, **more: Any
) -> Record:
    """A case of five processes, each a little off the change."""
    ratios = tuple(1 + percent / 100 + 0.0001 * (process - 2) for process in range(5))
    fields: dict[str, Any] = {
        "mode": "graph", "low_ratio": None, "high_ratio": None, "confidence": 0.95, "processes": 5, "slower": 0,
        "faster": 0, "blocks": 20, "alpha": 1e-5, "tolerance_ratio": 1.01, "floor_us": 0.0, "time_us": 10.0,
        "against_us": 10.0, "process_numbers": tuple(range(5)), **more,
    }  # fmt: skip
    comparison = Comparison(
        "head", fields.pop("against", "baseline"), change_ratio=ratios[2], per_process_ratio=ratios, **fields
    )
    return Record(CaseId("k", "v", tokens), "t.py", Decision(verdict, fails, "", ""), comparisons=(comparison,))


def judge(records: list[Record], tolerance: float | None = None, reason: str | None = None) -> Any:
    """Judge variant v of kernel k."""
    return judge_curve("k", "v", "t.py", records, tolerance, reason)


def test_small_slowdowns_in_one_direction_are_a_regression_of_the_curve() -> None:
    """0.6 % at each of eight sizes, beyond half of the cases' 1 %."""
    record = judge([sized(tokens, 0.6) for tokens in reversed(EIGHT)])
    assert (record.decision.verdict, record.decision.fails, record.decision.code) == (
        Verdict.REGRESSED, True, "curve_slower"
    )  # fmt: skip
    assert record.tokens == EIGHT
    assert record.change_ratio == pytest.approx(1.006)
    assert record.per_size_ratio == pytest.approx([1.006] * 8)
    assert record.decision.reason.startswith("0.6 % slower than the baseline on average over 8 sizes in graph mode")


@pytest.mark.parametrize(
    ("percents", "verdict"),
    [
        ([0.4] * 8, Verdict.UNCHANGED),
        ([0.0] * 8, Verdict.UNCHANGED),
        ([-0.6] * 8, Verdict.IMPROVED),
        ([6.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], Verdict.UNDECIDED),
    ],
)
def test_what_is_no_regression_passes(percents: list[float], verdict: Verdict) -> None:
    """Within the tolerance, faster, or one size's doing: said, not failed."""
    record = judge([sized(tokens, percent) for tokens, percent in zip(EIGHT, percents, strict=True)])
    assert (record.decision.fails, record.decision.verdict) == (False, verdict)


@pytest.mark.parametrize(
    "left_out",
    [
        sized(64, 0.6, Verdict.REGRESSED, fails=True),
        sized(64, 0.6, mode="queued"),
        sized(64, 0.6, against="replaced"),
        Record(CaseId("k", "v", 64), "t.py", Decision(Verdict.IDENTICAL, False, "", "")),
    ],
)
def test_only_sizes_that_were_timed_and_do_not_fail_count(left_out: Record) -> None:
    """With two others nothing is said; with three the curve is theirs alone, in the mode of most."""
    two = [sized(1, 0.6), sized(2, 0.6)]
    few = judge([*two, left_out])
    assert (few.decision.verdict, few.decision.fails, few.change_ratio) == (Verdict.SKIPPED, False, None)
    assert few.decision.reason == "2 sizes timed beside a baseline, at least 3 are needed to pool them"
    assert judge([*two, sized(4, 0.6), left_out]).tokens == (1, 2, 4)


def test_too_few_common_processes_say_nothing() -> None:
    """Another process at another size is another comparison."""
    apart = [
        sized(tokens, 0.6, process_numbers=tuple(range(place * 5, place * 5 + 5))) for place, tokens in enumerate(EIGHT)
    ]
    assert judge(apart).decision.verdict is Verdict.SKIPPED


def test_a_reason_accepts_and_none_does_not() -> None:
    """As it is with cases."""
    records = [sized(tokens, 0.6) for tokens in EIGHT]
    accepted = judge(records, reason="new router")
    assert (accepted.decision.verdict, accepted.decision.fails) == (Verdict.ACCEPTED, False)
    assert accepted.decision.reason.startswith("accepted: new router (0.6 % slower")
    assert judge(records, reason="").decision.fails
    assert not judge(records, tolerance=0.009).decision.fails


def test_the_texts_neither_paint_nor_break_commands() -> None:
    """A stranger's run file may name anything."""
    record = judge_curve("k", "v\x1b[2J\n'; rm", "t.py", [sized(tokens, 0.6) for tokens in EIGHT], None, None)
    assert "\x1b" not in curve_note(record) + curve_text(record)
    assert curve_note(record).endswith("over 8 sizes: +0.6 % (+0.58 to +0.62 %), regressed")
    assert "-k '[v?[2J '\"'\"'; rm-'" in curve_text(record)
