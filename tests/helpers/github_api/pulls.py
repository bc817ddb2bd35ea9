"""Pull requests."""

from __future__ import annotations

from typing import Any

from github_api.call import Call, Refusal, Result, repository, user
from github_api.issues import label_object, the_issue
from github_api.world import Issue


def pull(call: Call, one: Issue, schema: str) -> dict[str, Any]:
    """A pull request's object."""
    # GONE is a whole repository here, so that the description is satisfied; server.py makes it null, as GitHub does.
    owner, here = one.head_repository.split("/")[0], call.world.repository
    head = {"ref": one.head_branch, "sha": one.head_sha, "label": f"{owner}:{one.head_branch}",
            "repo": repository(call, one.head_repository), "user": user(call, owner)}  # fmt: skip
    base = {"ref": one.base_branch, "sha": one.base_sha, "label": f"{here.split('/')[0]}:{one.base_branch}",
            "repo": repository(call, here), "user": user(call, here.split("/")[0])}  # fmt: skip
    labels = [label_object(call, name) for name in one.labels]
    return call.found(schema, {
        "number": one.number, "title": one.title, "body": one.body, "state": one.state, "head": head, "base": base,
        "labels": labels, "user": user(call, one.author), "draft": False,
        "url": f"{call.api}/repos/{here}/pulls/{one.number}",
        "issue_url": f"{call.api}/repos/{here}/issues/{one.number}",
        "comments_url": f"{call.api}/repos/{here}/issues/{one.number}/comments",
        "html_url": f"https://github.test/{here}/pull/{one.number}",
    })  # fmt: skip


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
    if not owner and f"refs/heads/{branch}" not in call.world.refs:
        raise Refusal(422, "Validation Failed", [{"resource": "PullRequest", "field": "head", "code": "invalid"}])
    source = f"{owner}/{here.split('/')[1]}" if owner else here
    pulls = [one for one in call.world.issues.values() if one.is_pull and one.state == "open"]
    if any((one.head_repository, one.head_branch) == (source, branch) for one in pulls):
        problem = {"resource": "PullRequest", "code": "custom",
                   "message": f"A pull request already exists for {owner or here.split('/')[0]}:{branch}."}  # fmt: skip
        raise Refusal(422, "Validation Failed", [problem])
    one = call.world.add_pull(source, branch, title=call.body.get("title", ""), body=call.body.get("body") or "",
                              author=call.user, base_branch=call.body["base"],
                              sha=call.world.refs.get(f"refs/heads/{branch}", "a" * 40))  # fmt: skip
    return 201, pull(call, one, "pull-request")


def get_pull(call: Call, number: str) -> Result:
    return 200, pull(call, the_issue(call, number, pulls_only=True), "pull-request")


def edit_pull(call: Call, number: str) -> Result:
    one = the_issue(call, number, pulls_only=True)
    for name in ("title", "body", "state"):
        setattr(one, name, call.body.get(name, getattr(one, name)))
    return 200, pull(call, one, "pull-request")


def list_files(call: Call, number: str) -> Result:
    """GitHub lists 3,000 at most, and leaves out the patch of what is large or no text."""
    known = the_issue(call, number, pulls_only=True).files[:3000]
    return 200, [call.found("diff-entry", {"status": "modified", **one}) for one in call.page_of(known)]


def list_pulls_of_commit(call: Call, sha: str) -> Result:
    # As GitHub has it: commits of forks that were never merged are not found.
    found = [one for one in call.world.issues.values() if one.is_pull and one.head_sha == sha]
    mine = [one for one in found if one.head_repository == call.world.repository]
    return 200, [pull(call, one, "pull-request-simple") for one in call.page_of(mine)]
