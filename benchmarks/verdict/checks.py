"""Checks: one rule on some processes of one contrast, and what truth says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import Mode, Verdict
from pytest_kernelperf.stats.paired import LONGEST_US, SHORTEST_US
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.sequence import plan as plan_looks
from verdict.contrasts import Array, Case, Contrast, Kind, Suite, Taker
from verdict.groups import choose_groups, choose_sides
from verdict.ours import NAME, follow, schedule_for, schedule_for_stored
from verdict.peers import PEERS, Peer
from verdict.truth import Truth, truth_of

FEWEST_PROCESSES = 3


@dataclass(frozen=True)
class Check:
    """One verdict.

    ``run`` names those that one run of the tool would have given together: the same processes, in the same suite.
    """

    rule: str
    suite: Suite
    kind: Kind
    case: Case
    what: str
    run: tuple[tuple[Taker, ...], ...]
    alarmed: bool
    verdict: str = ""
    truth: Truth | None = None

    @property
    def processes(self) -> tuple[tuple[str, int], ...]:
        """Processes by file: numbers mean nothing beyond it."""
        return tuple((self.suite.file, process) for side in self.run for process, _ in side)


@dataclass(frozen=True)
class Plan:
    """How many processes a group of ours has, how many groups a contrast is tested in, tolerance and seed."""

    tolerance: float = 0.0025
    group: int = 5
    groups: int = 24
    seed: int = 1


def check_ours(contrasts: Iterable[Contrast], plan: Plan) -> Iterator[Check]:
    """Our rule on every contrast of interleaved arms, in groups of processes."""
    for contrast in contrasts:
        if contrast.kind == "alone":
            continue
        for group in our_groups(contrast, plan):
            truth = None if contrast.kind == "identical" else truth_of(contrast, group)
            verdict = our_verdict(contrast, group, plan)
            yield _check(NAME, contrast, (group,), verdict is Verdict.REGRESSED, verdict.value, truth)


def our_verdict(contrast: Contrast, group: Sequence[Taker], plan: Plan) -> Verdict:
    """What the guard says of a group of processes; live samples were taken look by look, and are followed so."""
    policy = Policy(tolerance=plan.tolerance)
    pairs = [contrast.pairs[process] for process in group]
    if contrast.generations:
        schedule = schedule_for(policy, plan.group)
    else:
        stored = schedule_for_stored(policy, len(group), min(len(pair.new) for pair in pairs))
        if stored is None:
            return Verdict.UNDECIDED
        schedule = stored
    return follow(pairs, cast(Mode, contrast.suite.mode), policy, schedule).verdict


def our_groups(contrast: Contrast, plan: Plan) -> Sequence[tuple[Taker, ...]]:
    """The processes that were alive together; else groups of those that there are, at least three.

    Where others must say the truth, one is left out of every group at least.
    """
    if contrast.generations:
        return [group for group in contrast.generations if len(group) >= FEWEST_PROCESSES]
    told = contrast.kind == "identical" or contrast.injected_ratio is not None
    size = min(plan.group, len(contrast.takers) - (0 if told else 1))
    return choose_groups(contrast.takers, size, plan.groups, plan.seed) if size >= FEWEST_PROCESSES else []


def shortest_refused(contrasts: Iterable[Contrast]) -> str:
    """Why the shortest samples of stored files can show nothing, however slow the code; empty where all can."""
    blocks = [
        len(pair.new)
        for contrast in contrasts
        if contrast.kind != "alone" and not contrast.generations
        for pair in contrast.pairs.values()
    ]
    if not blocks:
        return ""
    try:
        plan_looks(Policy(), FEWEST_PROCESSES, most_processes=FEWEST_PROCESSES, blocks=min(blocks), looks_at_blocks=1)
    except UsageError as error:
        return str(error)
    return ""


def check_peers(contrasts: Sequence[Contrast], plan: Plan, peers: Sequence[Peer] = PEERS) -> Iterator[Check]:
    """Every peer on samples of separate processes: the old ones stored, the new ones of today."""
    cases = count_cases(contrasts)
    for contrast in contrasts:
        if contrast.kind == "other code" or (contrast.kind == "identical" and contrast.what != "copy 1"):
            continue  # further copies are the same two processes again
        for peer in peers:
            for old, new in choose_sides(contrast.takers, peer.processes, plan.groups, plan.seed):
                truth = truth_of(contrast, {*old, *new}) if contrast.kind == "slowed" else None
                sides = [usable(contrast.pairs[p].old for p in old), usable(contrast.pairs[p].new for p in new)]
                if sides[0] and sides[1]:
                    alarmed = peer.rule(sides[0], sides[1], cases[contrast.suite])
                    yield _check(peer.name, contrast, (old, new), alarmed, "", truth)


def check_peers_interleaved(
    contrasts: Sequence[Contrast], plan: Plan, peers: Sequence[Peer] = PEERS
) -> Iterator[Check]:
    """Every peer on what our rule gets: both arms of the same processes, interleaved. None of them works this way."""
    cases = count_cases(contrasts)
    for contrast in contrasts:
        if contrast.kind in ("alone", "other code"):
            continue
        for peer in peers:
            for group in choose_groups(contrast.takers, peer.processes, plan.groups, plan.seed):
                truth = truth_of(contrast, group) if contrast.kind == "slowed" else None
                sides = [usable(getattr(contrast.pairs[p], side) for p in group) for side in ("old", "new")]
                if sides[0] and sides[1]:
                    alarmed = peer.rule(sides[0], sides[1], cases[contrast.suite])
                    yield _check(peer.name, contrast, (group,), alarmed, "", truth)


def usable(samples: Iterable[Array]) -> list[Array]:
    """Samples without those that are no time; empty where a process has fewer than two left."""
    kept = [times[(times > SHORTEST_US) & (times < LONGEST_US)] for times in samples]
    return kept if all(len(times) > 1 for times in kept) else []


def count_cases(contrasts: Iterable[Contrast]) -> dict[Suite, int]:
    """How many cases each suite has."""
    cases: dict[Suite, set[Case]] = {}
    for contrast in contrasts:
        cases.setdefault(contrast.suite, set()).add(contrast.case)
    return {suite: len(of) for suite, of in cases.items()}


def _check(
    rule: str,
    contrast: Contrast,
    run: tuple[tuple[Taker, ...], ...],
    alarmed: bool,
    verdict: str,
    truth: Truth | None,
) -> Check:
    kind: Kind = "identical" if contrast.kind == "alone" else contrast.kind
    return Check(rule, contrast.suite, kind, contrast.case, contrast.what, run, alarmed, verdict, truth)
