"""The guard's hooks, registered only when it is asked for. Each is a door: it fetches, calls and stores."""

from __future__ import annotations

from collections.abc import Generator
from os.path import relpath
from typing import Any

import pytest

from pytest_kernelperf.baseline.exported import read_export
from pytest_kernelperf.case import CaseSpec
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.model import Record, Verdict
from pytest_kernelperf.plugin.baseline_item import BaselineItem
from pytest_kernelperf.plugin.board import is_writable
from pytest_kernelperf.plugin.collection import CASE_SETTINGS, COMPARISONS
from pytest_kernelperf.plugin.curve_item import CURVE, CurveItem, arrange, cases_of_curves
from pytest_kernelperf.plugin.display import Display
from pytest_kernelperf.plugin.office import Office
from pytest_kernelperf.plugin.termination import Termination
from pytest_kernelperf.report.detail import failure_text
from pytest_kernelperf.session.parent import GATING
from pytest_kernelperf.session.timing import check_settings
from pytest_kernelperf.settings import read_settings

RECORD = pytest.StashKey[Record]()


def activate(config: pytest.Config) -> None:
    """Read the settings and register the hooks.

    Raises:
        pytest.UsageError: a setting that cannot be used.
    """
    try:
        settings = read_settings(config.getoption, config.getini, config.rootpath)
        gating = 1 if settings.parent is None else GATING
        check_settings(settings.case, gating)
        config.stash[CASE_SETTINGS], config.stash[COMPARISONS] = settings.case, gating
        parent = None if settings.parent is None else read_export(settings.parent)
        if config.getoption("dist", "no") != "no" and not is_writable(settings.out):
            raise KernelperfError(
                f"{settings.out} cannot be written to, and there the processes of pytest -n tell each other what they "
                "measured: name another folder with --kernelperf-out=DIR, or run without -n"
            )
    except KernelperfError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(Active(Office(config, settings, parent), config), "kernelperf-active")


class Checker:
    """What a guarded test gets: ``check()`` judges the item's case and fails the test if the verdict does."""

    def __init__(self, item: pytest.Item, spec: CaseSpec, office: Office) -> None:
        self._item = item
        self._spec = spec
        self._office = office

    def check(self) -> None:
        """Judge the case: right, busy, and not slower than its baseline."""
        __tracebackhide__ = True
        record = self._office.check(self._item, self._spec)
        self._item.stash[RECORD] = record
        if record.decision.fails:
            settings = self._office.settings
            pytest.fail(failure_text(record, settings.command, relpath(settings.out)), pytrace=False)
        if record.decision.verdict is Verdict.SKIPPED:
            pytest.skip(record.decision.reason)


class Active:
    """The hooks of a run that guards."""

    def __init__(self, office: Office, config: pytest.Config) -> None:
        self.office = self._office = office
        self._display = Display(office, config)
        self._termination = Termination()

    @pytest.fixture
    def kernelperf(self, request: pytest.FixtureRequest) -> Checker:
        """Give a marked test its checker."""
        if not isinstance(getattr(request, "param", None), CaseSpec):
            pytest.fail("kernelperf is for tests marked @pytest.mark.kernelperf(kernel)", pytrace=False)
        return Checker(request.node, request.param, self._office)

    def pytest_sessionstart(self) -> None:
        """Let SIGTERM end the run as Ctrl-C does; show where it is."""
        self._termination.begin()
        self._display.begin()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note which modules were collected."""
        self._office.note_collected(report)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        """Add an item for each baseline file and each curve, before anything is deselected; curves stay last."""
        added = [*BaselineItem.all_of(session, self._office), *CurveItem.all_of(items, self._office)]
        items.extend(added)
        # So that pytest's own count of what was collected holds them too.
        session.config.hook.pytest_collectreport(report=pytest.CollectReport("kernelperf", "passed", None, list(added)))
        result = yield
        arrange(session, items)
        return result

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count what lies ahead."""
        self._office.count_cases(session.items)
        self._office.expect_curves(cases_of_curves(session.items))

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Fail a guarded test that passes without having checked anything, or in spite of what was found."""
        result = yield
        if "kernelperf" in pyfuncitem.fixturenames and RECORD not in pyfuncitem.stash:
            pytest.fail("this test passed without calling kernelperf.check(), so nothing was guarded", pytrace=False)
        if RECORD in pyfuncitem.stash and pyfuncitem.stash[RECORD].decision.fails:
            pytest.fail("this test caught the failure that kernelperf.check() raised: let it through", pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let the record travel on the report, which xdist carries to the process that ends the run."""
        report = yield
        if call.when == "call" and RECORD in item.stash:
            self._office.attach(report, item.stash[RECORD])
        if call.when == "call" and CURVE in item.stash:
            self._office.attach(report, item.stash[CURVE])
        return report

    def pytest_runtest_logstart(self) -> None:
        """Say that this process is at work."""
        self._office.begin_test()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Say what it has done."""
        self._office.end_test(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the records."""
        self._office.collect(report)
        self._display.after_case()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell an xdist worker where progress is shown."""
        self._display.begin_worker(node.workerinput)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        """Collect what an xdist worker knows."""
        self._office.take_over(getattr(node, "workeroutput", {}))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Stop the workers; write the run file and the baselines where the run ends."""
        if self._office.finish() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the tables and what to do next."""
        self._display.show_run(terminalreporter)

    def pytest_unconfigure(self) -> None:
        """Stop the workers even if the session ended early."""
        self._display.end()
        self._termination.end()
        self._office.close()
