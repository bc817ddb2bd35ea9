"""Where a drill runs the guard: in the user's project, or on a kernel of its own; baselines are in a scratch folder.

The project's files are read and never written: what pytest caches, what the guard writes and what it compares with
lie in the scratch folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from pytest_kernelperf.baseline.store import BaselineStore
from pytest_kernelperf.drill.guard_run import GuardRun, read_guard_run
from pytest_kernelperf.drill.tampering import Tampering
from pytest_kernelperf.pytest_process import run_pytest

PLUGIN = "pytest_kernelperf.plugin.drilling"
LONGEST_S = 900.0


class Ground(Protocol):
    """Where the guard is run, as the alarms see it."""

    @property
    def store(self) -> BaselineStore:
        """The baselines that the runs compare with."""

    @property
    def chosen(self) -> tuple[str, ...]:
        """The cases that the last run kept, as ``str(CaseId)``."""

    def guard(
        self, *options: str, tampering: Tampering | None = None, environment: Mapping[str, str] | None = None
    ) -> GuardRun:
        """Run the guard on the chosen cases."""


class PytestGround:
    """Runs ``pytest --kernelperf`` in a folder.

    Args:
        scratch: a folder of its own for all that is written.
        arguments: paths and options of pytest.
        runtime: as ``--kernelperf-runtime`` has it.
        folder: where pytest runs; None: the current folder.
        say: told what each run writes about where it is.
    """

    def __init__(
        self,
        scratch: Path,
        arguments: Sequence[str],
        runtime: str,
        folder: Path | None = None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        self._scratch = scratch
        self._arguments = tuple(arguments)
        self._runtime = runtime
        self._folder = folder
        self._say = say
        self._runs = 0
        self.store = BaselineStore(scratch / "baselines")
        self.chosen: tuple[str, ...] = ()
        self.settings: dict[str, str] = {}

    def guard(
        self, *options: str, tampering: Tampering | None = None, environment: Mapping[str, str] | None = None
    ) -> GuardRun:
        """Run the guard on the chosen cases, or on those that the tampering chooses.

        Raises:
            KernelperfError: it did not end in time.
        """
        self._runs += 1
        out = self._scratch / f"run-{self._runs}"
        out.mkdir()
        chosen, asked = out / "chosen.json", out / "tampering.json"
        wanted = tampering or Tampering("")
        if not wanted.cases and not wanted.choose:
            wanted = msgspec.structs.replace(wanted, cases=self.chosen)
        asked.write_bytes(msgspec.json.encode(msgspec.structs.replace(wanted, chosen_file=str(chosen))))
        finished = run_pytest(
            [
                *("--kernelperf", f"--kernelperf-runtime={self._runtime}", f"--kernelperf-out={out}"),
                *("-o", "kernelperf_page=false"),
                "--kernelperf-trace=never",
                *("-p", PLUGIN, f"--kernelperf-drill={asked}", f"--junitxml={out / 'junit.xml'}"),
                *self._arguments,
                *("-o", f"kernelperf_baselines={self.store.root}", "-p", "no:randomly", *options),
            ],
            scratch=out,
            folder=self._folder,
            environment=environment,
            on_line=self._say,
            timeout_s=LONGEST_S,
        )
        if chosen.exists() and wanted.choose:
            self.chosen = tuple(msgspec.json.decode(chosen.read_bytes(), type=list[str]))
        run = read_guard_run(out, finished.code, finished.seconds, finished.last_lines)
        self.settings = run.settings or self.settings
        return run
