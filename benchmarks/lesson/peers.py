"""Other ways to the same figures, each in a process of its own, and the guard's time for 32 new cases."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from lesson.cases import FOLDER, Lesson
from lesson.comparison import Beside, add_beside

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
LIMIT_S = 300.0
NVBENCH_FIGURES = {"nv/batch/time/gpu/mean": "batch", "nv/cold/time/gpu/mean": "cold"}


def run(command: list[str], folder: Path | None = None, **environment: str) -> tuple[int, str, str, float]:
    """Run a Python program of ours: exit status, output, errors, seconds."""
    paths = [str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment}
    begin = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, timeout=LIMIT_S, cwd=folder, env=variables
        )
    except subprocess.TimeoutExpired:
        return -1, "", f"not done after {LIMIT_S:g} s", LIMIT_S
    return done.returncode, done.stdout, done.stderr, time.perf_counter() - begin


def last_line(text: str) -> str:
    """The last line that says anything."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "nothing said")


def time_beside(
    library: Path | None, lesson: Lesson, options: Any, process: int, found: list[Beside], failures: list[str]
) -> float:
    """Both sides in one process: adds its figures to ``found``, and what could not be measured; returns seconds."""
    sizes = [str(tokens) for tokens in lesson.inputs]
    words = [str(library), options.runtime, str(options.samples), str(lesson.rounds), str(process), *sizes]
    status, output, errors, seconds = run([str(HERE / "beside.py"), *words])
    for line in output.splitlines():
        row = json.loads(line)
        if "failed" in row:
            failures.append(f"in one process, {row['failed']}")
        else:
            add_beside(found, row)
    if status != 0:
        failures.append(f"in one process: {last_line(errors)}")
    return seconds


def time_by_python(cases: Path, runtime: str) -> tuple[list[float], float, str]:
    """The plain launch loop in Python: us per round by case, seconds, and what went wrong."""
    status, output, errors, seconds = run([str(HERE / "python_loop.py"), str(cases), runtime])
    if status != 0:
        return [], seconds, last_line(errors)
    return [float(value) for value in json.loads(output)], seconds, ""


def time_by_nvbench(cases: Path, folder: Path, timeout_s: float) -> tuple[list[dict[str, float]], float, str]:
    """nvbench's Python package: us by case, ``batch`` (back to back) and ``cold``; seconds; what went wrong."""
    result = folder / "nvbench.json"
    program = [str(HERE / "nvbench_cases.py"), str(cases), str(result), "--timeout", f"{timeout_s:g}"]
    status, output, errors, seconds = run(program)
    if status != 0 or not result.exists():
        return [], seconds, last_line(errors if errors.strip() else output)
    try:
        return read_nvbench(json.loads(result.read_text())), seconds, ""
    except (KeyError, IndexError, TypeError, ValueError, StopIteration) as error:
        return [], seconds, f"its result cannot be read: {error!r} in {result.read_text()[:3000]}"


def read_nvbench(result: dict[str, Any]) -> list[dict[str, float]]:
    """nvbench's figures in us, in the order of the cases."""
    found: dict[int, dict[str, float]] = {}
    for state in result["benchmarks"][0]["states"]:
        place = next(int(axis["value"]) for axis in state["axis_values"] if axis["name"] == "case")
        found[place] = {}
        for summary in state.get("summaries") or []:
            kind = NVBENCH_FIGURES.get(summary.get("tag", ""))
            if kind is not None:
                value = next(float(item["value"]) for item in summary["data"] if item["name"] == "value")
                found[place][kind] = value * 1e6
    return [found.get(place, {}) for place in range(max(found, default=-1) + 1)]


def nvbench_version() -> str:
    """The installed ``cuda-bench``'s version."""
    try:
        return importlib.metadata.version("cuda-bench")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def time_new_cases(folder: Path, runtime: str) -> dict[str, Any]:
    """Run ``pytest --kernelperf`` once on two copies of the lesson's kernel that nobody has compiled or measured."""
    project = folder / "new"
    for name in ("new_one", "new_two"):
        (project / name).mkdir(parents=True)
        text = (FOLDER / "test_moe_add_inject.py").read_text().replace("moe_add_inject", name)
        (project / name / f"test_{name}.py").write_text(text)
        source = (FOLDER / "moe_add_inject.hip").read_text()
        (project / name / f"{name}.hip").write_text(f"{source}\n// {name}, {time.time_ns()}\n")
    (project / "pytest.ini").write_text("[pytest]\n")
    options = ["--kernelperf", f"--kernelperf-runtime={runtime}", f"--kernelperf-out={project / 'out'}"]
    status, output, errors, seconds = run(
        ["-m", "pytest", "-p", "pytest_kernelperf.plugin", "-p", "no:cacheprovider", *options, "."],
        project,
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
        CUDA_CACHE_DISABLE="1",
    )
    said = last_line(output or errors).strip("= ")
    try:
        records = json.loads((project / "out" / "run.json").read_text())["records"]
    except (OSError, ValueError, KeyError):
        records = []
    verdicts = [record["decision"]["verdict"] for record in records if not record.get("mutation_of")]
    return {"cases": verdicts.count("new"), "of": len(verdicts), "seconds": seconds, "exit": status, "said": said}
