"""The plugin of the pytest that ``kernelperf calibrate`` runs: it visits the cases until the time is up.

Collection, settings, fixtures and tests are the project's own; only what judges a case is another.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import msgspec
import pytest

from pytest_kernelperf.baseline.calibration import write_calibration
from pytest_kernelperf.calibrate.calibrator import Calibrator
from pytest_kernelperf.calibrate.opening import find_obstacle, open_calibrator
from pytest_kernelperf.calibrate.schedule import PASSES
from pytest_kernelperf.calibrate.wish import Outcome, Wish
from pytest_kernelperf.case import CaseSpec
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.plugin.office import Office
from pytest_kernelperf.report.progress import render_progress


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option by which the command says what it wants."""
    parser.addoption("--kernelperf-calibrate", metavar="FILE", help=argparse.SUPPRESS)


def pytest_configure(config: pytest.Config) -> None:
    """Read what is wanted."""
    wish = msgspec.json.decode(Path(config.getoption("kernelperf_calibrate")).read_bytes(), type=Wish)
    config.pluginmanager.register(Calibrating(wish), "kernelperf-calibrating")


class Calibrating:
    """The hooks of a run that calibrates."""

    def __init__(self, wish: Wish) -> None:
        self._wish = wish

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Visit all cases in turn, several times, instead of testing each once."""
        if session.testsfailed:
            raise session.Interrupted(f"{session.testsfailed} errors during collection")
        office: Office = session.config.pluginmanager.get_plugin("kernelperf-active").office  # type: ignore[union-attr]
        outcome = self._calibrate(session, office)
        write_outcome(Path(self._wish.outcome), outcome)
        return True

    def _calibrate(self, session: pytest.Session, office: Office) -> Outcome:
        items = [item for item in session.items if is_variant(item)]
        if not items:
            return Outcome(problem="no case of a guarded kernel was collected: give a path, or another -k")
        office.progress.listener = lambda progress: say(render_progress(progress))
        office.progress.wait_listener = say
        if obstacle := find_obstacle(office.settings, office.progress):
            return Outcome(problem=obstacle)
        office.progress.total = len(items) * PASSES
        scratch = Path(self._wish.outcome).parent
        calibrator = open_calibrator(office.settings, self._wish, len(items), scratch, os.getpid(), office.progress)
        office.judge = calibrator
        visit(session, [item for _ in range(PASSES) for item in items], calibrator, office)
        outcome = calibrator.outcome([str(spec_of(item).case) for item in items])
        if outcome.calibration is None or not self._wish.store:
            return outcome
        try:
            path = write_calibration(office.settings.baselines, outcome.calibration)
        except (KernelperfError, OSError) as error:
            return msgspec.structs.replace(outcome, problem=f"the calibration was not stored: {error}")
        return msgspec.structs.replace(outcome, stored=office.shown(path))


def visit(session: pytest.Session, items: list[pytest.Item], calibrator: Calibrator, office: Office) -> None:
    """Run the items in order, each as pytest runs a test, until the calibrator has enough."""
    for place, item in enumerate(items):
        if calibrator.over:
            return
        following = items[place + 1] if place + 1 < len(items) else None
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        office.progress.done = place + 1


def is_variant(item: pytest.Item) -> bool:
    """Whether an item is a case that is timed: a variant of a guarded kernel, no mutation."""
    spec = getattr(item, "callspec", None) and item.callspec.params.get("kernelperf")  # type: ignore[attr-defined]
    return isinstance(spec, CaseSpec) and not spec.mutation_of


def spec_of(item: pytest.Item) -> CaseSpec:
    """An item's case."""
    spec: CaseSpec = item.callspec.params["kernelperf"]  # type: ignore[attr-defined]
    return spec


def say(line: str) -> None:
    """Tell the command where the run is."""
    os.write(int(os.environ["KERNELPERF_SAY"]), f"{line}\n".encode())


def write_outcome(path: Path, outcome: Outcome) -> None:
    """Hand the outcome to the command."""
    path.write_bytes(msgspec.json.encode(outcome))
