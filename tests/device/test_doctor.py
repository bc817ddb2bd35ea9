"""``kernelperf doctor`` with real workers on the cpu runtime."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import msgspec
import pytest
import stand_in_rocprofv3
from strix_halo import write_strix_halo

from pytest_kernelperf.cli import main
from pytest_kernelperf.doctor.diagnosis import Diagnosis
from pytest_kernelperf.doctor.recorder import read_rocprofv3
from pytest_kernelperf.errors import ReplayError, RuntimeUnavailable, WorkerHung
from pytest_kernelperf.machine import GateReading, RecorderReading
from pytest_kernelperf.native import native_path
from pytest_kernelperf.replay import rocprofv3
from pytest_kernelperf.runtime.probe import cupti_in
from pytest_kernelperf.worker.examiner import Examiner


def doctor(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str]:
    """Run the command; return its exit code and what it printed. Nothing may go to stderr."""
    with pytest.raises(SystemExit) as ended:
        main(["doctor", *arguments])
    out, err = capsys.readouterr()
    assert err == ""
    return ended.value.code, out


def states(diagnosis: Diagnosis) -> dict[str, str]:
    """The state of each topic."""
    return {finding.topic: finding.state for finding in diagnosis.findings}


@pytest.mark.usefixtures("plain_environment")
def test_the_cpu_runtime_is_examined_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """Claim: its own library answers, compiling repeats, the gate does all four things, and the guard can run."""
    code, out = doctor(capsys, "--runtime=cpu", "--json")
    diagnosis = msgspec.json.decode(out, type=Diagnosis)
    found = diagnosis.examination

    assert (code, diagnosis.able, found.problems) == (0, True, {})
    assert found.answering is not None
    assert Path(found.answering.hip) == native_path("hip_cpu/lib/libamdhip64.so")
    assert found.compiled is not None
    assert (found.compiled.kernels, found.compiled.differing) == (2, ())
    assert found.gate is not None
    assert (found.gate.holds, found.gate.opens, found.gate.second_releaser) == (True, True, True)
    assert found.gate.left_after_ms is not None
    assert found.gate.left_after_ms >= 249
    assert found.queue is not None
    assert found.queue.depth > 0
    assert found.timer is not None
    assert found.timer.least_ns is not None
    assert found.activity is not None
    assert found.recorder is not None
    assert Path(found.recorder.file) == native_path("hip_cpu/lib/libamdhip64.so")
    assert set(states(diagnosis).values()) <= {"ok", "warning", "left out"}


@pytest.mark.usefixtures("plain_environment")
def test_a_missing_compiler_is_exit_code_1_and_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claim: one problem, which names it and what to install; the rest is looked at all the same."""
    monkeypatch.setenv("KERNELPERF_CXX", "/nowhere/c++")

    code, out = doctor(capsys, "--runtime=cpu")

    lines = out.splitlines()
    assert (code, lines[-1].split(";")[:2]) == (1, ["the guard cannot run here", " 1 problem"])
    assert [line.split()[1] for line in lines if line.startswith("problem")] == ["compiler"]
    assert " ".join(out.split()).count("KERNELPERF_CXX names '/nowhere/c++'") == 1
    assert "→ apt install g++" in out
    assert "ok       timer" in out


@pytest.mark.usefixtures("plain_environment")
def test_launches_that_block_leave_no_gate(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim: it is a warning with the variable to unset, and nothing waits for a gate that nobody opens."""
    monkeypatch.setenv("HIP_LAUNCH_BLOCKING", "1")
    code, out = doctor(capsys, "--runtime=cpu")
    assert code == 0
    assert "→ unset HIP_LAUNCH_BLOCKING" in out


@pytest.mark.usefixtures("plain_environment")
def test_amds_profiler_is_found_and_asked_for_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim: the rocprofv3 beside the library; what is wrong with it is the guard's own sentence; nothing is left."""
    monkeypatch.setattr(rocprofv3, "OPT", Path("/nowhere"))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    library = stand_in_rocprofv3.install(tmp_path / "rocm")
    program = tmp_path / "rocm" / "bin" / "rocprofv3"
    assert read_rocprofv3(str(library)) == RecorderReading("rocprofv3 of ROCm 7.2.0", str(program))
    stand_in_rocprofv3.install(tmp_path / "rocm", "version_fails")
    with pytest.raises(ReplayError, match="--version exited with code 1; its last words: Fatal error"):
        read_rocprofv3(str(library))
    program.unlink()
    with pytest.raises(ReplayError, match=r"was found neither beside .* or set kernelperf_rocprofv3"):
        read_rocprofv3(str(library))
    assert list((tmp_path / "tmp").iterdir()) == []


def test_cupti_is_named_by_what_is_mapped() -> None:
    """Claim: its file, whatever else is mapped."""
    line = "7f00-7f01 r-xp 00000000 08:01 12 {}\n"
    maps = line.format("/usr/lib/libc.so.6") + line.format("/a b/lib/libcupti.so.13.0") + line.format("[heap]")
    assert cupti_in(maps) == "/a b/lib/libcupti.so.13.0"
    assert cupti_in("") == "a file that is no longer there"


def test_a_runtime_that_is_not_here_is_exit_code_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claim: NVRTC, or the driver, is missing: the sentence says so."""
    monkeypatch.setenv("KERNELPERF_NVRTC", "/nowhere/libnvrtc.so")
    code, out = doctor(capsys, "--runtime=cuda")
    assert code == 1
    assert "problem  runtime          the cuda runtime cannot be used here" in out


def test_a_written_out_tree_is_read_without_any_runtime(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Claim: a Strix Halo box's figures, from files alone."""
    code, out = doctor(capsys, "--sysfs-root", os.fspath(write_strix_halo(tmp_path)))

    text = " ".join(out.split())
    assert code == 0
    for words in (
        "gfx1151 at 0000:c5:00.0; baselines in gfx1151-40cu/",
        "40 (KFD node 1: simd_count / simd_per_cu); HIP would count 20",
        "256.0 GB/s at most",
        "last level 32 MB (MALL",
        "613 MHz of 2,900, 15.08 W, power limit 120.0 W, 38 °C, performance level auto",
        "pid 4242 (llama-server, 2 queues)",
        "left out gate no device was opened",
    ):
        assert words in text


def test_a_tree_without_a_gpu_is_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Claim: a wrong folder is not taken for a healthy machine."""
    code, out = doctor(capsys, "--sysfs-root", os.fspath(tmp_path))
    assert code == 1
    assert "no GPU is described below" in out


@pytest.mark.usefixtures("plain_environment")
def test_what_never_answers_costs_its_worker_alone() -> None:
    """Claim: a driver's file or call may block for ever; the worker in it is killed, and the next one goes on."""
    with Examiner("cpu", probe_s=5.0) as examiner:
        examiner.open()
        assert examiner._worker is not None
        stopped = examiner._worker.pid
        os.kill(stopped, signal.SIGSTOP)
        with pytest.raises(WorkerHung, match="no answer within 5 s"):
            examiner.probe("gate")
        with pytest.raises(ProcessLookupError):
            os.kill(stopped, 0)


@pytest.mark.usefixtures("plain_environment")
def test_after_a_failed_probe_a_fresh_worker_goes_on() -> None:
    """Claim: what one probe did to its worker the next one does not see."""
    with Examiner("cpu") as examiner:
        examiner.open()
        assert examiner._worker is not None
        examiner._worker.kill()
        examiner.close()
        assert isinstance(examiner.probe("gate"), GateReading)


def test_what_cannot_be_opened_is_said() -> None:
    """Claim: an unknown runtime is a sentence."""
    with Examiner("vulkan") as examiner, pytest.raises(RuntimeUnavailable, match="there is no runtime 'vulkan'"):
        examiner.open()


@pytest.fixture
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what would change how launches work here."""
    for name in ("HIP_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL", "LD_PRELOAD"):
        monkeypatch.delenv(name, raising=False)
