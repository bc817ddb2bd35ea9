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
    """A row whose processes took one sample each, two of each side for a layout."""
    sides = [("guard", guard), ("by hand", by_hand)]
    samples = {
        f"{side} {place // 2}{'ab'[place % 2]}": [time] for side, times in sides for place, time in enumerate(times)
    }
    return lesson("comparison").Row("fused", 1, 0, "graph", samples)


def test_sides_that_differ_by_less_than_one_percent_agree(lesson: Any) -> None:
    """They are compared layout by layout: one that is slower for both sides says nothing of either."""
    found = row(lesson, [2.008, 2.008, 2.018, 2.018], [2.0, 2.0, 2.01, 2.01])
    assert found.ratio == pytest.approx(1.004, abs=1e-4)
    assert found.verdict == "within 1 %"
    assert not found.off


def test_a_difference_beyond_one_percent_is_said(lesson: Any) -> None:
    """The median of the layouts decides."""
    assert row(lesson, [2.1, 2.1], [2.0, 2.0]).verdict == "off by 5.0%"
    one_of_three = row(lesson, [2.1, 2.1, 2.0, 2.0, 2.0, 2.0], [2.0] * 6)
    assert one_of_three.verdict == "within 1 %"


@pytest.mark.parametrize("by_hand", [[2.0, 2.0, 2.0, 2.1], [2.0, 2.0, 2.1, 2.1]])
def test_processes_that_disagree_with_each_other_prove_nothing(lesson: Any, by_hand: list[float]) -> None:
    """Where the hand-written program's own are apart, by chance or by layout, both spreads are shown."""
    found = row(lesson, [2.2, 2.2, 2.2, 2.2], by_hand)
    assert found.verdict == "by hand 5.0% apart, guard 0.0%"
    assert not found.off


def test_one_process_alone_is_not_two_that_agree(lesson: Any) -> None:
    """The second may have failed."""
    assert not row(lesson, [2.2, 2.2], [2.0]).comparable


@pytest.mark.parametrize("sides", [([2.0], []), ([], [2.0])])
def test_a_side_that_was_not_measured_is_left_empty(lesson: Any, sides: tuple[list[float], list[float]]) -> None:
    """The other side's figures stand; nothing is compared."""
    found = row(lesson, *sides)
    assert (found.ratio, found.verdict, found.off) == (None, "-", False)
    assert "2.000 (2.000 to 2.000)" in lesson("comparison").table([found], [], [], [])
    assert lesson("comparison").summarise([found], []) == []


def test_a_process_that_is_fast_everywhere_shows(lesson: Any) -> None:
    """The place of a process is its geometric mean over all cases of a mode."""
    rows = [row(lesson, [1.0], [4.0]), row(lesson, [3.0], [12.0])]
    assert lesson("comparison").offsets(rows, "graph") == pytest.approx({"guard 0a": 0.5, "by hand 0a": 2.0})


def test_the_hand_written_program_lays_its_buffers_out_as_the_guards_worker_does(lesson: Any) -> None:
    """What is left free before each buffer depends on the layout's number and the buffer's name."""
    padding = lesson("sides").padding_bytes
    assert padding(2) == padding(2) != padding(3)
    assert [size % 256 for size in padding(2)] == [0] * 5


def beside(lesson: Any, *processes: tuple[list[float], list[float]], against: str = "by hand") -> Any:
    """A case in one process, or in several."""
    return lesson("comparison").Beside("fused", 1, "queued", against, list(processes))


def test_in_one_process_the_samples_of_a_block_are_compared(lesson: Any) -> None:
    """A process that drifts or alternates does so for both; what is left is the method's."""
    drifting = [2.0 + 0.1 * place for place in range(10)]
    found = beside(lesson, ([1.002 * time for time in drifting], drifting), ([4.0] * 10, [4.0] * 10))
    assert found.ratios == pytest.approx([1.002, 1.0])
    assert found.ratio == pytest.approx(1.001)
    assert not found.off


def test_batches_that_alternate_do_not_decide_which_side_is_slower(lesson: Any) -> None:
    """With each side as often in the fast place, the mean is exact where a median of ratios is off by all of it."""
    guard = [2.0, 2.0, 2.0, 2.0, 2.06, 2.06]
    by_hand = [2.06, 2.06, 2.06, 2.06, 2.0, 2.0]
    found = beside(lesson, (guard + by_hand, by_hand + guard))
    assert found.ratio == pytest.approx(1.0)


def test_disturbed_samples_do_not_count(lesson: Any) -> None:
    """A quarter at either end is left out."""
    assert beside(lesson, ([2.0] * 6 + [9.0, 8.0], [2.0] * 8)).ratio == pytest.approx(1.0)


def test_more_samples_are_taken_where_the_ratio_is_not_sharp(lesson: Any) -> None:
    """How sharp it is decides, not what it is."""
    is_sharp = lesson("comparison").is_sharp
    steady, scattered = [2.0, 2.001] * 6, [2.0, 2.2] * 6
    assert is_sharp(steady, [2.0] * 12)
    assert is_sharp([2 * time for time in steady], [2.0] * 12)
    assert not is_sharp(scattered, [2.0] * 12)
    assert is_sharp([2.0, 2.02] * 24, [2.0] * 48)


def test_more_than_one_percent_in_one_process_is_off(lesson: Any) -> None:
    """It counts beside the hand-written code; a loop of ``<<<>>>`` is only shown."""
    slow = ([2.03] * 4, [2.0] * 4)
    assert beside(lesson, slow).off
    assert beside(lesson, slow).text == "1.0150 (1.0150 to 1.0150) off"
    assert not beside(lesson, slow, against="by hand, <<<>>>").off


def test_the_processes_of_a_case_come_together(lesson: Any) -> None:
    """Line by line, as ``beside.py`` prints them."""
    found: list[Any] = []
    for _ in range(2):
        row = {"variant": "fused", "tokens": 1, "mode": "loop", "guard": [2.0], "by hand": [2.0]}
        lesson("comparison").add_beside(found, row | {"by hand, <<<>>>": [1.9]})
    assert [(one.against, len(one.samples)) for one in found] == [("by hand", 2), ("by hand, <<<>>>", 2)]


def test_the_table_puts_each_peer_beside_the_mode_it_resembles(lesson: Any) -> None:
    """nvbench keeps the queue full; a loop in Python is a loop; one process's ratio stands in its case's row."""
    comparison = lesson("comparison")
    rows = [comparison.Row("fused", 1, 0, mode, {"guard 0": [2.0]}) for mode in ("queued", "loop", "graph")]
    lines = comparison.table(rows, [beside(lesson, ([2.0], [2.0]))], [{"batch": 6.4, "cold": 4.6}], [16.5])
    queued, loop, graph = lines.splitlines()[2:]
    assert queued.endswith("nvbench 6.40 / 4.60")
    assert loop.endswith("Python 16.50")
    assert "nvbench" not in graph
    assert ["1.0000 (1.0000 to 1.0000)" in line for line in (queued, loop, graph)] == [True, False, False]


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


PLAYED_LIBRARY = """
#include <stdbool.h>
void *by_hand_open(void *s, const char *v, int n, void *a, void *b, void *c, void *d, void *e) { return &by_hand_open; }
const char *by_hand_error(void) { return "no reason"; }
bool by_hand_run(void *h, long r) { return true; }
bool by_hand_capture(void *h, long r) { return true; }
double by_hand_time(void *h, const char *mode, long r) { return 1e6; }
void by_hand_close(void *h) {}
"""


def run_fidelity(
    folder: Path, greeting: str = "ready", error: float = 0.0, library: bool = False
) -> subprocess.CompletedProcess[str]:
    """One size on the cpu runtime, the other side played."""
    program = folder / "by_hand"
    words = {"python": sys.executable, "benchmarks": str(ROOT / "benchmarks"), "root": str(ROOT)}
    program.write_text(PLAYED.format(greeting=greeting, error=error, **words))
    program.chmod(0o755)
    few = ["--tokens", "1", "--rounds", "4", "--samples", "2", "--layouts", "1", "--together", "1", "--no-peers"]
    options = ["--runtime", "cpu", "--program", str(program), "--json", str(folder / "result.json"), *few]
    if library:
        (folder / "by_hand.c").write_text(PLAYED_LIBRARY)
        built = str(folder / "by_hand.so")
        subprocess.run(["cc", "-shared", "-fPIC", str(folder / "by_hand.c"), "-o", built], check=True)
        options += ["--library", built]
    return subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "fidelity.py"), *options],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.weekly
def test_every_case_is_measured_on_both_sides_in_every_mode_apart_and_in_one_process(tmp_path: Path) -> None:
    """A side that takes a second a round is off by nearly all of it, and the exit status says so.

    On a busy machine cases are contended; each is listed. In one process the library answers for its arm within the
    guard's own procedure; ``loop`` has two answers.
    """
    done = run_fidelity(tmp_path, library=True)
    result = json.loads((tmp_path / "result.json").read_text())
    failures = result["failures"]
    assert not [failure for failure in failures if failure.startswith("by hand")]
    compared = [entry for entry in result["rows"] if entry["ratio"] is not None]
    assert len(compared) >= 16 - 2 * len(failures)
    assert all(row["verdict"] == "off by 100.0%" for row in compared)
    assert all(len(times) == 2 for row in result["rows"] for times in row["samples"].values())
    assert len(result["beside"]) >= 16 - 2 * len(failures)
    assert all(one["ratio"] < 0.01 for one in result["beside"])
    assert all(one["off"] == (one["against"] == "by hand") for one in result["beside"])
    assert done.returncode == 1
    assert done.stdout.count("by hand 0a") >= bool(compared)


def test_a_case_that_was_not_measured_is_not_one_that_agrees(lesson: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit status is 1 then too."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    fidelity = importlib.import_module("fidelity")
    agreeing = {"rows": [row(lesson, [2.0, 2.0], [2.0, 2.0])], "beside": [], "failures": []}
    assert not fidelity.fails(agreeing)
    assert fidelity.fails(agreeing | {"failures": ["guard 0, fused at 1, queued: busy"]})
    assert fidelity.fails(agreeing | {"beside": [beside(lesson, ([2.03], [2.0]))]})
    assert fidelity.fails(agreeing | {"rows": [row(lesson, [2.1, 2.1], [2.0, 2.0])]})


def test_a_program_that_computes_something_else_is_not_compared_with(tmp_path: Path) -> None:
    """Fast and wrong is not a measure."""
    done = run_fidelity(tmp_path, error=1.0)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "fidelity: the hand-written separate is wrong at 1\n"


def test_a_program_that_finds_no_device_ends_the_benchmark_with_its_words(tmp_path: Path) -> None:
    """Exit status 2, one sentence."""
    done = run_fidelity(tmp_path, greeting="error no CUDA-capable device is detected")
    assert done.returncode == 2
    assert done.stderr == "fidelity: by hand 0a says: error no CUDA-capable device is detected\n"
