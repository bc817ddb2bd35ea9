"""An artifact is whatever the author of a pull request has put there: one member is read, with bounds."""

from __future__ import annotations

import io
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_kernelperf.errors import RunFileError
from pytest_kernelperf.github.artifact import MAX_ENTRIES, unpack

CONTENT = b'{"version": 1}'


def archive(*members: tuple[str | zipfile.ZipInfo, bytes], packed: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive of members; run.json comes first."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", packed) as file:
        warnings.simplefilter("ignore")  # zipfile warns of a name that is there twice
        for name, data in (("run.json", CONTENT), *members):
            file.writestr(name, data)
    return buffer.getvalue()


def special(kind: int, name: str = "traces") -> zipfile.ZipInfo:
    """A member that is no plain file."""
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3
    entry.external_attr = (kind | 0o644) << 16
    return entry


def test_of_an_honest_archive_one_member_is_taken() -> None:
    """Traces and pages lie beside it, in folders."""
    members = (("traces/", b""), ("traces/x/head.db", b"SQLite"), ("report.html", b"<html>"))
    assert unpack(archive(*members)) == CONTENT
    assert unpack(archive(*members, packed=zipfile.ZIP_STORED)) == CONTENT


@pytest.mark.parametrize(
    "name", ["../run.json", "a/../../b", "/etc/passwd", "..", "C:\\x", "C:/x", "a\\..\\b", "traces/..", "//host/x"]
)
def test_a_name_that_leads_out_refuses_the_whole_archive(name: str) -> None:
    """Nothing is unpacked anywhere; but no run of ours makes such a name."""
    with pytest.raises(RunFileError, match="whose name leads out of it"):
        unpack(archive((name, b"x")))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFSOCK])
def test_links_and_devices_refuse_it(kind: int) -> None:
    """As the member itself, or beside it."""
    with pytest.raises(RunFileError, match="a link or a device"):
        unpack(archive((special(kind), b"/etc/passwd")))


def doubled() -> bytes:
    return archive(("run.json", b"{}"))


def without() -> bytes:
    return archive().replace(b"run.json", b"run.jsom")


def elsewhere() -> bytes:
    return archive(("x/run.json", b"{}")).replace(b"run.json", b"run.jsom", 1).replace(b"\x00run.json", b"\x00run.jsom")


def many() -> bytes:
    return archive(*((f"{number}", b"") for number in range(MAX_ENTRIES)))


def encrypted() -> bytes:
    data = bytearray(archive())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def bzip2() -> bytes:
    return archive(packed=zipfile.ZIP_BZIP2)


def bomb() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("run.json", bytes(16 << 20))
    return buffer.getvalue()


def lying() -> bytes:
    """A bomb whose directory says that it is small."""
    data = bytearray(bomb())
    place = data.index(b"PK\x01\x02")
    data[place + 24 : place + 28] = struct.pack("<I", 1000)
    return bytes(data)


def large() -> bytes:
    data = bytearray(archive())
    place = data.index(b"PK\x01\x02")
    data[place + 24 : place + 28] = struct.pack("<I", 0x7FFFFFFF)
    return bytes(data)


def half() -> bytes:
    return archive()[:-30]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (doubled, "holds run.json twice"),
        (without, "holds no run.json"),
        (elsewhere, "holds no run.json"),
        (many, "holds more than 10,000 files"),
        (encrypted, "encrypted"),
        (bzip2, "packed as no run packs it"),
        (bomb, "more than 200 times its size"),
        (lying, "no archive that can be read"),
        (large, "of more than 67,108,864 bytes"),
        (half, "no archive that can be read"),
        (bytes, "no archive that can be read"),
        (lambda: b"<html>" * 100, "no archive that can be read"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_no_run_leaves_is_refused_in_a_sentence(make: Callable[[], bytes], sentence: str) -> None:
    """Before more is unpacked than a run file may have."""
    with pytest.raises(RunFileError, match=sentence) as refusal:
        unpack(make())
    assert str(refusal.value).startswith("the run's artifact ")
    assert "\n" not in str(refusal.value)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=6), st.integers(0, 400))
@example([(8, 99)], 400)
def test_a_changed_archive_is_read_or_refused(changes: list[tuple[int, int]], end: int) -> None:
    """Any bytes in any place, and any length."""
    data = bytearray(archive(("traces/x.db", b"SQLite")))
    for place, value in changes:
        data[place % len(data)] = value
    try:
        found = unpack(bytes(data[: max(end, 1)]))
    except RunFileError:
        return
    assert len(found) < 1000
