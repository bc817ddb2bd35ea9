"""A file of plans refuses whatever was damaged: what is read is what was written."""

from __future__ import annotations

import re
import zlib

import pytest
from guard_bench import Bench
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_kernelperf.baseline.exported import Export, decode, encode
from pytest_kernelperf.errors import ReplayError
from pytest_kernelperf.model import digest_of_bytes

pieces = st.sampled_from([b"", b"NaN", b"-1", b"1e999", b"null", b"[", b"}", b",", b'"', b"\xff", b"9" * 30])
edits = st.lists(st.tuples(st.integers(0, 100_000), st.integers(0, 6), pieces | st.binary(max_size=3)), min_size=1)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file's bytes."""
    return encode(Bench(tmp_path_factory.mktemp("plans")).export(commit="a1" * 20))


def check(data: bytes) -> Export | None:
    """Return what is read; None where one sentence refuses it. Whatever is read keeps its own word."""
    refused, export = "", None
    try:
        export = decode(data, "p")
    except ReplayError as refusal:
        refused = str(refusal)
    if export is None:
        assert refused.startswith("p: ")
        assert "\n" not in refused
        return None
    assert all(digest_of_bytes(code) == digest for digest, code in export.objects.items())
    assert all(case.object_digest in export.objects for case in export.cases)
    return export


def packed(plain: bytes) -> bytes:
    """Compress as the file is; ``zlib.compress`` takes ``wbits`` from Python 3.11 on."""
    compressor = zlib.compressobj(1, zlib.DEFLATED, 31)
    return compressor.compress(plain) + compressor.flush()


def edited(data: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    """Replace pieces of bytes."""
    for place, length, put in changes:
        start = place % len(data) if data else 0
        data = data[:start] + put + data[start + length :]
    return data


@settings(max_examples=60, deadline=None)
@given(edits)
def test_any_change_of_the_file_is_refused(whole: bytes, changes: list[tuple[int, int, bytes]]) -> None:
    """Claim: a file that is not what was written is refused, but for the header's bytes that say nothing."""
    data = edited(whole, changes)
    found = check(data)
    assert found is None or found == decode(whole, "p")


@settings(max_examples=60, deadline=None)
@given(edits)
def test_any_change_of_what_is_in_it_is_refused_or_harmless(
    whole: bytes, changes: list[tuple[int, int, bytes]]
) -> None:
    """Claim: whatever a stranger writes gives one sentence, or an export whose parts belong together."""
    check(packed(edited(zlib.decompress(whole, 31), changes)))


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from(["0", "-1", "9223372036854775808", "1e308", "0.5"]))
def test_any_number_in_any_place_is_refused_or_harmless(whole: bytes, data: st.DataObject, digits: str) -> None:
    """Claim: no number is a crash."""
    plain = zlib.decompress(whole, 31)
    number = data.draw(st.sampled_from(list(re.finditer(rb"(?<=[:\[,])-?[0-9.]+(?=[,}\]])", plain))))
    changed = plain[: number.start()] + digits.encode() + plain[number.end() :]
    check(packed(changed))


def test_the_helpers_read_what_was_written(whole: bytes) -> None:
    """Claim: the checks above can pass at all."""
    assert check(whole) is not None
