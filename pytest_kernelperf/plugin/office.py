"""What the hooks share: the guard, the records so far, and what was collected. Knows pytest; decides nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_kernelperf.baseline.check import problems
from pytest_kernelperf.baseline.exported import Export
from pytest_kernelperf.baseline.rename import Renames
from pytest_kernelperf.baseline.store import BaselineStore
from pytest_kernelperf.case import CaseSpec
from pytest_kernelperf.commit import measured_commit
from pytest_kernelperf.environment import describe_environment, process_environment
from pytest_kernelperf.model import NO_DEVICE, CaseId, CurveRecord, DeviceFacts, Record, Run
from pytest_kernelperf.plugin.board import BOARDS, Board
from pytest_kernelperf.plugin.collection import KNOWN_CASES, module_name, spec_of
from pytest_kernelperf.session.blame import blame_of
from pytest_kernelperf.session.curve import judge_curve
from pytest_kernelperf.session.drift import drift_since_stored
from pytest_kernelperf.session.ending import Ending, Shelf, build_run, end_run
from pytest_kernelperf.session.limits import ParentsLimits
from pytest_kernelperf.session.opening import open_guard, open_store
from pytest_kernelperf.session.part import Judge, Workers
from pytest_kernelperf.session.progress import ProgressLog
from pytest_kernelperf.settings import CaseSettings, Settings, case_settings

ATTRIBUTE = "kernelperf_record"
CURVE_ATTRIBUTE = "kernelperf_curve"


class Office:
    """One pytest process's side of the run.

    ``judge`` is opened with the first case; ``wrap`` then puts something between it and its workers. Both are for the
    commands that run pytest themselves, ``kernelperf calibrate`` and ``kernelperf drill``.
    """

    def __init__(self, config: pytest.Config, settings: Settings, parent: Export | None = None) -> None:
        """``parent``: the code of the commit that the change is merged into."""
        self.settings = settings
        self.progress = ProgressLog()
        self.run: Run | None = None
        self.ending = Ending((), ())
        self._config = config
        self.judge: Judge | None = None
        self.wrap: Callable[[Workers], Workers] = lambda workers: workers
        self._parent = parent
        self._store = open_store(settings)
        self._shelf = Shelf(settings.out)
        self._collected: set[str] = set()
        self._partial: set[str] = set()
        self._known: dict[str, dict[str, list[tuple[str, int]]]] = config.stash.setdefault(KNOWN_CASES, {})
        self._records: dict[tuple[str, CaseId], Record] = {}
        self._curves: dict[tuple[str, str, str], CurveRecord] = {}
        self._own: dict[str, Record] = {}
        self._parents_limits = ParentsLimits(parent, judge=settings.own_baselines is not None)
        self._renamed: set[CaseId] = set()
        self._awaited: set[str] = set()
        self._board = _board_of(config, settings)
        self._device: DeviceFacts | None = None
        self._environment: dict[str, str] = {}
        self._started = datetime.now(timezone.utc)

    @property
    def is_worker(self) -> bool:
        """Whether this is one of xdist's workers, whose records another process puts together."""
        return hasattr(self._config, "workerinput")

    def check(self, item: pytest.Item, spec: CaseSpec) -> Record:
        """Judge a case in this process's guard."""
        if self.judge is None:
            # What xdist's other workers do beside a measurement disturbs it like anybody else's work.
            renames = Renames(self._store, self.known_cases, self._config.rootpath)
            self.judge = open_guard(
                self.settings,
                self._store,
                os.getpid(),
                self.progress,
                wrap=self.wrap,
                renames=renames,
                parent=self._parent,
            )
        settings = self.case_settings(item)
        keep = self._shelf.put if self.settings.update_reason is not None else None
        record = self.judge.check(spec, settings, module_name(item.path, self._config.rootpath), keep)
        if record.renamed_from is not None:
            self._renamed.add(record.renamed_from)
        if item.nodeid in self._awaited:
            self._own[item.nodeid] = record
        return record

    def check_curve(self, cases: Sequence[pytest.Function]) -> CurveRecord:
        """Judge the variant whose cases these are over all its sizes, whichever process of the run measured them."""
        records = [self._own[case.nodeid] for case in cases if case.nodeid in self._own]
        if self._board is not None:
            texts = self._board.wait_for(case.nodeid for case in cases)
            records = [msgspec.json.decode(text, type=Record) for text in texts]
        spec, settings = spec_of(cases[0]), self.case_settings(cases[0])
        assert spec is not None  # nothing else makes a curve
        test, reason = module_name(cases[0].path, self._config.rootpath), self.settings.update_reason
        accepted = self.settings.acceptance.of_all if self.settings.acceptance is not None else None
        was = [record.renamed_from for record in records]
        tolerance = self._parents_limits.curve_tolerance(settings, spec.case, spec.former, *was)
        name = spec.kernel.name
        return judge_curve(name, spec.doing.name, test, records, tolerance, reason, accepted)

    def case_settings(self, item: pytest.Item) -> CaseSettings:
        """Return the settings of an item: the run's, with its marker's laid over them."""
        marker = item.get_closest_marker("kernelperf")
        return case_settings(self.settings.case, marker.kwargs if marker else {})

    def expect_curves(self, cases: Iterable[pytest.Item]) -> None:
        """Remember which cases others of this run may wait for."""
        self._awaited = {case.nodeid for case in cases}

    def begin_test(self) -> None:
        """Tell the run's other processes that this one is at work."""
        if self._board is not None and self._awaited:
            self._board.set_busy(True)

    def end_test(self, nodeid: str) -> None:
        """Tell them that a test has ended, and what it measured."""
        if self._board is None or not self._awaited:
            return
        if nodeid in self._awaited:
            record = self._own.get(nodeid)
            self._board.put(nodeid, "" if record is None else msgspec.json.encode(record).decode())
        self._board.set_busy(False)

    def note_collected(self, report: pytest.CollectReport) -> None:
        """Remember a test module that was collected, and one of which something could not be."""
        module = report.nodeid.split("::")[0]
        if not report.passed:
            self._partial.add(module)
        elif report.nodeid.endswith(".py"):
            self._collected.add(report.nodeid)

    def known_cases(self, kernel: str, module: str) -> frozenset[tuple[str, int]] | None:
        """Return the cases (variant, tokens) that a module's tests have of a kernel; None: it was not collected whole.

        A node id on the command line leaves classes out, a collection error what it hit, and ``--lf`` whole files.
        """
        if module not in self._collected or module in self._partial or self._config.getoption("lf", False):
            return None
        named = [str(argument) for argument in self._config.args if "::" in str(argument)]
        if any(Path(argument.split("::")[0]).name == Path(module).name for argument in named):
            return None
        return frozenset(self._known.get(module, {}).get(kernel, ()))

    def count_cases(self, items: Iterable[pytest.Item]) -> None:
        """Remember how many cases lie ahead, and which others they say that they were."""
        specs = [spec for item in items if (spec := spec_of(item)) is not None]
        self._renamed |= {spec.former for spec in specs if spec.former is not None}
        self.progress.total = len(specs)

    def baseline_files(self) -> tuple[Path, ...]:
        """Return the baseline files to check as items."""
        if self.settings.update_reason is not None:
            return ()
        own = BaselineStore(self.settings.own_baselines).files() if self.settings.own_baselines is not None else ()
        return (*self._store.files(), *own)

    def problems(self, file: Path) -> list[str]:
        """Return what is wrong with a baseline file."""
        foreign = self.settings.own_baselines is not None and file.is_relative_to(self.settings.baselines)
        known = None if foreign else self.known_cases
        return problems(file, known, self._config.rootpath, self._renamed)

    def shown(self, path: Path) -> str:
        """Return a path as it is shown: relative to the root where it lies below."""
        return module_name(path, self._config.rootpath)

    def attach(self, report: pytest.TestReport, record: Record | CurveRecord) -> None:
        """Put a record onto a report, as text: xdist passes on what its wire format knows."""
        attribute = ATTRIBUTE if isinstance(record, Record) else CURVE_ATTRIBUTE
        setattr(report, attribute, msgspec.json.encode(record).decode())

    def collect(self, report: pytest.TestReport) -> None:
        """Take a record off a report."""
        text = getattr(report, ATTRIBUTE, None)
        if text is not None and report.when == "call":
            record = msgspec.json.decode(text, type=Record)
            self._records[record.test, record.case] = record  # a rerun's last word counts
            self.progress.done = len(self._records)
        text = getattr(report, CURVE_ATTRIBUTE, None)
        if text is not None and report.when == "call":
            curve = msgspec.json.decode(text, type=CurveRecord)
            self._curves[curve.test, curve.kernel, curve.variant] = curve

    def take_over(self, output: Mapping[str, Any]) -> None:
        """Take what an xdist worker knows: the device, its environment, and what was collected."""
        if "kernelperf" in output:
            knowledge = msgspec.json.decode(output["kernelperf"], type=_WorkerKnowledge)
            device, environment, collected, partial, known = knowledge
            self._device, self._environment = device or self._device, environment or self._environment
            self._collected |= collected
            self._partial |= partial
            self._known.update(known)

    def finish(self) -> bool:
        """End the run; return whether something that had to be written was not."""
        if self.judge is not None:
            self._device = self.judge.device
            self.close()
        if self._device is not None and not self._environment:
            self._environment = describe_environment(self._device, process_environment())
        if self.is_worker:
            knowledge = (self._device, self._environment, self._collected, self._partial, self._known)
            self._config.workeroutput["kernelperf"] = msgspec.json.encode(knowledge).decode()  # type: ignore[attr-defined]
        elif self._records:
            records = sorted(self._records.values(), key=self._place)
            device = self._device or NO_DEVICE
            drift = drift_since_stored(records, device, self._environment, self._store) if self._device else None
            curves = [curve for _, curve in sorted(self._curves.items()) if curve.change_ratio is not None]
            commit = measured_commit(process_environment())
            blame = blame_of(self.settings, records, self._store, device.key, self.known_cases, commit, self._parent)
            self.run = build_run(
                self.settings, device, self._environment, records, self._started, drift, curves, commit, blame
            )
            self.ending = end_run(self.run, self.settings, self._store, self.known_cases)
            shutil.rmtree(self.settings.out / BOARDS, ignore_errors=True)
        return bool(self.ending.failures)

    def _place(self, record: Record) -> tuple[str, int, int]:
        """Return where a record stands: variants as the test states them, whichever xdist worker was first."""
        known = self._known.get(record.test, {}).get(record.case.kernel, [])
        case = (record.case.variant, record.case.tokens)
        return record.case.kernel, record.case.tokens, known.index(case) if case in known else len(known)

    def close(self) -> None:
        """Stop the guard's workers."""
        if self.judge is not None:
            self.judge.close()
            self.judge = None


def _board_of(config: pytest.Config, settings: Settings) -> Board | None:
    """Return this process's view of the run's board; a run of one process needs none."""
    given: dict[str, Any] = getattr(config, "workerinput", {})
    return Board(settings.out / BOARDS / given["testrunuid"], given["workerid"]) if given else None


_WorkerKnowledge = tuple[
    DeviceFacts | None, dict[str, str], set[str], set[str], dict[str, dict[str, list[tuple[str, int]]]]
]
