"""Baselines that the box measured, proposed as a pull request.

What comes from the box is data: each file is read as strictly as the guard reads it, whatever else lies beside is
refused, and nothing of it is run. The commit is made through GitHub's API, so no credential lies in a checkout.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

from pytest_kernelperf.baseline.calibration import read_calibration
from pytest_kernelperf.baseline.check import problems
from pytest_kernelperf.baseline.entry import Baseline
from pytest_kernelperf.baseline.store import CALIBRATION, BaselineStore, read_file
from pytest_kernelperf.ci.plain import plain
from pytest_kernelperf.errors import BaselineError, GitHubError, UsageError
from pytest_kernelperf.github.api import Repository
from pytest_kernelperf.model import Frozen
from pytest_kernelperf.report.room import characters
from pytest_kernelperf.units import format_change, format_us

MAX_FILES = 2000
MAX_BYTES = 64 * 1024 * 1024
MAX_LINES = 200
MAX_LIST_CHARACTERS = 60_000
"""GitHub refuses a pull request's text of more than 65,536."""

UNPROCESSABLE = 422

_KEY = r"[A-Za-z0-9_.-]{1,100}"
_FILE = re.compile(
    rf"README\.md|{_KEY}/(?:[A-Za-z0-9_-][A-Za-z0-9_.-]{{0,200}}\.json|objects/[0-9a-f]{{64}}\.gz|sources/[0-9a-f]{{64}}\.json)"
)
_DIGEST = re.compile(rb"[0-9a-f]{64}")


class Proposal(Frozen, frozen=True):
    """What differs from the baselines at hand: new contents by path (None: gone), and a line for each case."""

    files: dict[str, bytes | None]
    lines: tuple[str, ...]


class Wish(Frozen, frozen=True):
    """What is to be proposed where.

    Attributes:
        folder: the project's folder of baselines, as paths in the repository begin.
        base: the branch that it is proposed to.
        branch: the branch to make.
        commit: the commit that was measured.
        reason: why its times are to be the accepted ones.
    """

    folder: str
    base: str
    branch: str
    commit: str
    reason: str


def compare_folders(measured: Path, present: Path, project: Path) -> Proposal:
    """Check a folder of measured baselines and say how it differs from the present one.

    Args:
        measured: the artifact, unpacked.
        present: the project's folder of baselines.
        project: the project's root, for the test modules that baselines name.

    Raises:
        BaselineError: something in ``measured`` is no baseline, or one that cannot be used.
    """
    files = _files(measured)
    store = BaselineStore(measured)
    wrong = [sentence for file in store.files() for sentence in problems(file, lambda kernel, test: None, project)]
    if wrong:
        raise BaselineError(f"the measured baselines cannot be proposed: {wrong[0].replace(f'{measured}/', '')}")
    if not store.files():
        raise BaselineError("the measured baselines hold no kernel: nothing was stored, and the run's log says why")
    changed: dict[str, bytes | None] = {}
    _check_beside(files, measured)
    for name, data in files.items():
        path = present / name
        if not path.is_file() or path.read_bytes() != data:
            changed[name] = data
    keys = {name.partition("/")[0] for name in files if "/" in name}
    for key in sorted(keys):
        for path in sorted(present.glob(f"{key}/**/*")):
            name = path.relative_to(present).as_posix()
            if path.is_file() and _FILE.fullmatch(name) and name not in files:
                changed[name] = None
    lines = [line for file in store.files() for line in _lines(read_file(file), present / file.relative_to(measured))]
    return Proposal(changed, tuple(lines))


def propose(repository: Repository, proposal: Proposal, wish: Wish) -> int:
    """Commit the differences on a branch of their own and open a pull request; return its number.

    Raises:
        KernelperfError: GitHub refuses.
    """
    tip = str(repository.get(f"git/ref/heads/{wish.base}")["object"]["sha"])
    tree = []
    for name, data in sorted(proposal.files.items()):
        entry: dict[str, str | None] = {"path": f"{wish.folder}/{name}", "mode": "100644", "type": "blob", "sha": None}
        if data is not None:
            body = {"content": base64.b64encode(data).decode("ascii"), "encoding": "base64"}
            entry["sha"] = str(repository.post("git/blobs", body)["sha"])
        tree.append(entry)
    root = repository.get(f"git/commits/{tip}")["tree"]["sha"]
    made = repository.post("git/trees", {"base_tree": root, "tree": tree})
    title = f"Baselines measured at {wish.commit[:12]}"
    message = f"{title}\n\n{wish.reason}"
    new = repository.post("git/commits", {"message": message, "tree": made["sha"], "parents": [tip]})
    _move_branch(repository, wish.branch, str(new["sha"]))
    text = "\n".join(
        (
            f"Measured on the box at {wish.commit}: {plain(wish.reason)}",
            "",
            *_told(proposal.lines),
            "",
            "The files say under which facts each process ran. Merging this accepts them.",
        )
    )
    return _pull_request(repository, {"title": title, "head": wish.branch, "base": wish.base, "body": text})


def _told(lines: tuple[str, ...]) -> list[str]:
    """Return the cases as a list that fits into a pull request's text, and how many more there are."""
    told: list[str] = []
    for line in lines[:MAX_LINES]:
        told.append(f"- {plain(line)}")
        if sum(characters(one) + 1 for one in told) > MAX_LIST_CHARACTERS:
            told.pop()
            break
    more = len(lines) - len(told)
    return [*told, *([f"- and {more} more"] if more else [])]


def _move_branch(repository: Repository, branch: str, commit: str) -> None:
    """Make the branch, or move the one that an earlier attempt of this run has made before it failed."""
    try:
        repository.post("git/refs", {"ref": f"refs/heads/{branch}", "sha": commit})
    except GitHubError as problem:
        if problem.status != UNPROCESSABLE:
            raise
        repository.patch(f"git/refs/heads/{branch}", {"sha": commit, "force": True})


def _pull_request(repository: Repository, wished: dict[str, Any]) -> int:
    """Open the pull request and return its number, or that of the one which an earlier attempt has opened."""
    try:
        return int(repository.post("pulls", wished)["number"])
    except GitHubError as problem:
        if problem.status != UNPROCESSABLE:
            raise
        for pull in repository.pages("pulls", state="open", base=wished["base"]):
            head = pull["head"]
            own = (head.get("repo") or {}).get("id") == pull["base"]["repo"][
                "id"
            ]  # a fork's branch may be called so too
            if own and head["ref"] == wished["head"]:
                return int(pull["number"])
        raise


def check_words(commit: str, reason: str) -> str:
    """Return the reason on one line, or refuse.

    Raises:
        UsageError: the commit is no full SHA, or there is no reason.
    """
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise UsageError("a commit is 40 digits of 0-9 and a-f")
    words = " ".join(reason.split())[:500]
    if not words:
        raise UsageError("accepted times need a reason")
    return words


def _files(folder: Path) -> dict[str, bytes]:
    """Read a folder's files; links, other names and more than anybody measures are refused."""
    found: dict[str, bytes] = {}
    total = 0
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            raise BaselineError(f"the measured baselines hold {name!r}, which is no plain file")
        if path.is_dir() or path.name == ".gitignore":
            continue
        if _FILE.fullmatch(name) is None:
            raise BaselineError(f"the measured baselines hold {name!r}, which is no baseline's file")
        total += path.stat().st_size
        if total > MAX_BYTES or len(found) >= MAX_FILES:
            raise BaselineError(f"the measured baselines have more than {MAX_FILES} files or {MAX_BYTES:,} bytes")
        found[name] = path.read_bytes()
    return found


def _check_beside(files: dict[str, bytes], measured: Path) -> None:
    """Refuse what no baseline's own check has seen: parts that none refers to, names that are one on some disks."""
    folded: dict[str, str] = {}
    named: dict[str, set[bytes]] = {}
    for name, data in files.items():
        if (other := folded.setdefault(name.lower(), name)) != name:
            raise BaselineError(f"the measured baselines hold {other!r} and {name!r}, which are one file on some disks")
        key, _, rest = name.partition("/")
        if rest == CALIBRATION:
            read_calibration(measured, key)
        elif "/" not in rest:
            named.setdefault(key, set()).update(_DIGEST.findall(data))
    for name in files:
        key, _, rest = name.partition("/")
        if "/" in rest and Path(rest).stem.encode() not in named.get(key, ()):
            raise BaselineError(f"the measured baselines hold {name!r}, which no baseline of theirs refers to")


def _lines(measured: Baseline, present: Path) -> list[str]:
    """A line for each case whose accepted time is another, or new."""
    before = {(case.variant, case.tokens): case for case in read_file(present).cases} if present.is_file() else {}
    lines = []
    for case in measured.cases:
        old = before.get((case.variant, case.tokens))
        name = f"{measured.device_key}, {measured.kernel}: {case.name}"
        if old is None:
            lines.append(f"{name}: new, {format_us(case.time_us)} us")
        elif old != case:
            change = format_change(case.time_us / old.time_us)
            lines.append(f"{name}: {format_us(old.time_us)} → {format_us(case.time_us)} us ({change})")
    gone = sorted(set(before) - {(case.variant, case.tokens) for case in measured.cases})
    return [*lines, *(f"{measured.device_key}, {measured.kernel}: {v} at {t} tokens is gone" for v, t in gone)]
