"""The command ``kernelperf``."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from pytest_kernelperf.cli import main

GOLDEN = Path(__file__).parent.parent / "golden"


def test_show_prints_the_report_of_a_run() -> None:
    """Claim: a failing run is shown with exit code 0: showing worked."""
    result = CliRunner().invoke(main, ["show", str(GOLDEN / "run.json")])
    assert result.exit_code == 0
    assert result.stdout == (GOLDEN / "report.txt").read_text(encoding="utf-8")


def test_show_prints_markdown() -> None:
    """Claim: the same report for a comment or a file."""
    result = CliRunner().invoke(main, ["show", "--markdown", str(GOLDEN / "run.json")])
    assert result.stdout == (GOLDEN / "report.md.txt").read_text(encoding="utf-8")


def test_an_unusable_file_is_one_sentence_and_exit_code_2(tmp_path: Path) -> None:
    """Claim: what cannot be shown is said on stderr, without a traceback."""
    bad = tmp_path / "run.json"
    bad.write_bytes(b"{")
    for path, words in ((bad, "is cut off"), (tmp_path / "none.json", "cannot be read")):
        result = CliRunner().invoke(main, ["show", str(path)])
        assert result.exit_code == 2
        assert result.stdout == ""
        assert len(result.stderr.splitlines()) == 1
        assert words in result.stderr
