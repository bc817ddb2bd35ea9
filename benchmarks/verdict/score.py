"""Checks counted: false alarms by case and by run, what was caught by true slowdown. The JSON's shape is here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from verdict.bounds import Outcome, Rate, rate_of
from verdict.checks import Check
from verdict.truth import BANDS, Truth

RUNS = (12, 24)


def score(checks: Sequence[Check]) -> dict[str, Any]:
    """One rule's counts: ``false_alarms`` (``cases``, ``runs``), ``caught`` by band; and what stands behind them.

    ``runs`` are runs of 24 cases where there are any, else of 12; ``runs_of`` has both. ``sure`` counts those whose
    truth is sure alone. ``bounds`` are two-sided 95 % intervals, clustered by process.
    """
    identical = [check for check in checks if check.kind == "identical"]
    slowed = [check for check in checks if check.kind == "slowed" and check.truth is not None]
    runs = {size: run_outcomes(identical, size) for size in RUNS}
    cases = rate_of(outcomes(identical))
    rates = {size: rate_of(of) for size, of in runs.items()}
    largest = next((rates[size] for size in reversed(RUNS) if rates[size].checks), rates[RUNS[0]])
    by_band = {band: [check for check in slowed if _band(check) == band] for band, _ in BANDS}
    caught = {band: rate_of(outcomes(of)) for band, of in by_band.items()}
    sure = {band: [check for check in of if check.truth and check.truth.sure] for band, of in by_band.items()}
    return {
        "false_alarms": {"cases": _counts(cases), "runs": _counts(largest)},
        "caught": {band: _counts(rate) for band, rate in caught.items()},
        "runs_of": {str(size): _counts(rate) for size, rate in rates.items()},
        "sure": {band: _counts(rate_of(outcomes(of))) for band, of in sure.items()},
        "bounds": {
            "cases": _bounds(cases),
            "runs_of": {str(size): _bounds(rate) for size, rate in rates.items()},
            "caught": {band: _bounds(rate) for band, rate in caught.items()},
        },
        "verdicts": count_verdicts(checks),
    }


def by(checks: Iterable[Check], key: Callable[[Check], str]) -> dict[str, list[Check]]:
    """Checks by what ``key`` says of them, in order of first appearance."""
    found: dict[str, list[Check]] = defaultdict(list)
    for check in checks:
        found[key(check)].append(check)
    return dict(found)


def outcomes(checks: Iterable[Check]) -> list[Outcome]:
    """What the bounds need of checks."""
    return [Outcome(check.processes, check.alarmed) for check in checks]


def run_outcomes(identical: Sequence[Check], size: int) -> list[Outcome]:
    """Runs of ``size`` cases: checks of the same processes in one suite, cut into pieces of that size.

    A suite with fewer cases gives a run of 24 from two of its copies. What is left over is in no run.
    """
    runs: dict[Any, list[Check]] = defaultdict(list)
    for check in identical:
        runs[(check.suite, check.run)].append(check)
    found = []
    for members in runs.values():
        ordered = sorted(members, key=lambda check: (check.what, check.case))
        for start in range(0, len(ordered) - size + 1, size):
            piece = ordered[start : start + size]
            found.append(Outcome(piece[0].processes, any(check.alarmed for check in piece)))
    return found


def count_verdicts(checks: Iterable[Check]) -> dict[str, dict[str, int]]:
    """How often each verdict was given, by kind of contrast; nothing for rules that only alarm."""
    found: dict[str, dict[str, int]] = {}
    for check in checks:
        if check.verdict:
            of_kind = found.setdefault(check.kind, {})
            of_kind[check.verdict] = of_kind.get(check.verdict, 0) + 1
    return found


def equally_fast(checks: Iterable[Check], tolerance: float) -> dict[str, int]:
    """How often different but equally fast code was blamed.

    Equally fast: the 95 % interval over the processes that are not under test lies within the tolerance, either way.
    A pair is a build of a case; it counts once, however many groups of processes it was checked in.
    """
    pairs: dict[Any, list[tuple[str, bool]]] = defaultdict(list)
    for check in checks:
        if check.kind == "other code" and check.truth is not None:
            pairs[(check.suite, check.case, check.what)].append((_beside(check.truth, tolerance), check.alarmed))
    known = [[alarmed for beside, alarmed in of if beside == "within"] for of in pairs.values()]
    equal = [alarms for alarms in known if alarms]
    unsure = sum(all(beside == "unsure" for beside, _ in of) for of in pairs.values())
    return {
        "blamed": sum(sum(alarms) for alarms in equal),
        "checks": sum(len(alarms) for alarms in equal),
        "pairs_blamed": sum(any(alarms) for alarms in equal),
        "pairs": len(equal),
        "not_sure": unsure,
        "other": len(pairs) - len(equal) - unsure,
    }


def put_in(checks: Iterable[Check], least: float) -> list[int]:
    """Of slowdowns that were put in on purpose, ``least`` (a share) or more: caught, and how many there were."""
    found = [
        check.alarmed
        for check in checks
        if check.kind == "slowed" and check.truth is not None and check.truth.known and check.truth.ratio - 1 >= least
    ]
    return [sum(found), len(found)]


def _beside(truth: Truth, tolerance: float) -> str:
    """Where the whole interval of a change lies: within the tolerance, beyond it, or neither for certain."""
    if 1 / (1 + tolerance) < truth.low and truth.high < 1 + tolerance:
        return "within"
    return "beyond" if truth.low > 1 + tolerance or truth.high < 1 / (1 + tolerance) else "unsure"


def _band(check: Check) -> str:
    return check.truth.band if check.truth is not None else ""


def _counts(rate: Rate) -> list[int]:
    return [rate.hits, rate.checks]


def _bounds(rate: Rate) -> list[float]:
    return [round(rate.low, 6), round(rate.high, 6)]
