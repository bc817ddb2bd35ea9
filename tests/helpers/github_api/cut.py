"""Cuts GitHub's published description of its API to the operations that the stand-in has.

    npm pack @octokit/openapi@23.0.2 && tar xzf octokit-openapi-23.0.2.tgz
    python tests/helpers/github_api/cut.py package/generated/api.github.com.json

What is left is what decides whether a request or an answer is right; words, examples and links are left out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "openapi.json"
SOURCE = (
    "npm @octokit/openapi 23.0.2, generated/api.github.com.json; MIT License, Copyright (c) 2020 Octokit contributors"
)

REPOSITORY = "/repos/{owner}/{repo}"
OPERATIONS = {
    "": ("get",),
    "/actions/artifacts/{artifact_id}/{archive_format}": ("get",),
    "/actions/runners/generate-jitconfig": ("post",),
    "/actions/runners": ("get",),
    "/actions/runners/{runner_id}": ("delete",),
    "/actions/runs": ("get",),
    "/actions/runs/{run_id}": ("get",),
    "/actions/runs/{run_id}/cancel": ("post",),
    "/actions/runs/{run_id}/force-cancel": ("post",),
    "/actions/runs/{run_id}/jobs": ("get",),
    "/actions/runs/{run_id}/artifacts": ("get",),
    "/check-runs": ("post",),
    "/check-runs/{check_run_id}": ("get", "patch"),
    "/collaborators/{username}/permission": ("get",),
    "/commits/{commit_sha}/pulls": ("get",),
    "/git/blobs": ("post",),
    "/git/commits": ("post",),
    "/git/commits/{commit_sha}": ("get",),
    "/git/ref/{ref}": ("get",),
    "/git/refs": ("post",),
    "/git/refs/{ref}": ("patch",),
    "/git/trees": ("post",),
    "/issues": ("get", "post"),
    "/issues/comments/{comment_id}": ("get", "patch", "delete"),
    "/issues/{issue_number}": ("get", "patch"),
    "/issues/{issue_number}/comments": ("get", "post"),
    "/issues/{issue_number}/events": ("get",),
    "/issues/{issue_number}/labels": ("get", "post"),
    "/issues/{issue_number}/labels/{name}": ("delete",),
    "/labels": ("post",),
    "/pulls": ("get", "post"),
    "/pulls/{pull_number}": ("get", "patch"),
    "/pulls/{pull_number}/files": ("get",),
}
IDLE = {"description", "summary", "example", "examples", "externalDocs", "tags", "operationId", "title"}


def main(path: Path) -> None:
    """Write the cut beside this program."""
    whole = json.loads(path.read_text(encoding="utf-8"))
    paths = {}
    for place, methods in OPERATIONS.items():
        found = whole["paths"][REPOSITORY + place]
        paths[REPOSITORY + place] = {method: _bare(found[method]) for method in methods}
    cut = {
        "openapi": whole["openapi"],
        "info": {"title": "GitHub's REST API, cut", "version": whole["info"]["version"], "x-source": SOURCE},
        "paths": paths,
        "components": {},
    }
    waiting = _references(paths)
    while waiting:
        kind, name = waiting.pop()
        shelf = cut["components"].setdefault(kind, {})
        if name not in shelf:
            shelf[name] = _bare(whole["components"][kind][name])
            if kind == "responses":
                shelf[name].setdefault("description", "")  # the one word that a response must have
            waiting |= _references(shelf[name])
    HERE.write_text(_lines(cut, 3) + "\n", encoding="utf-8")


def _lines(value: Any, depth: int) -> str:
    """One line for each operation and each schema, so that git shows what has changed."""
    if depth == 0 or not isinstance(value, dict):
        return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return (
        "{\n"
        + ",\n".join(f"{json.dumps(key)}:{_lines(item, depth - 1)}" for key, item in sorted(value.items()))
        + "\n}"
    )


def _bare(value: Any, *, names: bool = False) -> Any:
    """Leave out what does not decide; ``names``: the keys are a schema's own, such as a property called title."""
    if isinstance(value, list):
        return [_bare(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {
        key: _bare(item, names=key in ("properties", "responses", "headers", "content"))
        for key, item in value.items()
        if names or (key not in IDLE and not key.startswith("x-") and not (key == "content" and _no_json(item)))
    }
    if kept.get("nullable") is True and isinstance(kept.get("enum"), list) and None not in kept["enum"]:
        kept["enum"] = [*kept["enum"], None]  # what GitHub means, and OpenAPI 3.0.3 wants said
    if "responses" in kept:
        for answer in kept["responses"].values():
            if "$ref" not in answer:
                answer.setdefault("description", "")
    return kept


def _no_json(content: Any) -> bool:
    return isinstance(content, dict) and not any("json" in kind for kind in content)


def _references(value: Any) -> set[tuple[str, str]]:
    if isinstance(value, list):
        return set().union(*(_references(item) for item in value)) if value else set()
    if not isinstance(value, dict):
        return set()
    found = set().union(*(_references(item) for item in value.values())) if value else set()
    if isinstance(value.get("$ref"), str):
        _, _, kind, name = value["$ref"].split("/")
        found.add((kind, name))
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]))
