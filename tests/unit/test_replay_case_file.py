"""CASE.json: what is written is read, and what is damaged, foreign or does not belong together is refused."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from replay_cases import ARMS, ARRAYS, CASE, DEVICE, write_sample

from pytest_kernelperf.errors import ReplayError
from pytest_kernelperf.plan import buffer_specs
from pytest_kernelperf.replay import case_file
from pytest_kernelperf.replay.case_file import MAKE_ANEW, data_path, read_case, write_case
from pytest_kernelperf.worker.array import InputSet


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A case that was written."""
    return write_sample(tmp_path / "case.json")


def refusal(path: Path) -> str:
    """The sentence with which a case is refused."""
    with pytest.raises(ReplayError) as caught:
        read_case(path)
    sentence = str(caught.value)
    assert sentence.startswith(f"{path}: ")
    assert sentence.endswith(MAKE_ANEW)
    assert "\n" not in sentence
    return sentence


def test_what_is_written_is_read(path: Path) -> None:
    """Claim: plans, code objects and inputs come back bit for bit, structured ones too, and no third file is left."""
    with read_case(path) as case:
        assert (case.case, case.runtime, case.device_key) == (CASE, "cuda", "sm90-132sm")
        assert [case.arm(arm.name) for arm in ARMS] == ARMS
        for name, array in ARRAYS.items():
            assert case.inputs[name].tobytes() == array.tobytes()
            assert case.inputs[name].shape == array.shape
    assert sorted(one.name for one in path.parent.iterdir()) == ["case.json", "case.json.data"]


def test_nothing_stays_open(path: Path) -> None:
    """Claim: neither a read nor a refused case keeps a file open."""
    read_case(path).inputs.close()
    data_path(path).write_bytes(b"")
    refusal(path)
    gc.collect()  # a refusal's traceback holds what was mapped
    links = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    assert not [link for link in links if os.path.exists(link) and str(path.parent) in os.readlink(link)]


def test_an_arm_that_is_not_there_is_said_with_those_that_are(path: Path) -> None:
    """Claim: the sentence lists the file's arms."""
    with (
        read_case(path) as case,
        pytest.raises(ReplayError, match=r"^there is no arm 'parent': scale plain at 8 tokens"),
    ):
        case.arm("parent")


def launch_of(value: dict[str, Any]) -> dict[str, Any]:
    """The launch of the first arm, as JSON."""
    launch: dict[str, Any] = value["arms"][0]["plan"]["steps"][2]
    return launch


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda v: v.update(version=2), "has version 2, and this pytest-kernelperf replays 1"),
        (lambda v: v.pop("version"), "has no version"),
        (lambda v: v.update(more=1), "has an unknown field `more`"),
        (lambda v: v.pop("arms"), "has no field `arms`"),
        (lambda v: v["arms"].append(v["arms"][0]), "two of its arms have one name"),
        (lambda v: v["arms"][0].update(name="../head"), "field arms[0].name: "),
        (lambda v: v["arms"][0].update(object_digest="0" * 64), "arm head has no code object"),
        (lambda v: v["arms"][0]["plan"]["steps"].__delitem__(2), "arm head cannot be run (its plan launches nothing)"),
        (lambda v: v["arms"][0]["plan"]["steps"][0].update(size_bytes=257), "(257 bytes at 0 of buffer 'y')"),
        (lambda v: v["arms"][0]["plan"]["steps"][1].update(source="z"), "(256 bytes at 0 of buffer 'z')"),
        (lambda v: launch_of(v)["arguments"][0].update(offset_bytes=256), "(1 bytes at 256 of buffer 'y')"),
        (lambda v: launch_of(v)["arguments"].pop(), "the kernel takes 3 arguments, the launch gives 2"),
        (lambda v: launch_of(v)["arguments"].reverse(), "argument 1: np.float32 is given where the kernel takes"),
        (lambda v: launch_of(v).update(grid=[0, 1, 1]), "with grid (0, 1, 1) and block (64, 1, 1)"),
        (lambda v: launch_of(v).update(kernel="\x1b[2J"), "arm head cannot be run ("),
        (lambda v: v["buffers"].reverse(), "its inputs are not its buffers"),
        (lambda v: v["inputs"]["regions"][0]["spec"].update(shape=[10**9]), "its inputs cannot be used ("),
        (lambda v: v["inputs"]["regions"][0]["spec"].update(shape=[-8, -8]), "is no buffer, or there twice"),
        (lambda v: v["inputs"]["regions"][0]["spec"].update(dtype="O"), "is no buffer, or there twice"),
        (lambda v: v["inputs"]["regions"][0]["spec"].update(dtype="[('a'"), "its inputs cannot be used ("),
        (lambda v: v["inputs"]["regions"][0].update(offset_bytes=8), "the inputs in its .data are not the ones"),
        (lambda v: v["inputs"].update(total_bytes=10**12), "its inputs cannot be used ("),
        (lambda v: v["inputs"].update(total_bytes=-1), "its inputs cannot be used (shared memory holds "),
        (lambda v: v["objects"][0].update(offset_bytes=0), "the code of arm head in its .data is not the one"),
        (lambda v: v["objects"][0].update(size_bytes=0), "field objects[0].size_bytes: "),
        (lambda v: v.update(inputs_digest="0" * 64), "the inputs in its .data are not the ones that it names"),
    ],
)
def test_a_wrong_value_is_refused_before_any_device_sees_it(
    path: Path, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    """Claim: what is no plan of these kernels on these buffers is one sentence that says where."""
    value = json.loads(path.read_bytes())
    change(value)
    path.write_text(json.dumps(value))
    sentence = refusal(path)
    assert words in sentence
    assert "\x1b" not in sentence


def test_any_byte_of_the_data_counts(path: Path) -> None:
    """Claim: a changed or missing byte of inputs or code is noticed, as are files of two cases that were mixed."""
    whole = data_path(path).read_bytes()
    for place in (0, 300, len(whole) - 1):
        data_path(path).write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert "in its .data is not the one" in refusal(path) or "in its .data are not the ones" in refusal(path)
    for length in (0, 100, len(whole) - 1):
        data_path(path).write_bytes(whole[:length])
        refusal(path)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\x00", b'{"version": NaN}', b'{"version": 1}', b"[" * 100_000])
def test_what_is_no_case_is_refused(path: Path, text: bytes) -> None:
    """Claim: another file, an empty one, one that was cut off or nests for ever is one sentence."""
    path.write_bytes(text)
    refusal(path)


def test_a_missing_part_a_folder_and_a_pipe_are_refused(path: Path) -> None:
    """Claim: nothing is waited for; the sentence says that a part cannot be read."""
    assert "cannot be read (No such file or directory)" in refusal(path.with_name("none.json"))
    data_path(path).unlink()
    assert "it or its .data cannot be read (No such file or directory)" in refusal(path)
    os.mkfifo(data_path(path))
    assert "its .data is no file" in refusal(path)
    data_path(path).unlink()
    data_path(path).mkdir()
    assert "its .data is no file" in refusal(path)


def test_sizes_are_bounded(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim: a case too large to be read again is not written, and one that is too large is not read."""
    monkeypatch.setattr(case_file, "MAX_DATA_BYTES", 1000)
    assert "is no file of at most 1,000 bytes" in refusal(path)
    with (
        InputSet.create(ARRAYS) as inputs,
        pytest.raises(ReplayError, match=r"a replay takes 1,000 at most"),
    ):
        write_case(tmp_path / "more.json", CASE, DEVICE, buffer_specs(ARRAYS), inputs, ARMS)
    assert not (tmp_path / "more.json").exists()
    monkeypatch.setattr(case_file, "MAX_FILE_BYTES", 1000)
    assert "has more than 1,000 bytes" in refusal(path)


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    """Claim: what cannot be written is one sentence."""
    with InputSet.create(ARRAYS) as inputs, pytest.raises(ReplayError, match=r"cannot be written \(No such file"):
        write_case(tmp_path / "none" / "case.json", CASE, DEVICE, buffer_specs(ARRAYS), inputs, ARMS)
