"""Who else is active, on written-out /proc files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_kernelperf.measure.activity import (
    Activity,
    Contention,
    CpuActivity,
    GpuActivity,
    Snapshot,
    compare,
    own_tree,
    parse_process,
    parse_stat,
    read_snapshot,
)

TICKS = os.sysconf("SC_CLK_TCK")
CPUS = sorted(os.sched_getaffinity(0))


def stat_line(pid: int, name: str, parent: int, session: int, own: int = 0, children: int = 0) -> str:
    """A line of /proc/<pid>/stat with the fields that matter."""
    return f"{pid} ({name}) S {parent} {pid} {session} 0 -1 4194304 1 2 3 4 {own} 0 {children} 0 20 0 1 0 99 1 1\n"


def write_proc(root: Path, busy: int, processes: dict[int, str], steal: int = 0) -> None:
    """Write a /proc: busy and stolen ticks of the first CPU that we may use, and processes."""
    root.mkdir(exist_ok=True)
    lines = ["cpu  999999 0 0 0 0 0 0 0 0 0", f"cpu{CPUS[0]} {busy} 0 0 5000 7 0 0 {steal} 0 0", "intr 1 2 3"]
    (root / "stat").write_text("\n".join(lines) + "\n")
    for pid, line in processes.items():
        (root / str(pid)).mkdir(exist_ok=True)
        (root / str(pid) / "stat").write_text(line)
    (root / "self").mkdir(exist_ok=True)


def probe_window(
    root: Path, before: dict[int, str], after: dict[int, str], busy_ticks: int, window_s: float, steal: int = 0
) -> Activity:
    """What the probe of root process 10 says of a window."""
    times = iter([0.0, window_s])
    probe = CpuActivity(10, root, clock=lambda: next(times))
    write_proc(root, 1000, before)
    probe.start()
    write_proc(root, 1000 + busy_ticks, after, steal)
    return probe.stop()


def test_our_own_tree_is_not_foreign(tmp_path: Path) -> None:
    """What pytest, its workers and compilers use, running or ended, is ours."""
    before = {10: stat_line(10, "pytest", 1, 5), 11: stat_line(11, "worker", 10, 11)}
    after = {
        10: stat_line(10, "pytest", 1, 5, own=TICKS),
        11: stat_line(11, "worker", 10, 11, own=TICKS, children=TICKS),
        12: stat_line(12, "cc1plus", 11, 11, own=TICKS // 2),
    }
    activity = probe_window(tmp_path / "proc", before, after, 7 * TICKS // 2, 2.0)
    assert activity.foreign_cores == 0.0
    assert activity.contended_by == ""


def test_a_busy_stranger_is_named_and_contends(tmp_path: Path) -> None:
    """One core for two seconds, beside a quieter process: the busiest is named."""
    before = {
        10: stat_line(10, "pytest", 1, 5),
        90: stat_line(90, "a (b) c", 1, 90, own=500),
        91: stat_line(91, "q", 1, 9),
    }
    after = {
        10: stat_line(10, "pytest", 1, 5, own=TICKS),
        90: stat_line(90, "a (b) c", 1, 90, own=500 + 2 * TICKS),
        91: stat_line(91, "q", 1, 9, own=3),
    }
    activity = probe_window(tmp_path / "proc", before, after, 3 * TICKS, 2.0)
    assert activity.foreign_cores == pytest.approx(1.0)
    assert activity.contended_by == "pid 90 (a (b) c)"


def test_a_little_noise_does_not_contend(tmp_path: Path) -> None:
    """0.3 cores and 0.05 s are allowed; the busiest is known all the same."""
    before = {10: stat_line(10, "pytest", 1, 5), 90: stat_line(90, "cron", 1, 90)}
    after = {10: stat_line(10, "pytest", 1, 5), 90: stat_line(90, "cron", 1, 90, own=TICKS // 2)}
    activity = probe_window(tmp_path / "proc", before, after, TICKS // 2, 2.0)
    assert activity.contended_by == ""
    assert activity.busiest == "pid 90 (cron)"


def test_foreign_time_without_a_visible_process_still_contends(tmp_path: Path) -> None:
    """In a container the others may be invisible; their time is not."""
    mine = {10: stat_line(10, "pytest", 1, 5)}
    activity = probe_window(tmp_path / "proc", mine, mine, 2 * TICKS, 2.0)
    assert activity.contended_by == "processes that cannot be seen from here"


def test_stolen_time_is_reported_and_not_judged(tmp_path: Path) -> None:
    """What the hypervisor takes is not another process's doing."""
    mine = {10: stat_line(10, "pytest", 1, 5)}
    activity = probe_window(tmp_path / "proc", mine, mine, 0, 2.0, steal=TICKS)
    assert activity.steal_cores == pytest.approx(0.5)
    assert activity.contended_by == ""


def test_an_orphan_in_a_workers_session_is_still_ours() -> None:
    """A compiler whose parent was killed is handed to init, but stays in the session that the worker began."""
    lines = [
        stat_line(10, "pytest", 1, 5),
        stat_line(11, "worker", 10, 11),
        stat_line(12, "cc1plus", 1, 11),
        stat_line(13, "editor", 1, 5),
    ]
    processes = {process.pid: process for process in map(parse_process, lines)}
    assert own_tree(processes, 10) == {10, 11, 12}


def test_only_the_cpus_that_we_may_use_count() -> None:
    """On a large host another's cores are not ours to judge; waiting for input and output is not work."""
    text = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 4 100 100 8 16 32 50 50\ncpu1 1000 0 0 0 0 0 0 0 0 0\ncpu12 5 0 0\n"
    assert parse_stat(text, frozenset({0})) == (31, 32)
    assert parse_stat(text, frozenset({0, 12})) == (36, 32)


@pytest.mark.parametrize(
    ("foreign_s", "window_s", "exceeded"),
    [(0.05, 0.001, False), (0.06, 0.001, True), (0.34, 1.0, False), (0.36, 1.0, True), (0.0, 0.0, False)],
)
def test_contention_is_a_constant_and_a_share(foreign_s: float, window_s: float, exceeded: bool) -> None:
    """0.05 s plus 0.3 cores of the window."""
    assert Contention().exceeded(foreign_s, window_s) is exceeded


def test_processes_that_vanish_or_are_unreadable_are_left_out(tmp_path: Path) -> None:
    """A listing is never consistent; that is no error."""
    write_proc(tmp_path, 5, {10: stat_line(10, "pytest", 1, 5), 11: "garbage", 12: ""})
    (tmp_path / "13").mkdir()
    assert set(read_snapshot(tmp_path, frozenset({CPUS[0]}), 0.0).processes) == {10}


def test_time_that_seems_to_run_backwards_gives_no_negative_load() -> None:
    """Counters of different clocks may disagree by a tick."""
    process = parse_process(stat_line(10, "pytest", 1, 5, own=50))
    before, after = Snapshot(1.0, 100, 5, {}), Snapshot(1.0, 100, 4, {10: process})
    assert compare(before, after, 10, TICKS, Contention()).foreign_cores == 0.0


def test_an_open_gpu_context_that_does_nothing_does_not_contend(tmp_path: Path) -> None:
    """On a GPU only those count that have it open and work; our own worker never does."""
    for own, contended in ((0, ""), (TICKS, "pid 90 (llama)")):
        root = tmp_path / str(own)
        times = iter([0.0, 1.0])
        probe = GpuActivity(10, lambda: (11, 90, 999), root, clock=lambda times=times: next(times))  # type: ignore[misc]
        others = {10: stat_line(10, "pytest", 1, 5), 95: stat_line(95, "make", 1, 95)}
        write_proc(root, 0, others | {11: stat_line(11, "worker", 10, 11), 90: stat_line(90, "llama", 1, 90)})
        probe.start()
        write_proc(
            root,
            9 * TICKS,
            {95: stat_line(95, "make", 1, 95, own=5 * TICKS), 11: stat_line(11, "worker", 10, 11, own=TICKS)}
            | {90: stat_line(90, "llama", 1, 90, own=own)},
        )
        assert probe.stop().contended_by == contended


def test_who_opens_the_gpu_in_the_window_is_busy_for_as_long_as_that(tmp_path: Path) -> None:
    """What it used before is not known, so no more than the window counts; a child of ours never does."""
    times, users = iter([0.0, 1.0]), iter([(11,), (11, 12, 90)])
    probe = GpuActivity(10, lambda: next(users), tmp_path, clock=lambda: next(times))
    ours = {10: stat_line(10, "pytest", 1, 5), 11: stat_line(11, "worker", 10, 11)}
    write_proc(tmp_path, 0, ours)
    probe.start()
    late = {12: stat_line(12, "worker", 11, 12, own=9 * TICKS), 90: stat_line(90, "llama", 1, 90, own=50 * TICKS)}
    write_proc(tmp_path, 0, ours | late)
    found = probe.stop()
    assert found.contended_by == "pid 90 (llama)"
    assert found.foreign_cores == pytest.approx(1.0)


def test_the_real_proc_can_be_read() -> None:
    """This machine's files have the form that is expected, and this process is in its own tree."""
    snapshot = read_snapshot(Path("/proc"), frozenset(CPUS), 0.0)
    assert snapshot.busy_ticks > 0
    assert os.getpid() in own_tree(snapshot.processes, os.getppid())
