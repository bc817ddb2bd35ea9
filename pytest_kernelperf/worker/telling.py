"""How a worker says how far a measurement is, without anything being drawn while it times.

Between two blocks it sends ``HowFar`` and waits for ``GoOn``, which comes once the line has been drawn. It does not
wait for long: a parent that writes to a terminal which stands still (Ctrl-S) sleeps, and disturbs nobody.
"""

from __future__ import annotations

import select
import socket
import time

from pytest_kernelperf.measure.tools import Told
from pytest_kernelperf.worker.message import GoOn, HowFar, Receiver, decode_request, encode, send

PATIENCE_S = 0.05


class Teller:
    """Tells the parent behind a connection; ``receiver`` reads it, for requests too."""

    def __init__(self, connection: socket.socket, receiver: Receiver) -> None:
        self._connection = connection
        self._receiver = receiver
        self._number = 0

    def __call__(self, told: Told) -> None:
        """Return when the parent has shown it, or does not get to it.

        Raises:
            ConnectionClosed: the parent is gone.
        """
        self._number += 1
        send(self._connection, encode(HowFar(self._number, told)))
        deadline = time.monotonic() + PATIENCE_S
        while (left_s := deadline - time.monotonic()) > 0 and select.select([self._connection], [], [], left_s)[0]:
            self._receiver.read_some()
            message = self._receiver.take()
            # A late answer to an earlier one says nothing of this one. No request comes before this one is done.
            if message is not None and decode_request(message[0]) == GoOn(self._number):
                return
