"""Issues, and pull requests as far as they are issues: comments, labels, events."""

from __future__ import annotations

from typing import Any

from github_api.call import Call, Refusal, Result, user, whole
from github_api.world import Issue

MOST_BODY_CHARACTERS = 65_536
"""Not in GitHub's description: it refuses longer comments with 422, "body is too long"."""

MOST_TITLE_CHARACTERS = 256
MOST_LABEL_CHARACTERS = 50
MOST_LABEL_DESCRIPTION_CHARACTERS = 100
"""None of the three is in the description either; each is refused with 422."""


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
    labels = [label_object(call, name) for name in one.labels]
    given = {"number": one.number, "title": one.title, "body": one.body, "state": one.state, "labels": labels,
             "user": user(call, one.author), "url": f"{here}/issues/{one.number}", "locked": False,
             "comments": len(call.world.comments_of(one.number))}  # fmt: skip
    if one.is_pull:
        given["pull_request"] = {"url": f"{here}/pulls/{one.number}", "html_url": None, "diff_url": None,
                                 "patch_url": None}  # fmt: skip
    return call.found("issue", given)


def the_issue(call: Call, number: str, *, pulls_only: bool = False) -> Issue:
    """An issue by its number."""
    one = call.world.issues.get(whole(number))
    if one is None or (pulls_only and not one.is_pull):
        raise Refusal(404, "Not Found")
    return one


def _checked_body(text: str, resource: str) -> str:
    check_length(text, MOST_BODY_CHARACTERS, resource, "body")
    if not text.strip():
        raise Refusal(422, "Validation Failed", [{"resource": resource, "field": "body", "code": "missing_field"}])
    return text


def check_length(text: str, most: int, resource: str, name: str) -> None:
    """Refuse what is too long."""
    if len(text) > most:
        problem = {"resource": resource, "field": name, "code": "custom",
                   "message": f"{name} is too long (maximum is {most} characters)"}  # fmt: skip
        raise Refusal(422, "Validation Failed", [problem])


def list_comments(call: Call, number: str) -> Result:
    found = call.world.comments_of(the_issue(call, number).number)
    return 200, call.page_of([comment(call, one.id) for one in found])


def create_comment(call: Call, number: str) -> Result:
    text = _checked_body(call.body["body"], "IssueComment")
    made = call.world.add_comment(the_issue(call, number).number, text, call.user)
    return 201, comment(call, made.id)


def get_comment(call: Call, number: str) -> Result:
    return 200, comment(call, whole(number))


def edit_comment(call: Call, number: str) -> Result:
    comment(call, whole(number))
    one = call.world.comments[whole(number)]
    one.body, one.updated_at = _checked_body(call.body["body"], "IssueComment"), call.world.now()
    one.edits += 1
    return 200, comment(call, one.id)


def delete_comment(call: Call, number: str) -> Result:
    comment(call, whole(number))
    del call.world.comments[whole(number)]
    return 204, None


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
    check_length(str(call.body["title"]), MOST_TITLE_CHARACTERS, "Issue", "title")
    one = call.world.add_issue(title=str(call.body["title"]), body=_checked_body(text, "Issue") if text else "",
                               labels=names, author=call.user)  # fmt: skip
    return 201, issue(call, one)


def get_issue(call: Call, number: str) -> Result:
    return 200, issue(call, the_issue(call, number))


def edit_issue(call: Call, number: str) -> Result:
    one = the_issue(call, number)
    if call.body.get("body"):
        _checked_body(call.body["body"], "Issue")
    check_length(str(call.body.get("title") or ""), MOST_TITLE_CHARACTERS, "Issue", "title")
    for name in ("title", "body", "state"):
        if call.body.get(name) is not None:
            setattr(one, name, call.body[name])
    if "labels" in call.body:
        one.labels = [label if isinstance(label, str) else label["name"] for label in call.body["labels"]]
    return 200, issue(call, one)


def list_events(call: Call, number: str) -> Result:
    found = the_issue(call, number).events
    return 200, call.page_of([
        call.found(f"{one['event']}-issue-event", {**one, "actor": user(call, one["actor"])}) for one in found
    ])  # fmt: skip


def label_object(call: Call, name: str) -> dict[str, Any]:
    """A label's object."""
    description = call.world.labels.get(name, "")
    return call.found("label", {"name": name, "color": "ededed", "description": description})


def create_label(call: Call) -> Result:
    name, description = call.body["name"], call.body.get("description") or ""
    check_length(name, MOST_LABEL_CHARACTERS, "Label", "name")
    check_length(description, MOST_LABEL_DESCRIPTION_CHARACTERS, "Label", "description")
    if name in call.world.labels:
        raise Refusal(422, "Validation Failed", [{"resource": "Label", "field": "name", "code": "already_exists"}])
    call.world.labels[name] = description
    return 201, label_object(call, name)


def list_labels(call: Call, number: str) -> Result:
    return 200, call.page_of([label_object(call, name) for name in the_issue(call, number).labels])


def add_labels(call: Call, number: str) -> Result:
    one = the_issue(call, number)
    given = call.body.get("labels", []) if isinstance(call.body, dict) else call.body
    for each in given:
        name = each if isinstance(each, str) else each["name"]
        check_length(name, MOST_LABEL_CHARACTERS, "Label", "name")
        call.world.set_label(one, name, call.user)
    return 200, [label_object(call, name) for name in one.labels]


def remove_label(call: Call, number: str, name: str) -> Result:
    one = the_issue(call, number)
    if name not in one.labels:
        raise Refusal(404, "Label does not exist")
    call.world.take_label(one, name, call.user)
    return 200, [label_object(call, label) for label in one.labels]
