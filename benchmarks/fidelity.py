"""How true the guard's figures are: the lesson's cases by the guard, and by a CUDA program written by hand.

Both sides use the same kernels, method, rounds and gate (``lesson/by_hand.cu``), and are compared in two ways:

- **in one process**: the hand-written code as a library in a process of the guard, on the same stream and buffers,
  sample by sample in random order. What a process is like falls on both alike, so that this shows how true the
  guard's method is.
- **apart**: the hand-written program and the guard's worker in fresh processes, two of each for every layout of the
  buffers, one at a time. This shows what somebody else would find, and how far each side's own processes are apart.
  (Where buffers lie beside each other decides up to 2 % of a time, so both sides take the same padding.)

The hand-written loop launches by ``cuLaunchKernel``, as the guard does; a loop of ``<<<>>>`` is shown beside it.

Beside them: nvbench's Python package, a plain launch loop in Python over hip-python, the seconds that each needs, and
how long the guard takes for 32 new cases from nothing.

Exit status: 0; or 1 where a case is more than 1 % off in one process, or apart although the hand-written program's own
processes agree within 1 %, or was not measured; or 2 where there is nothing to compare with (no
GPU, no nvcc).
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
from lesson.comparison import Beside, Row, summarise, table
from lesson.peers import nvbench_version, time_beside, time_by_nvbench, time_by_python, time_new_cases
from lesson.sides import Built, ByHand, Guard, HandError, Side, build_by_hand, same_instructions

from pytest_kernelperf.errors import KernelperfError, RuntimeUnavailable
from pytest_kernelperf.worker.pool import WorkerPool

MODES = ("queued", "loop", "graph")
NOTHING_TO_COMPARE = 2

Samples = dict[tuple[Case, str], dict[str, list[float]]]
"""By case and mode: us per round, by process."""


def sample_all(side: Side, lesson: Lesson, samples: int, found: Samples, failures: list[str]) -> None:
    """Every case in every mode by one process; ``loop`` by hand also by ``<<<>>>``."""
    for case in lesson.cases:
        for mode in (*MODES, "runtime") if isinstance(side, ByHand) else MODES:
            try:
                times = side.sample(case, mode, samples)
            except KernelperfError as error:
                failures.append(f"{side.name}, {case.id}, {mode}: {error}")
                continue
            found.setdefault((case, mode), {})[side.name] = times


def take_turns(
    lesson: Lesson, built: Built, options: argparse.Namespace
) -> tuple[list[Row], list[str], dict[str, float]]:
    """Fresh processes of both sides, one at a time, who is first by turns: rows, failures, seconds of each side."""
    found: Samples = {}
    failures: list[str] = []
    seconds = {"guard": 0.0, "by hand": 0.0}

    def guard(layout: int, copy: str) -> None:
        with WorkerPool(options.runtime) as pool:
            side = Guard(pool, layout, copy, lesson)
            sample_all(side, lesson, options.samples, found, failures)
        seconds["guard"] += side.seconds

    def by_hand(layout: int, copy: str) -> None:
        with ByHand(built.program, layout, copy, lesson) as side:
            sample_all(side, lesson, options.samples, found, failures)
        seconds["by hand"] += side.seconds

    for layout in range(options.layouts):
        for number, copy in enumerate("ab"):
            for take in (guard, by_hand) if (layout + number) % 2 == 0 else (by_hand, guard):
                take(layout, copy)
        print(f"  layout {layout + 1} of {options.layouts}", file=sys.stderr, flush=True)
    return rows_of(found), failures, seconds


def rows_of(found: Samples) -> list[Row]:
    """A row for each case and mode; the loop of ``<<<>>>`` has one of its own beside the guard's loop."""
    rows = []
    for (case, mode), samples in found.items():
        if mode == "runtime":
            guard = {name: times for name, times in found.get((case, "loop"), {}).items() if name.startswith("guard")}
            rows.append(Row(case.variant, case.tokens, case.place, "loop, <<<>>>", guard | samples))
        else:
            rows.append(Row(case.variant, case.tokens, case.place, mode, samples))
    return sorted(rows, key=lambda row: (row.place, row.mode))


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Both comparisons, as the record that becomes JSON; what the peers need to know is left in ``folder``."""
    with contextlib.ExitStack() as stack:
        with WorkerPool(options.runtime) as pool:
            facts = pool.facts()
            lesson = Lesson.open(pool.compile, facts, options.rounds, options.tokens)
            stack.callback(lesson.close)
            lesson.describe(folder)
        begin = time.perf_counter()
        if options.program is not None:
            built = Built(options.program, options.library, None)
        else:
            built = build_by_hand(folder, facts.architecture)
        compile_s = time.perf_counter() - begin
        with ByHand(built.program, 0, "a", lesson) as first:
            first.check(folder)
        beside: list[Beside] = []
        failures: list[str] = []
        beside_s = 0.0
        for number in range(options.together if built.library is not None else 0):
            beside_s += time_beside(built.library, lesson, options, number, beside, failures)
        rows, apart_failures, seconds = take_turns(lesson, built, options)
    instructions = same_instructions(lesson.code.data, built.cubin.read_bytes()) if built.cubin is not None else {}
    return {
        "version": 2,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "device": facts.name,
        "key": facts.key,
        "versions": {
            "driver": facts.driver,
            "compiler": facts.compiler,
            "hip-python": facts.hip_python_version,
            "python": platform.python_version(),
            "by hand": first.greeting,
        },
        "layouts": options.layouts,
        "together": options.together,
        "samples": options.samples,
        "rounds": options.rounds,
        "same_instructions": instructions,
        "rows": rows,
        "beside": beside,
        "failures": failures + apart_failures,
        "seconds": {"both in one process": beside_s} | seconds | {"nvcc": compile_s},
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
    lists = {name: [entry.as_dict() for entry in record[name]] for name in ("rows", "beside")}
    temporary.write_text(json.dumps(record | lists, indent=1, sort_keys=True) + "\n")
    os.replace(temporary, file)


def show(record: dict[str, Any]) -> str:
    """The table and what it amounts to, as text."""
    rows: list[Row] = record["rows"]
    beside: list[Beside] = record["beside"]
    nvbench, python = record.get("nvbench", {}).get("us", []), record.get("python_loop", {}).get("us", [])
    text = [
        f"{record['device']}, {record['date']}, {record['versions']['compiler']}; in one process: "
        f"{record['together']} processes, apart: two processes of each side for each of {record['layouts']} layouts; "
        f"{record['samples']} samples of {record['rounds']} rounds in each (in one process more where they scatter)"
    ]
    text += summarise(rows, beside) + [f"not measured: {failure}" for failure in record["failures"]]
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
    return "\n\n".join((table(rows, beside, nvbench, python), "\n".join(text)))


def fails(record: dict[str, Any]) -> bool:
    """Whether a figure is off, or was not to be had."""
    off = any(row.off for row in record["rows"] if row.mode in MODES) or any(one.off for one in record["beside"])
    return off or bool(record["failures"])


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the tables, write JSON if asked."""
    parser = argparse.ArgumentParser(prog="fidelity", description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE")
    parser.add_argument("--runtime", choices=("cuda", "cpu"), default="cuda", help="cpu: the guard's side alone")
    parser.add_argument("--program", type=Path, help="a ready program in place of lesson/by_hand.cu")
    parser.add_argument("--library", type=Path, help="a ready library in place of lesson/by_hand.cu, with --program")
    parser.add_argument("--together", type=int, default=3, help="processes that hold both sides (default 3)")
    parser.add_argument("--layouts", type=int, default=4, help="layouts, two processes a side each (default 4)")
    parser.add_argument("--samples", type=int, default=12, help="samples of a case and mode in a process (default 12)")
    parser.add_argument("--rounds", type=int, default=200, help="rounds a sample (default 200, as in the lesson)")
    parser.add_argument("--tokens", type=int, nargs="+", help="these sizes alone")
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
    return int(fails(record))


if __name__ == "__main__":
    sys.exit(main())
