"""What a run does and what it leaves out, counted where the guard asks its workers; no time is looked at."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest

from pytest_kernelperf.errors import RuntimeUnavailable
from pytest_kernelperf.native import native_path

ROOT = Path(__file__).parents[2]


def test_a_suite_costs_what_changed_and_inputs_and_references_once_a_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three kernels of two variants and two sizes: all are run and compared, only what has changed is timed.

    Inputs and references are computed once for each kernel and size, sources compiled once, and no more workers are
    started than are asked: one where nothing is timed, three where three processes are clear.
    """
    try:
        native_path("hip_cpu/lib/libamdhip64.so")
    except RuntimeUnavailable as error:
        pytest.skip(str(error))
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    run = importlib.import_module("guard").run
    new_project = importlib.import_module("suite.project").Project
    left_out = ("PYTEST_ADDOPTS", "KERNELPERF_COMMAND")
    outside = {name: value for name, value in os.environ.items() if name not in left_out}
    outside |= {"PYTHONPATH": str(ROOT), "KERNELPERF_LOCK": str(tmp_path / "lock")}
    project = new_project(tmp_path / "suite", kernels=3, variants=2, sizes=2)
    environment = project.scripted(outside)
    always = {"inputs": 6, "references": 6, "compiled": 3, "run": 12}

    def counted(*arguments: str) -> dict[str, object]:
        counts = run(project, "cpu", environment, *arguments)
        return {name: value for name, value in counts.items() if name not in ("seconds", "spent")}

    stored = counted("--update-baselines=first", "-o", "kernelperf_processes=3")
    assert stored == {"verdicts": "12 new", "timed": 12, "measured": 36, "workers": 3, **always}
    again = counted()
    assert again == {"verdicts": "12 identical", "timed": 0, "measured": 0, "workers": 1, **always}
    project.change([1])
    changed = counted()
    verdicts = "8 identical, 4 unchanged"
    assert changed == {"verdicts": verdicts, "timed": 4, "measured": 12, "workers": 3, **always}
