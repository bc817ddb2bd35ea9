"""The terminal: a line of progress while it runs, the tables at the end. Computes nothing."""

from __future__ import annotations

import math
import os
from contextlib import AbstractContextManager, nullcontext
from os.path import relpath

import pytest

from pytest_kernelperf.plugin.office import Office
from pytest_kernelperf.report.progress import Progress, ProgressPolicy, render_progress
from pytest_kernelperf.report.terminal import render_run

TELL_AGAIN_S = 60.0


class Display:
    """Writes to pytest's own terminal writer, so that its output and ours do not mix."""

    def __init__(self, office: Office, config: pytest.Config) -> None:
        self._office = office
        self._config = config
        self._reporter: pytest.TerminalReporter | None = None
        self._policy = ProgressPolicy(False, os.environ)
        self._drawn = False
        self._told_s = -math.inf

    def begin(self) -> None:
        """Look for the terminal, which pytest sets up after its plugins, and listen to the guard."""
        self._reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        self._policy = ProgressPolicy(self._reporter is not None and self._reporter.isatty, os.environ)
        self._office.progress.listener = self._draw
        self._office.progress.wait_listener = self._tell_waiting

    def after_case(self) -> None:
        """Take the line of progress away."""
        if self._drawn:
            self._write_below("")
            self._drawn = False

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
        if self._policy.shows(progress):
            self._write_below(render_progress(progress, self._config.get_terminal_writer().fullwidth - 1))
            self._drawn = True

    def _write_below(self, text: str) -> None:
        """Write a line under the one that pytest is writing, and go back to where it was."""
        writer = self._config.get_terminal_writer()
        column = writer.width_of_current_line
        with self._uncaptured():
            writer.write(f"\n\x1b[2K{text}\x1b[1A\x1b[{column + 1}G", flush=True)
        # pytest fills its lines by this count, which the line below has spoilt.
        writer._current_line = " " * column

    def _uncaptured(self) -> AbstractContextManager[None]:
        """Write past pytest's capture: while a test runs, the terminal is the test's own output otherwise."""
        manager = self._config.pluginmanager.get_plugin("capturemanager")
        return nullcontext() if manager is None else manager.global_and_fixture_disabled()
