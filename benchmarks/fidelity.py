"""How true the guard's figures are: the lesson's cases by the guard, and by a CUDA program written by hand.

Both sides use the same kernels, method, rounds and gate (``lesson/by_hand.cu``), in several processes each that are
alive together and take turns in random order, so that the spread between a side's own processes is seen beside the
difference between the sides. Beside them: nvbench's Python package, a plain launch loop in Python over hip-python,
the seconds that each needs, and how long the guard takes for 32 new cases from nothing.

Exit status: 0, or 1 where a case whose hand-written processes agree within 1 % is more than 1 % off, or 2 where there
is nothing to compare with (no GPU, no nvcc).
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from lesson.cases import Case, Lesson
from lesson.comparison import Row, summarise, table
from lesson.peers import nvbench_version, time_by_nvbench, time_by_python, time_new_cases
from lesson.sides import ByHand, Guard, HandError, Side, build_by_hand, same_instructions

from pytest_kernelperf.errors import KernelperfError, RuntimeUnavailable
from pytest_kernelperf.measure.order import order_arms
from pytest_kernelperf.worker.pool import WorkerPool

MODES = ("queued", "loop", "graph")
NOTHING_TO_COMPARE = 2


def take_turns(lesson: Lesson, sides: Sequence[Side], options: argparse.Namespace) -> tuple[list[Row], list[str]]:
    """Measure every case in every mode: each side's processes in random balanced order, several times.

    Returns the rows, and a sentence for each case that could not be measured.
    """
    rows: list[Row] = []
    failures: list[str] = []
    for case in lesson.cases:
        for mode in MODES:
            try:
                rows += measure_mode(case, mode, sides, options)
            except KernelperfError as error:
                failures.append(f"{case.id}, {mode}: {error}")
        print(f"  {case.variant} at {case.tokens}", file=sys.stderr, flush=True)
    return rows, failures


def measure_mode(case: Case, mode: str, sides: Sequence[Side], options: argparse.Namespace) -> list[Row]:
    """One case in one mode; ``loop`` also beside a loop of ``cuLaunchKernel``, which the guard's launches become."""
    by_name = {side.name: side for side in sides}
    samples: dict[str, list[float]] = {name: [] for name in by_name}
    driver: dict[str, list[float]] = {side.name: [] for side in sides if isinstance(side, ByHand) and mode == "loop"}
    for turn in range(options.turns):
        for name in order_arms(tuple(by_name), turn, options.seed, case.place):
            samples[name] += by_name[name].sample(case, mode, options.samples, turn)
            if name in driver:
                driver[name] += by_name[name].sample(case, "driver", options.samples, turn)
    rows = [Row(case.variant, case.tokens, case.place, mode, samples)]
    if driver:
        guard = {name: times for name, times in samples.items() if name not in driver}
        rows.append(Row(case.variant, case.tokens, case.place, "loop, cuLaunchKernel", guard | driver))
    return rows


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Both sides, as the record that becomes JSON; what the peers need to know is left in ``folder``."""
    began = time.perf_counter()
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(WorkerPool(options.runtime))
        facts = pool.facts()
        lesson = Lesson.open(pool, facts, options.rounds, options.tokens)
        stack.callback(lesson.close)
        lesson.describe(folder)
        opened_s = time.perf_counter() - began
        guards: list[Guard] = []
        hands: list[ByHand] = []
        instructions: dict[str, bool] = {}
        compile_s = 0.0
        program = options.program
        if program is None and facts.runtime == "cuda":
            begin = time.perf_counter()
            program, cubin = build_by_hand(folder, facts.architecture)
            compile_s = time.perf_counter() - begin
            instructions = same_instructions(lesson.code.data, cubin.read_bytes())
        for number in range(options.processes):  # by turns, lest who comes first to the device decide
            guards.append(Guard(pool, number, lesson))
            if program is not None:
                hands.append(stack.enter_context(ByHand(program, number, lesson)))
        if hands:
            hands[0].check(folder)
        rows, failures = take_turns(lesson, [*guards, *hands], options)
    seconds = {"guard": opened_s + sum(side.seconds for side in guards)}
    if hands:
        seconds |= {"by hand": sum(side.seconds for side in hands), "nvcc": compile_s}
    return {
        "version": 1,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "device": facts.name,
        "key": facts.key,
        "versions": {
            "driver": facts.driver,
            "compiler": facts.compiler,
            "hip-python": facts.hip_python_version,
            "python": platform.python_version(),
            "by hand": hands[0].greeting if hands else "",
        },
        "processes": options.processes,
        "samples": options.turns * options.samples,
        "rounds": options.rounds,
        "same_instructions": instructions,
        "rows": rows,
        "failures": failures,
        "seconds": seconds,
    }


def add_peers(record: dict[str, Any], options: argparse.Namespace, folder: Path) -> None:
    """nvbench, the loop in Python, and the guard's time for new cases."""
    seconds = record["seconds"]
    times, seconds["python loop"], said = time_by_python(folder / "lesson.json", options.runtime)
    record["python_loop"] = {"us": times, "said": said}
    if options.runtime == "cuda":
        peer, seconds["nvbench"], said = time_by_nvbench(folder / "lesson.json", folder, options.nvbench_timeout)
        record["nvbench"] = {"us": peer, "said": said, "timeout_s": options.nvbench_timeout}
        record["versions"]["nvbench"] = nvbench_version()
    record["new_cases"] = time_new_cases(folder, options.runtime)


def write(record: dict[str, Any], file: Path) -> None:
    """Write the record as JSON, whole or not at all."""
    temporary = file.with_suffix(".new")
    rows = [row.as_dict() for row in record["rows"]]
    temporary.write_text(json.dumps(record | {"rows": rows}, indent=1, sort_keys=True) + "\n")
    os.replace(temporary, file)


def show(record: dict[str, Any]) -> str:
    """The tables and what they amount to, as text."""
    rows: list[Row] = record["rows"]
    text = [table(rows, record.get("nvbench", {}).get("us", []), record.get("python_loop", {}).get("us", []))]
    text.append(
        f"{record['device']}, {record['date']}, {record['processes']} processes of each side, {record['samples']} "
        f"samples of {record['rounds']} rounds in each; {record['versions']['compiler']}"
    )
    text += summarise(rows) + record["failures"]
    same = record["same_instructions"]
    if same:
        other = [name for name, equal in same.items() if not equal]
        differ = f"they differ in {', '.join(other)}" if other else "the same"
        text.append(f"instructions by NVRTC and nvcc: {differ}")
    text.append("seconds: " + ", ".join(f"{name} {value:.1f}" for name, value in record["seconds"].items()))
    for peer in ("nvbench", "python_loop"):
        if record.get(peer, {}).get("said"):
            text.append(f"{peer}: {record[peer]['said']}")
    if "new_cases" in record:
        new = record["new_cases"]
        text.append(f"{new['cases']} new cases compiled and measured in {new['seconds']:.1f} s ({new['said']})")
    return "\n\n".join((text[0], "\n".join(text[1:])))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the tables, write JSON if asked."""
    parser = argparse.ArgumentParser(prog="fidelity", description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE")
    parser.add_argument("--runtime", choices=("cuda", "cpu"), default="cuda", help="cpu: the guard's side alone")
    parser.add_argument("--program", type=Path, help="a ready program in place of lesson/by_hand.cu")
    parser.add_argument("--processes", type=int, default=5, help="processes of each side (default 5)")
    parser.add_argument("--turns", type=int, default=2, help="turns of every process (default 2)")
    parser.add_argument("--samples", type=int, default=8, help="samples a turn (default 8)")
    parser.add_argument("--rounds", type=int, default=200, help="rounds a sample (default 200, as in the lesson)")
    parser.add_argument("--tokens", type=int, nargs="+", help="these sizes alone")
    parser.add_argument("--seed", type=int, default=1, help="seed of the order of the processes (default 1)")
    parser.add_argument("--no-peers", action="store_true", help="neither nvbench, nor Python, nor new cases")
    parser.add_argument("--nvbench-timeout", type=float, default=1.0, metavar="S", help="nvbench's --timeout a case")
    options = parser.parse_args(argv)
    try:
        with tempfile.TemporaryDirectory() as folder:
            record = measure(options, Path(folder))
            if options.json:  # first without the peers, should one of them never come back
                write(record, options.json)
            if not options.no_peers:
                add_peers(record, options, Path(folder))
    except (RuntimeUnavailable, HandError) as error:
        print(f"fidelity: {error}", file=sys.stderr)
        return NOTHING_TO_COMPARE
    except (KernelperfError, subprocess.SubprocessError) as error:
        print(f"fidelity: {error}", file=sys.stderr)
        return 1
    print(show(record))
    if options.json:
        write(record, options.json)
    return int(any(row.off for row in record["rows"] if row.mode in MODES))


if __name__ == "__main__":
    sys.exit(main())
