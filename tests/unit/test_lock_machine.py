"""The machine lock, with real processes; pipes order them, nothing is timed."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import pytest_kernelperf
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.measure import lock
from pytest_kernelperf.measure.lock import MachineLock, describe_holder, lock_path

HOLDER = """
import sys
from pathlib import Path
from pytest_kernelperf.measure.lock import MachineLock
lock = MachineLock(Path(sys.argv[1]), command="holder's command", on_wait=lambda text: print("waits", text, flush=True))
with getattr(lock, sys.argv[2])():
    print("holds", flush=True)
    sys.stdin.readline()
print("released", flush=True)
"""


class Other:
    """Another process that takes the lock and tells what it does."""

    def __init__(self, path: Path, kind: str) -> None:
        root = str(Path(pytest_kernelperf.__file__).parents[1])
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(path), kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])},
        )

    def read(self) -> str:
        """The next thing it says."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def read_until(self, word: str) -> str:
        """The next thing it says that begins with a word."""
        while not (line := self.read()).startswith(word):
            assert line, f"it ended without {word}"
        return line

    def release(self) -> None:
        """Let it go on."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> None:
        """Kill it if it is there, and clear up."""
        self.process.kill()
        self.process.communicate()


Start = Callable[[str], Other]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A lock file of one's own."""
    return tmp_path / "machine.lock"


@pytest.fixture
def start(path: Path) -> Iterator[Start]:
    """Starts other processes, and ends them."""
    with contextlib.ExitStack() as stack:

        def start_one(kind: str) -> Other:
            other = Other(path, kind)
            stack.callback(other.end)
            return other

        yield start_one


def try_once(path: Path, kind: str) -> bool:
    """Whether the lock is to be had right now."""
    try:
        with getattr(MachineLock(path, timeout_s=0), kind)():
            return True
    except KernelperfError:
        return False


def test_an_exclusive_holder_keeps_everybody_out_until_it_is_done(start: Start, path: Path) -> None:
    """Neither compiling nor timing goes on beside a measurement."""
    other = start("exclusive")
    assert other.read() == "holds"
    assert not try_once(path, "exclusive")
    assert not try_once(path, "shared")
    other.release()
    assert other.read() == "released"
    assert try_once(path, "exclusive")
    assert try_once(path, "shared")


def test_shared_holders_share_and_keep_exclusive_ones_out(start: Start, path: Path) -> None:
    """Several compile at once; nobody times meanwhile."""
    other = start("shared")
    assert other.read() == "holds"
    assert try_once(path, "shared")
    assert not try_once(path, "exclusive")


def test_a_waiter_says_for_whom_it_waits(start: Start, path: Path) -> None:
    """The sentence names process, command and since when."""
    said: list[str] = []
    other = start("exclusive")
    assert other.read() == "holds"
    with (
        pytest.raises(KernelperfError) as failure,
        MachineLock(path, on_wait=said.append, timeout_s=0).exclusive(),
    ):
        pass
    start_of_text = f"waiting for pid {other.process.pid} (holder's command), holding the machine since "
    assert said[0].startswith(start_of_text)
    assert said[0].endswith(" s")
    assert f"was not free within 0 s: waited for pid {other.process.pid} (holder's command)" in str(failure.value)


def test_who_has_but_the_turn_is_not_spoken_of_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is passed on in a moment, and nobody can be named who holds the machine; a longer wait is said."""
    said: list[str] = []
    with path.with_name(path.name + ".turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        waiter = MachineLock(path, on_wait=said.append, timeout_s=0)
        with pytest.raises(KernelperfError), waiter.exclusive():
            pass
        assert said == []
        monkeypatch.setattr(lock, "_SAY_EVERY_S", 0.0)
        with pytest.raises(KernelperfError), waiter.exclusive():
            pass
        assert said == [f"waiting for {lock.UNSEEN}"]


def test_a_waiter_names_those_that_share_it_too(start: Start, path: Path) -> None:
    """Shared holders write nothing; the kernel knows them."""
    other = start("shared")
    assert other.read() == "holds"
    text = describe_holder(path)
    assert text.startswith(f"pid {other.process.pid} (")
    assert text.endswith("compiling or computing references")


def test_killing_the_holder_frees_it(start: Start, path: Path) -> None:
    """``kill -9`` leaves no lock behind, and what the dead one wrote misleads nobody."""
    other = start("exclusive")
    assert other.read() == "holds"
    other.process.send_signal(signal.SIGKILL)
    other.process.wait()
    assert json.loads(path.read_text())["pid"] == other.process.pid
    sharer = start("shared")
    assert sharer.read() == "holds"
    assert describe_holder(path).startswith(f"pid {sharer.process.pid} (")
    sharer.release()
    assert sharer.read() == "released"
    assert try_once(path, "exclusive")


def test_an_exclusive_waiter_stops_later_shared_ones(start: Start, path: Path) -> None:
    """Or a stream of compilers would keep it waiting for ever."""
    first = start("shared")
    assert first.read() == "holds"
    waiter = start("exclusive")
    assert waiter.read_until("waits").startswith(f"waits waiting for pid {first.process.pid} (")
    assert not try_once(path, "shared")
    first.release()
    assert first.read() == "released"
    assert waiter.read_until("holds") == "holds"


def test_a_holder_that_asks_again_is_refused(path: Path) -> None:
    """It would wait for itself."""
    mine = MachineLock(path)
    with mine.shared(), pytest.raises(KernelperfError, match=r"holds the lock .* already"), mine.exclusive():
        pass
    with mine.exclusive():
        assert describe_holder(path).startswith(f"pid {os.getpid()} (pytest --kernelperf)")


def test_the_file_is_for_all_users_whatever_the_umask(path: Path) -> None:
    """Another user's guard must be able to wait for ours."""
    before = os.umask(0o077)
    try:
        with MachineLock(path).exclusive():
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666


def test_a_file_removed_between_opening_and_locking_it_is_opened_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or two processes would each hold a file of their own."""
    opened, real = [], lock._open

    def open_and_lose(asked: Path) -> int:
        fd = real(asked)
        if asked == path:
            opened.append(os.fstat(fd).st_ino)
            if len(opened) == 1:
                path.rename(path.with_name("lost"))
        return fd

    monkeypatch.setattr(lock, "_open", open_and_lose)
    with MachineLock(path).exclusive():
        assert len(opened) == 2
        assert path.stat().st_ino == opened[1]


def test_a_lock_file_that_is_removed_meanwhile_is_not_mistaken_for_the_lock(start: Start, path: Path) -> None:
    """Whoever waits on a removed file would hold a lock that nobody else sees."""
    other = start("exclusive")
    assert other.read() == "holds"
    held = threading.Event()

    def wait_and_hold() -> None:
        with MachineLock(path, on_wait=lambda text: None).exclusive():
            held.set()

    path.unlink()
    waiter = threading.Thread(target=wait_and_hold)
    waiter.start()
    assert held.wait(60)  # the file that all will find from now on
    waiter.join()
    other.release()
    assert other.read() == "released"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        '{"pid": "x", "command": 1, "since_s": 2}',
        '{"pid": 1e400, "command": "", "since_s": 0}',
        "[" * 9000,
    ],
)
def test_what_others_wrote_into_the_file_is_only_text(start: Start, path: Path, text: str) -> None:
    """Any user can write anything there."""
    path.write_text(text)
    sharer = start("shared")
    assert sharer.read() == "holds"
    path.write_text(text)
    assert describe_holder(path).startswith(f"pid {sharer.process.pid} (")


def test_control_characters_of_a_command_are_not_printed(path: Path) -> None:
    """A terminal obeys them."""
    with MachineLock(path, command="a\x1b[31m\nb").exclusive():
        assert f"pid {os.getpid()} (a[31mb), holding" in describe_holder(path)


def test_a_link_in_the_files_place_is_not_followed(path: Path, tmp_path: Path) -> None:
    """In a folder that all can write, a link may point anywhere."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path.symlink_to(victim)
    with pytest.raises(KernelperfError, match="cannot be opened"), MachineLock(path).exclusive():
        pass
    assert victim.read_text() == "precious"


def test_the_place_is_the_machines_unless_the_environment_names_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """One file per device, its name safe as a file name; tests use one of their own."""
    monkeypatch.delenv("KERNELPERF_LOCK", raising=False)
    assert lock_path("cpu-x/../y 1") == Path("/tmp/kernelperf-cpu-x_.._y_1.lock")
    monkeypatch.setenv("KERNELPERF_LOCK", "/elsewhere/lock")
    assert lock_path("any") == Path("/elsewhere/lock")
