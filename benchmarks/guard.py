"""How long a guard takes, and what it does in that time, on the runtime at hand.

Runs of projects that are made in a temporary folder: 32 cases of which none changed, the same with every kernel
changed, and a large suite of which two kernels changed. Of each: cases by verdict, cases timed, how often inputs and
references were computed, sources compiled, plans run, measurements taken, workers started; and seconds, for the whole
run and for each of these.

    scripts/bench guard [--runtime cpu] [--kernels 100] [--json FILE]

Baselines are stored under a scripted clock, and given the device's key afterwards: to time 2,000 cases for that would
take longer than all else. What is timed of them then is timed for real.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from suite.project import Project

SMALL = {"kernels": 2, "variants": 4, "sizes": 4}
"""32 cases."""

VARIANTS, SIZES = 5, 4
MOST_PARALLEL = 8


def main(arguments: list[str]) -> int:
    """Run what is asked for and print the tables."""
    options = _options(arguments)
    found = [str(Path(__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(found)}
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="kernelperf-suite-") as folder:
        small = Project(Path(folder) / "small", **SMALL)
        store(small, options.runtime, environment)
        results[f"{small.cases} cases, none changed"] = run(small, options.runtime, environment)
        small.change(range(small.kernels))
        results[f"{small.cases} cases, all changed"] = run(small, options.runtime, environment)
        keep(results, options.json)
        if options.kernels:
            large = Project(Path(folder) / "large", options.kernels, VARIANTS, SIZES)
            store(large, options.runtime, environment)
            large.change([0, options.kernels // 2])
            results[f"{large.cases:,} cases, two kernels changed"] = run(large, options.runtime, environment)
            keep(results, options.json)
    print(_table(results))
    return 0


def keep(results: dict[str, Any], file: str | None) -> None:
    """Write what there is so far, should the large suite take too long."""
    if file:
        temporary = Path(f"{file}.new")
        temporary.write_text(json.dumps(results, indent=1) + "\n")
        os.replace(temporary, file)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench guard", description=__doc__.splitlines()[0])
    parser.add_argument("--runtime", default="auto", help="auto (rocm, then cuda, then cpu), or one of them")
    parser.add_argument("--kernels", type=int, default=100, help="kernels of the large suite, 20 cases each; 0: none")
    parser.add_argument("--json", help="write the figures to this file")
    return parser.parse_args(arguments)


def store(project: Project, runtime: str, environment: dict[str, str]) -> None:
    """Store baselines of all cases, as if they had been measured here; on several cores, where there are any."""
    many = (*parallel_arguments(), "--update-baselines=first", "-o", "kernelperf_processes=3")
    run(project, runtime, project.scripted(environment), *many)
    project.unscript_baselines()


def run(project: Project, runtime: str, environment: dict[str, str], *more: str) -> dict[str, Any]:
    """Guard the project once; return what was counted."""
    project.forget_counts()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "counting", "-p", "no:cacheprovider", *plugin_arguments()]
    command += ["--kernelperf", f"--kernelperf-runtime={runtime}", "--kernelperf-trace=never", *more]
    paths = os.pathsep.join([str(project.folder), environment["PYTHONPATH"]])
    result = subprocess.run(
        command,
        cwd=project.folder,
        env={**environment, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    counts = project.counts()
    if counts is None:
        raise SystemExit(f"the guard did not run to its end:\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}")
    return counts


def parallel_arguments() -> tuple[str, ...]:
    """What shares a run out among processes, where pytest-xdist is installed and there are cores to spare."""
    cores = len(os.sched_getaffinity(0))
    return ("-p", "xdist", "-n", str(min(cores // 2, MOST_PARALLEL))) if cores > 3 and find_spec("xdist") else ()


def plugin_arguments() -> tuple[str, ...]:
    """What loads the plugin where the package is not installed but on the path."""
    installed = any(point.name == "kernelperf" for point in importlib.metadata.entry_points(group="pytest11"))
    return () if installed else ("-p", "pytest_kernelperf.plugin")


def _table(results: dict[str, Any]) -> str:
    from tabulate import tabulate

    columns = ("verdicts", "seconds", "timed", "inputs", "references", "compiled", "run", "measured", "workers")
    rows = [[name, *(counts[column] for column in columns), _where(counts)] for name, counts in results.items()]
    return tabulate(rows, headers=["run", *columns, "seconds of that"], disable_numparse=True)


def _where(counts: dict[str, Any]) -> str:
    return ", ".join(f"{name} {seconds:.1f}" for name, seconds in counts["spent"].items())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
