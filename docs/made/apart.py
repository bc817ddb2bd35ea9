"""How far apart identical code looks on an H200, by what is compared: a table from the samples that the tests keep.

PYTHONPATH=docs python -m made.apart
"""

from __future__ import annotations

import itertools
import statistics
from collections import defaultdict
from collections.abc import Iterator

from made.decision import DATA, rows_of

Case = tuple[str, int]


def table() -> str:
    """Return the table as Markdown: one standard deviation, the least and the greatest of the cases."""
    lines = ["| identical code, compared | mode | apart, by case |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {what} | `{mode}` | {_spread(found)} |" for what, mode, found in comparisons())])


def comparisons() -> Iterator[tuple[str, str, list[float]]]:
    """Yield what is compared, in which mode, and each case's standard deviation as a share."""
    for mode, file in (("loop", "aa_loop"), ("queued", "aa_queued_graph"), ("graph", "aa_queued_graph")):
        yield "two processes, each its median", mode, between_processes(file, mode)
    for buffers, words in (("own", "each side its own buffers"), ("shared", "**both on the same buffers**")):
        for mode in ("queued", "graph"):
            yield f"in turns in one process, {words}", mode, in_turns(mode, buffers)


def between_processes(file: str, mode: str) -> list[float]:
    """Return each case's spread of its processes' medians."""
    medians: dict[Case, list[float]] = defaultdict(list)
    for row in rows_of(DATA / "h200" / f"{file}.jsonl.gz"):
        if row.get("mode", "loop") == mode:
            medians[row["variant"], row["tokens"]].append(statistics.median(row["us"]))
    return [statistics.stdev(values) / statistics.mean(values) for values in medians.values()]


def in_turns(mode: str, buffers: str) -> list[float]:
    """Return each case's spread of the median ratios between copies of one code object, over all its processes."""
    times: dict[Case, dict[int, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows_of(DATA / "h200" / "twins.jsonl.gz"):
        if (row["mode"], row["buffers"]) == (mode, buffers):
            times[row["variant"], row["tokens"]][row["process"]].append(row["us"])
    return [
        statistics.stdev(
            statistics.median(a / b for a, b in zip(one, other, strict=True))
            for copies in processes.values()
            for one, other in itertools.combinations(copies, 2)
        )
        for processes in times.values()
    ]


def _spread(found: list[float]) -> str:
    *usual, second, most = sorted(found)
    # A kernel of two speeds is a case by itself.
    alone = most > 2 * second
    text = f"{usual[0]:.2%} to {second if alone else most:.2%}".replace("%", " %")
    return f"{text}, and one case {most:.1%}".replace("%", " %").replace("  %", " %") if alone else text


if __name__ == "__main__":
    print(table())
