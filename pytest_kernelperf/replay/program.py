"""The replay: ``python -m pytest_kernelperf.replay.program CASE.json ARM ROUNDS [OUT.db]``.

    read and check the files -> open the device -> upload the inputs, wait -> all rounds back to back, wait -> close

Nothing of ours is on the device while rounds run: inputs are uploaded once before them (a runtime may use kernels of
its own for that, ``__amd_rocclr_…``, which readers of the trace leave out) and nothing is restored between them, as
between the rounds of a timed sample. There is no gate, no graph and no timing; a plan's own fills and copies do run.
The process ends through the interpreter, since profilers write at that moment.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from pytest_kernelperf.atomic_write import followed
from pytest_kernelperf.errors import KernelperfError, ReplayError
from pytest_kernelperf.measure.buffers import SharedBuffers
from pytest_kernelperf.measure.request import Arm
from pytest_kernelperf.model import DeviceFacts
from pytest_kernelperf.replay.case_file import ReplayCase, data_path, read_case
from pytest_kernelperf.replay.command import Receipt
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.library import choose
from pytest_kernelperf.runtime.loop import Loop
from pytest_kernelperf.runtime.recorder import Recorder
from pytest_kernelperf.strict_json import one_line
from pytest_kernelperf.trace.origin import sidecar
from pytest_kernelperf.trace.write import write_trace

UNUSABLE = 2


def main(arguments: list[str]) -> int:
    """Play; on failure print one sentence and return 2."""
    path, arm, rounds, *out = arguments
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    try:
        target = Path(out[0]) if out else None
        with read_case(Path(path)) as case:
            _check_apart(followed(Path(path)), target)
            receipt = play(case, case.arm(arm), int(rounds), target)
    except KernelperfError as problem:
        sys.stderr.write(f"{one_line(str(problem))}\n")  # the case's names are the file's, which may be a stranger's
        return UNUSABLE
    sys.stdout.write(f"{receipt}\n")
    sys.stdout.flush()
    return 0


def _check_apart(case_file: Path, out: Path | None) -> None:
    """Refuse a trace that would take the place of the case, as its own file or as what tells its origin."""
    if out is not None and {case_file, data_path(case_file)} & {followed(out), sidecar(followed(out))}:
        raise ReplayError(f"{out} with {out.name}.json beside it would replace the case: name another --trace")


def play(case: ReplayCase, arm: Arm, rounds: int, out: Path | None) -> Receipt:
    """Run an arm's rounds, and record them into ``out`` where it is given.

    Raises:
        ReplayError: this is another device than the case's, or the rocm runtime, where rocprofv3 records.
        DeviceError, RuntimeUnavailable, TraceError: a call fails; nothing can be opened, recorded or written.
    """
    if out is not None and case.runtime == "rocm":
        raise ReplayError("on the rocm runtime rocprofv3 records: call it with this command behind it, without --trace")
    with ExitStack() as stack:
        device = stack.enter_context(Device(choose(case.runtime)))
        facts = device.facts()
        if facts.key != case.device_key:
            raise ReplayError(f"{case.case} was recorded for {case.device_key}, and this device is {facts.key}")
        loop = stack.enter_context(Loop(device, gated=False))
        module = stack.enter_context(device.load(arm.code.data, arm.code.lowered_names))
        shared = SharedBuffers(device, loop.stream, case.inputs)
        stack.callback(shared.close)
        functions = {launch.kernel: module.function(launch.kernel) for launch in arm.plan.launches}
        prepared = stack.enter_context(loop.prepare(arm.plan, functions, shared.buffers))
        device.synchronise()
        if out is None:
            loop.run(prepared, rounds)
        else:
            _record(lambda: loop.run(prepared, rounds), device, facts, out)
    return Receipt(arm.name, rounds, len(arm.plan.launches), os.getpid())


def _record(run: Callable[[], None], device: Device, facts: DeviceFacts, out: Path) -> None:
    """Run, have the runtime record it, and write the recording."""
    with Recorder(device) as recorder:
        run()
    recording = recorder.take(facts, command="kernelperf replay")
    if recording.lost:
        sys.stderr.write(f"{recording.lost} dispatches could not be kept\n")
    write_trace(out, recording)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
