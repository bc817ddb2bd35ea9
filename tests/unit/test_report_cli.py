"""The command ``kernelperf``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from figures import compared, measured, rich_run, run_of

from pytest_kernelperf.cli import SHORT_HELP, main
from pytest_kernelperf.model import CaseId
from pytest_kernelperf.report.run_file import write_run

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


class TestPictures:
    """What kernelperf show draws, and where."""

    @pytest.fixture(scope="class")
    @classmethod
    def run_file(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """A run with two slower cases."""
        path = tmp_path_factory.mktemp("run") / "run.json"
        write_run(path, rich_run())
        return path

    def test_a_run_is_drawn_to_files(self, run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Curve, blocks and samples of what fails, and the spread; each file's name says what it holds."""
        code, out, _ = run(capsys, "show", str(run_file), "--svg", str(tmp_path / "new"))
        slow = [f"moe_add_inject-separate-{tokens}.{kind}" for tokens in (512, 2048) for kind in ("blocks", "samples")]
        names = ["moe_add_inject.curve", *slow, "spread"]
        assert (code, out.split()) == (0, [f"{tmp_path}/new/{name}.svg" for name in names])
        assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(f"{name}.svg" for name in names)
        assert all(path.read_bytes().startswith(b"<svg") for path in (tmp_path / "new").iterdir())

    def test_one_case_is_drawn_as_png(self, run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Named as messages have it, as pytest has it; it need not fail."""
        for name in ("moe_add_inject separate at 8 tokens", "separate-8"):
            code, out, _ = run(capsys, "show", str(run_file), "--png", str(tmp_path), "--case", name)
            shown = [f"{tmp_path}/moe_add_inject-separate-8.{kind}.png" for kind in ("blocks", "samples")]
            assert (code, out.split()) == (0, shown)

    def test_names_that_differ_in_what_files_cannot_hold_have_files_of_their_own(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Nor does a name lead out of the folder."""
        names = ("../../a/b", "../../a?b", "../../A?b")
        write_run(tmp_path / "run.json", run_of([compared(CaseId(name, "v", 1), measured(2.0)) for name in names]))
        assert run(capsys, "show", str(tmp_path / "run.json"), "--svg", str(tmp_path / "out"))[0] == 0
        written = sorted(path.name for path in (tmp_path / "out").iterdir())
        assert written == ["_.._A_b.curve-3.svg", "_.._a_b.curve-2.svg", "_.._a_b.curve.svg", "spread.svg"]

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--case", "separat-512"), "the run has no case 'separat-512': it has 16 cases, such as"),
            (("--kernel", "moe_add_injekt", "--svg", "x"), "no kernel 'moe_add_injekt': it has 1 kernel, such as 'moe"),
            (("--svg", "/dev/null/x"), "pictures cannot be written there"),
            (("--case", "fused_column_tiles_64-64", "--png", "x"), "nothing can be drawn of it"),
        ],
    )
    def test_what_cannot_be_drawn_is_a_sentence(
        self, run_file: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
    ) -> None:
        """On stderr, with exit code 2, and nothing on stdout."""
        code, out, err = run(capsys, "show", str(run_file), *arguments)
        assert (code, out, len(err.splitlines())) == (2, "", 1)
        assert words in err

    def test_a_terminals_pictures_stand_above_the_headline(
        self, run_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Asked for they are drawn elsewhere too; otherwise nowhere but on terminals."""
        report = run(capsys, "show", str(run_file))[1]
        drawn = run(capsys, "show", str(run_file), "--pictures")[1]
        assert run(capsys, "show", str(run_file), "--no-pictures")[1] == report
        head, _, foot = drawn.partition("moe_add_inject: fused_column_tiles is the fastest at")
        assert "┤" not in report
        assert foot.count("┤") > 6
        assert report.startswith(head)
        assert foot.splitlines()[-1] == report.splitlines()[-1]

    def test_a_kernel_or_a_case_is_shown_alone(self, run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Its row, its details, and the count of one."""
        out = run(capsys, "show", str(run_file), "--case", "separate at 2,048 tokens")[1]
        assert "1 case: 1 regressed\n" in out
        assert "fused" not in out


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
