"""What the parent and a worker say to each other, and how it crosses the socket.

One request, one reply, in turn; only a measurement that is watched says in between how far it is, and waits for a
moment until that is shown. A message is a header (length of the body in bytes, number of file descriptors that
come with it), then the body: a tagged record as MessagePack, decoded strictly on both sides. Requests are
self-contained, since the worker that gets one may have just been started; only the bytes of a code object that a
worker was sent before are left out (it answers ``NeedCode`` should it no longer have them). Arrays do not travel
here but in shared memory (``worker.array``), as a descriptor beside the message.
"""

from __future__ import annotations

import array
import os
import socket
import struct
from typing import Literal, TypeVar

import msgspec

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.machine import Machine, Reading
from pytest_kernelperf.measure.request import MeasureRequest
from pytest_kernelperf.measure.tools import Told
from pytest_kernelperf.model import CaseId, CodeObject, DeviceFacts, Frozen, Measurement, Plan, SourceBundle
from pytest_kernelperf.worker.array import Layout

MAX_MESSAGE_BYTES = 256 * 1024 * 1024
MAX_DESCRIPTORS = 4

_T = TypeVar("_T")
_DESCRIPTOR_BYTES = array.array("i").itemsize
_HEADER = struct.Struct("<QQ")


class ConnectionClosed(Exception):
    """The other side is gone; whoever catches this knows what to make of it."""


# --- requests ---------------------------------------------------------------------------------


class SharedInputs(Frozen, frozen=True):
    """Inputs in the memory file that comes with the message; ``digest`` lets a worker keep what it has."""

    layout: Layout
    digest: str


class Hello(Frozen, frozen=True, tag="hello"):
    """Open the runtime; the first request to every worker. ``process`` is the worker's place in the pool.

    ``ahead``: set the launch loop up too, which the first measurement needs; what is wrong with it is said then.
    """

    runtime: str
    process: int
    clock_script: str | None = None
    ahead: bool = False


class Compile(Frozen, frozen=True, tag="compile"):
    """Compile a bundle, or take the ready code object ``data``, and check that the kernels are in it.

    ``target``: the architecture that plans are judged for, where this device cannot run the code; empty: none is set.
    """

    bundle: SourceBundle
    kernels: tuple[str, ...]
    data: bytes = b""
    target: str = ""


class RunOnce(Frozen, frozen=True, tag="run"):
    """Upload the inputs, run the plan once, return some buffers."""

    case: CaseId
    plan: Plan
    code: CodeObject
    inputs: SharedInputs
    outputs: tuple[str, ...]


class Measure(Frozen, frozen=True, tag="measure"):
    """Take samples; ``tell``: say from time to time how far it is (``HowFar``), and wait until that is shown."""

    request: MeasureRequest
    inputs: SharedInputs
    tell: bool = False


class GoOn(Frozen, frozen=True, tag="go_on"):
    """``HowFar`` number so-and-so has been shown. No request: it may come late, and nothing answers it."""

    number: int


class Look(Frozen, frozen=True, tag="look"):
    """Describe the machine by its files below a folder; no device is opened, so it may come before ``Hello``."""

    root: str


ProbeName = Literal["answering", "compile", "gate", "queue", "timer", "activity", "recorder"]


class Examine(Frozen, frozen=True, tag="examine"):
    """Probe the open device; ``root_pid``'s tree is ours where activity is judged."""

    probe: ProbeName
    root_pid: int


Request = Hello | Compile | RunOnce | Measure | GoOn | Look | Examine


# --- replies ----------------------------------------------------------------------------------


class Ready(Frozen, frozen=True, tag="ready"):
    """Answer to ``Hello``."""

    facts: DeviceFacts
    profilers: tuple[str, ...]


class Compiled(Frozen, frozen=True, tag="compiled"):
    """Answer to ``Compile``."""

    code: CodeObject


class Outputs(Frozen, frozen=True, tag="outputs"):
    """Answer to ``RunOnce``: the arrays lie in the memory file that comes with it."""

    layout: Layout
    profilers: tuple[str, ...]


class Measured(Frozen, frozen=True, tag="measured"):
    """Answer to ``Measure``."""

    measurement: Measurement
    profilers: tuple[str, ...]


class HowFar(Frozen, frozen=True, tag="how_far"):
    """Comes before ``Measured``, between two blocks, where ``Measure.tell`` asks for it."""

    number: int
    told: Told


class Seen(Frozen, frozen=True, tag="seen"):
    """Answer to ``Look``."""

    machine: Machine


class Examined(Frozen, frozen=True, tag="examined"):
    """Answer to ``Examine``; None: there is nothing to probe here."""

    reading: Reading | None


class NeedCode(Frozen, frozen=True, tag="need_code"):
    """The request left out the bytes of a code object that this worker does not hold (any more)."""

    digest: str


class Failure(Frozen, frozen=True, tag="failure"):
    """The request could not be done; ``kind`` says which error the parent raises."""

    kind: Literal["unavailable", "compile", "device", "usage", "internal"]
    sentence: str
    log: str = ""


Reply = Ready | Compiled | Outputs | Measured | HowFar | Seen | Examined | NeedCode | Failure

_ENCODER = msgspec.msgpack.Encoder()
_REQUESTS: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
_REPLIES: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)


def encode(message: Request | Reply) -> bytes:
    """Encode a message.

    Raises:
        KernelperfError: it is larger than 256 MiB.
    """
    body = _ENCODER.encode(message)
    _check_size(len(body))
    return body


def decode_request(body: bytes) -> Request:
    """Decode a request; ``KernelperfError`` if it is none."""
    return _decode(_REQUESTS, body)


def decode_reply(body: bytes) -> Reply:
    """Decode a reply; ``KernelperfError`` if it is none."""
    return _decode(_REPLIES, body)


def _decode(decoder: msgspec.msgpack.Decoder[_T], body: bytes) -> _T:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise KernelperfError(f"a message between pytest and a device worker cannot be read: {error}") from error


# --- the wire ---------------------------------------------------------------------------------


def send(connection: socket.socket, body: bytes, descriptors: tuple[int, ...] = ()) -> None:
    """Send one message.

    Raises:
        ConnectionClosed: the other side is gone.
        TimeoutError: the socket's time-out passed.
    """
    header = _HEADER.pack(len(body), len(descriptors))
    try:
        sent = socket.send_fds(connection, [header], list(descriptors)) if descriptors else connection.send(header)
        connection.sendall(header[sent:])
        connection.sendall(body)
    except (BrokenPipeError, ConnectionResetError) as error:
        raise ConnectionClosed from error


class Receiver:
    """Reads messages off a socket piece by piece, so that whoever waits can look at the clock in between."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = bytearray()
        self._descriptors: list[int] = []

    def receive(self) -> tuple[bytes, list[int]]:
        """Wait for one whole message; return its body and descriptors (the caller's to close).

        Raises as ``read_some``.
        """
        while (message := self.take()) is None:
            self.read_some()
        return message

    def read_some(self) -> None:
        """Read what is there (one system call).

        Raises:
            ConnectionClosed: the other side is gone.
            KernelperfError: the message announced is larger than 256 MiB.
        """
        wanted = self._missing_bytes()
        try:
            # Never read beyond this message: descriptors must stay with the message that they came with.
            # recvmsg rather than recv_fds, which drops its flags: a compiler must not inherit the descriptors.
            data, ancillary, _, _ = self._connection.recvmsg(
                min(wanted, 1 << 20), socket.CMSG_SPACE(MAX_DESCRIPTORS * _DESCRIPTOR_BYTES), socket.MSG_CMSG_CLOEXEC
            )
        except ConnectionResetError as error:
            raise ConnectionClosed from error
        for level, kind, packed in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                whole = packed[: len(packed) // _DESCRIPTOR_BYTES * _DESCRIPTOR_BYTES]
                self._descriptors += array.array("i", whole)
        if not data:
            self.close()
            raise ConnectionClosed
        self._buffer += data

    def take(self) -> tuple[bytes, list[int]] | None:
        """Return the message if it is complete."""
        if self._missing_bytes() or len(self._buffer) < _HEADER.size:
            return None
        _, count = _HEADER.unpack_from(self._buffer)
        body, descriptors = bytes(self._buffer[_HEADER.size :]), self._descriptors
        self._buffer, self._descriptors = bytearray(), []
        if len(descriptors) != count:
            for descriptor in descriptors:
                os.close(descriptor)
            raise KernelperfError(f"a message came with {len(descriptors)} descriptors where {count} were announced")
        return body, descriptors

    def close(self) -> None:
        """Close the descriptors of a message that was cut off."""
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors = []

    def _missing_bytes(self) -> int:
        if len(self._buffer) < _HEADER.size:
            return _HEADER.size - len(self._buffer)
        length, _ = _HEADER.unpack_from(self._buffer)
        _check_size(length)
        return int(_HEADER.size + length - len(self._buffer))


def _check_size(length: int) -> None:
    if length > MAX_MESSAGE_BYTES:
        raise KernelperfError(
            f"a message between pytest and a device worker has {length} bytes, more than the {MAX_MESSAGE_BYTES} "
            "allowed: is the code object or the source really that large?"
        )
