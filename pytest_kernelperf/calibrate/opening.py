"""Put a calibrator together from its real parts, and look whether it can begin."""

from __future__ import annotations

from pathlib import Path

from pytest_kernelperf.calibrate.calibrator import Calibrator, ScratchStore
from pytest_kernelperf.calibrate.copies import CopyingWorkers
from pytest_kernelperf.calibrate.schedule import Schedule
from pytest_kernelperf.calibrate.wish import Wish
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.machine import ActivityReading
from pytest_kernelperf.measure.lock import MachineLock, lock_path
from pytest_kernelperf.session.opening import open_guard
from pytest_kernelperf.session.part import Workers
from pytest_kernelperf.session.progress import ProgressLog
from pytest_kernelperf.settings import Settings
from pytest_kernelperf.worker.examiner import Examiner

COMMAND = "kernelperf calibrate"


def open_calibrator(
    settings: Settings, wish: Wish, cases: int, scratch: Path, root_pid: int, progress: ProgressLog
) -> Calibrator:
    """Return a calibrator; ``scratch`` takes the baselines that it compares with, never the project's folder."""
    store = ScratchStore(scratch / "baselines")
    pools: list[Workers] = []

    def wrap(workers: Workers) -> Workers:
        pools.append(CopyingWorkers(workers, wish.copies))
        return pools[0]

    guard = open_guard(settings, store, root_pid, progress, wrap=wrap, command=COMMAND)
    return Calibrator(guard, store, pools[0].close, wish, Schedule(wish.budget_s, cases))


def find_obstacle(settings: Settings, progress: ProgressLog) -> str:
    """Say why a calibration cannot begin: somebody else is active, or nobody can tell; empty where it can.

    Another guard is no obstacle: it is waited for.
    """
    if settings.clock_script is not None:
        return ""
    machine = MachineLock(lock_path("machine"), command=COMMAND, on_wait=progress.wait, timeout_s=settings.wait_s)
    try:
        with machine.exclusive(), Examiner(settings.runtime) as examiner:
            reading = examiner.probe("activity")
    except KernelperfError as error:
        return str(error)
    if isinstance(reading, ActivityReading) and reading.contended_by:
        return (
            f"the machine is busy ({reading.contended_by}): a calibration is of a quiet machine; stop the other "
            "program or wait for it, then run again"
        )
    return ""
