"""Which function answers what; each does as GitHub does."""

from __future__ import annotations

import re
from collections.abc import Callable

from github_api import git, issues, pulls, runs
from github_api.call import Result

ROUTES: tuple[tuple[str, re.Pattern[str], Callable[..., Result]], ...] = tuple(
    (method, re.compile(pattern + "$"), function)
    for method, pattern, function in (
        ("GET", "", runs.get_repository),
        ("GET", r"/issues/(\d+)/comments", issues.list_comments),
        ("POST", r"/issues/(\d+)/comments", issues.create_comment),
        ("GET", r"/issues/comments/(\d+)", issues.get_comment),
        ("PATCH", r"/issues/comments/(\d+)", issues.edit_comment),
        ("DELETE", r"/issues/comments/(\d+)", issues.delete_comment),
        ("GET", r"/pulls", pulls.list_pulls),
        ("POST", r"/pulls", pulls.create_pull),
        ("GET", r"/pulls/(\d+)", pulls.get_pull),
        ("PATCH", r"/pulls/(\d+)", pulls.edit_pull),
        ("GET", r"/pulls/(\d+)/files", pulls.list_files),
        ("GET", r"/commits/([^/]+)/pulls", pulls.list_pulls_of_commit),
        ("GET", r"/issues", issues.list_issues),
        ("POST", r"/issues", issues.create_issue),
        ("GET", r"/issues/(\d+)", issues.get_issue),
        ("PATCH", r"/issues/(\d+)", issues.edit_issue),
        ("GET", r"/issues/(\d+)/events", issues.list_events),
        ("POST", r"/labels", issues.create_label),
        ("GET", r"/issues/(\d+)/labels", issues.list_labels),
        ("POST", r"/issues/(\d+)/labels", issues.add_labels),
        ("DELETE", r"/issues/(\d+)/labels/([^/]+)", issues.remove_label),
        ("GET", r"/actions/runs", runs.list_runs),
        ("GET", r"/actions/runs/(\d+)", runs.get_run),
        ("GET", r"/actions/runs/(\d+)/jobs", runs.list_jobs),
        ("POST", r"/actions/runs/(\d+)/((?:force-)?)cancel", runs.cancel_run),
        ("GET", r"/actions/runs/(\d+)/artifacts", runs.list_artifacts),
        ("GET", r"/actions/artifacts/(\d+)/zip", runs.download_artifact),
        ("POST", r"/check-runs", runs.create_check_run),
        ("GET", r"/check-runs/(\d+)", runs.get_check_run),
        ("PATCH", r"/check-runs/(\d+)", runs.edit_check_run),
        ("GET", r"/collaborators/([^/]+)/permission", runs.get_permission),
        ("POST", r"/actions/runners/generate-jitconfig", runs.generate_jitconfig),
        ("GET", r"/actions/runners", runs.list_runners),
        ("DELETE", r"/actions/runners/(\d+)", runs.delete_runner),
        ("POST", r"/git/blobs", git.create_blob),
        ("POST", r"/git/trees", git.create_tree),
        ("POST", r"/git/commits", git.create_commit),
        ("GET", r"/git/commits/([0-9a-f]{40})", git.get_commit),
        ("GET", r"/git/ref/(heads/.+)", git.get_ref),
        ("POST", r"/git/refs", git.create_ref),
        ("PATCH", r"/git/refs/(heads/.+)", git.edit_ref),
    )
)
