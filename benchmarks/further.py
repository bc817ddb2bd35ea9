"""What further looks catch and cost, beside the same plan without them, on the same draws.

    scripts/bench further                                 of the one case on the H200 that blocks scatter most in
    scripts/bench further --scatter 0.0043 0.01           normal samples of this scatter as well
    scripts/bench further --data FOLDER... --case KERNEL VARIANT TOKENS

The blocks of eight processes are drawn from those that such took, neighbours together, so that scatter, outliers and
what hangs together in time are real; what was put in is taken out of them, and another slowdown put in. Once with each
process's own middle, which holds the noise of its few blocks and what differs between processes, and once without.
Counts, for each slowdown: called slower, open, and how many blocks a process takes. ``docs/verdicts.md`` says what came
out.

Exit status: 0; 2 where there is no such case.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import msgspec
import numpy as np
from tabulate import tabulate
from verdict.contrasts import Contrast, find_contrasts
from verdict.rows import FileError, read_folders

from pytest_kernelperf.model import Frozen
from pytest_kernelperf.stats.agreement import Finding, find
from pytest_kernelperf.stats.comparison import Pairs
from pytest_kernelperf.stats.paired import usable_pairs
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.schedule import Schedule, plan
from pytest_kernelperf.stats.sequence import follow

DATA = Path(__file__).parents[1] / "tests" / "data" / "h200_live"
CASE = ("swiglu_bf16", "fused", "1")
NOTHING_TO_COUNT = 2
RUN = 5
"""So many neighbouring blocks are drawn together."""

FEWEST_BLOCKS = 29
"""What a process's own blocks must be to be drawn from."""

SEED = 1

Array = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[np.random.Generator, int, int], Array]
"""Log ratios without any slowdown, of so many processes and blocks, shape (processes, blocks)."""


class Outcome(Frozen, frozen=True):
    """What a plan makes of groups of processes: called slower, left open, of how many; blocks a process on average."""

    slower: int
    open: int
    groups: int
    blocks: float


def main(argv: Sequence[str] | None = None) -> int:
    """Draw, follow both plans, print the table."""
    options = parse(argv)
    try:
        sources = dict(sources_of(options))
    except FileError as error:
        print(f"further: {error}", file=sys.stderr)
        return NOTHING_TO_COUNT
    plans = plans_of(Policy(tolerance=options.tolerance))
    record = {
        name: {
            f"{slowdown:g}": count(draw, slowdown, plans, options.draws, options.seed) for slowdown in options.slowdowns
        }
        for name, draw in sources.items()
    }
    print(show(record, options.tolerance))
    if options.json:
        options.json.write_text(json.dumps(msgspec.to_builtins(record), indent=1, sort_keys=True) + "\n")
    return 0


def plans_of(policy: Policy) -> dict[str, tuple[Policy, Schedule]]:
    """The guard's plan, and the same without further looks and without anything set aside for them."""
    without = msgspec.structs.replace(policy, further=0.0)
    return {"usual looks": (without, plan(without)), "further looks": (policy, plan(policy))}


def sources_of(options: argparse.Namespace) -> Iterator[tuple[str, Draw]]:
    """What is drawn from: the case's own samples, and normal ones of each scatter.

    Raises:
        FileError: the folders hold no such case whose slowdown is known.
    """
    kernel, variant, tokens = options.case
    wanted = (kernel, variant, int(tokens))
    contrasts = [
        contrast
        for contrast in find_contrasts(read_folders(options.data))
        if contrast.kind == "slowed" and contrast.injected_ratio is not None and contrast.case[:3] == wanted
    ]
    processes = [ratios for contrast in contrasts for ratios in ratios_of(contrast)]
    if not processes:
        raise FileError(
            f"no process of {', '.join(map(str, options.data))} took {FEWEST_BLOCKS} blocks of {kernel} {variant} at "
            f"{tokens} with rounds added to them"
        )
    yield f"{kernel} {variant} at {tokens}, own middles", drawn_from(processes)
    yield f"{kernel} {variant} at {tokens}, one middle", drawn_from([own - np.median(own) for own in processes])
    for scatter in options.scatter:
        yield f"normal, {scatter:.2%}", normal(scatter)


def ratios_of(contrast: Contrast) -> Iterator[Array]:
    """Each process's log ratios without what was put in."""
    for pair in contrast.pairs.values():
        arm, against = usable_pairs(pair.new.tolist(), pair.old.tolist())
        if len(arm) >= FEWEST_BLOCKS:
            yield np.log(arm / against) - math.log(contrast.injected_ratio or 1.0)


def drawn_from(processes: Sequence[Array]) -> Draw:
    """Runs of neighbouring blocks of processes that are drawn too."""

    def draw(random: np.random.Generator, count: int, blocks: int) -> Array:
        rows = []
        for which in random.integers(0, len(processes), count):
            own = processes[which]
            starts = random.integers(0, len(own), math.ceil(blocks / RUN))
            places = (starts[:, None] + np.arange(RUN)).ravel()[:blocks]
            rows.append(own[places % len(own)])
        return np.array(rows)

    return draw


def normal(scatter: float) -> Draw:
    """Independent normal log ratios."""
    return lambda random, count, blocks: random.normal(0, scatter, (count, blocks))


def count(
    draw: Draw, slowdown: float, plans: dict[str, tuple[Policy, Schedule]], groups: int, seed: int
) -> dict[str, Outcome]:
    """Follow every plan through the same groups."""
    processes = max(schedule.most.processes for _, schedule in plans.values())
    blocks = max(schedule.most_blocks for _, schedule in plans.values())
    found: dict[str, list[tuple[Finding, int]]] = {name: [] for name in plans}
    random = np.random.default_rng(seed)
    for _ in range(groups):
        times = np.exp(draw(random, processes, blocks) + math.log1p(slowdown))
        pairs: list[Pairs] = [(row.tolist(), [1.0] * blocks) for row in times]
        for name, (policy, schedule) in plans.items():
            comparison = follow(pairs, policy, schedule)
            found[name].append((find(comparison), comparison.blocks))
    return {name: outcome_of(of) for name, of in found.items()}


def outcome_of(found: Sequence[tuple[Finding, int]]) -> Outcome:
    """Counts of findings, and the mean of the blocks that they took."""
    findings = [finding for finding, _ in found]
    blocks = sum(blocks for _, blocks in found) / len(found)
    return Outcome(findings.count(Finding.SLOWER), findings.count(Finding.OPEN), len(found), round(blocks, 1))


def show(record: dict[str, dict[str, dict[str, Outcome]]], tolerance: float) -> str:
    """The table."""
    lines = []
    for source, of in record.items():
        for slowdown, outcomes in of.items():
            line = [source, f"{float(slowdown):.2%}"]
            for one in outcomes.values():
                line += [f"{one.slower} of {one.groups}", str(one.open), f"{one.blocks:g}"]
            lines.append(line)
    names = next(iter(next(iter(record.values())).values()))
    headers = [
        "samples",
        "slower by",
        *(f"{name}: {what}" for name in names for what in ("called so", "open", "blocks")),
    ]
    return f"tolerance {tolerance:.3%}\n\n{tabulate(lines, headers, disable_numparse=True)}"


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="further", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, nargs="+", default=[DATA], metavar="FOLDER", help="default h200_live")
    parser.add_argument("--case", nargs=3, default=CASE, metavar=("KERNEL", "VARIANT", "TOKENS"))
    parser.add_argument("--scatter", type=float, nargs="*", default=[0.0043], help="as shares (default 0.0043)")
    parser.add_argument("--slowdowns", type=float, nargs="+", default=[0.0, 0.005, 0.006, 0.0075, 0.01])
    parser.add_argument("--tolerance", type=float, default=0.005, help="as a share (default 0.005)")
    parser.add_argument("--draws", type=int, default=400, help="groups of processes for each line (default 400)")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the counts to FILE")
    options = parser.parse_args(argv)
    if not 0 <= options.tolerance < 1 or options.draws < 1 or not options.case[2].isdecimal():
        parser.error("--tolerance is a share such as 0.01 for 1 %, --draws at least 1, TOKENS a number")
    if not all(0 < scatter < 1 for scatter in options.scatter) or not all(-0.5 < s < 1 for s in options.slowdowns):
        parser.error("--scatter and --slowdowns are shares such as 0.0043")
    return options


if __name__ == "__main__":
    sys.exit(main())
