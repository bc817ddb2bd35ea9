"""The procedure of an examination, on a scripted patient."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from examinations import CPU, H200, STRIX, STRIX_GPU, ScriptedPatient

from pytest_kernelperf import __version__
from pytest_kernelperf.doctor.examination import examine
from pytest_kernelperf.errors import CompileError, DeviceError, ReplayError, RuntimeUnavailable, WorkerHung
from pytest_kernelperf.machine import RecorderReading


def test_everything_is_looked_at_in_an_order_that_disturbs_nothing() -> None:
    """Claim: files before the device is opened, others before probes that warm it, and all answers are kept."""
    patient = ScriptedPatient(H200)

    found = examine(patient, "cuda")

    assert patient.asked == ["look", "open", "answering", "activity", "timer", "compile", "gate", "queue", "recorder"]
    ours = {"package": __version__, "python": found.python, "requested": "cuda"}
    assert found == msgspec.structs.replace(H200, **ours)


@pytest.mark.parametrize("failing", ["answering", "activity", "timer", "gate", "queue", "recorder"])
def test_a_probe_that_fails_is_a_sentence_and_the_others_go_on(failing: str) -> None:
    """Claim: one hung probe hides nothing else."""
    patient = ScriptedPatient(CPU, **{failing: WorkerHung("no answer within 60 s")})

    found = examine(patient, "auto")

    assert found.problems == {failing: "no answer within 60 s"}
    assert patient.asked[-1] == "recorder"
    assert getattr(found, failing) is None


def test_without_a_compiler_no_kernel_is_probed() -> None:
    """Claim: its absence is said once, not three times."""
    patient = ScriptedPatient(CPU, compile=CompileError("probe.hip does not compile: no compiler"))

    found = examine(patient, "auto")

    assert found.problems == {"compile": "probe.hip does not compile: no compiler"}
    assert patient.asked[-2:] == ["compile", "recorder"]


def test_a_runtime_that_does_not_open_ends_the_examination() -> None:
    """Claim: the machine's files are known all the same."""
    patient = ScriptedPatient(CPU, open=RuntimeUnavailable("no device 0"))

    found = examine(patient, "rocm")

    assert (found.problems, found.facts, patient.asked) == ({"runtime": "no device 0"}, None, ["look", "open"])
    assert found.machine == CPU.machine


def test_files_that_hang_do_not_end_it() -> None:
    """Claim: a sysfs file may block on a GPU that is gone; the device is tried even so."""
    found = examine(ScriptedPatient(CPU, look=WorkerHung("reading /: no answer within 30 s")), "cpu")

    assert found.problems == {"machine": "reading /: no answer within 30 s"}
    assert found.machine is None
    assert found.gate == CPU.gate


def test_a_profiler_is_looked_for_where_the_runtime_does_not_record_itself() -> None:
    """Claim: it is given the runtime's library, and asked neither for another runtime nor after a failure."""
    asked: list[str] = []

    def find(library: str) -> RecorderReading:
        asked.append(library)
        if len(asked) > 1:
            raise ReplayError("rocprofv3 was found nowhere")
        return RecorderReading("rocprofv3 of ROCm 7.2.0", "/opt/rocm/bin/rocprofv3")

    silent = msgspec.structs.replace(STRIX, recorder=None)
    assert examine(ScriptedPatient(silent), "rocm", profiler=find).recorder == STRIX.recorder
    assert examine(ScriptedPatient(silent), "rocm", profiler=find).problems == {
        "recorder": "rocprofv3 was found nowhere"
    }
    assert asked == ["/opt/rocm/lib/libamdhip64.so.7"] * 2
    failing = ScriptedPatient(H200, recorder=DeviceError("CUPTI (libcupti.so) was found nowhere"))
    assert examine(failing, "cuda", profiler=find).problems == {"recorder": "CUPTI (libcupti.so) was found nowhere"}
    assert examine(ScriptedPatient(H200), "cuda", profiler=find).recorder == H200.recorder
    assert len(asked) == 2


def test_a_written_out_tree_opens_no_device() -> None:
    """Claim: with no runtime asked for, files alone are read."""
    patient = ScriptedPatient(STRIX)

    found = examine(patient, "", Path("/trees/strix"))

    assert patient.asked == ["look"]
    assert found.written_out
    assert found.gpu == STRIX_GPU


def test_a_reading_of_another_kind_is_none() -> None:
    """Claim: what a probe answers is taken only for what it is."""
    assert examine(ScriptedPatient(msgspec.structs.replace(CPU, timer=CPU.queue)), "cpu").timer is None


def test_the_gpu_is_the_one_that_answers() -> None:
    """Claim: of several, the one at the device's PCI address; of another vendor, none."""
    other = msgspec.structs.replace(STRIX_GPU, place="0000:03:00.0")
    assert STRIX.machine is not None
    both = msgspec.structs.replace(STRIX.machine, gpus=(other, STRIX_GPU))

    assert msgspec.structs.replace(STRIX, machine=both).gpu == STRIX_GPU
    assert msgspec.structs.replace(H200, machine=both).gpu is None
    assert msgspec.structs.replace(STRIX, machine=both, answering=None).gpu is None


def test_a_failing_call_is_a_device_error() -> None:
    """Claim: every error of ours is a sentence; a bug is not hidden."""
    assert examine(ScriptedPatient(CPU, gate=DeviceError("hipLaunch failed")), "cpu").problems["gate"]
    with pytest.raises(ZeroDivisionError):
        examine(ScriptedPatient(CPU, gate=ZeroDivisionError()), "cpu")
