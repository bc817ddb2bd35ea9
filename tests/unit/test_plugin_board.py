"""How the processes of an xdist run wait for each other's cases: never for one that will not come."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_kernelperf.plugin.board import QUIET_S, Board


class Hours:
    """A clock that only sleeping moves, with something to happen at given times."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.events: dict[float, Callable[[], None]] = {}

    def clock_s(self) -> float:
        """Return the time."""
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """Let time pass, and what is due happen."""
        self.now_s += seconds
        for due_s in [due_s for due_s in self.events if due_s <= self.now_s]:
            self.events.pop(due_s)()


@pytest.fixture
def hours() -> Hours:
    """A clock at zero."""
    return Hours()


@pytest.fixture
def boards(tmp_path: Path, hours: Hours) -> tuple[Board, Board]:
    """Two processes of one run."""
    mine = Board(tmp_path, "gw0", hours.sleep, hours.clock_s)
    return mine, Board(tmp_path, "gw1", hours.sleep, hours.clock_s)


def test_what_has_ended_is_there_at_once(boards: tuple[Board, Board], hours: Hours) -> None:
    """Records in the order asked for; a case that left none is no record, and is not waited for."""
    mine, other = boards
    other.put("t.py::a[1]", "one")
    mine.put("t.py::a[2]", "")
    other.put("t.py::a[3]", "three")
    assert mine.wait_for(["t.py::a[3]", "t.py::a[1]", "t.py::a[2]"]) == ["three", "one"]
    assert hours.now_s == 0


def test_a_busy_process_is_waited_for_however_long_it_takes(boards: tuple[Board, Board], hours: Hours) -> None:
    """An hour of other tests before the case, and the pauses between them."""
    mine, other = boards
    other.set_busy(True)
    hours.events = {
        1000.0: lambda: other.set_busy(False),
        1000.0 + QUIET_S / 2: lambda: other.set_busy(True),
        3600.0: lambda: other.put("a", "late"),
    }
    assert mine.wait_for(["a"]) == ["late"]


def test_a_case_that_nobody_is_at_is_given_up(boards: tuple[Board, Board], hours: Hours) -> None:
    """Everybody idle, or waiting like this process: then nothing more will come."""
    mine, other = boards
    other.set_busy(True)
    other.set_busy(False)
    other.put("a", "one")
    assert mine.wait_for(["a", "never"]) == ["one"]
    assert QUIET_S <= hours.now_s < QUIET_S + 1


def test_a_process_that_died_at_work_is_not_waited_for(
    boards: tuple[Board, Board], hours: Hours, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its state says busy for ever."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "gw1").write_text(f"{child}\n")
    assert boards[0].wait_for(["a"]) == []
    assert hours.now_s < QUIET_S + 1


def test_two_that_wait_do_not_wait_for_each_other(boards: tuple[Board, Board], hours: Hours, tmp_path: Path) -> None:
    """Waiting is idle; afterwards the process is at work again."""
    mine, other = boards
    mine.set_busy(True)
    seen = []
    hours.events = {1.0: lambda: seen.append((tmp_path / "workers" / "gw0").read_text())}
    other.set_busy(False)
    mine.wait_for(["never"])
    assert seen == ["0\n"]
    assert (tmp_path / "workers" / "gw0").read_text() == f"{os.getpid()}\n"


def test_any_nodeid_can_be_a_key(boards: tuple[Board, Board]) -> None:
    """Brackets, slashes and parameters of any length."""
    nodeid = "kernels/x/test_x.py::Test::test[" + "ü/" * 3000 + "-512]"
    boards[0].put(nodeid, "record")
    assert boards[1].wait_for([nodeid]) == ["record"]
