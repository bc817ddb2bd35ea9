"""The fidelity benchmark's own arithmetic and sentences, and one run of it on the cpu runtime.

The hand-written program is played by one that answers with fixed times, so no GPU or nvcc is needed.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PLAYED = """#!{python}
import sys
sys.path[:0] = [{benchmarks!r}, {root!r}]
from lesson.cases import FOLDER, load_kernel
kernel = load_kernel(FOLDER / "test_moe_add_inject.py")
print({greeting!r}, flush=True)
for line in sys.stdin:
    mode, variant, tokens, *rest = line.split()
    if mode == "check":
        tokens = int(tokens)
        expected = kernel.compute_reference(tokens, kernel.compute_inputs(tokens))["x"]
        (expected + {error}).astype("f4").tofile(rest[0])
        print("ok", flush=True)
    else:
        print("1000000 " * int(rest[1]), flush=True)
"""


@pytest.fixture
def lesson(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Modules of ``benchmarks/lesson``, by name."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))

    def load(name: str) -> ModuleType:
        return importlib.import_module(f"lesson.{name}")

    return load


def row(lesson: Any, guard: list[float], by_hand: list[float]) -> Any:
    """A row whose processes took one sample each."""
    sides = [("guard", guard), ("by hand", by_hand)]
    samples = {f"{side} {number}": [time] for side, times in sides for number, time in enumerate(times)}
    return lesson("comparison").Row("fused", 1, 0, "graph", samples)


def test_sides_that_differ_by_less_than_one_percent_agree(lesson: Any) -> None:
    """The figure of a side is the median of its processes."""
    found = row(lesson, [2.0, 2.01, 2.02], [2.0, 2.0, 2.01])
    assert found.ratio == pytest.approx(2.01 / 2.0)
    assert found.verdict == "within 1 %"
    assert not found.off


def test_a_difference_beyond_one_percent_is_said(lesson: Any) -> None:
    """With four processes of each side, how sure that is is said too."""
    assert row(lesson, [2.1, 2.1], [2.0, 2.0]).verdict == "off by 5.0%"
    assert row(lesson, [2.1, 2.11, 2.12, 2.13], [2.0, 2.01, 2.0, 2.01]).verdict == "off by 5.5%, p = 0.029"


def test_processes_that_disagree_with_each_other_prove_nothing(lesson: Any) -> None:
    """Where the hand-written program's own processes are apart, both spreads stand in place of a verdict."""
    found = row(lesson, [2.2, 2.2], [2.0, 2.1])
    assert found.verdict == "by hand 5.0% apart, guard 0.0%"
    assert not found.off


def test_a_process_that_is_fast_everywhere_shows(lesson: Any) -> None:
    """The place of a process is its geometric mean over all cases of a mode."""
    rows = [row(lesson, [1.0], [4.0]), row(lesson, [3.0], [12.0])]
    assert lesson("comparison").offsets(rows, "graph") == pytest.approx({"guard 0": 0.5, "by hand 0": 2.0})


def test_the_table_puts_each_peer_beside_the_mode_it_resembles(lesson: Any) -> None:
    """nvbench keeps the queue full; a loop in Python is a loop."""
    comparison = lesson("comparison")
    rows = [comparison.Row("fused", 1, 0, mode, {"guard 0": [2.0]}) for mode in ("queued", "loop", "graph")]
    lines = comparison.table(rows, [{"batch": 6.4, "cold": 4.6}], [16.5]).splitlines()[2:]
    assert [line.split("graph")[0].split("  ")[-1].strip() for line in lines[:2]] == [
        "nvbench 6.40 / 4.60",
        "Python 16.50",
    ]
    assert "nvbench" not in lines[2]


def test_nvbench_figures_are_read_in_the_order_of_the_cases(lesson: Any) -> None:
    """A case that nvbench skipped has no figures."""

    def state(case: int, *summaries: tuple[str, str]) -> dict[str, Any]:
        data = [{"tag": tag, "data": [{"name": "value", "value": value}]} for tag, value in summaries]
        return {"axis_values": [{"name": "case", "value": str(case)}], "summaries": data or None}

    states = [
        state(2, ("nv/cold/time/gpu/mean", "4.5e-06"), ("nv/batch/time/gpu/mean", "2e-06"), ("nv/other", "1")),
        state(0),
    ]
    found = lesson("peers").read_nvbench({"benchmarks": [{"states": states}]})
    assert found == [{}, {}, pytest.approx({"cold": 4.5, "batch": 2.0})]


def test_a_machine_without_nvcc_is_told_what_is_missing(
    lesson: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One sentence, with what to do."""
    sides = lesson("sides")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sides, "USUAL_COMPILERS", ())
    with pytest.raises(sides.HandError, match=r"nvcc is needed .* install the CUDA toolkit"):
        sides.build_by_hand(tmp_path, "sm_90")


def run_fidelity(folder: Path, greeting: str = "ready", error: float = 0.0) -> subprocess.CompletedProcess[str]:
    """One size on the cpu runtime, the other side played."""
    program = folder / "by_hand"
    words = {"python": sys.executable, "benchmarks": str(ROOT / "benchmarks"), "root": str(ROOT)}
    program.write_text(PLAYED.format(greeting=greeting, error=error, **words))
    program.chmod(0o755)
    few = ["--tokens", "1", "--rounds", "4", "--samples", "2", "--processes", "1", "--no-peers"]
    options = ["--runtime", "cpu", "--program", str(program), "--json", str(folder / "result.json"), *few]
    return subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "fidelity.py"), *options],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_every_case_is_measured_on_both_sides_in_every_mode(tmp_path: Path) -> None:
    """A side that takes a second a round is off by nearly all of it, and the exit status says so."""
    done = run_fidelity(tmp_path)
    result = json.loads((tmp_path / "result.json").read_text())
    unmeasured = len(result["failures"])  # a busy machine makes cases contended; each is listed
    compared = [entry for entry in result["rows"] if entry["mode"] in ("queued", "loop", "graph")]
    assert len(compared) == 12 - unmeasured
    assert all(entry["verdict"] == "off by 100.0%" for entry in compared)
    assert all(len(times) == 4 for entry in result["rows"] for times in entry["samples"].values())
    assert done.returncode == (1 if compared else 0)
    assert done.stdout.count("by hand 0") >= bool(compared)


def test_a_program_that_computes_something_else_is_not_compared_with(tmp_path: Path) -> None:
    """Fast and wrong is not a measure."""
    done = run_fidelity(tmp_path, error=1.0)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "fidelity: the hand-written separate is wrong at 1\n"


def test_a_program_that_finds_no_device_ends_the_benchmark_with_its_words(tmp_path: Path) -> None:
    """Exit status 2, one sentence."""
    done = run_fidelity(tmp_path, greeting="error no CUDA-capable device is detected")
    assert done.returncode == 2
    assert done.stderr == "fidelity: by hand 0 says: error no CUDA-capable device is detected\n"
