"""How far a measurement is, is told between two blocks, and the worker waits until it is shown."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator

import pytest

from pytest_kernelperf.measure.tools import Told
from pytest_kernelperf.worker.message import ConnectionClosed, GoOn, HowFar, Receiver, decode_reply, encode, send
from pytest_kernelperf.worker.program import serve
from pytest_kernelperf.worker.telling import Teller

TOLD = Told(12, 29, {"head": 2.26, "baseline": 2.21})


class Parent:
    """The other end: answers by hand."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.receiver = Receiver(connection)

    def hear(self) -> HowFar:
        message = decode_reply(self.receiver.receive()[0])
        assert isinstance(message, HowFar)
        return message

    def answer(self, number: int) -> None:
        send(self.connection, encode(GoOn(number)))


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Teller, Parent]]:
    """A teller without impatience, and its parent."""
    monkeypatch.setattr("pytest_kernelperf.worker.telling.PATIENCE_S", 60.0)
    one, other = socket.socketpair()
    with one, other:
        yield Teller(one, Receiver(one)), Parent(other)


def test_the_worker_goes_on_when_it_is_shown_and_not_before(ends: tuple[Teller, Parent]) -> None:
    """Neither what came late for an earlier message nor silence lets it go on."""
    teller, parent = ends
    parent.answer(0)
    thread = threading.Thread(target=teller, args=(TOLD,))
    thread.start()
    told = parent.hear()
    assert (told.number, told.told) == (1, TOLD)
    thread.join(0.05)
    assert thread.is_alive()
    parent.answer(told.number)
    thread.join(5)
    assert not thread.is_alive()


def test_a_parent_that_does_not_get_to_it_is_not_waited_for(
    ends: tuple[Teller, Parent], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal that stands still stops no measurement; the next message has the next number."""
    teller, parent = ends
    monkeypatch.setattr("pytest_kernelperf.worker.telling.PATIENCE_S", 0.001)
    teller(TOLD)
    teller(TOLD)
    assert [parent.hear().number, parent.hear().number] == [1, 2]


def test_a_parent_that_is_gone_ends_the_worker(ends: tuple[Teller, Parent]) -> None:
    """As anywhere else in the conversation."""
    teller, parent = ends
    parent.connection.close()
    with pytest.raises(ConnectionClosed):
        teller(TOLD)


def test_an_answer_that_comes_after_the_measurement_is_no_request() -> None:
    """Nothing is sent back: whoever waits for a reply would take it for theirs."""
    one, other = socket.socketpair()
    with other, one:
        send(other, encode(GoOn(3)))
        other.shutdown(socket.SHUT_WR)
        with pytest.raises(ConnectionClosed):
            serve(one, lambda text: None)
        assert not select.select([other], [], [], 0)[0]
