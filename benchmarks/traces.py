"""How fast ``kernelperf trace`` is, and how much memory it takes, beside pandas reading the same view.

    scripts/bench traces                       a million dispatches
    scripts/bench traces --dispatches 10000000

The trace is generated as rocprofv3 would write it (schema 3.0.3, 40 kernels). Each reading runs in a process of its
own; seconds are those of the reading, imports and the interpreter's start included, memory is the process's peak.
pandas reads once the whole view, and once only the columns that its own table needs: no workgroups, no gaps. As many
dispatches are written as our own runtimes write theirs, and read again.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import overload

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from rocpd_files import Dispatch, Process, write_rocpd
from tabulate import tabulate

HELPERS = sys.path[0]
SUMMARY = "from pytest_kernelperf.cli import main; main()"
PANDAS = """
import sqlite3, sys, pandas
query = f"SELECT {sys.argv[1]} FROM kernels"
view = pandas.read_sql(query, sqlite3.connect(f"file:{sys.argv[2]}?mode=ro", uri=True))
print(view.groupby("name")["duration"].agg(["count", "mean", "sum", "median", "min"]))
"""
WRITE = """
import sys, pathlib, numpy, recordings
from pytest_kernelperf.recording import DISPATCH, RecordedKernel
from pytest_kernelperf.trace.write import write_trace
number = numpy.arange(int(sys.argv[1]), dtype=numpy.uint64)
rows = numpy.zeros(len(number), DISPATCH)
rows["start_ns"], rows["kernel"], rows["correlation"] = 10**9 + 3000 * number, number % 40 + 1, number + 1
rows["end_ns"] = rows["start_ns"] + 700 + number * 7919 % 2000
rows["workgroups"], rows["block"] = (10, 1, 1), (256, 1, 1)
kernels = {one: RecordedKernel(f"kernel_{one:02}", f"kernel_{one:02}") for one in range(1, 41)}
made = recordings.Recording("cpu", recordings.FACTS, rows, kernels, "a benchmark", 4711)
write_trace(pathlib.Path(sys.argv[2]), made)
"""


class Generated(Sequence[Dispatch]):
    """Dispatches that are made when they are asked for, one after the other."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Dispatch: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Dispatch]: ...
    def __getitem__(self, index: int | slice) -> Dispatch | Sequence[Dispatch]:
        raise TypeError("these are only iterated over")

    def __iter__(self) -> Iterator[Dispatch]:
        now_ns = 1_000_000_000
        for number in range(self._count):
            kernel = number % 40
            end_ns = now_ns + 700 + number * 7919 % 3000
            name = f"kernel_{kernel:02}(float const*, float*, int)"
            yield Dispatch(name, now_ns, end_ns, ((1 + kernel) * 256, 1, 1))
            now_ns = end_ns + 500 + number * 31 % 1500


def timed(program: str, *arguments: str) -> tuple[float, float]:
    """Run a Python program; return its seconds and its peak memory in MB (1e6 bytes)."""
    begin_s = time.perf_counter()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (HELPERS, os.environ.get("PYTHONPATH"))))}
    command = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{arguments} exited with {process.returncode}")
    return time.perf_counter() - begin_s, usage.ru_maxrss * 1024 / 1e6


def main() -> None:
    """Generate a trace, read it in each way, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dispatches", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3, help="readings of each kind; the fastest counts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE too")
    arguments = parser.parse_args()
    readers: dict[str, tuple[str, ...]] = {"kernelperf trace": (SUMMARY, "trace")}
    if importlib.util.find_spec("pandas"):
        readers["pandas, two columns"] = (PANDAS, "name, duration")
        readers["pandas, the view"] = (PANDAS, "*")
    else:
        print("pandas is not installed here: scripts/bench installs it, pip install pandas does too")
    with tempfile.TemporaryDirectory() as folder:
        path = write_rocpd(Path(folder) / "a.db", [Process(Generated(arguments.dispatches))], version="3.0.3")
        size_mb = path.stat().st_size / 1e6
        found = {
            name: min(timed(*command, str(path)) for _ in range(arguments.repeat)) for name, command in readers.items()
        }
        own = str(Path(folder) / "own.db")
        count = str(arguments.dispatches)
        found["writing a recording"] = min(timed(WRITE, count, own) for _ in range(arguments.repeat))
        found["kernelperf trace of that"] = min(timed(SUMMARY, "trace", own) for _ in range(arguments.repeat))
    print(f"{arguments.dispatches:,} dispatches, {size_mb:,.0f} MB")
    rows = [(name, f"{seconds:.2f}", f"{memory_mb:,.0f}") for name, (seconds, memory_mb) in found.items()]
    print(tabulate(rows, headers=("what", "s", "MB"), colalign=("left", "right", "right"), disable_numparse=True))
    if arguments.json:
        figures = {name: {"time_s": seconds, "peak_mb": memory_mb} for name, (seconds, memory_mb) in found.items()}
        arguments.json.write_text(json.dumps({"dispatches": arguments.dispatches, "readers": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
