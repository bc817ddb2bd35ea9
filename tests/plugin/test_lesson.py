"""The lesson's kernel, guarded end to end: its own figures, to the digit."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

KERNELS = Path(__file__).parents[2] / "kernels"


@pytest.fixture
def lesson(guarded: Any) -> Any:
    """A child project that holds the lesson's kernel instead of the small one."""
    if not KERNELS.exists():
        pytest.skip("kernels/ is not beside these tests")
    for name in ("scale.hip", "test_scale.py"):
        (guarded.path / name).unlink()
    folder = guarded.path / "kernels" / "moe_add_inject"
    shutil.copytree(KERNELS / folder.name, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return guarded


def records_of(lesson: Any) -> dict[tuple[str, int], dict[str, Any]]:
    """Return (variant, tokens) -> record of the last run."""
    return {(r["case"]["variant"], r["case"]["tokens"]): r for r in lesson.run_file()["records"]}


def test_the_lessons_kernel_gives_the_lessons_figures(lesson: Any) -> None:
    """Every variant right, both mutations noticed, with the lesson's counts, values, bytes and workgroups."""
    assert lesson.guard("-o", "kernelperf_target=gfx1151", "-k", "1] or missing-512] or weight-512]").ret == 0
    records = records_of(lesson)
    verdicts = {name: record["decision"]["verdict"] for name, record in records.items() if not record["mutation_of"]}
    assert set(verdicts.values()) == {"new"}
    assert len(verdicts) == 4
    check_mutations(records)
    check_fills(records)


def check_mutations(records: dict[tuple[str, int], dict[str, Any]]) -> None:
    """At one token and at 512: how many values differ, the first of them, what came and what should have come."""
    for (mutation, tokens), (differing, values, first, got, want) in {
        ("last_tile_missing", 1): (1_024, 10_240, 2304, "0.830200195", "0.189979553"),
        ("last_tile_missing", 512): (524_288, 5_242_880, 2304, "0.830200195", "0.189979553"),
        ("stream_zero_weight", 1): (7_680, 10_240, 2560, "1.04614961", "1.20570087"),
        ("stream_zero_weight", 512): (3_932_124, 5_242_880, 2560, "1.04614961", "1.20570087"),
    }.items():
        assert records[mutation, tokens]["mismatch"] == {
            "output": "x",
            "differing": differing,
            "values": values,
            "first_index": first,
            "got": got,
            "want": want,
        }


def check_fills(records: dict[tuple[str, int], dict[str, Any]]) -> None:
    """122,896 and 102,416 bytes at one token; 10, 40, 1, 10 and 40 workgroups, one of them starved as expected."""
    moved = {
        name: record["moved_bytes"] for (name, n), record in records.items() if n == 1 and not record["mutation_of"]
    }
    assert moved == {
        "separate": 122_896,
        "fused_one_block_per_token": 102_416,
        "fused_column_tiles": 102_416,
        "fused_column_tiles_64": 102_416,
    }
    fills = {name: [fill["workgroups"] for fill in records[name, 1]["fills"]] for name in moved}
    assert fills == {
        "separate": [10, 40],
        "fused_one_block_per_token": [1],
        "fused_column_tiles": [10],
        "fused_column_tiles_64": [40],
    }
    assert any("starved as expected" in note for note in records["fused_one_block_per_token", 1]["notes"])


def test_one_workgroup_a_token_is_starved_on_the_target(lesson: Any) -> None:
    """The lesson's trap: right bit for bit, and one workgroup of forty compute units."""
    lesson.replace("kernels/moe_add_inject/test_moe_add_inject.py", "grid=(tiles, tokens)", "grid=(1, tokens)")
    lesson.replace(
        "kernels/moe_add_inject/moe_add_inject.hip",
        "fused_column_tiles(const float* moe, const float* shared, const float* weights, float* x) {",
        "fused_column_tiles(const float* moe, const float* shared, const float* weights, float* x) {\n"
        "    for (int column = threadIdx.x; column < kColumns; column += blockDim.x)\n"
        "        for (int stream = 0; stream < kStreams; ++stream) {\n"
        "            const int row = blockIdx.y * kStreams + stream;\n"
        "            const float y = moe[blockIdx.y * kColumns + column] + shared[blockIdx.y * kColumns + column];\n"
        "            x[row * kColumns + column] = fmaf(weights[row], y, x[row * kColumns + column]);\n"
        "        }\n    return;",
    )
    assert lesson.guard("-o", "kernelperf_target=gfx1151", "-k", "fused_column_tiles-1]").ret == 1
    decision = records_of(lesson)["fused_column_tiles", 1]["decision"]
    assert decision["verdict"] == "starved"
    for part in ("1 workgroup,", "floor 10", "40 compute units", "gfx1151"):
        assert part in decision["reason"]


def test_the_projects_own_options_need_no_terminal(plugin_arguments: tuple[str, ...]) -> None:
    """``-p no:terminal`` takes away pytest's display and its options, and must not take away the guard."""
    if not (KERNELS.parent / "pyproject.toml").exists():
        pytest.skip("pyproject.toml is not beside these tests")
    command = [sys.executable, "-m", "pytest", *plugin_arguments, "-p", "no:terminal", "--collect-only", "kernels"]
    assert subprocess.run(command, cwd=KERNELS.parent, capture_output=True, check=False).returncode == 0
