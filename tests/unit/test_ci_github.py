"""What CI's commands ask of GitHub and tell it: acceptances, the one issue, proposed baselines."""

from __future__ import annotations

import http.server
import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from pytest_kernelperf.ci.plain import plain
from pytest_kernelperf.ci.proposal import Proposal, Wish, check_words, compare_folders, propose
from pytest_kernelperf.ci.watch import MARKER, Finding, look, report
from pytest_kernelperf.cli import main
from pytest_kernelperf.errors import BaselineError, GitHubError, KernelperfError, UsageError
from pytest_kernelperf.github.acceptance import find_acceptance
from pytest_kernelperf.github.client import Client
from pytest_kernelperf.model import Drift, Run
from pytest_kernelperf.report.room import characters
from pytest_kernelperf.report.run_file import read_run, write_run

HEAD = "a" * 40
GOLDEN = Path(__file__).parents[1] / "golden" / "run.json"
BASELINES = Path(__file__).parents[2] / "baselines"
BOT = "github-actions[bot]"


class GitHub:
    """A repository that answers from what it was told, and keeps what is sent."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.sent: list[tuple[str, str, dict[str, Any]]] = []

    def get(self, path: str, **query: str | int) -> Any:
        return self.answers[path]

    def pages(self, path: str, **query: str | int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.answers[path]
        return found

    def post(self, path: str, body: dict[str, Any]) -> Any:
        self.sent.append(("POST", path, body))
        return {"number": 12, "sha": f"{len(self.sent):040x}"}

    def patch(self, path: str, body: dict[str, Any]) -> Any:
        self.sent.append(("PATCH", path, body))


class TestAcceptance:
    """A label that names the commit, its reason, and who set it."""

    @staticmethod
    def github(**changed: Any) -> GitHub:
        """A pull request that a maintainer has accepted as it is."""
        label = {"name": f"slow-ok:{HEAD}", "description": "rounds correctly"} | changed.get("label", {})
        events = changed.get("events", [("labeled", "maintainer", "User")])
        return GitHub(
            **{
                "pulls/3": {"head": {"sha": HEAD}, "labels": [{"name": "bug"}, label]},
                "issues/3/events": [
                    {"event": event, "actor": {"login": who, "type": kind}, "label": {"name": f"slow-ok:{HEAD}"}}
                    for event, who, kind in events
                ],
                "collaborators/maintainer/permission": {
                    "permission": changed.get("permission", "write"),
                    "role_name": "",
                },
                "collaborators/stranger/permission": {"permission": "read", "role_name": "triage"},
            }
        )

    def test_a_maintainers_label_with_a_reason_is_one(self) -> None:
        """The document is what --kernelperf-accept takes."""
        found = find_acceptance(self.github(), 3)
        assert found.document() == {
            "version": 1, "commit": HEAD, "by": "maintainer", "reason": "rounds correctly", "cases": None
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("changed", "why"),
        [
            ({"label": {"name": f"slow-ok:{'b' * 40}"}}, "no label slow-ok:aaaa"),
            ({"label": {"name": "slow-ok"}}, "no label"),
            ({"label": {"description": None}}, "has no description"),
            ({"label": {"description": " \n "}}, "has no description"),
            ({"events": []}, "does not say who"),
            ({"events": [("labeled", "maintainer", "User"), ("unlabeled", "x", "User")]}, "does not say who"),
            ({"events": [("labeled", "maintainer", "Bot")]}, "does not say who"),
            ({"events": [("labeled", "../maintainer", "User")]}, "does not say who"),
            ({"events": [("labeled", "stranger/permission#", "User")]}, "does not say who"),
            ({"events": [("labeled", "stranger", "User")]}, "stranger has the role triage and may not"),
            ({"permission": "read"}, "may not accept"),
            ({"permission": "none"}, "may not accept"),
        ],
    )
    def test_nothing_else_is(self, changed: Any, why: str) -> None:
        """And the log says what is missing."""
        found = find_acceptance(self.github(**changed), 3)
        assert (found.by, found.reason) == ("", "")
        assert why in found.sentence

    def test_a_login_that_a_company_manages_is_one(self) -> None:
        """It has an underscore, which no other has."""
        github = self.github(events=[("labeled", "name_company", "User")])
        github.answers["collaborators/name_company/permission"] = {"permission": "write"}
        assert find_acceptance(github, 3).by == "name_company"

    def test_the_reason_stays_one_line_of_a_length(self) -> None:
        """It goes into records and into the comment."""
        found = find_acceptance(self.github(label={"description": "a\nb " + "c" * 900}), 3)
        assert found.reason.startswith("a b ccc")
        assert len(found.reason) == 200


class TestTheIssue:
    """Opened, kept up to date, closed."""

    WELL, MOVED = Finding(()), Finding(("the machine moved: @all 12 % `slower`",))

    @staticmethod
    def issue(state: str = "open", finding: Finding = MOVED, who: str = BOT, **more: Any) -> dict[str, Any]:
        """An issue as GitHub lists it."""
        body = f"{MARKER}\n{finding.body}\n\nFound by link; …"
        return {"number": 4, "state": state, "body": body, "user": {"login": who}} | more

    def done(self, finding: Finding, *issues: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
        """What is said to be done, and what is."""
        github = GitHub(issues=list(issues))
        said = report(github, finding, "https://github.com/o/r/actions/runs/1", BOT)
        self.sent = github.sent
        return said, [(method, path) for method, path, _ in github.sent]

    def test_a_moved_machine_opens_one_issue(self) -> None:
        """Its text names nobody and has no markup but ours."""
        assert self.done(self.MOVED) == ("opened issue 12", [("POST", "issues")])
        body = self.sent[0][2]["body"]
        assert body.startswith(MARKER)
        assert "@all" not in body
        assert "`" not in body.replace("\\`", "")

    def test_the_same_finding_changes_nothing(self) -> None:
        """Each week's run would else wake everybody who follows it."""
        assert self.done(self.MOVED, self.issue()) == ("issue 4 says so already", [])

    def test_another_finding_updates_it_and_a_closed_one_is_opened_again(self) -> None:
        """There is never a second one."""
        other = Finding(("the box measured nothing",))
        assert self.done(other, self.issue()) == ("updated issue 4", [("PATCH", "issues/4")])
        assert self.done(self.MOVED, self.issue("closed")) == ("reopened issue 4", [("PATCH", "issues/4")])
        assert self.sent[0][2]["state"] == "open"

    def test_it_is_closed_when_the_box_is_well(self) -> None:
        """With a word of when, once."""
        said, sent = self.done(self.WELL, self.issue())
        assert said == "the box is well again: closed issue 4"
        assert sent == [("POST", "issues/4/comments"), ("PATCH", "issues/4")]
        assert self.done(self.WELL, self.issue("closed"))[1] == []
        assert self.done(self.WELL)[1] == []

    def test_others_issues_are_left_alone(self) -> None:
        """Whoever copies our mark, and our own pull requests."""
        assert self.done(self.WELL, self.issue(who="stranger"), self.issue(pull_request={}))[1] == []

    def test_what_is_wrong_is_read_from_the_run_and_from_how_the_job_ended(self, tmp_path: Path) -> None:
        """A box that is off, a machine that moved, a drill that stayed silent; else it is well."""
        assert "is it on" in look(tmp_path / "none.json", "cancelled").wrong[0]
        (tmp_path / "bad.json").write_text("{")
        assert "measured nothing" in look(tmp_path / "bad.json", "failure").wrong[0]
        run = msgspec.structs.replace(read_run(GOLDEN), drift=None)
        assert look(stored(tmp_path, run), "success").wrong == ()
        assert "a drill's alarm stayed silent" in look(stored(tmp_path, run), "failure").wrong[0]
        drift = Drift(1.06, 1e-4, 0.01, 0.01, 12, 5, 10, True, stored_from="2026-11-30", stored_to="2026-11-30")
        moved = look(stored(tmp_path, msgspec.structs.replace(run, drift=drift)), "success")
        assert "the machine moved: the accepted binaries of 12 cases are 6 % slower" in moved.wrong[0]


def stored(folder: Path, run: Run) -> Path:
    """Write a run file."""
    write_run(folder / "run.json", run)
    return folder / "run.json"


@pytest.mark.skipif(not BASELINES.is_dir(), reason="the baselines are not beside these tests")
class TestProposing:
    """Baselines from the box are data: read strictly, refused as a whole, never run."""

    @pytest.fixture
    def folders(self, tmp_path: Path) -> tuple[Path, Path, Path]:
        """What was measured, what is there, and the project, with one kernel of ours."""
        measured, present = tmp_path / "measured", tmp_path / "project" / "baselines"
        shutil.copytree(BASELINES / "sm90-132sm", measured / "sm90-132sm")
        kept = [measured / "sm90-132sm" / name for name in ("rope.json", "kv_append.json")]
        named = b"".join(file.read_bytes() for file in kept)
        for file in (measured / "sm90-132sm").rglob("*.*"):
            if file.is_file() and file not in kept and file.stem.encode() not in named:
                file.unlink()
        shutil.copytree(measured, present)
        for name in ("rope", "kv_append"):
            module = tmp_path / "project" / "kernels" / name / f"test_{name}.py"
            module.parent.mkdir(parents=True)
            module.touch()
        return measured, present, tmp_path / "project"

    def test_the_same_baselines_propose_nothing(self, folders: tuple[Path, Path, Path]) -> None:
        """Byte by byte."""
        assert compare_folders(*folders).files == {}

    def test_new_changed_and_gone_files_become_one_commit_on_a_branch_of_its_own(
        self, folders: tuple[Path, Path, Path]
    ) -> None:
        """The pull request says each case's old and new time."""
        present = folders[1]
        (present / "sm90-132sm" / "rope.json").unlink()
        (present / "sm90-132sm" / "objects" / f"{'0' * 64}.gz").write_bytes(b"old")
        text = (present / "sm90-132sm" / "kv_append.json").read_text()
        (present / "sm90-132sm" / "kv_append.json").write_text(text.replace('"reason": "', '"reason": "other: '))
        proposal = compare_folders(*folders)
        assert sorted(name for name, data in proposal.files.items() if data is not None) == [
            "sm90-132sm/kv_append.json", "sm90-132sm/rope.json"
        ]  # fmt: skip
        assert [name for name, data in proposal.files.items() if data is None] == [f"sm90-132sm/objects/{'0' * 64}.gz"]
        assert any("rope: " in line and ": new, " in line for line in proposal.lines)
        assert any("kv_append: " in line and "→" in line for line in proposal.lines)
        github = GitHub(
            **{"git/ref/heads/main": {"object": {"sha": HEAD}}, f"git/commits/{HEAD}": {"tree": {"sha": "t"}}}
        )
        wish = Wish("baselines", "main", "kernelperf/baselines-9", HEAD, "tiles of 128 @everyone")
        assert propose(github, proposal, wish) == 12
        paths = [path for _, path, _ in github.sent]
        assert paths == ["git/blobs", "git/blobs", "git/trees", "git/commits", "git/refs", "pulls"]
        tree = github.sent[2][2]
        assert tree["base_tree"] == "t"
        assert [entry["sha"] is None for entry in tree["tree"]] == [False, True, False]
        assert github.sent[4][2]["ref"] == "refs/heads/kernelperf/baselines-9"
        assert "@everyone" not in github.sent[5][2]["body"]

    @pytest.mark.parametrize(
        "name", ["x", "sm90-132sm/run.sh", "sm90-132sm/objects/x.gz", ".github/workflows/ci.yml", "a/b/c/d.json"]
    )
    def test_a_file_that_is_no_baselines_refuses_all_of_it(self, folders: tuple[Path, Path, Path], name: str) -> None:
        """It would else be committed."""
        path = folders[0] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
        with pytest.raises(BaselineError, match="which is no baseline's file"):
            compare_folders(*folders)

    @pytest.mark.parametrize(
        ("name", "why"),
        [
            (f"sm90-132sm/objects/{'0' * 64}.gz", "which no baseline of theirs refers to"),
            (f"sm90-132sm/sources/{'0' * 64}.json", "which no baseline of theirs refers to"),
            (f"other/objects/{'0' * 64}.gz", "which no baseline of theirs refers to"),
            (f".git/objects/{'0' * 64}.gz", "which no baseline of theirs refers to"),
            ("sm90-132sm/calibration.json", "calibration.json"),
            ("sm90-132SM/calibration.json", "calibration.json"),
            ("readme.md", "which is no baseline's file"),
        ],
    )
    def test_what_no_check_of_a_baseline_has_seen_is_refused(
        self, folders: tuple[Path, Path, Path], name: str, why: str
    ) -> None:
        """Anything could be in it, and would be committed beside what was checked."""
        path = folders[0] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"version": 1, "anything": "goes"}')
        with pytest.raises(BaselineError, match=why):
            compare_folders(*folders)

    def test_names_that_are_one_on_some_disks_are_refused(self, folders: tuple[Path, Path, Path]) -> None:
        """A checkout there would hold one of them, of which nobody knows which."""
        folder = folders[0] / "sm90-132sm"
        text = (folder / "rope.json").read_text()
        (folder / "ROPE.json").write_text(text.replace('"kernel": "rope"', '"kernel": "ROPE"'))
        with pytest.raises(BaselineError, match="which are one file on some disks"):
            compare_folders(*folders)

    def test_links_are_refused(self, folders: tuple[Path, Path, Path]) -> None:
        """They could name any file of the hosted machine."""
        (folders[0] / "sm90-132sm" / "more.json").symlink_to("/etc/passwd")
        with pytest.raises(BaselineError, match="no plain file"):
            compare_folders(*folders)

    def test_a_damaged_baseline_is_refused_by_name(self, folders: tuple[Path, Path, Path]) -> None:
        """Cut off, an object that is missing, an object that is another."""
        file = folders[0] / "sm90-132sm" / "rope.json"
        whole = file.read_text()
        file.write_text(whole[: len(whole) // 2])
        with pytest.raises(BaselineError, match=r"cannot be proposed: .*rope\.json"):
            compare_folders(*folders)
        file.write_text(whole)
        shutil.rmtree(folders[0] / "sm90-132sm" / "objects")
        with pytest.raises(BaselineError, match="cannot be proposed"):
            compare_folders(*folders)

    def test_nothing_measured_is_refused(self, folders: tuple[Path, Path, Path], tmp_path: Path) -> None:
        """It would else look like a removal of everything."""
        (tmp_path / "empty").mkdir()
        with pytest.raises(BaselineError, match="hold no kernel"):
            compare_folders(tmp_path / "empty", folders[1], folders[2])

    def test_a_second_attempt_goes_on_where_the_first_one_failed(self) -> None:
        """The branch is there where opening the pull request was refused, as it is until the repository allows it."""
        api = pytest.importorskip("github_api", reason="the stand-in needs openapi-core")
        world = api.World()
        world.refs["refs/heads/main"] = HEAD
        world.add_pull("stranger/project", "kernelperf/baselines-9", "e" * 40)
        proposal = Proposal({"sm90-132sm/x.json": b"{}"}, ("x",))
        wish = Wish("baselines", "main", "kernelperf/baselines-9", HEAD, "tiles")
        with api.GitHub(world) as github:
            client = Client("owner/project", "ghs_stand_in", github.url)
            world.faults.append(api.Fault(403, method="POST", path="/pulls$", message="Actions is not permitted"))
            with pytest.raises(GitHubError, match="Actions is not permitted"):
                propose(client, proposal, wish)
            first = world.refs["refs/heads/kernelperf/baselines-9"]
            number = propose(client, msgspec.structs.replace(proposal, files={"sm90-132sm/x.json": b"{ }"}), wish)
            assert world.refs["refs/heads/kernelperf/baselines-9"] != first
            assert world.issues[number].head_repository == "owner/project"
            assert propose(client, proposal, wish) == number, "and a third finds what the second has opened"
            world.faults.append(api.Fault(422, method="POST", path="/pulls$", message="base is invalid"))
            world.issues[number].state = "closed"
            with pytest.raises(GitHubError, match="base is invalid"):
                propose(client, proposal, wish)
            assert github.problems == []

    def test_a_long_list_fits(self) -> None:
        """GitHub refuses a longer text, after the branch was made."""
        github = GitHub(
            **{"git/ref/heads/main": {"object": {"sha": HEAD}}, f"git/commits/{HEAD}": {"tree": {"sha": "t"}}}
        )
        lines = tuple(f"{number} {chr(0x1F600) * 900}" for number in range(150))
        propose(github, Proposal({"x": b""}, lines), Wish("b", "main", "b", HEAD, "r" * 500))
        text = github.sent[-1][2]["body"]
        assert characters(text) <= 65_536
        told = text.count("\n- ") - 1
        assert f"\n- and {150 - told} more\n" in text
        assert told > 20

    @pytest.mark.parametrize(("commit", "reason"), [("abc", "x"), (HEAD + "\n", "x"), (HEAD, " \n"), ("A" * 40, "x")])
    def test_a_commit_has_all_its_digits_and_acceptance_a_reason(self, commit: str, reason: str) -> None:
        """The inputs come from a form."""
        with pytest.raises(UsageError):
            check_words(commit, reason)


@pytest.mark.parametrize("body", [b"[]", b"{}", b"null", b"7", b'{"head": null, "labels": []}', b'[{"number": {}}]'])
@pytest.mark.parametrize("command", ["acceptance", "watch", "propose"])
def test_an_odd_answer_is_a_sentence(
    command: str, body: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something between here and GitHub may answer in its place; no traceback, and nothing is accepted."""
    server = pytest.importorskip("github_api", reason="the stand-in needs openapi-core")
    event = tmp_path / "event.json"
    pull = {"head": {"sha": HEAD}, "base": {"sha": HEAD, "ref": "main"}, "labels": [{"name": f"slow-ok:{HEAD}"}]}
    event.write_text(json.dumps({"number": 3, "pull_request": pull}))
    (tmp_path / "measured").mkdir()
    arguments = {"acceptance": ["--output", str(tmp_path / "a.json")], "watch": [str(tmp_path / "none.json")],
                 "propose": [str(tmp_path / "measured")]}[command]  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "pytest_kernelperf.commands.propose.compare_folders", lambda *given: Proposal({"x": b""}, ("x",))
    )
    monkeypatch.setattr("pytest_kernelperf.ci.checkout.Git.same", lambda *given: True)
    with server.GitHub(server.World()) as github:
        github.world.faults.append(server.Fault(200, times=99, body=body))
        variables = {"GITHUB_TOKEN": "ghs_stand_in", "GITHUB_API_URL": github.url, "GITHUB_REPOSITORY": "owner/project",
                     "GITHUB_EVENT_PATH": str(event), "SHA": HEAD, "REASON": "x", "GITHUB_RUN_ID": "9"}  # fmt: skip
        done = CliRunner().invoke(main, [command, *arguments], env=variables)
    assert done.exit_code == (0 if command == "acceptance" else 2)
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert not (tmp_path / "a.json").exists()
    assert "GitHub" in done.output


class TestTheClient:
    """urllib against a server on this machine."""

    @pytest.fixture
    def server(self) -> Iterator[tuple[Client, list[Any], list[float], list[str]]]:
        """A client, the answers that it will get (status, headers, body), how long it slept, what it asked."""
        answers: list[Any] = []
        asked: list[str] = []
        slept: list[float] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(f"{self.command} {self.path}")
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, headers, body = answers.pop(0)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            do_POST = do_PATCH = do_GET

            def log_message(self, *arguments: Any) -> None:
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as serving:
            threading.Thread(target=serving.serve_forever, args=(0.01,), daemon=True).start()
            url = f"http://127.0.0.1:{serving.server_port}"
            yield Client("o/r", "secret", url, slept.append), answers, slept, asked
            serving.shutdown()

    def test_all_pages_are_read(self, server: tuple[Client, list[Any], list[float], list[str]]) -> None:
        """A label on the second page is one too."""
        client, answers, _, asked = server
        answers += [(200, {}, [{}] * 100), (200, {}, [{}] * 2)]
        assert len(client.pages("issues/3/events")) == 102
        assert asked[1] == "GET /repos/o/r/issues/3/events?per_page=100&page=2"

    def test_limits_are_waited_for_and_faults_tried_again(
        self, server: tuple[Client, list[Any], list[float], list[str]]
    ) -> None:
        """As long as GitHub says."""
        client, answers, slept, _ = server
        answers += [
            (429, {"Retry-After": "7"}, {}),
            (403, {"X-RateLimit-Remaining": "0"}, {}),
            (502, {}, {}),
            (200, {}, 1),
        ]
        assert client.get("x") == 1
        assert slept == [7.0, 4.0, 8.0]

    def test_what_may_have_been_made_is_not_made_twice(
        self, server: tuple[Client, list[Any], list[float], list[str]]
    ) -> None:
        """A 5xx to a POST says nothing about whether it was done."""
        client, answers, slept, _ = server
        answers += [(502, {}, {"message": "Bad gateway"})]
        with pytest.raises(KernelperfError, match="answered 502 to POST issues: Bad gateway"):
            client.post("issues", {})
        assert slept == []

    @pytest.mark.parametrize("status", [401, 403, 404, 410, 422])
    def test_a_refusal_is_one_sentence_without_the_token(
        self, server: tuple[Client, list[Any], list[float], list[str]], status: int
    ) -> None:
        """And is not asked again."""
        client, answers, slept, _ = server
        answers += [(status, {}, {"message": "no"})]
        with pytest.raises(KernelperfError) as problem:
            client.patch("issues/4", {})
        assert str(problem.value) == f"GitHub answered {status} to PATCH issues/4: no"
        assert slept == []


def test_plain_text_has_no_markup_mention_or_link() -> None:
    """Names in a sentence may hold anything."""
    text = plain("a | b\n<script> @team/x **b** [l](https://evil) `c` #12 ![i](x) www.evil")
    for sign in ("\n", "<", ">", "@team", "https://", "www.evil"):
        assert sign not in text
    for sign in "|*[]`#!":
        assert text.count(sign) == text.count("\\" + sign)
