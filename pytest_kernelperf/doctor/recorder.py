"""What takes traces here: on AMD's runtime rocprofv3, looked for as the guard does; the others say it themselves."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from pytest_kernelperf.doctor.device import why_left_out
from pytest_kernelperf.doctor.examination import Examination
from pytest_kernelperf.doctor.finding import Finding, left_out, ok, warning
from pytest_kernelperf.machine import RecorderReading
from pytest_kernelperf.replay.rocprofv3 import SETTING
from pytest_kernelperf.replay.taking import Rocprofv3
from pytest_kernelperf.worker.process import worker_environment


def read_rocprofv3(library: str) -> RecorderReading:
    """Find the profiler of a HIP library's ROCm and ask it for its version; it records nothing.

    Raises:
        ReplayError: there is none, it is of another ROCm, or it does not answer; the sentence says what to do.
    """
    recorder = Rocprofv3(Path(library), None, worker_environment(dict(os.environ)))
    with TemporaryDirectory(prefix="kernelperf-doctor-") as scratch:
        recorder.prepare(Path(scratch))
    return RecorderReading(str(recorder), str(recorder.path))


def find_recorder(found: Examination) -> Finding:
    """Whether a regression can be traced. No verdict needs that, so its absence is no problem."""
    if found.facts is None:
        return left_out("recorder", why_left_out(found))
    if said := found.problems.get("recorder"):
        return warning("recorder", f"no traces can be taken: {said}", "do as it says to see why a case regressed")
    if found.recorder is None:
        return left_out("recorder", "nobody says what takes traces here")
    more = f" (a project's {SETTING} goes before it)" if found.facts.runtime == "rocm" else ""
    return ok("recorder", f"traces are taken by {found.recorder.by}: {found.recorder.file}{more}")
