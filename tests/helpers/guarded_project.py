"""A child project with real HIP kernels on the cpu runtime; only its clock is scripted, so that nothing is timed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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

FILES = {
    "scale.hip": SOURCE,
    "test_scale.py": TEST,
    # Few compute units to fill whatever machine this is, and the fewest processes that can agree.
    "pytest.ini": "[pytest]\nkernelperf_target = test:2\nkernelperf_processes = 3\n",
    "clock.json": '{"version": 1, "rules": [{"match": {}, "us": 10.0, "noise_ratio": 0.001}]}',
}

# What would change a child run's output or its verdicts.
NOT_PASSED_ON = ("CI", "GITHUB_ACTIONS", "LD_PRELOAD", "PYTEST_ADDOPTS")


class GuardedProject:
    """The child project: its files, its clock's script, and runs of the guard in it."""

    def __init__(self, child: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.child = child
        self.path: Path = child.path
        self.script = self.path / "clock.json"
        monkeypatch.setenv("KERNELPERF_CLOCK_SCRIPT", str(self.script))
        monkeypatch.setenv("KERNELPERF_LOCK", str(self.path / "machine.lock"))
        for name, text in FILES.items():
            self.child.write(name, text)

    def set_times(self, *rules: dict[str, Any]) -> None:
        """Script the clock: the first rule that fits a sample gives its time."""
        self.script.write_text(json.dumps({"version": 1, "rules": rules}))

    def guard(self, *arguments: str) -> pytest.RunResult:
        """Run ``pytest --kernelperf`` on the cpu runtime; traces are only taken where a test asks for them."""
        options = ("--kernelperf", "--kernelperf-runtime=cpu", "--kernelperf-trace=never")
        result: pytest.RunResult = self.child.run(*options, *arguments)
        return result

    def command(self, *arguments: str, timeout: float = 240) -> subprocess.CompletedProcess[str]:
        """Run the command ``kernelperf`` in the project."""
        program = "from pytest_kernelperf.cli import main; main()"
        return subprocess.run(
            [sys.executable, "-c", program, *arguments],
            cwd=self.path,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )

    def start_from(self, baselines: Path) -> None:
        """Begin with baselines that another run of this very project has stored."""
        shutil.copytree(baselines, self.path / "baselines")

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

    def notes(self) -> dict[str, str]:
        """Return ``variant-tokens`` -> all notes of the last run, joined."""
        return {
            f"{record['case']['variant']}-{record['case']['tokens']}": "; ".join(record["notes"])
            for record in self.run_file()["records"]
        }

    def baseline(self) -> Path:
        """Return the only baseline file."""
        (path,) = (self.path / "baselines").glob("*/scale.json")
        return path


def store_baselines(folder: Path, plugin_arguments: tuple[str, ...], files: dict[str, str], *arguments: str) -> Path:
    """Store baselines of a project of these files, by a real run; return their folder."""
    for name, text in files.items():
        (folder / name).write_text(text)
    command = [sys.executable, "-m", "pytest", *plugin_arguments, "--kernelperf", "--kernelperf-runtime=cpu"]
    environment = {
        **{name: value for name, value in os.environ.items() if name not in NOT_PASSED_ON},
        "KERNELPERF_CLOCK_SCRIPT": str(folder / "clock.json"),
        "KERNELPERF_LOCK": str(folder / "machine.lock"),
    }
    run = [*command, "--update-baselines=first", *arguments]
    result = subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    return folder / "baselines"
