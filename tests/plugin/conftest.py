"""A child project with real HIP kernels on the cpu runtime; only its clock is scripted, so that nothing is timed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_kernelperf.errors import RuntimeUnavailable
from pytest_kernelperf.native import native_path

SOURCE = """
extern "C" __global__ void scale(int n, float factor, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = factor * x[i];
}

extern "C" __global__ void scale_strided(int n, float factor, const float* x, float* y) {
    const int threads = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) y[i] = factor * x[i];
}
"""

TEST = """
import numpy as np
import pytest
from pytest_kernelperf import Kernel, Launch, cdiv

kernel = Kernel("scale", source="scale.hip", tokens=(1, 8))


@kernel.inputs
def inputs(tokens):
    return {"x": np.arange(256 * tokens, dtype=np.float32), "y": np.zeros(256 * tokens, np.float32)}


@kernel.reference
def reference(tokens, x):
    return {"y": (np.float32(3) * x).astype(np.float32)}


@kernel.variant(moved_bytes=lambda tokens: 2048 * tokens, expect_starved={1: "one workgroup is all there is"})
def plain(tokens, device):
    args = [np.int32(256 * tokens), np.float32(3), "x", "y"]
    return [Launch("scale", grid=tokens, block=256, args=args)]


@kernel.variant(moved_bytes=lambda tokens: 2048 * tokens)
def strided(tokens, device):
    args = [np.int32(256 * tokens), np.float32(3), "x", "y"]
    return [Launch("scale_strided", grid=64, block=4, args=args)]


@kernel.mutation(of="plain")
def factor_two(tokens, device):
    args = [np.int32(256 * tokens), np.float32(2), "x", "y"]
    return [Launch("scale", grid=tokens, block=256, args=args)]


@pytest.mark.kernelperf(kernel)
def test_scale(kernelperf):
    kernelperf.check()
"""


class GuardedProject:
    """The child project: its files, its clock's script, and runs of the guard in it."""

    def __init__(self, child: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.child = child
        self.path: Path = child.path
        self.script = self.path / "clock.json"
        self.set_times({"match": {}, "us": 10.0, "noise_ratio": 0.001})
        monkeypatch.setenv("KERNELPERF_CLOCK_SCRIPT", str(self.script))
        monkeypatch.setenv("KERNELPERF_LOCK", str(self.path / "machine.lock"))
        self.child.write("scale.hip", SOURCE)
        self.child.write("test_scale.py", TEST)
        # Few compute units to fill whatever machine this is, and the fewest processes that can agree.
        self.child.write("pytest.ini", "[pytest]\nkernelperf_target = test:2\nkernelperf_processes = 3\n")

    def set_times(self, *rules: dict[str, Any]) -> None:
        """Script the clock: the first rule that fits a sample gives its time."""
        self.script.write_text(json.dumps({"version": 1, "rules": rules}))

    def guard(self, *arguments: str) -> pytest.RunResult:
        """Run ``pytest --kernelperf`` on the cpu runtime."""
        result: pytest.RunResult = self.child.run("--kernelperf", "--kernelperf-runtime=cpu", *arguments)
        return result

    def replace(self, name: str, old: str, new: str) -> None:
        """Edit a file; the text must be there."""
        text = (self.path / name).read_text()
        assert old in text
        (self.path / name).write_text(text.replace(old, new))

    def run_file(self) -> dict[str, Any]:
        """Return run.json of the last run."""
        run: dict[str, Any] = json.loads((self.path / ".kernelperf" / "run.json").read_text())
        return run

    def verdicts(self) -> dict[str, str]:
        """Return ``variant-tokens`` -> verdict of the last run."""
        return {
            f"{record['case']['variant']}-{record['case']['tokens']}": record["decision"]["verdict"]
            for record in self.run_file()["records"]
        }

    def baseline(self) -> Path:
        """Return the only baseline file."""
        (path,) = (self.path / "baselines").glob("*/scale.json")
        return path


@pytest.fixture
def guarded(child_project: Any, monkeypatch: pytest.MonkeyPatch) -> GuardedProject:
    """A guarded child project; skipped where the cpu runtime was not built or no compiler is there."""
    try:
        native_path("hip_cpu/lib/libamdhip64.so")
    except RuntimeUnavailable as error:
        pytest.skip(str(error))
    # Colours and widths are the terminal's; a test reads the plain text.
    for name in ("CI", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    os.environ.pop("LD_PRELOAD", None)
    return GuardedProject(child_project, monkeypatch)
