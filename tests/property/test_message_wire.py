"""Messages of any size, cut anywhere, arrive whole."""

from __future__ import annotations

import contextlib
import socket
import struct

from hypothesis import given
from hypothesis import strategies as st

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.worker.message import Receiver, decode_reply, decode_request


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5), st.lists(st.integers(1, 50), min_size=1))
def test_bodies_survive_any_way_of_cutting_the_stream(bodies: list[bytes], cuts: list[int]) -> None:
    """However the stream is cut into pieces, the bodies come out one by one and complete."""
    stream = b"".join(struct.pack("<QQ", len(body), 0) + body for body in bodies)
    one, other = socket.socketpair()
    with one, other:
        receiver, found, place, turn = Receiver(other), [], 0, 0
        while place < len(stream):
            size = cuts[turn % len(cuts)]
            one.sendall(stream[place : place + size])
            sent = len(stream[place : place + size])
            place, turn = place + sent, turn + 1
            while sent > 0:
                before = len(receiver._buffer)
                receiver.read_some()
                sent -= len(receiver._buffer) - before
                while (message := receiver.take()) is not None:
                    found.append(message[0])
        assert found == bodies


@given(st.binary(max_size=200))
def test_no_bytes_can_do_more_than_be_refused(body: bytes) -> None:
    """Arbitrary bytes decode to a message or raise the one error that is meant for it."""
    for decode in (decode_request, decode_reply):
        with contextlib.suppress(KernelperfError):
            decode(body)
