"""What the stand-in answers: one function for each operation, as GitHub does it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from github_api.world import BOT, Issue, World

MOST_BODY_CHARACTERS = 65_536
"""Not in GitHub's description: it refuses longer comments with 422, "body is too long"."""

MOST_PER_PAGE = 100


class Refusal(Exception):
    """An error answer: status and message."""

    def __init__(self, status: int, message: str, errors: list[dict[str, str]] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"message": message, "documentation_url": "https://docs.github.com/rest"}
        if errors is not None:
            self.body = {**self.body, "errors": errors}  # type: ignore[dict-item]


@dataclass
class Call:
    """A request that has been found right, with who asks and where the stand-in is."""

    world: World
    user: str
    query: dict[str, str]
    body: dict[str, Any]
    api: str
    storage: str
    found: Callable[[str, dict[str, Any]], dict[str, Any]]
    pages: dict[str, int] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    def page_of(self, items: list[Any]) -> list[Any]:
        """Return the page that was asked for, and remember which others there are."""
        size = min(int(self.query.get("per_page", 30)), MOST_PER_PAGE)
        page, last = int(self.query.get("page", 1)), max(1, -(-len(items) // size))
        if page < last:
            self.pages |= {"next": page + 1, "last": last}
        if page > 1:
            self.pages |= {"prev": page - 1, "first": 1}
        return items[(page - 1) * size : page * size]


Result = tuple[int, Any]


def user(call: Call, login: str) -> dict[str, Any]:
    """A user's object; a login in brackets is an app's bot."""
    number = 41898282 if login == BOT else 1 + sum(login.encode())
    return call.found("simple-user", {"login": login, "id": number, "type": "Bot" if "[bot]" in login else "User"})


def repository(call: Call, name: str, schema: str = "repository") -> dict[str, Any]:
    """A repository's object."""
    owner = user(call, name.split("/")[0])
    given = {"full_name": name, "name": name.split("/")[1], "owner": owner, "fork": name != call.world.repository}
    return call.found(schema, {**given, "default_branch": "main", "id": 1 + sum(name.encode())})


def comment(call: Call, number: int) -> dict[str, Any]:
    """A comment's object."""
    one = call.world.comments.get(number)
    if one is None:
        raise Refusal(404, "Not Found")
    return call.found("issue-comment", {
        "id": one.id, "body": one.body, "user": user(call, one.author), "created_at": one.created_at,
        "updated_at": one.updated_at, "url": f"{call.api}/repos/{call.world.repository}/issues/comments/{one.id}",
        "html_url": f"https://github.test/{call.world.repository}/pull/{one.issue}#issuecomment-{one.id}",
    })  # fmt: skip


def issue(call: Call, one: Issue) -> dict[str, Any]:
    """An issue's object."""
    here = f"{call.api}/repos/{call.world.repository}"
    labels = [{"name": name, "color": "ededed"} for name in one.labels]
    given = {"number": one.number, "title": one.title, "body": one.body, "state": one.state, "labels": labels,
             "user": user(call, one.author), "url": f"{here}/issues/{one.number}", "locked": False,
             "comments": len(call.world.comments_of(one.number))}  # fmt: skip
    if one.is_pull:
        given["pull_request"] = {"url": f"{here}/pulls/{one.number}", "html_url": None, "diff_url": None,
                                 "patch_url": None}  # fmt: skip
    return call.found("issue", given)


def pull(call: Call, one: Issue, schema: str) -> dict[str, Any]:
    """A pull request's object."""
    owner, here = one.head_repository.split("/")[0], call.world.repository
    head = {"ref": one.head_branch, "sha": one.head_sha, "label": f"{owner}:{one.head_branch}",
            "repo": repository(call, one.head_repository), "user": user(call, owner)}  # fmt: skip
    base = {"ref": one.base_branch, "sha": one.base_sha, "label": f"{here.split('/')[0]}:{one.base_branch}",
            "repo": repository(call, here), "user": user(call, here.split("/")[0])}  # fmt: skip
    labels = [call.found("label", {"name": name}) for name in one.labels]
    return call.found(schema, {
        "number": one.number, "title": one.title, "body": one.body, "state": one.state, "head": head, "base": base,
        "labels": labels, "user": user(call, one.author), "draft": False,
        "url": f"{call.api}/repos/{here}/pulls/{one.number}",
        "issue_url": f"{call.api}/repos/{here}/issues/{one.number}",
        "comments_url": f"{call.api}/repos/{here}/issues/{one.number}/comments",
        "html_url": f"https://github.test/{here}/pull/{one.number}",
    })  # fmt: skip


def _issue(call: Call, number: str, *, pulls_only: bool = False) -> Issue:
    one = call.world.issues.get(int(number))
    if one is None or (pulls_only and not one.is_pull):
        raise Refusal(404, "Not Found")
    return one


def _checked_body(text: str, resource: str) -> str:
    if len(text) > MOST_BODY_CHARACTERS:
        problem = {"resource": resource, "field": "body", "code": "custom",
                   "message": f"body is too long (maximum is {MOST_BODY_CHARACTERS} characters)"}  # fmt: skip
        raise Refusal(422, "Validation Failed", [problem])
    if not text.strip():
        raise Refusal(422, "Validation Failed", [{"resource": resource, "field": "body", "code": "missing_field"}])
    return text


def get_repository(call: Call) -> Result:
    return 200, repository(call, call.world.repository, "full-repository")


def list_comments(call: Call, number: str) -> Result:
    found = call.world.comments_of(_issue(call, number).number)
    return 200, call.page_of([comment(call, one.id) for one in found])


def create_comment(call: Call, number: str) -> Result:
    text = _checked_body(call.body["body"], "IssueComment")
    made = call.world.add_comment(_issue(call, number).number, text, call.user)
    return 201, comment(call, made.id)


def get_comment(call: Call, number: str) -> Result:
    return 200, comment(call, int(number))


def edit_comment(call: Call, number: str) -> Result:
    comment(call, int(number))
    one = call.world.comments[int(number)]
    one.body, one.updated_at = _checked_body(call.body["body"], "IssueComment"), call.world.now()
    one.edits += 1
    return 200, comment(call, one.id)


def delete_comment(call: Call, number: str) -> Result:
    comment(call, int(number))
    del call.world.comments[int(number)]
    return 204, None


def list_pulls(call: Call) -> Result:
    wanted = {"state": call.query.get("state", "open"), "head": call.query.get("head", ""),
              "base": call.query.get("base", "")}  # fmt: skip
    found = [
        one
        for one in sorted(call.world.issues.values(), key=lambda one: -one.number)
        if one.is_pull
        and wanted["state"] in ("all", one.state)
        and wanted["head"] in ("", f"{one.head_repository.split('/')[0]}:{one.head_branch}")
        and wanted["base"] in ("", one.base_branch)
    ]
    return 200, [pull(call, one, "pull-request-simple") for one in call.page_of(found)]


def create_pull(call: Call) -> Result:
    head, here = call.body["head"], call.world.repository
    owner, _, branch = head.rpartition(":")
    source = f"{owner}/{here.split('/')[1]}" if owner else here
    if any(one.is_pull and one.state == "open" and one.head_branch == branch for one in call.world.issues.values()):
        problem = {"resource": "PullRequest", "code": "custom",
                   "message": f"A pull request already exists for {owner or here.split('/')[0]}:{branch}."}  # fmt: skip
        raise Refusal(422, "Validation Failed", [problem])
    one = call.world.add_pull(source, branch, title=call.body.get("title", ""), body=call.body.get("body") or "",
                              author=call.user, base_branch=call.body["base"])  # fmt: skip
    return 201, pull(call, one, "pull-request")


def get_pull(call: Call, number: str) -> Result:
    return 200, pull(call, _issue(call, number, pulls_only=True), "pull-request")


def edit_pull(call: Call, number: str) -> Result:
    one = _issue(call, number, pulls_only=True)
    for name in ("title", "body", "state"):
        setattr(one, name, call.body.get(name, getattr(one, name)))
    return 200, pull(call, one, "pull-request")


def list_pulls_of_commit(call: Call, sha: str) -> Result:
    # As GitHub has it: commits of forks that were never merged are not found.
    found = [one for one in call.world.issues.values() if one.is_pull and one.head_sha == sha]
    mine = [one for one in found if one.head_repository == call.world.repository]
    return 200, [pull(call, one, "pull-request-simple") for one in call.page_of(mine)]


def list_issues(call: Call) -> Result:
    state, labels = call.query.get("state", "open"), [x for x in call.query.get("labels", "").split(",") if x]
    creator = call.query.get("creator", "")
    found = [
        one
        for one in sorted(call.world.issues.values(), key=lambda one: -one.number)
        if state in ("all", one.state) and set(labels) <= set(one.labels) and creator in ("", one.author)
    ]
    return 200, [issue(call, one) for one in call.page_of(found)]


def create_issue(call: Call) -> Result:
    names = [label if isinstance(label, str) else label["name"] for label in call.body.get("labels") or []]
    text = call.body.get("body") or ""
    one = call.world.add_issue(title=str(call.body["title"]), body=_checked_body(text, "Issue") if text else "",
                               labels=names, author=call.user)  # fmt: skip
    return 201, issue(call, one)


def get_issue(call: Call, number: str) -> Result:
    return 200, issue(call, _issue(call, number))


def edit_issue(call: Call, number: str) -> Result:
    one = _issue(call, number)
    if call.body.get("body"):
        _checked_body(call.body["body"], "Issue")
    for name in ("title", "body", "state"):
        if call.body.get(name) is not None:
            setattr(one, name, call.body[name])
    if "labels" in call.body:
        one.labels = [label if isinstance(label, str) else label["name"] for label in call.body["labels"]]
    return 200, issue(call, one)


def list_events(call: Call, number: str) -> Result:
    found = _issue(call, number).events
    return 200, call.page_of([
        call.found("labeled-issue-event", {**one, "actor": user(call, one["actor"]), "event": "labeled"})
        for one in found
    ])  # fmt: skip


def list_labels(call: Call, number: str) -> Result:
    return 200, call.page_of([call.found("label", {"name": name}) for name in _issue(call, number).labels])


def add_labels(call: Call, number: str) -> Result:
    one = _issue(call, number)
    given = call.body.get("labels", []) if isinstance(call.body, dict) else call.body
    for label in given:
        name = label if isinstance(label, str) else label["name"]
        if name not in one.labels:
            one.labels.append(name)
            one.events.append({"label": {"name": name, "color": "ededed"}, "actor": call.user,
                               "created_at": call.world.now()})  # fmt: skip
    return 200, [call.found("label", {"name": name}) for name in one.labels]


def remove_label(call: Call, number: str, name: str) -> Result:
    one = _issue(call, number)
    if name not in one.labels:
        raise Refusal(404, "Label does not exist")
    one.labels.remove(name)
    return 200, [call.found("label", {"name": label}) for label in one.labels]


def get_run(call: Call, number: str) -> Result:
    run = call.world.runs.get(int(number))
    if run is None:
        raise Refusal(404, "Not Found")
    source = run.get("head_repository", call.world.repository)
    here = f"{call.api}/repos/{call.world.repository}/actions/runs"
    return 200, call.found("workflow-run", {
        **run, "id": int(number), "url": f"{here}/{number}", "artifacts_url": f"{here}/{number}/artifacts",
        "repository": repository(call, call.world.repository, "minimal-repository"),
        "head_repository": repository(call, source, "minimal-repository"),
    })  # fmt: skip


def list_artifacts(call: Call, number: str) -> Result:
    found = call.world.artifacts_of(int(number))
    wanted = [one for one in found if call.query.get("name", one.name) == one.name]
    here = f"{call.api}/repos/{call.world.repository}/actions/artifacts"
    items = [
        call.found(
            "artifact",
            {
                "id": one.id,
                "name": one.name,
                "size_in_bytes": len(one.data),
                "expired": one.expired,
                "url": f"{here}/{one.id}",
                "archive_download_url": f"{here}/{one.id}/zip",
                "workflow_run": {"id": one.run_id},
            },
        )
        for one in wanted
    ]
    return 200, {"total_count": len(items), "artifacts": call.page_of(items)}


def download_artifact(call: Call, number: str) -> Result:
    one = call.world.artifacts.get(int(number))
    if one is None:
        raise Refusal(404, "Not Found")
    if one.expired:
        raise Refusal(410, "Artifact has expired")
    call.headers["Location"] = f"{call.storage}/artifact/{one.id}?sig=stand-in"
    return 302, None


def create_check_run(call: Call) -> Result:
    number = call.world.next_id()
    call.world.check_runs[number] = dict(call.body)
    return 201, _check_run(call, number)


def edit_check_run(call: Call, number: str) -> Result:
    _check_run(call, int(number))
    call.world.check_runs[int(number)] |= call.body
    return 200, _check_run(call, int(number))


def get_check_run(call: Call, number: str) -> Result:
    return 200, _check_run(call, int(number))


def _check_run(call: Call, number: int) -> dict[str, Any]:
    kept = call.world.check_runs.get(number)
    if kept is None:
        raise Refusal(404, "Not Found")
    said = {name: kept[name] for name in ("name", "head_sha", "status", "conclusion") if name in kept}
    output = {name: kept.get("output", {}).get(name) for name in ("title", "summary", "text")}
    count = len(kept.get("output", {}).get("annotations", []))
    return call.found("check-run", {**said, "id": number,
                                    "output": {**output, "annotations_count": count}})  # fmt: skip


def get_permission(call: Call, login: str) -> Result:
    role = call.world.permissions.get(login, "none")
    permission = {"maintain": "write", "triage": "read"}.get(role, role)
    return 200, {"permission": permission, "role_name": role, "user": None}


def generate_jitconfig(call: Call) -> Result:
    labels = [{"name": name} for name in call.body["labels"]]
    runner = {
        "id": call.world.next_id(),
        "name": call.body["name"],
        "os": "linux",
        "status": "offline",
        "labels": labels,
    }
    return 201, {"runner": call.found("runner", runner), "encoded_jit_config": "eyJzdGFuZCI6ImluIn0="}


ROUTES: tuple[tuple[str, re.Pattern[str], Callable[..., Result]], ...] = tuple(
    (method, re.compile(pattern + "$"), function)
    for method, pattern, function in (
        ("GET", "", get_repository),
        ("GET", r"/issues/(\d+)/comments", list_comments),
        ("POST", r"/issues/(\d+)/comments", create_comment),
        ("GET", r"/issues/comments/(\d+)", get_comment),
        ("PATCH", r"/issues/comments/(\d+)", edit_comment),
        ("DELETE", r"/issues/comments/(\d+)", delete_comment),
        ("GET", r"/pulls", list_pulls),
        ("POST", r"/pulls", create_pull),
        ("GET", r"/pulls/(\d+)", get_pull),
        ("PATCH", r"/pulls/(\d+)", edit_pull),
        ("GET", r"/commits/([^/]+)/pulls", list_pulls_of_commit),
        ("GET", r"/issues", list_issues),
        ("POST", r"/issues", create_issue),
        ("GET", r"/issues/(\d+)", get_issue),
        ("PATCH", r"/issues/(\d+)", edit_issue),
        ("GET", r"/issues/(\d+)/events", list_events),
        ("GET", r"/issues/(\d+)/labels", list_labels),
        ("POST", r"/issues/(\d+)/labels", add_labels),
        ("DELETE", r"/issues/(\d+)/labels/([^/]+)", remove_label),
        ("GET", r"/actions/runs/(\d+)", get_run),
        ("GET", r"/actions/runs/(\d+)/artifacts", list_artifacts),
        ("GET", r"/actions/artifacts/(\d+)/zip", download_artifact),
        ("POST", r"/check-runs", create_check_run),
        ("GET", r"/check-runs/(\d+)", get_check_run),
        ("PATCH", r"/check-runs/(\d+)", edit_check_run),
        ("GET", r"/collaborators/([^/]+)/permission", get_permission),
        ("POST", r"/actions/runners/generate-jitconfig", generate_jitconfig),
    )
)
