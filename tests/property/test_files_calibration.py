"""Calibration files hold whatever may be seen, and refuse whatever was damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_kernelperf.baseline.calibration import (
    VERSION,
    Calibration,
    SeenCase,
    SeenGroup,
    SeenProcess,
    calibration_path,
    decode,
    encode,
    read_calibration,
    write_calibration,
)
from pytest_kernelperf.baseline.calibration_summary import summarise
from pytest_kernelperf.baseline.entry import DeviceSummary
from pytest_kernelperf.baseline.store import BaselineStore
from pytest_kernelperf.calibrate.text import render_outcome
from pytest_kernelperf.calibrate.wish import Outcome
from pytest_kernelperf.errors import BaselineError, UsageError
from pytest_kernelperf.kernel import Kernel

COPIES, PROCESSES = 3, 4
NAME = "baselines/gfx1151-40cu/calibration.json"

times_us = st.floats(1e-4, 1e9)
ratios = st.floats(0.01, 100)
names = st.text("abcdefghijklmnopqrstuvwxyz_0123456789", min_size=1, max_size=12)
processes = st.builds(
    SeenProcess,
    time_us=times_us,
    host_us=st.floats(0, 1e9),
    spread_share=st.floats(0, 10),
    change_ratios=st.tuples(*[ratios] * (COPIES - 1)),
    slower=st.integers(0, COPIES - 1),
)
verdicts = st.sampled_from(["regressed", "improved", "unchanged", "undecided"])
groups = st.builds(
    SeenGroup,
    verdicts=st.tuples(*[verdicts] * (COPIES - 1)),
    detectable_ratio=st.none() | st.floats(1.0, 100.0),
    processes=st.lists(processes, min_size=1, max_size=PROCESSES).map(tuple),
)
cases = st.builds(
    SeenCase,
    kernel=names,
    variant=names,
    tokens=st.integers(1, 2**40),
    mode=st.sampled_from(["graph", "queued", "loop"]),
    gate=st.booleans(),
    tolerance=st.floats(0, 0.5),
    floor_us=st.floats(0, 10),
    alpha=st.floats(1e-9, 0.1),
    groups=st.lists(groups, min_size=1, max_size=2).map(tuple),
)


def _ordered(found: list[SeenCase]) -> tuple[SeenCase, ...]:
    return tuple(sorted({case.key: case for case in found}.values(), key=lambda case: case.key))


calibrations = st.builds(
    Calibration,
    version=st.just(VERSION),
    device_key=st.just("gfx1151-40cu"),
    device=st.just(DeviceSummary("rocm", "AMD Radeon 8060S", "gfx1151", 40, 20)),
    measured_at=st.just("2026-11-30T22:00:00+00:00"),
    spent_s=st.floats(0, 1e6),
    tool_version=st.text(max_size=20),
    compiler=st.text(max_size=20),
    driver=st.text(max_size=20),
    hip_version=st.text(max_size=20),
    cache=st.sampled_from(["warm", "cold"]),
    processes=st.just(PROCESSES),
    copies=st.just(COPIES),
    cases=st.lists(cases, min_size=1, max_size=3).map(_ordered),
)
ONE = calibrations.map(encode)


@given(calibrations)
def test_what_is_written_is_read_and_written_again_to_the_byte(calibration: Calibration) -> None:
    """Claim: a round trip changes nothing, and equal calibrations are equal files."""
    data = encode(calibration)
    assert decode(data, NAME, folder_key="gfx1151-40cu") == calibration
    assert encode(decode(data, NAME)) == data


@given(calibrations)
def test_every_calibration_that_can_be_stored_can_be_summed_up_and_shown(calibration: Calibration) -> None:
    """Claim: no number in the file, however odd, breaks the report."""
    summary = summarise(calibration)
    text = render_outcome(Outcome(calibration), summary)
    assert f"mode {summary.suits}" in text
    assert "shows shows" not in text
    assert sum(mode.groups.checks for mode in summary.modes) == (COPIES - 1) * sum(
        len(case.groups) for case in calibration.cases
    )


@given(ONE, st.data())
def test_a_cut_off_file_is_refused_in_one_sentence(data: bytes, draw: st.DataObject) -> None:
    """Claim: a killed copy or a bad disk is never half a calibration."""
    end = draw.draw(st.integers(0, len(data) - 2))
    with pytest.raises(BaselineError) as caught:
        decode(data[:end], NAME)
    assert "\n" not in str(caught.value)
    assert NAME in str(caught.value)


@given(ONE, st.data())
def test_a_changed_byte_is_a_calibration_or_one_sentence(data: bytes, draw: st.DataObject) -> None:
    """Claim: whatever the bytes, nothing but the one error, on one line, free of control characters."""
    place = draw.draw(st.integers(0, len(data) - 1))
    changed = data[:place] + draw.draw(st.binary(min_size=1, max_size=1)) + data[place + 1 :]
    error: Exception | None = None
    try:
        decode(changed, NAME)
    except BaselineError as refusal:
        error = refusal
    assert error is None or str(error).isprintable()


def one() -> dict[str, Any]:
    """A calibration as plain data."""
    process = SeenProcess(10.0, 5.0, 0.001, (1.0, 1.0), 0)
    case = SeenCase(
        "k", "plain", 8, "graph", True, 0.01, 0.02, 1e-5, (SeenGroup(("unchanged",) * 2, 1.02, (process,)),)
    )
    device = DeviceSummary("rocm", "AMD Radeon 8060S", "gfx1151", 40, 20)
    whole = Calibration(
        VERSION, "gfx1151-40cu", device, "2026-11-30T22:00:00+00:00", 1.0, "0", "", "", "", "warm", 5, 3, (case,)
    )
    plain: dict[str, Any] = json.loads(encode(whole))
    return plain


def set_in(value: dict[str, Any], path: str, new: object) -> bytes:
    """The file with another value at a path (``cases.0.mode``); None drops the field."""
    place: Any = value
    *parents, last = path.split(".")
    for step in parents:
        place = place[int(step)] if step.isdigit() else place[step]
    if new is None:
        del place[last]
    else:
        place[last] = new
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("path", "new", "words"),
    [
        ("version", 2, "upgrade this one"),
        ("version", True, "version True"),
        ("version", None, "no version"),
        ("cases", [], "length >= 1"),
        ("surprise", 1, "unknown field"),
        ("cases.0.mode", "fast", "cases[0].mode"),
        ("cases.0.groups.0.verdicts", ["unchanged"], "one verdict and one ratio for each of 2 copies"),
        ("cases.0.groups.0.processes.0.change_ratios", [1.0], "one verdict and one ratio for each of 2 copies"),
        ("cases.0.groups.0.processes.0.slower", 3, "more copies slower than there are"),
        ("cases.0.groups.0.processes.0.time_us", 0, "time_us"),
        ("cases.0.groups.0.processes.0.time_us", float("nan"), "not a finite number"),
        ("processes", 1, None),
        ("measured_at", "yesterday", "measured_at"),
        ("device_key", "cpu-x", "lies in the folder of gfx1151-40cu"),
        ("device_key", "../x", "device_key"),
    ],
)
def test_what_is_refused_and_with_which_words(path: str, new: object, words: str | None) -> None:
    """Claim: file and field are named."""
    data = set_in(one(), path, new)
    if words is None:
        decode(data, NAME)
        return
    with pytest.raises(BaselineError) as caught:
        decode(data, NAME, folder_key="gfx1151-40cu")
    assert words in str(caught.value)


def test_a_case_twice_or_out_of_order_is_refused() -> None:
    """Claim: one order, so that equal calibrations are equal bytes."""
    value = one()
    value["cases"] *= 2
    with pytest.raises(BaselineError, match="out of order, or has a case twice"):
        decode(json.dumps(value).encode(), NAME)


def test_it_lies_beside_the_baselines_and_is_none(tmp_path: Path) -> None:
    """Claim: the baselines' own check never sees it, no kernel can take its name, and a second one replaces it."""
    calibration = decode(json.dumps(one()).encode(), NAME)
    assert read_calibration(tmp_path, "gfx1151-40cu") is None
    path = write_calibration(tmp_path, calibration)
    assert path == calibration_path(tmp_path, "gfx1151-40cu")
    assert read_calibration(tmp_path, "gfx1151-40cu") == calibration
    later = msgspec.structs.replace(calibration, spent_s=2.0)
    write_calibration(tmp_path, later)
    assert read_calibration(tmp_path, "gfx1151-40cu") == later
    assert [entry.name for entry in path.parent.iterdir()] == ["calibration.json"]
    store = BaselineStore(tmp_path)
    assert store.files() == ()
    with pytest.raises(BaselineError, match="kernelperf calibrate"):
        store.path("gfx1151-40cu", "calibration")
    with pytest.raises(UsageError, match="kernelperf calibrate"):
        Kernel("calibration", source="k.hip", tokens=(1,))


def test_an_unreadable_file_is_one_sentence(tmp_path: Path) -> None:
    """Claim: a folder in its place, or another device's file, is said."""
    path = calibration_path(tmp_path, "gfx1151-40cu")
    path.mkdir(parents=True)
    with pytest.raises(BaselineError, match="cannot be read"):
        read_calibration(tmp_path, "gfx1151-40cu")
    other = calibration_path(tmp_path, "cpu-x")
    other.parent.mkdir()
    other.write_bytes(json.dumps(one()).encode())
    with pytest.raises(BaselineError, match="lies in the folder of cpu-x"):
        read_calibration(tmp_path, "cpu-x")
