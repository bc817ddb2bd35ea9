"""Somebody else on the same machine, on purpose: programs that keep cores, or the GPU, busy while we measure.

    python load.py cpu                    one core, for ever
    python load.py device RUNTIME         kernels in bursts on the device, for ever

They end when their standard input does, that is with whoever started them, however that ended.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).parent
BUFFER_BYTES = 64 << 20


@contextlib.contextmanager
def busy(kinds: Sequence[str], runtime: str) -> Iterator[None]:
    """Run loads, ``cpu`` or ``device``, one process each; to the guard they are strangers."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), *sys.path])}
    started = []
    for kind in kinds:
        command = [sys.executable, str(HERE / "load.py"), kind, runtime]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, env=environment))
    try:
        if started:
            time.sleep(3.0)
        yield
    finally:
        for process in started:
            if process.stdin is not None:
                process.stdin.close()
            process.wait()


def main(kind: str, runtime: str) -> int:
    """Load until standard input ends."""
    if not leave_home():
        sys.stdin.buffer.read()
        return 0
    threading.Thread(target=_leave_when_input_ends, daemon=True).start()
    while kind == "cpu":
        sum(range(100_000))
    load_device(runtime)
    return 0


def leave_home() -> bool:
    """Go on in a process that is nobody's child, in a session of its own: a stranger to whoever started this.

    Returns whether this is that process.
    """
    if os.fork():
        return False
    os.setsid()
    if os.fork():
        os._exit(0)
    return True


def load_device(runtime: str) -> None:
    """Bursts of work with pauses between them, both of random length: what is constant cancels in every pair."""
    from pytest_kernelperf.runtime.hip import Device
    from pytest_kernelperf.runtime.library import choose

    with Device(choose(runtime)) as device:
        buffer, stream, generator = device.allocate(BUFFER_BYTES), device.stream(), random.Random(1)
        while True:
            for byte in range(generator.randrange(1, 200)):
                stream.fill(buffer, byte)
            stream.synchronise()
            time.sleep(generator.uniform(0.0, 0.02))


def _leave_when_input_ends() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
