"""The plugin of the pytest that ``kernelperf plans`` runs: it compiles what is collected instead of testing it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pytest

from pytest_kernelperf.baseline.exported import write_export
from pytest_kernelperf.case import CaseSpec
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.export.exporter import Exporter
from pytest_kernelperf.export.wish import Outcome, Wish
from pytest_kernelperf.model import CaseId
from pytest_kernelperf.plugin.collection import module_name, spec_of
from pytest_kernelperf.plugin.office import Office
from pytest_kernelperf.report.progress import render_progress
from pytest_kernelperf.session.opening import open_workers


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option by which the command says what it wants."""
    parser.addoption("--kernelperf-plans", metavar="FILE", help=argparse.SUPPRESS)


def pytest_configure(config: pytest.Config) -> None:
    """Read what is wanted."""
    wish = msgspec.json.decode(Path(config.getoption("kernelperf_plans")).read_bytes(), type=Wish)
    config.pluginmanager.register(Exporting(wish), "kernelperf-exporting")


class Exporting:
    """The hooks of a run that exports."""

    def __init__(self, wish: Wish) -> None:
        self._wish = wish
        self._problems: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note what cannot be collected; the rest is exported all the same."""
        if report.failed:
            self._problems.append(f"{report.nodeid} could not be collected: {last_line(report.longreprtext)}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Export the cases instead of testing them, whatever could not be collected beside them."""
        office: Office = session.config.pluginmanager.get_plugin("kernelperf-active").office  # type: ignore[union-attr]
        outcome = self._export(session, office)
        Path(self._wish.outcome).write_bytes(msgspec.json.encode(outcome))
        return True

    def _export(self, session: pytest.Session, office: Office) -> Outcome:
        office.progress.listener = lambda progress: say(render_progress(progress))
        office.progress.wait_listener = say
        root = session.config.rootpath
        found = [
            (spec, module_name(item.path, root), office.case_settings(item))
            for item in session.items
            if (spec := spec_of(item))
        ]
        office.progress.total = len(found)
        workers, machine = open_workers(office.settings, os.getpid(), office.progress, command="kernelperf plans")
        try:
            exporter = Exporter(office.settings, workers, machine, office.progress)
            write_export(Path(self._wish.plans), exporter.export(found, self._wish.commit, self._problems))
        except KernelperfError as error:
            return Outcome(problem=str(error))
        finally:
            workers.close()
        return Outcome(former=tuple(_former(spec for spec, _, _ in found)))


def _former(specs: Iterable[CaseSpec]) -> Iterator[tuple[CaseId, CaseId]]:
    return ((spec.case, former) for spec in specs if (former := spec.former) is not None)


def last_line(text: str) -> str:
    """The line of a collection error that says what it was."""
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("E").strip() for line in lines if line.startswith("E ")]
    return (errors or lines or ["for an unknown reason"])[-1]


def say(line: str) -> None:
    """Tell the command where the run is."""
    os.write(int(os.environ["KERNELPERF_SAY"]), f"{line}\n".encode())
