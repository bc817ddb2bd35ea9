"""What the checks amount to: one record, its JSON, and its tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tabulate import tabulate

from verdict.checks import Check, Plan
from verdict.ours import NAME
from verdict.peers import PEERS
from verdict.score import by, equally_fast, put_in, score
from verdict.truth import BANDS
from verdict.work import Checked

VERSION = 1
SURELY_SEEN = 1.5
"""Slowdowns of so many times the tolerance ought to be caught."""


def summarise(checked: Checked, plan: Plan, about: Mapping[str, Any]) -> dict[str, Any]:
    """The record that becomes JSON. ``rules`` counts what the guard and the peers would have said in real use."""
    peers = by(checked.peers, lambda check: check.rule)
    rules = {NAME: guarded(checked.ours)} | {peer.name: peers.get(peer.name, []) for peer in PEERS if peers}
    interleaved = by(guarded(checked.interleaved), lambda check: check.rule)
    return {
        "version": VERSION,
        **about,
        "tolerance": plan.tolerance,
        "group": plan.group,
        "groups": plan.groups,
        "rules": {name: with_modes(checks) for name, checks in rules.items()},
        "interleaved": {name: score(checks) for name, checks in interleaved.items()},
        "suites": [
            {**dict(zip(("file", "mode", "condition"), of[0].suite, strict=True)), **score(of)}
            for of in by(checked.ours, lambda check: str(check.suite)).values()
        ],
        "other_code": equally_fast(guarded(checked.ours), plan.tolerance),
        "put_in": put_in(guarded(checked.ours), SURELY_SEEN * plan.tolerance),
        "at": {},
    }


def summarise_ours(ours: Sequence[Check], plan: Plan) -> dict[str, Any]:
    """Our rule at a further tolerance."""
    checks = guarded(ours)
    return {
        **with_modes(checks),
        "other_code": equally_fast(checks, plan.tolerance),
        "put_in": put_in(checks, SURELY_SEEN * plan.tolerance),
    }


def guarded(checks: Sequence[Check]) -> list[Check]:
    """Those whose samples were taken as the guard takes them."""
    return [check for check in checks if check.suite.guarded]


def with_modes(checks: Sequence[Check]) -> dict[str, Any]:
    """The counts, and the same by mode."""
    return {**score(checks), "by_mode": {mode: score(of) for mode, of in by(checks, lambda c: c.suite.mode).items()}}


def show(record: Mapping[str, Any]) -> str:
    """All tables, as text."""
    rules: Mapping[str, Any] = record["rules"]
    modes = list(dict.fromkeys(mode for rule in rules.values() for mode in rule["by_mode"]))
    text = [f"{record['source']}; tolerance {record['tolerance']:.3%}, groups of {record['group']} processes"]
    text.append("All modes\n" + rule_table(rules))
    for mode in modes:
        of_mode = {name: rule["by_mode"][mode] for name, rule in rules.items() if mode in rule["by_mode"]}
        text.append(f"{mode}\n" + rule_table(of_mode))
    text.append(NOTES)
    text.append("kernelperf by file, mode and condition; conditions that the guard never makes are counted here alone")
    text.append(suite_table(record["suites"]))
    if record["interleaved"]:
        text.append("The peers on what kernelperf gets: both sides interleaved in the same processes (none works so)")
        text.append(rule_table(record["interleaved"]))
    text += further_lines(record, record["tolerance"])
    for tolerance, found in record["at"].items():
        text.append(f"kernelperf at a tolerance of {float(tolerance):.3%}\n" + rule_table({NAME: found}))
        text += further_lines(found, float(tolerance))
    return "\n\n".join(text)


NOTES = (
    "false alarms: of identical code, alarms of checks, and their rate with its 95 % interval, clustered by process; "
    "run of N: share of runs of N unchanged cases with an alarm. caught: of slowdowns by true size. kernelperf gets "
    "interleaved pairs of several\nprocesses, the peers get stored samples of one process against new ones of another "
    "(asv two, benchmatrix five a side), as they are used. Truth comes from processes that are not under test, or is "
    "what was put in."
)


def rule_table(rules: Mapping[str, Any]) -> str:
    """One line a rule."""
    lines = []
    for name, rule in rules.items():
        cases, bounds = rule["false_alarms"]["cases"], rule["bounds"]["cases"]
        runs = [share(rule["runs_of"][size]) for size in rule["runs_of"]]
        caught = [share(rule["caught"][band], counted=True) for band, _ in BANDS]
        interval = f"{bounds[0]:.1%} to {bounds[1]:.1%}" if cases[1] else ""
        lines.append([name, f"{cases[0]} of {cases[1]}", share(cases), interval, *runs, *caught])
    headers = ["rule", "false alarms", "rate", "95 %", "run of 12", "run of 24"]
    headers += [f"caught {band} %" for band, _ in BANDS]
    return tabulate(lines, headers=headers, disable_numparse=True)


def suite_table(suites: Iterable[Mapping[str, Any]]) -> str:
    """One line a suite: how often each verdict was given to identical and to slowed code, and what was caught."""
    lines = []
    for suite in sorted(suites, key=lambda suite: (suite["file"], suite["mode"], suite["condition"])):
        caught = [share(suite["caught"][band]) for band, _ in BANDS]
        cases = suite["false_alarms"]["cases"]
        said = [
            ", ".join(f"{of[name]} {name}" for name in sorted(of))
            for of in (suite["verdicts"].get(kind, {}) for kind in ("identical", "slowed"))
        ]
        lines.append([suite["file"], suite["mode"], suite["condition"], f"{cases[0]} of {cases[1]}", *said, *caught])
    headers = ["file", "mode", "condition", "false alarms", "identical code was called", "slowed code was called"]
    return tabulate(lines, headers=[*headers, *(f"{band} %" for band, _ in BANDS)], disable_numparse=True)


def further_lines(found: Mapping[str, Any], tolerance: float) -> list[str]:
    """What live samples alone can say: of slowdowns that were put in, and of other code."""
    caught, of = found["put_in"]
    lines = [f"Put in on purpose, {SURELY_SEEN * tolerance:.3%} or more: caught {caught} of {of}."] if of else []
    return lines + ([other_code_lines(found["other_code"])] if found["other_code"]["pairs"] else [])


def other_code_lines(found: Mapping[str, Any]) -> str:
    """What was said of code that is different but equally fast."""
    blamed = f"{found['blamed']} of {found['checks']} checks, {found['pairs_blamed']} of {found['pairs']} pairs"
    return (
        f"Different code whose time, by other processes, is for certain within the tolerance: blamed in {blamed} of "
        f"build and case. Of {found['not_sure']} more pairs the time is not that certain, {found['other']} are slower "
        "or faster."
    )


def share(counts: Sequence[int], counted: bool = False) -> str:
    """A share of a count, or nothing where there is none to be had."""
    hits, of = counts
    if not of:
        return "-"
    return f"{hits / of:.1%}" + (f" of {of}" if counted else "")
