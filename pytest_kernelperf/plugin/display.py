"""The terminal: a line of progress while it runs, the tables at the end. Computes nothing."""

from __future__ import annotations

import math
import os
from contextlib import AbstractContextManager, nullcontext
from os.path import relpath
from typing import Any

import msgspec
import pytest

from pytest_kernelperf.plugin.line import LiveLine, open_line
from pytest_kernelperf.plugin.office import Office
from pytest_kernelperf.plugin.relay import Caller, Relay
from pytest_kernelperf.report.progress import Progress, ProgressPolicy, render_progress
from pytest_kernelperf.report.terminal import render_run
from pytest_kernelperf.session.progress import PREPARING

TELL_AGAIN_S = 60.0
ADDRESS = "kernelperf_progress"
"""What an xdist worker's input holds where its progress is shown."""


class Display:
    """One process's side of what is shown while the run goes on: it draws, or tells the process that does."""

    def __init__(self, office: Office, config: pytest.Config) -> None:
        self._office = office
        self._config = config
        self._reporter: pytest.TerminalReporter | None = None
        self._policy = ProgressPolicy(False, os.environ)
        self._line: LiveLine | None = None
        self._relay: Relay | None = None
        self._caller: Caller | None = None
        self._told_s = -math.inf

    def begin(self) -> None:
        """Look for the terminal, which pytest sets up after its plugins, and listen to the guard."""
        progress = self._office.progress
        self._reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        self._policy = ProgressPolicy(True, os.environ, self._config.getoption("verbose", 0))
        self._line = None if self._policy.quiet else open_line(self._reporter)
        address = getattr(self._config, "workerinput", {}).get(ADDRESS)
        self._caller = Caller(address) if address else None
        progress.watched = self._line is not None or (self._caller is not None and self._caller.heard)
        progress.listener = self._draw if self._caller is None else self._caller.tell
        progress.wait_listener = self._tell_waiting

    def begin_worker(self, workerinput: dict[str, Any]) -> None:
        """Let an xdist worker tell this process where it is, if that is shown."""
        if self._line is None:
            return
        if self._relay is None:
            self._relay = Relay(self._draw_of_worker)
        workerinput[ADDRESS] = self._relay.address

    def after_case(self) -> None:
        """Take the line of progress away."""
        if self._line is not None and self._relay is None:
            self._line.clear()
        if self._caller is not None:
            self._caller.tell(None)

    def end(self) -> None:
        """Take the line away for good."""
        for part in (self._relay, self._caller, self._line):
            if part is not None:
                part.close()
        self._line = None

    def show_run(self, reporter: pytest.TerminalReporter) -> None:
        """Write the run's tables, what was stored, and what could not be written."""
        office = self._office
        if office.run is not None:
            reporter.section("kernelperf", sep="=")
            reporter.write(render_run(office.run, details=False, folder=relpath(office.settings.out)))
        for line in office.ending.lines:
            reporter.write_line(line)
        for sentence in office.ending.failures:
            reporter.write_line(sentence, red=True)

    def _tell_waiting(self, sentence: str) -> None:
        """Say at once for whom this run waits, on a terminal or not, and again from time to time."""
        elapsed_s = self._office.progress.elapsed_s
        if self._reporter is not None and elapsed_s - self._told_s >= TELL_AGAIN_S:
            self._told_s = elapsed_s
            with self._uncaptured():
                self._reporter.ensure_newline()
                self._reporter.write_line(f"kernelperf: {sentence}", flush=True)

    def _draw(self, progress: Progress) -> None:
        line = self._line
        if line is None:
            return
        if self._runs_user_code(progress):
            line.clear()
        elif self._policy.shows(progress.elapsed_s):
            line.draw(render_progress(progress, line.width))

    def _draw_of_worker(self, progress: Progress | None) -> None:
        """Draw what an xdist worker told; cases are counted here, where all reports come together."""
        log = self._office.progress
        if progress is not None:
            total = max(progress.total, log.done)
            self._draw(msgspec.structs.replace(progress, done=log.done, total=total, elapsed_s=log.elapsed_s))
        elif self._line is not None:
            self._line.clear()

    def _runs_user_code(self, progress: Progress) -> bool:
        """Whether what a test prints under ``-s`` would be written over the line."""
        return self._config.getoption("capture", None) == "no" and progress.phase == PREPARING and self._relay is None

    def _uncaptured(self) -> AbstractContextManager[None]:
        """Write past pytest's capture: while a test runs, the terminal is the test's own output otherwise."""
        manager = self._config.pluginmanager.get_plugin("capturemanager")
        return nullcontext() if manager is None else manager.global_and_fixture_disabled()
