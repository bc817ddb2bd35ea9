"""The workers of an xdist run tell one process where they are."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from pytest_kernelperf.plugin import relay
from pytest_kernelperf.plugin.relay import Caller, Relay, choose
from pytest_kernelperf.report.progress import Progress, Timing


def at(case: str, timing: Timing | None = None) -> Progress:
    """A worker's progress."""
    return Progress(0, 4, case, "timing" if timing else "preparing", 1.0, timing)


@pytest.fixture
def shown() -> queue.Queue[Progress | None]:
    """What is drawn, in its order."""
    return queue.Queue()


@pytest.fixture
def listening(shown: queue.Queue[Progress | None], monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    """A relay; its callers are patient."""
    monkeypatch.setattr(relay, "PATIENCE_S", 60.0)
    one = Relay(shown.put)
    yield one
    one.close()


@pytest.fixture
def call() -> Iterator[Callable[[str], Caller]]:
    """Calls an address, and hangs up in the end."""
    with contextlib.ExitStack() as stack:

        def call_one(address: str) -> Caller:
            caller = Caller(address)
            stack.callback(caller.close)
            return caller

        yield call_one


def test_what_is_told_has_been_shown_when_telling_returns(
    listening: Relay, shown: queue.Queue[Progress | None], call: Callable[[str], Caller]
) -> None:
    """So that nothing is drawn while the worker's worker times."""
    caller = call(listening.address)
    assert caller.heard
    for case in ("first", "second"):
        caller.tell(at(case))
        assert shown.get_nowait() == at(case)
    caller.tell(None)
    assert shown.get_nowait() is None
    caller.tell(None)
    assert shown.empty()


def test_telling_waits_for_a_slow_terminal(monkeypatch: pytest.MonkeyPatch, call: Callable[[str], Caller]) -> None:
    """The answer comes after the drawing."""
    monkeypatch.setattr(relay, "PATIENCE_S", 60.0)
    drawn = threading.Event()
    one = Relay(lambda progress: drawn.wait())
    caller = call(one.address)
    thread = threading.Thread(target=caller.tell, args=(at("first"),))
    thread.start()
    thread.join(0.05)
    assert thread.is_alive()
    drawn.set()
    thread.join(5)
    assert not thread.is_alive()
    one.close()


def test_a_worker_that_dies_leaves_no_line(
    listening: Relay, shown: queue.Queue[Progress | None], call: Callable[[str], Caller]
) -> None:
    """Its end of the line closes with it, however it dies; the other's is shown."""
    one, other = call(listening.address), call(listening.address)
    other.tell(at("other"))
    one.tell(at("one", Timing()))
    assert [shown.get_nowait(), shown.get_nowait()] == [at("other"), at("one", Timing())]
    one.close()
    assert shown.get(timeout=5) == at("other")
    other.close()
    assert shown.get(timeout=5) is None


def test_the_one_that_times_is_shown() -> None:
    """All others wait for it; of those that do not time, the last that spoke."""
    assert choose(()) is None
    assert choose((at("a"), at("b"))) == at("b")
    assert choose((at("a", Timing()), at("b"))) == at("a", Timing())


def test_a_late_answer_is_not_taken_for_the_next(
    monkeypatch: pytest.MonkeyPatch, call: Callable[[str], Caller]
) -> None:
    """Whoever did not wait for the first waits for the second's own."""
    monkeypatch.setattr(relay, "PATIENCE_S", 0.01)
    may, seen = threading.Semaphore(0), []

    def show(progress: Progress | None) -> None:
        may.acquire()
        seen.append(progress)

    one = Relay(show)
    caller = call(one.address)
    caller.tell(at("first"))
    assert not seen
    may.release()
    wait_until(lambda: len(seen) == 1)
    monkeypatch.setattr(relay, "PATIENCE_S", 60.0)
    assert caller._socket is not None
    caller._socket.settimeout(5.0)
    thread = threading.Thread(target=caller.tell, args=(at("second"),))
    thread.start()
    thread.join(0.05)
    assert thread.is_alive()
    may.release()
    thread.join(5)
    assert seen == [at("first"), at("second")]
    caller.close()
    may.release()
    one.close()


def test_nobody_who_listens_is_no_trouble(call: Callable[[str], Caller]) -> None:
    """xdist's workers may run on another machine."""
    caller = call("kernelperf-nobody")
    assert not caller.heard
    caller.tell(at("first"))


def test_a_caller_outlives_the_listener(listening: Relay, call: Callable[[str], Caller]) -> None:
    """A run that is torn down does not fail in its workers."""
    caller = call(listening.address)
    caller.tell(at("first"))
    assert caller._socket is not None
    caller._socket.shutdown(socket.SHUT_RDWR)
    caller.tell(at("second"))
    assert not caller.heard


def test_noise_on_the_line_is_hung_up_on(
    listening: Relay, shown: queue.Queue[Progress | None], call: Callable[[str], Caller]
) -> None:
    """What is no progress ends that connection, and no other."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
        stranger.connect(f"\0{listening.address}")
        stranger.send(b"\xffnonsense")
        assert stranger.recv(10) == b""
    assert shown.get(timeout=5) is None
    caller = call(listening.address)
    caller.tell(at("first"))
    assert shown.get_nowait() == at("first")


def test_another_user_is_not_listened_to(
    listening: Relay, shown: queue.Queue[Progress | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The socket has no permissions; the kernel says who is at its other end."""
    monkeypatch.setattr(relay, "_user_of", lambda connection: 4_000_000)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
        stranger.connect(f"\0{listening.address}")
        assert stranger.recv(10) == b""
    assert shown.empty()


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something that must come about."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.001)
