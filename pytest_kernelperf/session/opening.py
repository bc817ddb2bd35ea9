"""Put a guard together from its real parts: workers, the machine's lock, the baselines."""

from __future__ import annotations

from collections.abc import Callable

from pytest_kernelperf.baseline.exported import Export
from pytest_kernelperf.baseline.rename import Renames
from pytest_kernelperf.baseline.store import BaselineStore
from pytest_kernelperf.measure.lock import MachineLock, lock_path
from pytest_kernelperf.session.guard import Guard
from pytest_kernelperf.session.part import Workers
from pytest_kernelperf.session.progress import ProgressLog
from pytest_kernelperf.settings import Settings
from pytest_kernelperf.worker.pool import Limits, WorkerPool

# One run of a plan takes milliseconds; an endless kernel should not hold everybody up for as long as a measurement may.
RUN_LIMIT_S = 30.0


def open_store(settings: Settings) -> BaselineStore:
    """Return the project's baselines."""
    return BaselineStore(settings.baselines)


def open_guard(
    settings: Settings,
    store: BaselineStore,
    root_pid: int,
    progress: ProgressLog,
    *,
    wrap: Callable[[Workers], Workers] = lambda workers: workers,
    command: str = "pytest --kernelperf",
    renames: Renames | None = None,
    parent: Export | None = None,
) -> Guard:
    """Return a guard; its workers start when the first case needs them.

    One lock serves the whole machine whatever its devices: they share power, and the host's cores. ``wrap`` puts
    something between the guard and its workers: calibrations and drills do. ``command``: who holds the lock, in the
    words of who waits for it. ``renames``, ``parent``: as the guard takes them.
    """
    pool, machine = open_workers(settings, root_pid, progress, command=command)
    return Guard(settings, wrap(pool), machine, store, root_pid, progress, renames=renames, parent=parent)


def open_workers(
    settings: Settings, root_pid: int, progress: ProgressLog, *, command: str
) -> tuple[WorkerPool, MachineLock]:
    """Return workers, which start when they are first asked, and the machine's lock."""
    limit_s = settings.case_timeout_s
    pool = WorkerPool(
        settings.runtime,
        limits=Limits(compile_s=limit_s, run_s=min(limit_s, RUN_LIMIT_S), measure_s=limit_s),
        clock_script=settings.clock_script,
        root_pid=root_pid,
        watcher=progress,
    )
    machine = MachineLock(lock_path("machine"), command=command, on_wait=progress.wait, timeout_s=settings.wait_s)
    return pool, machine
