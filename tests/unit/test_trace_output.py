"""What ``kernelperf trace`` writes and prints, where its places are not what they should be: nothing else is lost."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rocpd_files import Dispatch, Process, lesson_dispatches, write_rocpd

from pytest_kernelperf.atomic_write import write_atomically
from pytest_kernelperf.cli import main

COMMAND = [sys.executable, "-c", "from pytest_kernelperf.cli import main; main()", "trace"]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """The lesson's trace."""
    return write_rocpd(tmp_path / "a.db", [Process(lesson_dispatches())])


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[object, str, str]:
    """Run the command; return its exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main(["trace", *(os.fspath(one) if isinstance(one, Path) else str(one) for one in arguments)])
    return ended.value.code, *capsys.readouterr()


NOT_A_FILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a pipe": (os.mkfifo, "a pipe, a device or a folder is there"),
    "a link to a pipe": (
        lambda path: (os.mkfifo(path.with_name("p")), path.symlink_to("p")),
        "a pipe, a device or a folder is there",
    ),
    "below a file": (lambda path: path.parent.rmdir() or path.parent.write_text(""), "Not a directory"),
    "nowhere": (lambda path: path.parent.rmdir(), "No such file"),
}


@pytest.mark.parametrize("name", NOT_A_FILE)
def test_what_is_no_file_is_not_replaced_by_one(
    tmp_path: Path, trace: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """``--perfetto /dev/null`` of a root user must leave the machine its device; one sentence says what is there."""
    make, words = NOT_A_FILE[name]
    out = tmp_path / "folder" / "out.json"
    out.parent.mkdir()
    make(out)
    before = out.lstat().st_mode if os.path.lexists(out) else None
    code, printed, error = run(capsys, trace, "--perfetto", out)
    assert (code, printed, len(error.splitlines())) == (2, "", 1)
    assert f"out.json cannot be written ({words}" in error
    assert (out.lstat().st_mode if os.path.lexists(out) else None) == before
    assert not list(tmp_path.rglob(".*"))


def test_no_atomic_write_replaces_a_pipe(tmp_path: Path) -> None:
    """Baselines, run files and exports neither."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="a pipe, a device or a folder is there"):
        write_atomically(tmp_path / "pipe", b"data")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_link_stays_a_link(tmp_path: Path, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What it leads to is replaced, or made."""
    (tmp_path / "old.json").write_text("old")
    for name, target in (("one.json", "old.json"), ("two.json", "new.json")):
        (tmp_path / name).symlink_to(target)
        assert run(capsys, trace, "--perfetto", tmp_path / name)[0] == 0
        assert (tmp_path / name).is_symlink()
        assert json.loads((tmp_path / target).read_text())["traceEvents"]


def test_perfettos_file_replaces_no_trace_and_no_origin(
    tmp_path: Path, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither the second trace of a comparison, nor one of no part in it, nor a sidecar, be it there or not."""
    other = tmp_path / "b.db"
    shutil.copy(trace, other)
    for arguments, out, words in (
        ((trace, other), other, "is a trace"),
        ((trace,), other, "is a trace"),
        ((trace,), tmp_path / "a.db.json", "is where the origin of the trace beside it stands"),
    ):
        code, _, error = run(capsys, *arguments, "--perfetto", out)
        assert (code, words in error) == (2, True)
    assert other.read_bytes() == trace.read_bytes()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.db", "b.db"]
    assert run(capsys, trace, "--perfetto", tmp_path / "a.json")[0] == 0


def test_names_of_any_bytes_and_of_any_length_are_read(
    tmp_path: Path, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that is no UTF-8, one with control characters, one as long as names can be; and one that is too long."""
    for name in (b"\xff\xfe.db", b"a\n\x1b[31mb.db", b"n" * 252 + b".db"):
        path = tmp_path / os.fsdecode(name)
        shutil.copy(trace, path)
        for form in ("--json", "--markdown", f"--perfetto={path.with_suffix('.o')}"):
            code, printed, error = run(capsys, path, form)
            assert (code, error) == (0, "")
            assert printed.replace("\n", "").isprintable()
            assert path.name.removesuffix(".db").isprintable() or path.name not in printed
    code, _, error = run(capsys, tmp_path / ("n" * 5000))
    assert (code, "cannot be read (File name too long)" in error) == (2, True)


def test_the_folder_at_hand_is_a_trace(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``kernelperf trace .`` where rocprofv3 wrote."""
    monkeypatch.chdir(trace.parent)
    code, printed, _ = run(capsys, ".")
    assert (code, "fused_column_tiles" in printed) == (0, True)


def test_a_folder_that_cannot_be_looked_into_hides_nothing(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of a trace is not taken for the whole; a root user may look everywhere, so that this one is told no."""
    (trace.parent / "closed").mkdir()
    shutil.copy(trace, trace.parent / "closed" / "b.db")
    assert run(capsys, trace.parent)[0] == 0
    scandir = os.scandir

    def refuse(place: str) -> object:
        if os.fspath(place).endswith("closed"):
            raise PermissionError(errno.EACCES, "Permission denied", place)
        return scandir(place)

    monkeypatch.setattr(os, "scandir", refuse)
    code, printed, error = run(capsys, trace.parent)
    assert (code, printed, len(error.splitlines())) == (2, "", 1)
    assert "closed cannot be looked into (Permission denied), and a trace may lie there" in error


@pytest.mark.parametrize("form", ["", "--json"])
def test_a_full_disk_under_stdout_is_one_sentence(trace: Path, form: str) -> None:
    """What ``kernelperf trace a.db > FILE`` says when there is no room."""
    with open("/dev/full", "wb") as full:
        ended = subprocess.run([*COMMAND, str(trace), *filter(None, [form])], stdout=full, stderr=subprocess.PIPE)
    words = b"what was to be printed cannot be written (No space left on device): make room for it\n"
    assert (ended.returncode, ended.stderr) == (2, words)


def test_a_reader_that_goes_away_is_no_error(trace: Path) -> None:
    """``kernelperf trace a.db | head``: nothing on stderr."""
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run([*COMMAND, str(trace)], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert ended.stderr == b""


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.weekly)])
def test_an_ended_write_leaves_the_old_file(tmp_path: Path, number: signal.Signals) -> None:
    """In the middle of Perfetto's file: what was there is whole; after SIGTERM nothing else is there."""
    rows = [Dispatch("k", 1000 + 4000 * n, 3000 + 4000 * n) for n in range(30_000)]
    trace = write_rocpd(tmp_path / "a.db", [Process(rows)])
    out = tmp_path / "out" / "out.json"
    out.parent.mkdir()
    out.write_text("old")
    with subprocess.Popen([*COMMAND, str(trace), f"--perfetto={out}"], stdout=subprocess.DEVNULL) as writer:
        while len(os.listdir(out.parent)) < 2:
            assert writer.poll() is None
            time.sleep(0.001)
        writer.send_signal(number)
    assert out.read_text() == "old"
    assert len(os.listdir(out.parent)) == (1 if number == signal.SIGTERM else 2)
