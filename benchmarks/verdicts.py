"""How often the guard's verdicts are wrong, beside other tools' rules on the same samples.

    scripts/bench verdicts                         on the samples of tests/data/h200
    scripts/bench verdicts --data FOLDER...        on any folders of files of that format
    scripts/bench verdicts --live --seconds 120    on samples taken now, on the GPU at hand or the CPU

Counts, by mode: false alarms on identical code, by case and by run of 12 and of 24 cases, and how many slowdowns of
each true size are caught. ``--live`` takes samples through the guard's own workers: copies of the same code, copies
with rounds added to their batches (a known slowdown), and other builds of the same kernels; ``--keep`` keeps them, for
``--data``. ``docs/verdicts.md`` says what is counted and how, and what came out.

Exit status: 0; 1 where kernelperf called identical code slower; 2 where there is nothing to count.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from verdict import live
from verdict.checks import FEWEST_PROCESSES, Plan, our_groups, shortest_refused
from verdict.contrasts import Contrast, find_contrasts
from verdict.load import busy
from verdict.ours import schedule_for
from verdict.report import show, summarise, summarise_ours
from verdict.rows import SUFFIX, FileError, Row, read_folders, write_file
from verdict.subjects import all_kernels
from verdict.taking import How
from verdict.work import check_all

import pytest_kernelperf
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.units import format_counted

DATA = Path(__file__).parents[1] / "tests" / "data" / "h200"
NOTHING_TO_COUNT = 2
DESIGN = re.compile(r"(\d+)((?:\+[\d.]+%)*)(?:\+(\d+)b)?(?:@(\d+))?")


def main(argv: Sequence[str] | None = None) -> int:
    """Read or take samples, check them with every rule, print the tables."""
    options = parse(argv)
    try:
        about, folders = ({"source": ", ".join(map(str, options.data))}, options.data)
        with tempfile.TemporaryDirectory() as scratch:
            if options.live:
                folders = [options.keep or Path(scratch)]
                about = sample_into(folders[0], options)
            if options.sample_only:
                return 0
            record = judge(read_folders(folders), options, about)
    except (FileError, KernelperfError) as error:
        print(f"verdicts: {error}", file=sys.stderr)
        return NOTHING_TO_COUNT
    print(show(record))
    if options.json:
        try:
            write(record, options.json)
        except OSError as error:
            print(f"verdicts: {options.json} cannot be written: {error.strerror}", file=sys.stderr)
            return NOTHING_TO_COUNT
    return int(record["rules"]["kernelperf"]["false_alarms"]["cases"][0] > 0)


def judge(rows: Sequence[Row], options: argparse.Namespace, about: dict[str, Any]) -> dict[str, Any]:
    """Check all contrasts of the rows with every rule."""
    contrasts = find_contrasts(rows)
    refuse_too_little(contrasts, options)
    print(f"checking {format_counted(len(contrasts), 'comparison')} by every rule", file=sys.stderr, flush=True)
    about = {"date": now(), "version_of": pytest_kernelperf.__version__, "python": platform.python_version(), **about}
    plans = [Plan(tolerance, options.group, options.groups, options.seed) for tolerance in options.tolerance]
    record = summarise(check_all(contrasts, plans[0], not options.no_peers), plans[0], about)
    for plan in plans[1:]:
        record["at"][f"{plan.tolerance:g}"] = summarise_ours(check_all(contrasts, plan, False).ours, plan)
    return record


def refuse_too_little(contrasts: Sequence[Contrast], options: argparse.Namespace) -> None:
    """Say what samples of fewer blocks than any verdict needs come to.

    Raises:
        FileError: no rule can check anything.
    """
    plan = Plan(group=options.group, groups=options.groups, seed=options.seed)
    if not any(our_groups(contrast, plan) for contrast in contrasts if contrast.kind != "alone") and not any(
        len(contrast.takers) > 1 for contrast in contrasts if not options.no_peers
    ):
        raise FileError(
            f"there is nothing to count: no {FEWEST_PROCESSES} processes took two arms of the same case side by side"
        )
    if short := shortest_refused(contrasts):
        print(f"verdicts: kernelperf leaves every case of such short samples undecided: {short}", file=sys.stderr)


def sample_into(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Take samples and write them into ``folder``; return what is to be known of them."""
    policies = tuple(Policy(tolerance=tolerance) for tolerance in options.tolerance)
    how = How(
        schedule=schedule_for(policies[0], options.group),
        policies=policies,
        reads_clock=not options.quick,
        target_us=options.target_us,
        warm_up_us=options.warm_up_us,
        believe_all=options.believe_all,
        seed=options.seed,
    )
    wanted = live.Options(
        runtime=options.runtime,
        kernels=tuple(options.kernels or all_kernels()),
        variants=tuple(options.variants or ()),
        tokens=tuple(options.tokens or ()),
        modes=tuple(options.modes),
        designs=tuple(options.designs),
        how=how,
        checks=options.checks,
        seconds=options.seconds,
        seed=options.seed,
        per_generation=options.per_generation,
        contended=bool(options.busy),
        check_outputs=not options.quick,
    )

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def keep(session: live.Session) -> None:
        if session.rows:
            write_file(folder / f"{options.name}{SUFFIX}", session.rows)

    folder.mkdir(parents=True, exist_ok=True)
    with busy(options.busy, options.runtime):
        session = live.sample(wanted, say, keep)
    facts = session.facts
    reasons: dict[str, int] = {}
    for sentence in session.refused:
        reasons[sentence] = reasons.get(sentence, 0) + 1
    for sentence, count in sorted(reasons.items(), key=lambda item: -item[1])[:5]:
        say(f"  not measured, {count} times: {sentence}")
    return {
        "source": f"live on {facts.name} ({facts.runtime})",
        "device": facts.name,
        "key": facts.key,
        "driver": facts.driver,
        "compiler": facts.compiler,
        "generations": session.generations,
        "not_measured": session.unmeasured,
        "seconds": round(session.seconds, 1),
        "busy": list(options.busy),
        "believe_all": options.believe_all,
    }


def write(record: dict[str, Any], file: Path) -> None:
    """Write the record as JSON, whole or not at all."""
    temporary = file.with_name(f"{file.name}.new")
    temporary.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    os.replace(temporary, file)


def now() -> str:
    """The time, for the record."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def design(text: str) -> live.Design:
    """``3`` copies; ``2+0.75%+1.5%``: one each more that is so much slower; ``2+4b``: four other builds; ``9@66``: 66
    rounds a sample."""
    found = DESIGN.fullmatch(text)
    if not found or int(found[1]) < 1 or (found[1] == "1" and not found[2] and not found[3]):
        raise argparse.ArgumentTypeError(f"expected copies and slowdowns such as 3, 2+0.75%+1.5% or 2+4b, not {text!r}")
    slowdowns = tuple(float(share.rstrip("%")) / 100 for share in found[2].split("+")[1:])
    return live.Design(int(found[1]), slowdowns, int(found[3] or 0), int(found[4]) if found[4] else None)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="verdicts", description=__doc__.split("\n")[0])
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--data", type=Path, nargs="+", default=[DATA], metavar="FOLDER", help="samples (default tests/data/h200)"
    )
    source.add_argument("--live", action="store_true", help="take samples now, on the runtime at hand")
    parser.add_argument(
        "--tolerance",
        type=float,
        nargs="+",
        default=[0.0025],
        help="kernelperf's, as a share (default 0.0025); at further ones kernelperf is counted alone",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the counts to FILE")
    parser.add_argument("--group", type=int, default=5, help="processes that decide together (default 5)")
    parser.add_argument("--groups", type=int, default=24, help="groups a contrast is checked in (default 24)")
    parser.add_argument("--seed", type=int, default=1, help="seed of groups and live order (default 1)")
    parser.add_argument("--no-peers", action="store_true", help="our rule alone")
    more = parser.add_argument_group("with --live")
    more.add_argument("--runtime", choices=("auto", "cuda", "rocm", "cpu"), default="auto")
    more.add_argument("--kernels", nargs="+", metavar="NAME", help="of kernels/ (default all)")
    more.add_argument("--variants", nargs="+", metavar="NAME", help="these alone (default all)")
    more.add_argument("--tokens", type=int, nargs="+", help="these sizes alone")
    more.add_argument("--modes", nargs="+", choices=("graph", "queued", "loop"), default=["graph"])
    more.add_argument("--designs", nargs="+", type=design, default=[design("2"), design("3"), design("2+0.75%+1.5%")])
    more.add_argument("--checks", type=int, default=10**9, help="stop after so many of identical code")
    more.add_argument("--seconds", type=float, default=60.0, help="stop sampling after so long (default 60)")
    more.add_argument("--per-generation", type=int, default=40, help="measurements before processes are replaced")
    more.add_argument("--quick", action="store_true", help="neither read clocks nor verify outputs, which costs time")
    more.add_argument("--target-us", type=float, help="longest sample in us (default as the guard)")
    more.add_argument("--warm-up-us", type=float, help="longest warm-up in us (default as the guard)")
    more.add_argument("--busy", nargs="+", choices=("cpu", "device"), default=[], help="loads beside us, on purpose")
    more.add_argument("--believe-all", action="store_true", help="measure beside whoever is there: nothing is invalid")
    more.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the samples there, for --data")
    more.add_argument("--sample-only", action="store_true", help="with --keep: count later, by --data")
    more.add_argument("--name", default="live", help="name of the file in that folder (default live)")
    options = parser.parse_args(argv)
    if not all(0 <= tolerance < 1 for tolerance in options.tolerance):
        parser.error(f"--tolerance is a share such as 0.01 for 1 %, not {options.tolerance}")
    if options.sample_only and not (options.live and options.keep):
        parser.error("--sample-only needs --live and --keep FOLDER")
    if options.group < 3 or options.groups < 1:
        parser.error("--group is at least 3 and --groups at least 1")
    return options


if __name__ == "__main__":
    sys.exit(main())
