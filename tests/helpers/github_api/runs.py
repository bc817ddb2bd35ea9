"""Runs with their jobs and artifacts, check runs, runners, who may do what."""

from __future__ import annotations

from typing import Any

from github_api.call import Call, Refusal, Result, repository, whole


def get_repository(call: Call) -> Result:
    return 200, repository(call, call.world.repository, "full-repository")


def list_runs(call: Call) -> Result:
    wanted = {name: call.query[name] for name in ("status", "event", "branch", "head_sha") if name in call.query}
    names = {"branch": "head_branch"}
    found = [number for number, run in sorted(call.world.runs.items(), reverse=True)
             if all(run.get(names.get(name, name)) == value for name, value in wanted.items())]  # fmt: skip
    return 200, {"total_count": len(found), "workflow_runs": [_run(call, one) for one in call.page_of(found)]}


def list_jobs(call: Call, number: str) -> Result:
    run = the_run(call, whole(number))
    jobs = [call.found("job", {"run_id": whole(number), "status": "queued", **job}) for job in run.get("jobs", ())]
    return 200, {"total_count": len(jobs), "jobs": call.page_of(jobs)}


def cancel_run(call: Call, number: str, force: str = "") -> Result:
    run = the_run(call, whole(number))
    if run.get("status") == "completed":
        raise Refusal(409, "Cannot cancel a workflow run that is completed.")
    # A job that says ``if: always()`` goes on until it is forced.
    if force or not run.get("always"):
        run |= {"status": "completed", "conclusion": "cancelled"}
    return 202, {}


def get_run(call: Call, number: str) -> Result:
    return 200, _run(call, whole(number))


def the_run(call: Call, number: int) -> dict[str, Any]:
    """A run as it was put in."""
    if number not in call.world.runs:
        raise Refusal(404, "Not Found")
    return call.world.runs[number]


def _run(call: Call, number: int) -> dict[str, Any]:
    run = {name: value for name, value in the_run(call, number).items() if name not in ("jobs", "always")}
    source = run.get("head_repository", call.world.repository)
    here = f"{call.api}/repos/{call.world.repository}/actions/runs"
    return call.found("workflow-run", {
        **run, "id": number, "url": f"{here}/{number}", "artifacts_url": f"{here}/{number}/artifacts",
        "repository": repository(call, call.world.repository, "minimal-repository"),
        "head_repository": repository(call, source, "minimal-repository"),
    })  # fmt: skip


def list_artifacts(call: Call, number: str) -> Result:
    found = call.world.artifacts_of(whole(number))
    wanted = [one for one in found if call.query.get("name", one.name) == one.name]
    here = f"{call.api}/repos/{call.world.repository}/actions/artifacts"
    items = [
        call.found(
            "artifact",
            {
                "id": one.id,
                "name": one.name,
                "size_in_bytes": len(one.data) if one.claimed_bytes is None else one.claimed_bytes,
                "expired": one.expired,
                "created_at": one.created_at,
                "url": f"{here}/{one.id}",
                "archive_download_url": f"{here}/{one.id}/zip",
                "workflow_run": {"id": one.run_id},
            },
        )
        for one in wanted
    ]
    return 200, {"total_count": len(items), "artifacts": call.page_of(items)}


def download_artifact(call: Call, number: str) -> Result:
    one = call.world.artifacts.get(whole(number))
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
    _check_run(call, whole(number))
    call.world.check_runs[whole(number)] |= call.body
    return 200, _check_run(call, whole(number))


def get_check_run(call: Call, number: str) -> Result:
    return 200, _check_run(call, whole(number))


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
    number = call.world.next_id()
    call.world.runners[number] = {"name": call.body["name"], "status": "offline", "labels": labels}
    return 201, {"runner": _runner(call, number), "encoded_jit_config": "eyJzdGFuZCI6ImluIn0="}


def list_runners(call: Call) -> Result:
    found = [_runner(call, number) for number in sorted(call.world.runners)]
    return 200, {"total_count": len(found), "runners": call.page_of(found)}


def _runner(call: Call, number: int) -> dict[str, Any]:
    return call.found("runner", {"id": number, "os": "linux", **call.world.runners[number]})


def delete_runner(call: Call, number: str) -> Result:
    if call.world.runners.pop(whole(number), None) is None:
        raise Refusal(404, "Not Found")
    return 204, None
