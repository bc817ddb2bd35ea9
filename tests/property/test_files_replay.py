"""CASE.json refuses whatever was damaged; what it lets through is a case that can be played."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_cases import write_sample

from pytest_kernelperf.baseline.replay import plan_problem
from pytest_kernelperf.errors import ReplayError
from pytest_kernelperf.replay.case_file import StoredCase, data_path, read_case

pieces = st.sampled_from(
    [b"", b"NaN", b"-1", b"1e999", b"null", b"[", b"]", b"}", b",", b'"', b"\xff", b"0", b"9" * 30]
)
edits = st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 6), pieces | st.binary(max_size=3)), min_size=1)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A case that is damaged again and again, its data left as they are."""
    return write_sample(tmp_path_factory.mktemp("case") / "case.json")


@pytest.fixture(scope="module")
def whole(path: Path) -> bytes:
    """What it held at first."""
    return path.read_bytes()


def check(path: Path) -> str:
    """Return the one sentence with which a case is refused; else all of its arms must lie within its buffers."""
    sentence = ""
    try:
        with read_case(path) as case:
            problems = [plan_problem(arm.plan, case.inputs.layout.specs) for arm in case.arms]
    except ReplayError as refusal:
        sentence = str(refusal)
    if sentence:
        assert sentence.startswith(f"{path}: ")
        assert "\n" not in sentence
    else:
        assert not any(problems)
    return sentence


@settings(max_examples=50)
@given(edits, st.booleans())
def test_damage_is_refused_with_a_sentence(
    path: Path, whole: bytes, changes: list[tuple[int, int, bytes]], cut: bool
) -> None:
    """Claim: whatever happens to the bytes, reading gives one sentence or a case that stays within its buffers."""
    data = whole
    for place, length, put in changes:
        start = place % len(data) if data else 0
        data = data[:start] + put + (b"" if cut else data[start + length :])
    path.write_bytes(data)
    check(path)


@settings(max_examples=50)
@given(st.data(), st.sampled_from(["0", "-1", "1", "2147483648", "9223372036854775808", "1e308", "0.5"]))
def test_any_number_in_any_place_is_refused_or_harmless(
    path: Path, whole: bytes, data: st.DataObject, digits: str
) -> None:
    """Claim: no number that JSON can say makes a plan reach outside of its buffers, or a read beyond a file's end."""
    number = data.draw(st.sampled_from(list(re.finditer(rb"(?<=[:\[ ] )-?[0-9.]+(?=[,}\]\n])", whole))))
    path.write_bytes(whole[: number.start()] + digits.encode() + whole[number.end() :])
    check(path)


@settings(max_examples=30)
@given(st.integers(0, 20_000), st.integers(1, 255))
def test_any_byte_of_the_data_is_missed(path: Path, whole: bytes, place: int, change: int) -> None:
    """Claim: inputs and code are those that were written, to the bit; only padding between them may differ."""
    path.write_bytes(whole)
    beside = data_path(path)
    good = beside.read_bytes()
    at = place % len(good)
    stored = msgspec.json.decode(whole, type=StoredCase)
    used = any(
        part.offset_bytes <= at < part.offset_bytes + part.size_bytes
        for part in (*stored.inputs.regions, *stored.objects)
    )
    try:
        beside.write_bytes(good[:at] + bytes([good[at] ^ change]) + good[at + 1 :])
        assert bool(check(path)) == used
    finally:
        beside.write_bytes(good)
