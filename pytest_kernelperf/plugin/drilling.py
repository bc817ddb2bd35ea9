"""The plugin of the pytests that ``kernelperf drill`` runs: it chooses cases, and tampers with the guard's workers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_kernelperf.case import CaseSpec
from pytest_kernelperf.drill.choice import choose
from pytest_kernelperf.drill.tampering import TamperedWorkers, Tampering
from pytest_kernelperf.plugin.baseline_item import BaselineItem
from pytest_kernelperf.plugin.office import Office
from pytest_kernelperf.session.part import Workers


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option by which the command says what it wants."""
    parser.addoption("--kernelperf-drill", metavar="FILE", help=argparse.SUPPRESS)


def pytest_configure(config: pytest.Config) -> None:
    """Read what is wanted."""
    tampering = msgspec.json.decode(Path(config.getoption("kernelperf_drill")).read_bytes(), type=Tampering)
    config.pluginmanager.register(Drilling(tampering), "kernelperf-drilling")


class Drilling:
    """The hooks of a run that drills."""

    def __init__(self, tampering: Tampering) -> None:
        self._tampering = tampering

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Keep the chosen cases and the baseline files, whatever -k said of these."""
        office = office_of(config)
        specs = {item: spec for item in items if (spec := spec_of(item)) is not None}
        kept = choose(list(specs.values()), self._tampering)
        files = [item for item in items if isinstance(item, BaselineItem)] or list(BaselineItem.all_of(session, office))
        dropped = [item for item in items if not isinstance(item, BaselineItem) and specs.get(item) not in kept]
        config.hook.pytest_deselected(items=dropped)
        items[:] = [*(item for item in items if specs.get(item) in kept), *files]
        chosen = [str(spec.case) for spec in kept if not spec.mutation_of]
        Path(self._tampering.chosen_file).write_bytes(msgspec.json.encode(chosen))

    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Put the tampering between the guard and its workers; then the tests run as ever."""
        tampering = self._tampering

        def wrap(workers: Workers) -> Workers:
            pool: Any = workers
            return TamperedWorkers(workers, tampering, lambda: pool.pids)

        office_of(session.config).wrap = wrap


def office_of(config: pytest.Config) -> Office:
    """Return the run's office."""
    office: Office = config.pluginmanager.get_plugin("kernelperf-active").office  # type: ignore[union-attr]
    return office


def spec_of(item: pytest.Item) -> CaseSpec | None:
    """Return an item's case, None where it is no case of a guarded kernel."""
    callspec = getattr(item, "callspec", None)
    spec = callspec.params.get("kernelperf") if callspec is not None else None
    return spec if isinstance(spec, CaseSpec) else None
