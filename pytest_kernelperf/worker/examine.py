"""The worker's side of an examination: which probe is which, and who else is active."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pytest_kernelperf.machine import ActivityReading, Reading
from pytest_kernelperf.measure.activity import ActivityProbe, own_tree, read_snapshot
from pytest_kernelperf.runtime import probe
from pytest_kernelperf.runtime.compile_probe import read_compile
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.loop import Loop
from pytest_kernelperf.worker.message import Examine

WINDOW_S = 0.5


@dataclass(frozen=True)
class Examinable:
    """What the probes need: the open device, the loop when it is asked for, who watches, who has the GPU open."""

    device: Device
    open_loop: Callable[[], Loop]
    activity: ActivityProbe
    list_users: Callable[[], tuple[int, ...]]


def examine(request: Examine, subject: Examinable) -> Reading | None:
    """Do one probe. Raises ``DeviceError`` or ``CompileError`` where a call or the compiler fails."""
    if request.probe == "answering":
        return probe.read_answering(subject.device)
    if request.probe == "compile":
        return read_compile(subject.device)
    if request.probe == "gate":
        return probe.read_gate(subject.open_loop())
    if request.probe == "queue":
        return probe.read_queue(subject.open_loop())
    if request.probe == "timer":
        return probe.read_timer(subject.device)
    if request.probe == "recorder":
        return probe.read_recorder(subject.device)
    return read_activity(subject.activity, subject.list_users, request.root_pid)


def read_activity(
    watcher: ActivityProbe, list_users: Callable[[], tuple[int, ...]], root_pid: int, root: Path = Path("/proc")
) -> ActivityReading:
    """Do nothing for half a second and say what others did."""
    watcher.start()
    time.sleep(WINDOW_S)
    seen = watcher.stop()
    processes = read_snapshot(root, frozenset(), 0.0).processes
    own = own_tree(processes, root_pid) | {os.getpid()}
    users = tuple(
        f"pid {pid} ({processes[pid].name})" if pid in processes else f"pid {pid}"
        for pid in list_users()
        if pid not in own
    )
    return ActivityReading(seen.window_s, seen.foreign_cores, seen.steal_cores, seen.busiest, seen.contended_by, users)
