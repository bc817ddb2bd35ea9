"""Messages between the parent and a worker."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator

import msgspec
import pytest

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.model import SourceBundle
from pytest_kernelperf.worker import message
from pytest_kernelperf.worker.message import (
    Compile,
    ConnectionClosed,
    Failure,
    Receiver,
    decode_reply,
    decode_request,
    encode,
    send,
)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two ends of a connection."""
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def test_a_message_comes_out_as_it_went_in() -> None:
    """Requests and replies survive encoding."""
    request = Compile(SourceBundle("a.hip", {"a.hip": "text"}, ("-DN=3",)), ("k",))
    assert decode_request(encode(request)) == request
    reply = Failure("compile", "no", "log")
    assert decode_reply(encode(reply)) == reply


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        b"[" * 100_000,
        b"\x91" * 100_000,
        msgspec.msgpack.encode({"type": "failure", "kind": "compile", "sentence": "s", "more": 1}),
        msgspec.msgpack.encode({"type": "failure", "kind": "other", "sentence": "s"}),
        msgspec.msgpack.encode({"type": "hello", "runtime": "cpu", "process": 0}),
        msgspec.msgpack.encode({"kind": "compile", "sentence": "s"}),
    ],
    ids=["empty", "no msgpack", "text", "deep", "unknown field", "unknown kind", "a request", "no tag"],
)
def test_what_is_no_reply_is_refused_in_one_sentence(body: bytes) -> None:
    """Decoding is strict about tags, fields and values, and never fails in another way."""
    with pytest.raises(KernelperfError, match=r"\Aa message between pytest and a device worker cannot be read"):
        decode_reply(body)


def test_a_message_over_the_limit_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sender refuses it, with its size."""
    monkeypatch.setattr(message, "MAX_MESSAGE_BYTES", 100)
    with pytest.raises(KernelperfError, match="more than the 100 allowed"):
        encode(Failure("internal", "x" * 200))


def test_a_message_announced_over_the_limit_is_refused_before_it_is_read(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    """A broken or hostile length cannot make the receiver allocate."""
    pair[0].sendall(struct.pack("<QQ", 1 << 62, 0))
    with pytest.raises(KernelperfError, match=f"{1 << 62} bytes, more than"):
        Receiver(pair[1]).receive()


def test_messages_in_a_row_keep_their_own_descriptors(pair: tuple[socket.socket, socket.socket]) -> None:
    """Descriptors stay with the message that they were sent with."""
    first, second = os.memfd_create("first"), os.memfd_create("second")
    send(pair[0], b"one", (first,))
    send(pair[0], b"none")
    send(pair[0], b"two", (first, second))
    receiver = Receiver(pair[1])
    received = [receiver.receive() for _ in range(3)]
    assert [body for body, _ in received] == [b"one", b"none", b"two"]
    assert [len(descriptors) for _, descriptors in received] == [1, 0, 2]
    inode = os.fstat(second).st_ino
    assert os.fstat(received[2][1][1]).st_ino == inode
    for descriptor in (first, second, *(fd for _, fds in received for fd in fds)):
        assert not os.get_inheritable(descriptor)
        os.close(descriptor)


def test_a_connection_that_ends_within_a_message_is_closed_not_short(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    """Half a message is no message, and its descriptors are not kept."""
    fd = os.memfd_create("kept?")
    before = len(os.listdir("/proc/self/fd"))
    socket.send_fds(pair[0], [struct.pack("<QQ", 10, 1) + b"half"], [fd])
    pair[0].close()
    with pytest.raises(ConnectionClosed):
        Receiver(pair[1]).receive()
    os.close(fd)
    assert len(os.listdir("/proc/self/fd")) == before - 2


def test_missing_descriptors_are_noticed(pair: tuple[socket.socket, socket.socket]) -> None:
    """A message says how many descriptors belong to it."""
    pair[0].sendall(struct.pack("<QQ", 1, 1) + b"x")
    with pytest.raises(KernelperfError, match="0 descriptors where 1 were announced"):
        Receiver(pair[1]).receive()


def test_sending_to_a_dead_worker_says_so(pair: tuple[socket.socket, socket.socket]) -> None:
    """The sender learns that nobody listens."""
    pair[1].close()
    with pytest.raises(ConnectionClosed):
        send(pair[0], b"anybody?")
