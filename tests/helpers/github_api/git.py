"""Git's objects and branches, as far as a commit can be made of files: blobs, trees, commits, references."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import Any

from github_api.call import Call, Refusal, Result


def create_blob(call: Call) -> Result:
    text = call.body["content"]
    try:
        data = base64.b64decode(text) if call.body.get("encoding") == "base64" else text.encode()
    except binascii.Error:
        raise Refusal(422, "content is not valid Base64") from None
    return 201, {"sha": _keep(call.world.blobs, data, data), "url": f"{call.api}/blob"}


def create_tree(call: Call) -> Result:
    for entry in call.body["tree"]:
        # Without content, a null sha takes the path away; any other must be there.
        if "content" not in entry and entry.get("sha") is not None and entry["sha"] not in call.world.blobs:
            raise Refusal(422, "tree.sha does not exist")
    sha = _keep(call.world.trees, json.dumps(call.body).encode(), call.body["tree"])
    return 201, call.found("git-tree", {"sha": sha, "truncated": False, "tree": []})


def create_commit(call: Call) -> Result:
    if call.body["tree"] not in call.world.trees:
        raise Refusal(422, "Tree SHA does not exist")
    given = {name: call.body.get(name) for name in ("message", "tree", "parents")}
    sha = _keep(call.world.commits, json.dumps(call.body).encode(), {**given, "author": call.user})
    return 201, _commit(call, sha)


def get_commit(call: Call, sha: str) -> Result:
    return 200, _commit(call, sha)


def get_ref(call: Call, name: str) -> Result:
    if f"refs/{name}" not in call.world.refs:
        raise Refusal(404, "Not Found")
    return 200, _ref(call, f"refs/{name}")


def create_ref(call: Call) -> Result:
    name, sha = call.body["ref"], call.body["sha"]
    if not name.startswith("refs/") or name.count("/") < 2:
        raise Refusal(422, "Reference name must start with 'refs/' and contain two slashes.")
    if name in call.world.refs:
        raise Refusal(422, "Reference already exists")
    if sha not in call.world.commits and sha not in call.world.refs.values():
        raise Refusal(422, "Object does not exist")
    call.world.refs[name] = sha
    return 201, _ref(call, name)


def edit_ref(call: Call, name: str) -> Result:
    get_ref(call, name)
    if call.body["sha"] not in call.world.commits:
        raise Refusal(422, "Object does not exist")
    above = [call.body["sha"]]
    for sha in above:
        above += call.world.commits.get(sha, {}).get("parents") or ()
    if not call.body.get("force") and call.world.refs[f"refs/{name}"] not in above:
        raise Refusal(422, "Update is not a fast forward")
    call.world.refs[f"refs/{name}"] = call.body["sha"]
    return 200, _ref(call, f"refs/{name}")


def _ref(call: Call, name: str) -> dict[str, Any]:
    return call.found("git-ref", {"ref": name, "object": {"type": "commit", "sha": call.world.refs[name].ljust(40, "0"),
                                                          "url": f"{call.api}/object"}})  # fmt: skip


def _commit(call: Call, sha: str) -> dict[str, Any]:
    kept = call.world.commits.get(sha)
    if kept is None and sha not in call.world.refs.values():
        raise Refusal(404, "Not Found")
    kept = kept or {"message": "An earlier commit", "tree": "0" * 40, "parents": []}
    parents = [{"sha": parent, "url": f"{call.api}/c", "html_url": f"{call.api}/c"} for parent in kept["parents"] or ()]
    return call.found("git-commit", {"sha": sha, "message": kept["message"], "parents": parents,
                                     "tree": {"sha": kept["tree"], "url": f"{call.api}/t"}})  # fmt: skip


def _keep(shelf: dict[str, Any], data: bytes, value: Any) -> str:
    sha = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    shelf[sha] = value
    return sha
