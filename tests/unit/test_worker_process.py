"""A worker process as its parent sees it, with stand-in programs instead of one that needs a device."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import pytest_kernelperf
from pytest_kernelperf.errors import WorkerCrashed, WorkerHung
from pytest_kernelperf.worker.process import WorkerProcess, worker_environment

BEGINNING = """
import os, signal, socket, subprocess, sys, time
from pytest_kernelperf.worker.board import StatusBoard
from pytest_kernelperf.worker.message import Receiver, send
from pytest_kernelperf.worker.program import start_guardian
connection, board = socket.socket(fileno=int(sys.argv[1])), StatusBoard(int(sys.argv[2]))
receiver = Receiver(connection)
start_guardian(int(sys.argv[3]))
def answer():
    body, descriptors = receiver.receive()
    send(connection, body + b" answered %d" % len(descriptors))
"""

Start = Callable[[str], WorkerProcess]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts workers that run some code, and kills them."""
    with contextlib.ExitStack() as stack:

        def start_one(code: str) -> WorkerProcess:
            worker = WorkerProcess(("-c", BEGINNING + code))
            stack.callback(worker.kill)
            return worker

        yield start_one


def ask(worker: WorkerProcess, limit_s: float = 60.0) -> bytes:
    """The answer to a request."""
    return worker.ask(b"request", (), limit_s, "k v at 1 token")[0]


def members(group: int) -> set[int]:
    """The processes of a group that are not zombies."""
    found = set()
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
                if int(fields[2]) == group and fields[0] not in "ZX":
                    found.add(int(entry.name))
    return found


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something that must come about; a minute is long on any machine."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.01)


def test_requests_are_answered_one_after_the_other(start: Start) -> None:
    """With their descriptors."""
    worker = start("while True: answer()")
    assert ask(worker) == b"request answered 0"
    fd = os.memfd_create("x")
    assert worker.ask(b"two", (fd, fd), 60, "case") == (b"two answered 2", [])
    os.close(fd)
    assert worker.alive


def test_a_crash_names_signal_and_step_in_one_sentence(start: Start) -> None:
    """What it was at stands on the board; the worker cannot say it any more."""
    worker = start("receiver.receive(); board.write('running step 1 of 2, wild'); os.kill(os.getpid(), signal.SIGSEGV)")
    with pytest.raises(WorkerCrashed) as failure:
        ask(worker)
    assert str(failure.value) == (
        "k v at 1 token: the device worker died of SIGSEGV (an invalid memory access) while running step 1 of 2, wild"
    )
    assert not worker.alive


def test_a_crash_quotes_the_last_line_of_what_was_printed_and_not_more(start: Start) -> None:
    """A HIP runtime prints why it aborts; a flood of output is cut down, and blocks nobody."""
    worker = start(
        "receiver.receive(); print('x\\n' * 500_000, flush=True); "
        "print('Memory access fault by GPU node-1', file=sys.stderr, flush=True); os.abort()"
    )
    with pytest.raises(WorkerCrashed) as failure:
        ask(worker)
    assert str(failure.value).endswith(
        "died of SIGABRT (an abort, as the HIP runtime does on a GPU memory fault); "
        "its last words: Memory access fault by GPU node-1"
    )
    long = start("receiver.receive(); print('y' * 1000, flush=True); os.abort()")
    with pytest.raises(WorkerCrashed, match=r"last words: y{239}…\Z"):
        ask(long)


def test_what_a_live_worker_prints_does_not_keep_its_answer_waiting(start: Start) -> None:
    """Its output is read when there is some, never waited for."""
    worker = start("print('a word', flush=True); answer(); receiver.receive()")
    assert ask(worker) == b"request answered 0"


def test_an_exit_is_a_crash_with_its_code(start: Start) -> None:
    """Also one without any signal, in the middle of a request."""
    with pytest.raises(WorkerCrashed, match=r"the device worker exited with code 3\Z"):
        ask(start("receiver.receive(); os._exit(3)"))


def test_a_program_that_cannot_be_imported_says_why(start: Start) -> None:
    """The last line of a traceback is its reason."""
    with pytest.raises(WorkerCrashed, match=r"exited with code 1; its last words: ModuleNotFoundError: .*'nowhere'"):
        ask(start("import nowhere"))


def test_a_worker_that_overruns_is_killed_with_its_children(start: Start) -> None:
    """The sentence has the limit and the step; nothing of its group is left."""
    worker = start("answer(); receiver.receive(); board.write('running step 1 of 1, endless'); time.sleep(600)")
    ask(worker)
    group = worker.pid
    assert len(members(group)) == 2  # with its guardian
    with pytest.raises(WorkerHung) as failure:
        ask(worker, 1.0)
    assert str(failure.value) == (
        "k v at 1 token: no answer within 1 s while running step 1 of 1, endless; the device worker was killed"
    )
    wait_until(lambda: not members(group))


def test_a_worker_that_its_driver_holds_is_said_and_left_behind(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in a driver that waits for a hanging GPU outlives any signal; pytest goes on."""
    worker = start("answer(); time.sleep(600)")
    ask(worker)
    real = worker._popen.wait

    def wait(timeout: float | None = None) -> int:
        monkeypatch.setattr(worker._popen, "wait", real)
        raise subprocess.TimeoutExpired("worker", timeout or 0)

    monkeypatch.setattr(worker._popen, "wait", wait)
    with pytest.raises(WorkerHung, match="the device worker cannot be killed: its driver holds it"):
        ask(worker, 0.1)
    worker._popen.wait()


def test_a_crashed_workers_children_are_killed_too(start: Start) -> None:
    """A compiler may go on after the worker that started it died."""
    worker = start("subprocess.Popen(['sleep', '600']); answer(); receiver.receive(); os.abort()")
    ask(worker)
    group = worker.pid
    assert len(members(group)) == 3
    with pytest.raises(WorkerCrashed):
        ask(worker)
    wait_until(lambda: not members(group))


def test_a_reply_cut_off_by_death_is_a_crash(start: Start) -> None:
    """Half a reply is none."""
    with pytest.raises(WorkerCrashed, match="SIGKILL"):
        ask(start("receiver.receive(); connection.send(b'\\x10' + b'\\0' * 15 + b'half'); os.kill(os.getpid(), 9)"))


def test_an_interrupted_request_leaves_no_half_read_worker(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C the next answer would be the last question's."""
    worker = start("answer(); time.sleep(600)")
    monkeypatch.setattr(worker._receiver, "take", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        ask(worker)
    assert not worker.alive


PARENT = """
import sys, time
from pytest_kernelperf.worker.process import WorkerProcess
worker = WorkerProcess(("-c", sys.argv[1]))
worker.ask(b"request", (), 60, "case")
print(worker.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("state", ["idle", "busy", "native code that holds the interpreter"])
def test_kill_9_of_the_parent_leaves_no_worker_and_no_compiler(state: str) -> None:
    """Whatever the worker is doing then, and whatever it started."""
    after = {
        "idle": "receiver.receive()",
        "busy": "time.sleep(600)",
        "native code that holds the interpreter": "import ctypes; ctypes.PyDLL(None).sleep(600)",
    }
    code = f"{BEGINNING}\nsubprocess.Popen(['sleep', '600'])\nanswer()\n{after[state]}"
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, code],
        stdout=subprocess.PIPE,
        text=True,
        env=worker_environment(dict(os.environ)),
    )
    assert parent.stdout is not None
    group = int(parent.stdout.readline())
    assert len(members(group)) == 3
    parent.kill()
    parent.communicate()
    wait_until(lambda: not members(group))


def test_the_worker_imports_this_package_and_nothing_from_the_current_folder(tmp_path: Path) -> None:
    """The current folder may hold a module called numpy or hip."""
    environment = worker_environment({"PYTHONPATH": os.pathsep.join(["relative", ""]), "LD_PRELOAD": "libx.so"})
    folders = environment["PYTHONPATH"].split(os.pathsep)
    package = Path(next(iter(pytest_kernelperf.__path__))).resolve().parent  # an editable install has two
    assert folders[-1] == str(Path.cwd() / "relative")
    assert folders[:-1] == ([] if package.name in {"site-packages", "dist-packages"} else [str(package)])
    assert environment["PYTHONSAFEPATH"] == "1"
    assert environment["LD_PRELOAD"] == "libx.so"


def test_a_worker_that_died_between_requests_is_known_to_be_dead(start: Start) -> None:
    """So that the next case is not blamed for it."""
    worker = start("answer(); receiver.receive()")
    ask(worker)
    assert not worker.died_idle
    os.kill(worker.pid, 9)
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    assert worker.died_idle
