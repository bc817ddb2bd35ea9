"""The terminal: a line of progress while it runs, the tables at the end. Computes nothing."""

from __future__ import annotations

import os

import pytest

from pytest_kernelperf.plugin.office import Office
from pytest_kernelperf.report.progress import Progress, ProgressPolicy, render_progress
from pytest_kernelperf.report.terminal import render_run


class Display:
    """Writes to pytest's own terminal writer, so that its output and ours do not mix."""

    def __init__(self, office: Office, config: pytest.Config) -> None:
        self._office = office
        self._config = config
        self._reporter: pytest.TerminalReporter | None = None
        self._policy = ProgressPolicy(False, os.environ)
        self._drawn = False

    def begin(self) -> None:
        """Look for the terminal, which pytest sets up after its plugins, and listen to the guard."""
        self._reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        self._policy = ProgressPolicy(self._reporter is not None and self._reporter.isatty, os.environ)
        self._office.progress.listener = self._draw

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
            reporter.write(render_run(office.run, details=False))
        for line in office.ending.lines:
            reporter.write_line(line)
        for sentence in office.ending.failures:
            reporter.write_line(sentence, red=True)

    def _draw(self, progress: Progress) -> None:
        if self._policy.shows(progress):
            self._write_below(render_progress(progress, self._config.get_terminal_writer().fullwidth - 1))
            self._drawn = True

    def _write_below(self, text: str) -> None:
        """Write a line under the one that pytest is writing, and go back to where it was."""
        writer = self._config.get_terminal_writer()
        column = writer.width_of_current_line
        writer.write(f"\n\x1b[2K{text}\x1b[1A\x1b[{column + 1}G", flush=True)
        # pytest fills its lines by this count, which the line below has spoilt.
        writer._current_line = " " * column
