"""A run's result out of its artifact, which whoever wrote the pull request may have filled with anything.

Nothing is unpacked onto the disk, and one member alone is read: ``run.json``, with bounds. An archive that no run of
ours makes is refused as a whole.
"""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from datetime import datetime
from typing import Any

from pytest_kernelperf.errors import RunFileError
from pytest_kernelperf.github.api import Storage
from pytest_kernelperf.github.event import RunEvent
from pytest_kernelperf.model import Run
from pytest_kernelperf.report.run_file import MAX_FILE_BYTES, decode_run

MEMBER = "run.json"
MAX_ARCHIVE_BYTES = 100 * 1024 * 1024
MAX_ENTRIES = 10_000
MAX_RATIO = 200
"""A run file packs to a tenth or so; deflate's most is 1,032."""

_ENTRY = b"PK\x01\x02"
_LOOK = "look at the run itself"


def find_artifact(github: Storage, event: RunEvent, names: tuple[str, ...]) -> tuple[str, bytes] | None:
    """Return name and archive of the first of the artifacts that this attempt of the run has left.

    Raises:
        GitHubError: GitHub cannot be asked.
        RunFileError: it is larger than any that a run leaves.
    """
    for name in names:
        listed = github.get(f"actions/runs/{event.run}/artifacts", name=name, per_page=100)
        found = [each for each in listed["artifacts"] if each["name"] == name and _is_of_attempt(each, event)]
        if not found:
            continue
        newest = max(found, key=lambda each: int(each["id"]))
        if int(newest["size_in_bytes"]) > MAX_ARCHIVE_BYTES:
            raise RunFileError(f"the run's artifact has more than {MAX_ARCHIVE_BYTES:,} bytes and is not read: {_LOOK}")
        return name, github.download(f"actions/artifacts/{newest['id']}/zip", MAX_ARCHIVE_BYTES)
    return None


def read_artifact(archive: bytes, event: RunEvent) -> Run:
    """Return the run in an archive, checked against what GitHub says of it.

    Raises:
        RunFileError: the archive, its run file, or the commit that it names cannot be used; one sentence.
    """
    run = decode_run(unpack(archive), "the run's run.json", advice=_LOOK)
    if run.commit and run.commit != event.commit:
        raise RunFileError(f"the run's run.json is of another commit than the run's, {event.commit[:12]}: {_LOOK}")
    return run


def unpack(archive: bytes) -> bytes:
    """Return the bytes of ``run.json`` in an archive.

    Raises:
        RunFileError: it is no archive, or none that a run of ours makes.
    """
    if len(archive) > MAX_ARCHIVE_BYTES:
        raise RunFileError(f"the run's artifact has more than {MAX_ARCHIVE_BYTES:,} bytes and is not read: {_LOOK}")
    # Counted before zipfile sees it, which makes an object for each.
    if archive.count(_ENTRY) > MAX_ENTRIES:
        raise _refused(f"holds more than {MAX_ENTRIES:,} files")
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            return _member(opened)
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError,
            OverflowError, MemoryError):  # fmt: skip
        raise _refused("is no archive that can be read") from None


def _member(opened: zipfile.ZipFile) -> bytes:
    found = None
    for entry in opened.infolist():
        name = entry.filename
        if name.startswith("/") or "\\" in entry.orig_filename or ":" in name or ".." in name.split("/"):
            raise _refused("holds a file whose name leads out of it")
        if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise _refused("holds a link or a device")
        if name == MEMBER:
            if found is not None:
                raise _refused(f"holds {MEMBER} twice")
            found = entry
    if found is None:
        raise _refused(f"holds no {MEMBER}")
    if found.flag_bits & 1 or found.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _refused(f"holds a {MEMBER} that is encrypted, or packed as no run packs it")
    if found.file_size > MAX_FILE_BYTES:
        raise _refused(f"holds a {MEMBER} of more than {MAX_FILE_BYTES:,} bytes")
    if found.file_size > MAX_RATIO * max(found.compress_size, 1):
        raise _refused(f"holds a {MEMBER} that unpacks to more than {MAX_RATIO} times its size")
    with opened.open(found) as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise _refused(f"holds a {MEMBER} of more than {MAX_FILE_BYTES:,} bytes")
    return data


def _refused(what: str) -> RunFileError:
    return RunFileError(f"the run's artifact {what}: {_LOOK}")


def _is_of_attempt(artifact: dict[str, Any], event: RunEvent) -> bool:
    """Whether an artifact is this attempt's: a run that is started again keeps those of its earlier attempts."""
    if artifact["expired"]:
        return False
    made, started = _moment(artifact.get("created_at")), _moment(event.started_at)
    return made is None or started is None or made >= started


def _moment(text: object) -> datetime | None:
    try:
        return datetime.strptime(str(text), "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return None
