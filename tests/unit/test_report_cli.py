"""The command ``kernelperf``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_kernelperf.cli import SHORT_HELP, main

GOLDEN = Path(__file__).parent.parent / "golden"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    """Run the command; return its exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return ended.value.code, *capsys.readouterr()


def test_show_prints_the_report_of_a_run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim: a failing run is shown with exit code 0: showing worked."""
    monkeypatch.chdir(GOLDEN)
    report = (GOLDEN / "report.txt").read_text(encoding="utf-8")
    assert run(capsys, "show", "run.json") == (0, report, "")


def test_show_prints_markdown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim: the same report for a comment or a file."""
    monkeypatch.chdir(GOLDEN)
    report = (GOLDEN / "report.md.txt").read_text(encoding="utf-8")
    assert run(capsys, "show", "--markdown", "run.json") == (0, report, "")


def test_show_names_traces_as_one_types_them(capsys: pytest.CaptureFixture[str]) -> None:
    """Claim: paths of traces begin where the run file lies, so that they can be copied to a command."""
    _, out, _ = run(capsys, "show", str(GOLDEN / "run.json"))
    assert f"trace of head      {GOLDEN}/traces/moe_add_inject-separate-512/head.db" in out


def test_show_draws_the_traced_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Claim: --timelines writes one picture for each traced case and names it; a folder that is none is a sentence."""
    code, out, _ = run(capsys, "show", str(GOLDEN / "run.json"), "--timelines", str(tmp_path / "new"))
    assert (code, out) == (0, f"{tmp_path}/new/moe_add_inject-separate-512.svg\n")
    assert (tmp_path / "new" / "moe_add_inject-separate-512.svg").read_bytes() == (GOLDEN / "timeline.svg").read_bytes()
    (tmp_path / "file").write_bytes(b"")
    code, out, err = run(capsys, "show", str(GOLDEN / "run.json"), "--timelines", str(tmp_path / "file" / "x"))
    assert (code, out, len(err.splitlines())) == (2, "", 1)


def test_an_unusable_file_is_one_sentence_and_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Claim: what cannot be shown is said on stderr, without a traceback."""
    bad = tmp_path / "run.json"
    bad.write_bytes(b"{")
    for path, words in ((bad, "is cut off"), (tmp_path / "none.json", "cannot be read")):
        code, out, err = run(capsys, "show", str(path))
        assert (code, out, len(err.splitlines())) == (2, "", 1)
        assert words in err


@pytest.mark.parametrize("name", SHORT_HELP)
def test_each_command_has_its_help(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Claim: every command of the list can be called, and says what it does."""
    code, out, _ = run(capsys, name, "--help")
    assert (code, out.split()[0]) == (0, "Usage:")


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Claim: a mistyped command is no traceback."""
    code, _, err = run(capsys, "shwo")
    assert code == 2
    assert "No such command 'shwo'" in err


def test_reading_a_trace_does_not_wait_for_scipy() -> None:
    """Claim: a command imports what it needs itself; scipy alone takes as long as half a million dispatches."""
    program = "import sys, pytest_kernelperf.cli, pytest_kernelperf.commands.trace; print('scipy' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", program]) == b"False\n"
