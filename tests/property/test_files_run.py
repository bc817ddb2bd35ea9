"""Run files refuse whatever was damaged, and what they let through can be shown."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pytest_kernelperf import strict_json
from pytest_kernelperf.errors import RunFileError
from pytest_kernelperf.report.run_file import decode_run
from pytest_kernelperf.report.terminal import render_run

GOLDEN = (Path(__file__).parent.parent / "golden" / "run.json").read_bytes()

places = st.integers(0, len(GOLDEN))
pieces = st.sampled_from(
    [
        b"",
        b"NaN",
        b"-",
        b"1e999",
        b"1e-320",
        b"null",
        b"[",
        b"]",
        b"}",
        b",",
        b'"',
        b"\xff",
        b"0",
        b"9" * 30,
        b"\\u001b",
        b"\\ud800",
    ]
)
edits = st.lists(st.tuples(places, st.integers(0, 6), pieces | st.binary(max_size=3)), min_size=1, max_size=3)


def damage(changes: list[tuple[int, int, bytes]]) -> bytes:
    """The golden run with a few bytes cut out, put in or replaced."""
    data = GOLDEN
    for start, length, put in changes:
        data = data[:start] + put + data[start + length :]
    return data


@given(st.one_of(places.map(lambda length: GOLDEN[:length]), edits.map(damage), st.binary(max_size=200)))
def test_damage_is_refused_with_a_sentence_or_can_be_shown(data: bytes) -> None:
    """Claim: whatever happens to the bytes, reading gives one sentence, or a run that every renderer takes."""
    sentence = None
    try:
        run = decode_run(data, "file")
    except RunFileError as refusal:
        sentence = str(refusal)
    if sentence is None:
        assert decode_run(strict_json.layout(run), "again") == run
        assert "\x1b" not in render_run(run) + render_run(run, "github")
    else:
        assert sentence.startswith("file: ")
        assert "\n" not in sentence


digits = st.sampled_from(["0", "-1", "1e-320", "1e308", "-1e308", "0.5", "9007199254740993", "99999999999999999999"])


NUMBERS = list(re.finditer(rb"(?<=: )-?[0-9.]+(?=[,}\n])", GOLDEN))


@given(st.sampled_from(NUMBERS), digits)
def test_any_number_in_any_place_is_refused_or_shown(number: re.Match[bytes], digits: str) -> None:
    """Claim: no number that JSON can say breaks a renderer."""
    data = GOLDEN[: number.start()] + digits.encode() + GOLDEN[number.end() :]
    try:
        run = decode_run(data, "file")
    except RunFileError:
        return
    render_run(run)
