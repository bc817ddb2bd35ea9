"""Runs the stand-in until it is ended.

PYTHONPATH=tests/helpers python -m github_api --port 8099 --repository owner/project --world world.json
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path
from typing import Any

from github_api.server import GitHub
from github_api.world import World


def main() -> None:
    """Serve; the first line on stdout says where."""
    parser = argparse.ArgumentParser(prog="github_api", description="A stand-in for GitHub's API, for tests.")
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    parser.add_argument("--repository", default="owner/project")
    parser.add_argument("--artifacts", type=Path, help="folder with <run id>/<artifact's name>/<files>")
    parser.add_argument("--world", type=Path, help='JSON: {"pulls": [...], "issues": [...], "tokens": {...}, ...}')
    parser.add_argument("--log", type=Path, help="write what was asked and what was wrong here at the end, as JSON")
    given = parser.parse_args()
    world = World(given.repository, given.artifacts)
    if given.world is not None:
        _fill(world, json.loads(given.world.read_text(encoding="utf-8")))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with GitHub(world, given.port) as github:
        sys.stdout.write(f"{github.url}\n")
        sys.stdout.flush()
        try:
            signal.pause()
        except KeyboardInterrupt:
            pass
        finally:
            if given.log is not None:
                given.log.write_text(json.dumps({"requests": github.requests, "problems": github.problems}, indent=1))


def _fill(world: World, content: dict[str, Any]) -> None:
    for fields in content.get("pulls", ()):
        world.add_pull(**fields)
    for fields in content.get("issues", ()):
        world.add_issue(**fields)
    for fields in content.get("comments", ()):
        world.add_comment(**fields)
    for run in content.get("runs", ()):
        world.runs[run["id"]] = run
    world.tokens.update(content.get("tokens", {}))
    world.permissions.update(content.get("permissions", {}))


if __name__ == "__main__":
    main()
