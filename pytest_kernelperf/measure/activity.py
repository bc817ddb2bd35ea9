"""Who else is active on the machine while we measure: activity, not somebody's idle open context.

CPU time is read from ``/proc/stat`` before and after, for the CPUs that we may run on, and our own process tree's
share is taken off. For a GPU, only processes that have its compute driver open count, and only if they work.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from pytest_kernelperf.model import Frozen


class Activity(Frozen, frozen=True):
    """What others did in a window.

    Attributes:
        window_s: its length in seconds.
        foreign_cores: cores that others kept busy on average.
        steal_cores: cores that the hypervisor kept from us on average; shown, never judged.
        busiest: the busiest foreign process, as ``pid 12 (name)``, or "".
        contended_by: who was too active to believe the samples; "" if nobody was.
    """

    window_s: float
    foreign_cores: float = 0.0
    steal_cores: float = 0.0
    busiest: str = ""
    contended_by: str = ""


class ActivityProbe(Protocol):
    """Watches from ``start`` to ``stop``."""

    def start(self) -> None:
        """Begin a window."""

    def stop(self) -> Activity:
        """End it, and say what others did in it."""


class Contention(Frozen, frozen=True):
    """When foreign CPU time is too much: a constant for the grain of the clock, and a share of the window.

    0.05 s are five ticks of the usual 10 ms: a window of a few milliseconds must not fail for one of them.
    """

    allowed_s: float = 0.05
    allowed_cores: float = 0.3

    def exceeded(self, foreign_s: float, window_s: float) -> bool:
        """Whether ``foreign_s`` seconds of others' CPU time spoil a window of ``window_s`` seconds."""
        return foreign_s > self.allowed_s + self.allowed_cores * window_s


class Process(Frozen, frozen=True):
    """One line of ``/proc/<pid>/stat``: CPU time of itself and of its children that were waited for, in ticks."""

    pid: int
    name: str
    parent: int
    session: int
    own_ticks: int
    child_ticks: int


class Snapshot(Frozen, frozen=True):
    """The machine's counters at one moment, in ticks summed over the CPUs that we may use."""

    time_s: float
    busy_ticks: int
    steal_ticks: int
    processes: dict[int, Process]


def read_snapshot(root: Path, cpus: frozenset[int], time_s: float) -> Snapshot:
    """Read ``stat`` and ``<pid>/stat`` below ``root``; processes that vanish meanwhile are left out."""
    busy, steal = parse_stat((root / "stat").read_text(), cpus)
    processes = {}
    for name in os.listdir(root):
        if name.isdigit():
            try:
                with open(f"{root}/{name}/stat", "rb", buffering=0) as file:  # there may be hundreds, many times a case
                    process = parse_process(file.read().decode(errors="replace"))
            except (OSError, ValueError, IndexError):
                continue
            processes[process.pid] = process
    return Snapshot(time_s, busy, steal, processes)


def read_lines(root: Path, pids: Iterable[int], time_s: float) -> Snapshot:
    """Read ``<pid>/stat`` of some processes and of their parents, up to the first: all, that takes 14 ms for 300."""
    processes: dict[int, Process] = {}
    waiting = list(pids)
    while waiting:
        pid = waiting.pop()
        if pid in processes or pid < 1:
            continue
        try:
            processes[pid] = parse_process((root / str(pid) / "stat").read_text(errors="replace"))
        except (OSError, ValueError, IndexError):
            continue
        waiting.append(processes[pid].parent)
    return Snapshot(time_s, 0, 0, processes)


def parse_stat(text: str, cpus: frozenset[int]) -> tuple[int, int]:
    """Return busy and stolen ticks of ``cpus`` from the text of ``/proc/stat``."""
    busy = steal = 0
    for line in text.splitlines():
        label, *fields = line.split()
        if label.startswith("cpu") and label[3:].isdigit() and int(label[3:]) in cpus:
            # user nice system idle iowait irq softirq steal; guest time is within user already.
            ticks = [int(field) for field in fields] + [0] * 8
            busy += ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]
            steal += ticks[7]
    return busy, steal


def parse_process(text: str) -> Process:
    """Parse a ``/proc/<pid>/stat``; the name may hold spaces and brackets, so fields count from its last bracket."""
    head, _, rest = text.rpartition(")")
    pid, _, name = head.partition("(")
    fields = rest.split()
    own, children = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    return Process(int(pid), name, int(fields[1]), int(fields[3]), own, children)


def own_tree(processes: dict[int, Process], root_pid: int) -> frozenset[int]:
    """Return ``root_pid``, its descendants, and whoever is left in a session that one of these began.

    A compiler whose parent was killed is handed to another parent, but stays in its worker's session.
    """
    children: dict[int, list[int]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process.pid)
    own, waiting = set(), [root_pid]
    while waiting:
        pid = waiting.pop()
        if pid not in own:
            own.add(pid)
            waiting += children.get(pid, [])
    sessions = {pid for pid in own if pid in processes and processes[pid].session == pid}
    return frozenset(own | {process.pid for process in processes.values() if process.session in sessions})


def compare(before: Snapshot, after: Snapshot, root_pid: int, ticks_per_s: int, policy: Contention) -> Activity:
    """Say what others did between two snapshots."""
    window_s = max(after.time_s - before.time_s, 1e-9)
    own = own_tree(after.processes, root_pid) | own_tree(before.processes, root_pid)
    ours = sum(
        _ticks(after.processes.get(pid)) - _ticks(before.processes.get(pid))
        for pid in own
        if pid in after.processes  # one that ended is in its parent's children's time
    )
    foreign_s = max(0.0, (after.busy_ticks - before.busy_ticks - ours) / ticks_per_s)
    busiest = name_busiest(before, after, frozenset(after.processes) - own)
    contended = policy.exceeded(foreign_s, window_s)
    return Activity(
        window_s=window_s,
        foreign_cores=foreign_s / window_s,
        steal_cores=max(0.0, (after.steal_ticks - before.steal_ticks) / ticks_per_s / window_s),
        busiest=busiest,
        contended_by=(busiest or "processes that cannot be seen from here") if contended else "",
    )


def name_busiest(before: Snapshot, after: Snapshot, among: frozenset[int], least_ticks: int = 1) -> str:
    """Name the process that used most CPU time of its own, ``pid 12 (name)``; "" if none used ``least_ticks``."""
    used = {}
    for pid in among:
        earlier = before.processes.get(pid)
        used[pid] = after.processes[pid].own_ticks - (earlier.own_ticks if earlier else 0)
    if not used:
        return ""
    pid = max(sorted(used), key=lambda candidate: used[candidate])
    return f"pid {pid} ({after.processes[pid].name})" if used[pid] >= least_ticks else ""


def _ticks(process: Process | None) -> int:
    return process.own_ticks + process.child_ticks if process else 0


class CpuActivity:
    """The probe for kernels that run on the host's cores."""

    def __init__(
        self,
        root_pid: int,
        root: Path = Path("/proc"),
        policy: Contention | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._root_pid = root_pid
        self._root = root
        self._policy = policy or Contention()
        self._clock = clock
        self._cpus = frozenset(os.sched_getaffinity(0))
        self._ticks_per_s = os.sysconf("SC_CLK_TCK")
        self._before: Snapshot | None = None

    def start(self) -> None:
        """Begin a window."""
        self._before = self._read()

    def stop(self) -> Activity:
        """End it, and say what others did in it."""
        if self._before is None:
            return Activity(0.0)
        return compare(self._before, self._read(), self._root_pid, self._ticks_per_s, self._policy)

    def _read(self) -> Snapshot:
        return read_snapshot(self._root, self._cpus, self._clock())


class GpuActivity:
    """The probe for a GPU: others that have the compute driver open (``list_users``) and use CPU time meanwhile.

    Who feeds a GPU must submit work, which takes CPU time; a process that merely holds a context takes none.
    ``foreign_cores`` is the CPU time of these processes alone.
    """

    def __init__(
        self,
        root_pid: int,
        list_users: Callable[[], tuple[int, ...]],
        root: Path = Path("/proc"),
        policy: Contention | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._root_pid = root_pid
        self._list_users = list_users
        self._root = root
        self._policy = policy or Contention(allowed_s=0.015, allowed_cores=0.01)
        self._clock = clock
        self._ticks_per_s = os.sysconf("SC_CLK_TCK")
        self._before: Snapshot | None = None

    def start(self) -> None:
        """Begin a window."""
        self._before = read_lines(self._root, self._list_users(), self._clock())

    def stop(self) -> Activity:
        """End it, and say who else used the GPU in it."""
        if self._before is None:
            return Activity(0.0)
        listed = self._list_users()
        before, after = self._before, read_lines(self._root, listed, self._clock())
        users = (frozenset(listed) & frozenset(after.processes)) - own_tree(after.processes, self._root_pid)
        window_s = max(after.time_s - before.time_s, 1e-9)
        used = sum(self._used(before.processes.get(pid), after.processes[pid], window_s) for pid in users)
        foreign_s = used / self._ticks_per_s
        busiest = name_busiest(before, after, users)
        contended = self._policy.exceeded(foreign_s, window_s)
        return Activity(window_s, foreign_s / window_s, 0.0, busiest, busiest if contended else "")

    def _used(self, before: Process | None, after: Process, window_s: float) -> float:
        """Ticks of a user in the window; one that opened the GPU in it was busy doing so, for as long as it can be."""
        if before is None:
            return min(after.own_ticks, window_s * self._ticks_per_s)
        return after.own_ticks - before.own_ticks
