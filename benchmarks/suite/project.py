"""A project of many kernels, made in a folder: each has its own source and test, and counts what is asked of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TOKENS = (1, 7, 64, 256, 512, 1024)
COLUMNS = 2560

SOURCE = """// One kernel for each variant: the same work in other pieces.
extern "C" __global__ void {name}_{variant}(int n, float factor, const float* x, float* y) {{
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * {each};
    for (int i = first; i < first + {each}; ++i) if (i < n) y[i] = factor * x[i] + {change}f * (i & 7);
}}
"""

TEST = """import numpy as np
import pytest
from pathlib import Path
from pytest_kernelperf import Kernel, Launch, cdiv

COLUMNS = {columns}
LOG = Path(__file__).parent / "called"
kernel = Kernel("{name}", source="{name}.hip", tokens={tokens})


def note(what):
    with LOG.open("a") as file:
        file.write(what + "\\n")


@kernel.inputs
def inputs(tokens):
    note("inputs")
    count = COLUMNS * tokens
    return {{"x": np.arange(count, dtype=np.float32) % 1024, "y": np.zeros(count, np.float32)}}


@kernel.reference
def reference(tokens, x):
    note("references")
    change = np.float32({change})
    return {{"y": np.float32(3) * x + change * (np.arange(len(x)) & 7).astype(np.float32)}}
{variants}

@pytest.mark.kernelperf(kernel)
def test_{name}(kernelperf):
    kernelperf.check()
"""

VARIANT = """

@kernel.variant(expect_starved={{size: "small" for size in {tokens}}})
def {variant}(tokens, device):
    n = COLUMNS * tokens
    args = [np.int32(n), np.float32(3), "x", "y"]
    return [Launch("{name}_{variant}", grid=cdiv(n, 256 * {each}), block=256, args=args)]
"""

COUNTING = '''"""Counts what the guard asks of its workers, and how long it waits for them; pytest loads it with -p."""

import json
import time
from collections import Counter
from pathlib import Path

import pytest_kernelperf.worker.pool as pool
import pytest_kernelperf.worker.process as process

counts, spent = Counter(), Counter()
began_s = time.monotonic()


def counted(owner, name, what):
    real = getattr(owner, name)

    def call(*arguments, **more):
        counts[what] += 1
        start_s = time.monotonic()
        try:
            return real(*arguments, **more)
        finally:
            spent[what] += time.monotonic() - start_s

    setattr(owner, name, call)


counted(pool.WorkerPool, "compile", "compiled")
counted(pool.WorkerPool, "run", "run")
counted(pool.WorkerPool, "measure", "measured")
counted(pool.WorkerPool, "_start", "starting")
counted(process.WorkerProcess, "__init__", "workers")


def pytest_unconfigure(config):
    seconds = time.monotonic() - began_s
    Path("counted.json").write_text(json.dumps({"counts": counts, "spent": spent, "seconds": seconds}))
'''


class Project:
    """The folder, its kernels, and what a run in it counted."""

    def __init__(self, folder: Path, kernels: int, variants: int, sizes: int) -> None:
        """Write ``kernels`` kernels of so many variants and sizes each."""
        self.folder = folder
        self.kernels = kernels
        self.tokens = TOKENS[:sizes]
        self.variants = variants
        folder.mkdir(parents=True)
        (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:randomly\n")
        (folder / "counting.py").write_text(COUNTING)
        for number in range(kernels):
            self._write(number, 0.5)

    @property
    def cases(self) -> int:
        """How many cases it has."""
        return self.kernels * self.variants * len(self.tokens)

    def change(self, numbers: Iterable[int]) -> None:
        """Change the instructions of some kernels, and what their references expect; their speed stays."""
        for number in numbers:
            self._write(number, 0.25)

    def forget_counts(self) -> None:
        """Before a run."""
        for name in ("called", "counted.json"):
            (self.folder / name).unlink(missing_ok=True)

    def counts(self) -> dict[str, Any] | None:
        """What the last run counted; None if it did not come to its end."""
        counted, run = self.folder / "counted.json", self.folder / ".kernelperf" / "run.json"
        if not counted.exists() or not run.exists():
            return None
        found = json.loads(counted.read_text())
        records = json.loads(run.read_text())["records"]
        called = self.folder / "called"
        calls = Counter(called.read_text().split()) if called.exists() else Counter()
        verdicts = Counter(record["decision"]["verdict"] for record in records)
        return {
            "verdicts": ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())),
            "seconds": round(found["seconds"], 2),
            "timed": sum(bool(record["measurements"]) for record in records),
            "inputs": calls["inputs"],
            "references": calls["references"],
            **{name: found["counts"].get(name, 0) for name in ("compiled", "run", "measured", "workers")},
            "spent": {name: round(seconds, 2) for name, seconds in found["spent"].items() if name != "workers"},
        }

    def scripted(self, environment: dict[str, str]) -> dict[str, str]:
        """The environment in which times come from a script: 10 ms a round, so that a sample is one round."""
        script = self.folder / "clock.json"
        script.write_text('{"version": 1, "rules": [{"match": {}, "us": 10000.0, "noise_ratio": 0.001}]}')
        return {**environment, "KERNELPERF_CLOCK_SCRIPT": str(script)}

    def unscript_baselines(self) -> None:
        """Give baselines that were stored under a scripted clock the device's own key."""
        for folder in list((self.folder / "baselines").glob("scripted-*")):
            key = folder.name.removeprefix("scripted-")
            for path in folder.glob("*.json"):
                path.write_text(path.read_text().replace(f'"scripted-{key}"', f'"{key}"'))
            folder.rename(folder.with_name(key))

    def _write(self, number: int, change: float) -> None:
        name = f"k{number:03}"
        each = {f"pieces_of_{1 << power}": 1 << power for power in range(self.variants)}
        shared = {"name": name, "change": change, "columns": COLUMNS, "tokens": self.tokens}
        source = "".join(SOURCE.format(variant=variant, each=count, **shared) for variant, count in each.items())
        variants = "".join(VARIANT.format(variant=variant, each=count, **shared) for variant, count in each.items())
        (self.folder / f"{name}.hip").write_text(source)
        (self.folder / f"test_{name}.py").write_text(TEST.format(variants=variants, **shared))
