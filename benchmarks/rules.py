"""Why the processes decide as they do: other ways of hearing them, on the same samples and on code that is no slower.

    scripts/bench rules                        on the samples of tests/data/h200
    scripts/bench rules --data FOLDER          on any folder of files of that format

Each process has said slower, faster or neither from its own samples; the rules differ in what several of them mean
together. Caught: of real slowdowns, in every group of five processes, by what the *other* processes say. Blamed: of
simulated groups whose code is equally fast but costs each process something else, normally round zero, the share that
the rule calls slower, where it is worst. ``docs/verdicts_rule.md`` says what follows.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import msgspec
import numpy as np
from tabulate import tabulate
from verdict.contrasts import Contrast, find_contrasts
from verdict.rows import FileError, read_folder
from verdict.truth import BANDS, truth_of

from pytest_kernelperf.model import Comparison
from pytest_kernelperf.stats.agreement import Finding, find, majority, p_over_processes
from pytest_kernelperf.stats.comparison import compare_pairs
from pytest_kernelperf.stats.paired import Outcome, ProcessResult, compare_process
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.schedule import USUAL_PROCESSES, Schedule, plan
from pytest_kernelperf.stats.sequence import next_step

DATA = Path(__file__).parents[1] / "tests" / "data" / "h200"
NOTHING_TO_COUNT = 2
SPREADS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Standard deviations of the simulated effects between processes, as multiples of the tolerance."""

SHARP = 0.0003
"""How far beyond the tolerance a simulated process must lie to show it, as a log ratio: as real ones in graph mode."""

SEED = 1


@dataclass(frozen=True)
class Said:
    """What each process of a group said, in the order in which they are asked; margins are log ratios."""

    slower: tuple[bool, ...]
    faster: tuple[bool, ...]
    not_slower: tuple[bool, ...]
    above: tuple[float, ...]
    below: tuple[float, ...]


Rule = Callable[[Said], bool]


def at_least(needed: int, unopposed: bool = False) -> Rule:
    """So many processes say slower; unopposed: and none says faster."""
    return lambda said: sum(said.slower) >= needed and not (unopposed and any(said.faster))


def planned(policy: Policy, schedule: Schedule) -> Rule:
    """The guard's own functions, look by look."""
    one = compare_pairs({0: ([1.0], [1.0])}, policy)

    def called(said: Said) -> bool:
        look = schedule.first
        while True:
            found = _compared(one, said, look.processes, look.agreement_alpha)
            step = next_step(found, look, schedule)
            if step.look is None:
                return find(found) is Finding.SLOWER
            look = step.look

    return called


def rules_of(policy: Policy, group: int) -> dict[str, Rule]:
    """All rules by name; kernelperf's is the last."""
    agreement = msgspec.structs.replace(policy, agreement=0.01)

    def looks_of(rule: Policy) -> Schedule:
        return plan(rule, min(group, USUAL_PROCESSES), most_processes=group, looks_at_blocks=1)

    return {
        "any process": at_least(1),
        "2 processes": at_least(2),
        "most processes": at_least(majority(group)),
        "most, none faster": at_least(majority(group), unopposed=True),
        "4 in 5 processes": at_least(math.ceil(0.8 * group)),
        "all processes": at_least(group),
        "kernelperf with an error over processes of 1 %": planned(agreement, looks_of(agreement)),
        "kernelperf": planned(policy, looks_of(policy)),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Read the samples, ask every rule, print the table."""
    options = parse(argv)
    policy = Policy(tolerance=options.tolerance)
    try:
        slowed = [contrast for contrast in find_contrasts(read_folder(options.data)) if contrast.kind == "slowed"]
    except FileError as error:
        print(error, file=sys.stderr)
        return NOTHING_TO_COUNT
    rules = rules_of(policy, options.group)
    caught = {name: {band: [0, 0] for band, _ in BANDS} for name in rules}
    for contrast in slowed:
        for band, said in groups_of(contrast, policy, options.group):
            for name, rule in rules.items():
                caught[name][band][0] += rule(said)
                caught[name][band][1] += 1
    blamed = {name: blame_of(rule, policy, options.group, options.simulated) for name, rule in rules.items()}
    record = {"tolerance": options.tolerance, "group": options.group, "caught": caught, "blamed": blamed}
    print(show(record))
    if options.json:
        options.json.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    return 0 if any(count for _, count in caught["kernelperf"].values()) else NOTHING_TO_COUNT


def groups_of(contrast: Contrast, policy: Policy, group: int) -> Iterator[tuple[str, Said]]:
    """Every group of processes with the band of its truth, which the other processes say."""
    results = {
        process: result
        for process, pair in contrast.pairs.items()
        if (result := compare_process(pair.new.tolist(), pair.old.tolist(), policy)) is not None
    }
    for chosen in itertools.combinations(sorted(results), group):
        truth = truth_of(contrast, chosen)
        if truth is not None:
            yield truth.band, heard([results[process] for process in chosen])


def heard(results: Sequence[ProcessResult]) -> Said:
    """What these processes say."""
    return Said(
        tuple(result.outcome is Outcome.SLOWER for result in results),
        tuple(result.outcome is Outcome.FASTER for result in results),
        tuple(result.not_slower for result in results),
        tuple(result.above for result in results),
        tuple(result.below for result in results),
    )


def blame_of(rule: Rule, policy: Policy, group: int, simulated: int) -> dict[str, float]:
    """The share of simulated groups that the rule calls slower, by the spread of the effects in tolerances."""
    random, allowed = np.random.default_rng(SEED), policy.tolerance_log
    found = {}
    for spread in SPREADS:
        effects = random.normal(0, spread * allowed, (simulated, group))
        found[f"{spread:g}"] = sum(rule(_simulated(effect, allowed)) for effect in effects.tolist()) / simulated
    return found


def _simulated(effects: Sequence[float], allowed: float) -> Said:
    return Said(
        tuple(effect > allowed + SHARP for effect in effects),
        tuple(effect < -allowed - SHARP for effect in effects),
        tuple(effect < allowed - SHARP for effect in effects),
        tuple(effect - allowed for effect in effects),
        tuple(-effect - allowed for effect in effects),
    )


def _compared(one: Comparison, said: Said, count: int, agreement_alpha: float) -> Comparison:
    """The comparison that the first ``count`` processes make; ``find`` and ``next_step`` read no more than this."""
    return msgspec.structs.replace(
        one,
        processes=count,
        needed=majority(count),
        slower=sum(said.slower[:count]),
        faster=sum(said.faster[:count]),
        not_slower=sum(said.not_slower[:count]),
        p_slower=p_over_processes(said.above[:count]),
        p_faster=p_over_processes(said.below[:count]),
        p_not_slower=p_over_processes([-margin for margin in said.above[:count]]),
        agreement_alpha=agreement_alpha,
    )


def show(record: dict[str, Any]) -> str:
    """The table."""
    lines = []
    for name, bands in record["caught"].items():
        shares = [f"{100 * hits / count:.1f}%" if count else "-" for hits, count in bands.values()]
        worst = max(record["blamed"][name].items(), key=lambda item: item[1])
        lines.append([name, *shares, f"{100 * worst[1]:.1f}%", f"{worst[0]} x tolerance"])
    counts = [str(count) for _, count in record["caught"]["kernelperf"].values()]
    lines.append(["groups", *counts, "", ""])
    headers = ["slower is", *(f"caught {band} %" for band, _ in BANDS), "blamed at worst", "at a spread of"]
    opening = f"tolerance {record['tolerance']:.3%}, every group of {record['group']} processes"
    return f"{opening}\n\n{tabulate(lines, headers, disable_numparse=True)}"


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="rules", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER", help="samples (default tests/data/h200)")
    parser.add_argument("--tolerance", type=float, default=0.0025, help="as a share (default 0.0025)")
    parser.add_argument("--group", type=int, default=5, help="processes that decide together (default 5)")
    parser.add_argument("--simulated", type=int, default=4000, help="groups per spread (default 4000)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the counts to FILE")
    options = parser.parse_args(argv)
    if not 0 <= options.tolerance < 1 or options.group < 3 or options.simulated < 1:
        parser.error("--tolerance is a share such as 0.01 for 1 %, --group at least 3, --simulated at least 1")
    return options


if __name__ == "__main__":
    sys.exit(main())
