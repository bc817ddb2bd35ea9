"""A case's replay on a real runtime: exactly the plan's launches, nothing of ours beside them, and one sentence where
it cannot be played."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from guarded_project import SOURCE

from pytest_kernelperf.errors import KernelperfError, RuntimeUnavailable
from pytest_kernelperf.measure.request import Arm
from pytest_kernelperf.model import (
    BufferArgument,
    CaseId,
    DeviceFacts,
    FillStep,
    LaunchStep,
    Plan,
    ScalarArgument,
    SourceBundle,
)
from pytest_kernelperf.plan import buffer_specs
from pytest_kernelperf.replay import program
from pytest_kernelperf.replay.case_file import read_case, write_case
from pytest_kernelperf.replay.program import play
from pytest_kernelperf.runtime.code import make_code
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.library import choose
from pytest_kernelperf.runtime.recorder import Recorder
from pytest_kernelperf.trace.arm import Replayed, read_arm
from pytest_kernelperf.trace.summary import summarise_trace
from pytest_kernelperf.worker.array import InputSet

ARRAYS = {"x": np.arange(2048, dtype=np.float32), "y": np.zeros(2048, np.float32)}


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    """The cpu runtime."""
    try:
        with Device(choose("cpu")) as opened:
            yield opened
    except RuntimeUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture
def path(device: Device, tmp_path: Path) -> Path:
    """A case of a fill and two launches."""
    return write(device, device.facts(), tmp_path / "case.json")


def write(device: Device, facts: DeviceFacts, path: Path) -> Path:
    """Write the case as one of the device that ``facts`` describe."""

    def scalar(value: np.generic) -> ScalarArgument:
        return ScalarArgument(value.dtype.str, value.tobytes(), value.dtype.alignment)

    arguments = (scalar(np.int32(2048)), scalar(np.float32(3)), BufferArgument("x"), BufferArgument("y"))
    launches = (
        LaunchStep("scale", (8, 1, 1), (256, 1, 1), arguments),
        LaunchStep("scale_strided", (4, 1, 1), (16, 1, 1), arguments),
    )
    code = make_code(device, SourceBundle("scale.hip", {"scale.hip": SOURCE}))
    arms = [Arm("head", code, Plan((FillStep("y", 7, 0, 8192), *launches))), Arm("baseline", code, Plan(launches[:1]))]
    with InputSet.create(ARRAYS) as inputs:
        write_case(path, CaseId("scale", "plain", 8), facts, buffer_specs(ARRAYS), inputs, arms)
    return path


def replay(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``kernelperf replay``."""
    program = "from pytest_kernelperf.cli import main; main()"
    command = [sys.executable, "-c", program, "replay", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_replay_launches_its_plan_and_nothing_else(path: Path) -> None:
    """Claim: three rounds of two launches in the plan's order, no gate, no copies; the process is the one it names."""
    out = path.with_name("head.db")
    done = replay(str(path), "--arm", "head", "--rounds", "3", "--trace", str(out))
    assert (done.returncode, done.stderr) == (0, "")
    said, _, pid = done.stdout.strip().rpartition(" ")
    assert said == "replayed head: 3 rounds of 2 launches in process"
    trace = read_arm(out, "head", Replayed(int(pid), 3, ("scale", "scale_strided")), "head.db")
    assert {(kernel.name, kernel.calls, kernel.workgroups) for kernel in trace.arm.kernels} == {
        ("scale", 3, (8,)),
        ("scale_strided", 3, (4,)),
    }
    assert summarise_trace(out).dispatches == 6
    assert [trace.arm.kernels[span.kernel].name for span in trace.arm.spans] == ["scale", "scale_strided"] * 2
    assert (trace.origin, trace.notes) == ("cpu", ())


def test_a_profiler_around_a_replay_sees_no_kernel_of_ours(device: Device, path: Path) -> None:
    """Claim: from the device's opening to its end the plan's launches are all; a gate's kernel would be seen here."""
    with read_case(path) as case, Recorder(device) as recorder:
        receipt = play(case, case.arm("head"), 2, None)
    recording = recorder.take(device.facts())
    kernels = [recording.kernels[number].symbol for number in recording.dispatches["kernel"].tolist()]
    assert kernels == ["scale", "scale_strided"] * 2
    assert (receipt.rounds, receipt.launches) == (2, 2)


@pytest.mark.parametrize(
    ("changes", "out", "sentence"),
    [
        (
            {"key": "gfx1151-40cu"},
            None,
            "scale plain at 8 tokens was recorded for gfx1151-40cu, and this device",
        ),
        ({"runtime": "rocm"}, "x.db", "on the rocm runtime rocprofv3 records: call it with this command behind it"),
        ({}, "/nowhere/x.db", "/nowhere/x.db cannot be written ("),
    ],
)
def test_what_cannot_be_played_is_one_sentence(
    device: Device, tmp_path: Path, changes: dict[str, str], out: str | None, sentence: str
) -> None:
    """Claim: another device, a runtime that does not record and a file that cannot be written are said."""
    facts = msgspec.structs.replace(device.facts(), **changes)
    written = write(device, facts, tmp_path / "case.json")
    with read_case(written) as case, pytest.raises(KernelperfError) as caught:
        play(case, case.arm("head"), 2, Path(out) if out else None)
    assert str(caught.value).startswith(sentence)


def test_the_command_says_what_is_wrong_and_exits_with_two(path: Path) -> None:
    """Claim: one line on stderr, nothing on stdout."""
    done = replay(str(path), "--arm", "parent")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "there is no arm 'parent': scale plain at 8 tokens has head, baseline\n"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """The program takes SIGINT for its own process; this one keeps it."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_trace_never_takes_the_place_of_its_case(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Claim: not as its file, nor as what tells its origin, nor over a link; one sentence, and the case is whole."""
    path.with_name("link").symlink_to("case.json")
    before = {one: one.read_bytes() for one in path.parent.iterdir()}
    for out in ("case.json", "case.json.data", "case", "link"):
        assert program.main([str(path), "head", "2", str(path.with_name(out))]) == 2
        assert capfd.readouterr().err.endswith(f"{out}.json beside it would replace the case: name another --trace\n")
        assert {one: one.read_bytes() for one in path.parent.iterdir()} == before


@pytest.mark.usefixtures("interruptible")
def test_what_a_file_says_does_not_paint_the_terminal(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Claim: names and keys of a stranger's case are one printable line of a refusal."""
    value = json.loads(path.read_text())
    value["case"]["kernel"], value["device_key"] = "\x1b[31mred\nline", "\x1b[2J"
    path.write_text(json.dumps(value))
    for arm, words in (
        ("head", "was recorded for ?[2J, and this device is "),
        ("parent", "there is no arm 'parent': "),
    ):
        assert program.main([str(path), arm, "2"]) == 2
        said = capfd.readouterr().err.removesuffix("\n")
        assert words in said
        assert said.isprintable()
