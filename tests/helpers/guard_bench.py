"""A project of one kernel around scripted workers, so that the guard's session is tested without a device."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from scripted_workers import ScriptedMachine, ScriptedWorkers

from pytest_kernelperf import Kernel, Launch
from pytest_kernelperf.baseline.exported import Export
from pytest_kernelperf.baseline.store import BaselineStore
from pytest_kernelperf.case import CaseSpec, list_cases
from pytest_kernelperf.export.exporter import Exporter
from pytest_kernelperf.model import Record
from pytest_kernelperf.session.ending import Shelf, build_run, end_run
from pytest_kernelperf.session.guard import Guard
from pytest_kernelperf.session.part import Progress, unheard
from pytest_kernelperf.settings import CaseSettings, Settings

SOURCE = "kernel double_kernel v1\nkernel other_kernel v1\n"


class Bench:
    """One project with a kernel of two variants and a mutation, its settings and its scripted parts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "test_k.py").write_text("")
        self.source = folder / "k.hip"
        self.source.write_text(SOURCE)
        self.settings = Settings(root=folder, baselines=folder / "baselines", out=folder / "out", trace="never")
        self.workers = ScriptedWorkers()
        self.machine = ScriptedMachine()
        self.slept: list[float] = []
        self.grid = 4
        self.parent: Export | None = None
        self.progress: Progress = unheard
        self.kernel = self._kernel()

    def _kernel(self) -> Kernel:
        kernel = Kernel("k", source=self.source, tokens=(8,))
        kernel.inputs(lambda tokens: {"x": np.ones(tokens, np.float32), "y": np.zeros(tokens, np.float32)})
        kernel.reference(lambda tokens, x: {"y": 2 * x})

        @kernel.variant(moved_bytes=lambda tokens: 8 * tokens)
        def plain(tokens: int, device: Any) -> list[Launch]:
            return [Launch("double_kernel", grid=self.grid, block=64, args=["x", "y"])]

        @kernel.variant(replaces="plain")
        def fused(tokens: int, device: Any) -> list[Launch]:
            return [Launch("other_kernel", grid=4, block=64, args=["x", "y"])]

        @kernel.mutation(of="plain", options=["-DBROKEN"])
        def broken(tokens: int, device: Any) -> list[Launch]:
            return [Launch("double_kernel", grid=4, block=64, args=["x", "y"])]

        return kernel

    def spec(self, name: str) -> CaseSpec:
        """Return the case of a variant or mutation."""
        return next(spec for spec in list_cases(self.kernel) if spec.doing.name == name)

    def guard(self) -> Guard:
        """Return a guard over the bench's parts."""
        store = BaselineStore(self.settings.baselines)
        parts = (self.settings, self.workers, self.machine, store, 1, self.progress, self.slept.append)
        return Guard(*parts, parent=self.parent)

    def export(self, *names: str, commit: str = "", settings: CaseSettings | None = None) -> Export:
        """Export variants as ``kernelperf plans`` does; all where none is named."""
        specs = [self.spec(name) for name in names or ("plain", "fused")]
        cases = [(spec, "test_k.py", settings or self.settings.case) for spec in specs]
        return Exporter(self.settings, self.workers, self.machine).export(cases, commit)

    def check(self, name: str = "plain", settings: CaseSettings | None = None) -> Record:
        """Judge one case with a new guard."""
        shelf = Shelf(self.settings.out)
        return self.guard().check(self.spec(name), settings or self.settings.case, "test_k.py", shelf.put)

    def accept(self, *names: str) -> tuple[str, ...]:
        """Store baselines of cases as ``--update-baselines=first`` does."""
        before = self.settings
        self.settings = dataclasses.replace(before, update_reason="first")
        records = [self.check(name) for name in names]
        run = build_run(self.settings, self.workers.facts(), {}, records, datetime(2026, 1, 2, tzinfo=timezone.utc))
        known = frozenset({("plain", 8), ("fused", 8)})
        ending = end_run(run, self.settings, BaselineStore(self.settings.baselines), lambda kernel, module: known)
        self.settings = before
        assert not ending.failures
        return ending.lines


def slower(ratio: float, processes: Callable[[int], bool] = lambda process: True) -> Callable[[str, int], float]:
    """Return times in which the head takes ``ratio`` times as long, in some processes."""
    return lambda arm, process: 10.0 * (ratio if arm == "head" and processes(process) else 1.0)
