"""Baseline files: what is refused, and with which sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_kernelperf.baseline import format as baseline_format
from pytest_kernelperf.baseline.entry import AcceptedStep, Anchor, Baseline
from pytest_kernelperf.baseline.format import decode, encode
from pytest_kernelperf.errors import BaselineError

GOLDEN = Path(__file__).parent.parent / "golden" / "baseline.json"
NAME = "baselines/gfx1151-40cu/moe_add_inject.json"


@pytest.fixture
def text() -> bytes:
    """A baseline file as it is written today."""
    return GOLDEN.read_bytes()


@pytest.fixture
def baseline(text: bytes) -> Baseline:
    """What it says."""
    return decode(text, NAME)


def changed(text: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The file after a change to its JSON."""
    value = json.loads(text)
    change(value)
    return json.dumps(value).encode()


def refusal(data: bytes, **options: Any) -> str:
    """The sentence with which a file is refused."""
    with pytest.raises(BaselineError) as caught:
        decode(data, NAME, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def case_of(value: dict[str, Any]) -> dict[str, Any]:
    """The only case of the golden file."""
    case: dict[str, Any] = value["cases"][0]
    return case


def test_reading_and_writing_gives_the_same_bytes(text: bytes, baseline: Baseline) -> None:
    """Claim: a file that was read is written again to the byte."""
    assert encode(baseline) == text


def test_only_a_cold_case_has_the_field(text: bytes, baseline: Baseline) -> None:
    """Claim: entries of older releases are warm and stay to the byte; a cold one comes back, and nothing else does."""
    assert baseline.cases[0].cache_state == "warm"
    assert b'"cache"' not in encode(baseline)
    cold = decode(changed(text, lambda value: case_of(value).update(cache="cold")), "golden")
    assert cold.cases[0].cache_state == "cold"
    assert decode(encode(cold), "golden") == cold
    assert "cache" in refusal(changed(text, lambda value: case_of(value).update(cache="warm")))


def test_only_a_case_with_stated_operations_has_the_field(text: bytes, baseline: Baseline) -> None:
    """Claim: entries of older releases stay to the byte; stated operations come back, none and zero are refused."""
    assert b'"operations"' not in encode(baseline)
    stated = decode(changed(text, lambda value: case_of(value).update(operations=2048)), "golden")
    assert (stated.cases[0].operations, decode(encode(stated), "golden")) == (2048, stated)
    for bad in (None, 0):
        assert "operations" in refusal(changed(text, lambda value, bad=bad: case_of(value).update(operations=bad)))


def test_a_case_has_its_medians_days_and_name(baseline: Baseline) -> None:
    """Claim: the case's time is the median over processes of their medians."""
    case = baseline.case("fused_column_tiles", 512)
    assert case is not None
    assert case.processes[0].median_us == 54.8848
    assert case.time_us == 55.1044
    assert case.days == 1
    assert case.name == "fused_column_tiles at 512 tokens"
    assert baseline.case("fused_column_tiles", 1) is None


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_none_is_refused_by_file_case_and_field(text: bytes, word: str) -> None:
    """Claim: NaN and infinity are refused, and the sentence says where they are."""
    sentence = refusal(text.replace(b"54.8848", word.encode()))
    assert sentence.startswith(f"{NAME}: ")
    assert "processes[0].times_us[1] is " in sentence
    assert "cases[0]" in sentence


def test_a_number_beyond_all_floats_is_refused(text: bytes) -> None:
    """Claim: 1e999, which other readers take for infinity, is refused."""
    assert "processes[0].times_us[1]: number out of range" in refusal(text.replace(b"54.8848", b"1e999"))


@pytest.mark.parametrize("time", [0, -54.8, 0.0, -0.0])
def test_a_time_that_no_clock_gives_is_refused(text: bytes, time: float) -> None:
    """Claim: zero and negative times are refused by file, case and field."""
    sentence = refusal(changed(text, lambda value: case_of(value)["processes"][2]["times_us"].__setitem__(1, time)))
    assert sentence.startswith(
        f"{NAME}: case fused_column_tiles at 512 tokens: field processes[2].times_us[1]: expected a number > 0.0: "
    )


@pytest.mark.parametrize("place", ["processes", "times_us"])
def test_no_samples_are_refused(text: bytes, place: str) -> None:
    """Claim: a case without samples, or a process without, is refused."""
    owner = (lambda case: case) if place == "processes" else (lambda case: case["processes"][0])
    sentence = refusal(changed(text, lambda value: owner(case_of(value)).update({place: []})))
    assert "case fused_column_tiles at 512 tokens" in sentence
    assert f"{place}: expected a list of length >= 1" in sentence


@pytest.mark.parametrize(
    ("version", "words"),
    [(2, "newer pytest-kernelperf: upgrade"), (0, "restore the file from git"), ("1", "restore"), (True, "restore")],
)
def test_an_unknown_version_is_refused_with_advice(text: bytes, version: object, words: str) -> None:
    """Claim: another version is refused before anything else is looked at."""
    sentence = refusal(changed(text, lambda value: value.update(version=version, more=1)))
    assert f"has version {version!r}, and this pytest-kernelperf reads version 1" in sentence
    assert words in sentence


def test_a_missing_version_is_refused(text: bytes) -> None:
    """Claim: a file without a version is not guessed at."""
    assert "has no version" in refusal(changed(text, lambda value: value.pop("version")))


def test_unknown_fields_are_refused_by_name(text: bytes) -> None:
    """Claim: a field that this version does not know is refused, in the file and in a case."""
    assert "has an unknown field `more`" in refusal(changed(text, lambda value: value.update(more=1)))
    sentence = refusal(changed(text, lambda value: case_of(value).update(more=1)))
    assert f"{NAME}: case fused_column_tiles at 512 tokens: has an unknown field `more`" in sentence


def test_a_missing_field_is_refused_by_name(text: bytes) -> None:
    """Claim: a case that lacks a field is refused."""
    assert "has no field `object_digest`" in refusal(changed(text, lambda value: case_of(value).pop("object_digest")))


def test_every_cut_is_refused(text: bytes) -> None:
    """Claim: a file cut off anywhere is refused, and said to be cut off."""
    for length in range(0, len(text) - 2, 7):
        sentence = refusal(text[:length])
        assert "is cut off" in sentence or "is empty" in sentence


def test_a_file_of_another_device_is_refused(text: bytes) -> None:
    """Claim: the key inside must be the folder's."""
    sentence = refusal(text, folder_key="cpu-x")
    assert sentence == (
        f"{NAME}: was stored on device gfx1151-40cu but lies in the folder of cpu-x: "
        "move it to the folder gfx1151-40cu, or delete it"
    )


def test_a_case_twice_or_out_of_order_is_refused(text: bytes) -> None:
    """Claim: each case stands once, in order; a bad merge is seen."""
    twice = changed(text, lambda value: value["cases"].append(case_of(value)))
    assert "has case fused_column_tiles at 512 tokens twice" in refusal(twice)
    unordered = changed(text, lambda value: value["cases"].append({**case_of(value), "tokens": 1}))
    assert "has case fused_column_tiles at 1 token out of order" in refusal(unordered)


@pytest.mark.parametrize("digest", ["../../etc/passwd", "a" * 63, "A" * 64, "a" * 64 + "\n"])
def test_a_digest_that_is_none_is_refused(text: bytes, digest: str) -> None:
    """Claim: what names a file can only be a digest."""
    sentence = refusal(changed(text, lambda value: case_of(value).update(object_digest=digest)))
    assert "field object_digest: expected text matching regex" in sentence


@pytest.mark.parametrize("name", ["../x", ".hidden", "a b", "a/b", ""])
def test_a_kernel_name_that_is_no_file_name_is_refused(text: bytes, name: str) -> None:
    """Claim: what names a file is plain."""
    assert "field kernel: expected text" in refusal(changed(text, lambda value: value.update(kernel=name)))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda case: case["processes"][0].update(day="2026-13-45"), "processes[0].day"),
        (lambda case: case.update(accepted_at="2026-02-30"), "accepted_at"),
        (lambda case: case.update(HISTORY, anchor={**HISTORY["anchor"], "day": "2026-00-01"}), "anchor.day"),
        (lambda case: case.update(HISTORY, steps=[{**HISTORY["steps"][0], "day": "0000-01-01"}]), "steps[0].day"),
    ],
)
def test_a_day_that_no_calendar_has_is_refused(
    text: bytes, change: Callable[[dict[str, Any]], None], field: str
) -> None:
    """Days are counted: ten processes of three made-up days would let stored times gate."""
    said = refusal(changed(text, lambda value: change(case_of(value))))
    assert f"field {field}: expected a day such as 2026-01-31" in said


def test_a_plan_that_uses_an_unknown_buffer_is_refused(text: bytes) -> None:
    """Claim: a damaged plan never reaches a device."""
    sentence = refusal(changed(text, lambda value: case_of(value)["buffers"].pop()))
    assert "field plan.steps[0]: uses buffer x, which is not among its buffers" in sentence


def test_a_plan_with_an_unknown_kernel_is_refused(text: bytes) -> None:
    """Claim: each kernel that is launched has its instructions' digest."""
    sentence = refusal(changed(text, lambda value: case_of(value).update(instruction_digests={})))
    assert "has nothing for kernel fused_column_tiles" in sentence


def test_a_case_that_cannot_be_named_is_counted(text: bytes) -> None:
    """Claim: where a case has no name the sentence says which one it is."""
    assert f"{NAME}: case number 1: " in refusal(changed(text, lambda value: case_of(value).pop("variant")))
    assert f"{NAME}: case number 1: " in refusal(changed(text, lambda value: value.update(cases=[3])))


@pytest.mark.parametrize(
    "data", [b"[" * 100_000, b'{"version": 1, "cases": ' + b"[" * 100_000, b"\xff\xfe", b"[]", b"1"]
)
def test_what_is_no_baseline_is_refused(data: bytes) -> None:
    """Claim: deep nesting, wrong bytes and other JSON are refused with a sentence, never a crash."""
    assert refusal(data).startswith(f"{NAME}: ")


def test_a_file_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    """Claim: size is looked at before anything is decoded."""
    monkeypatch.setattr(baseline_format, "MAX_FILE_BYTES", 100)
    assert f"has {len(text)} bytes, a baseline has at most 100" in refusal(text)


@pytest.mark.parametrize("time", [float("nan"), float("inf"), 0.0, -1.0])
def test_a_record_that_breaks_the_rules_is_not_written(baseline: Baseline, time: float) -> None:
    """Claim: what would be refused when read is refused when written."""
    case = baseline.cases[0]
    process = msgspec.structs.replace(case.processes[0], times_us=(1.0, time))
    broken = msgspec.structs.replace(baseline, cases=(msgspec.structs.replace(case, processes=(process,)),))
    with pytest.raises(BaselineError, match="times_us"):
        encode(broken)


@pytest.mark.parametrize("place", ["variant", "field", "cut off"])
def test_a_refusal_is_one_short_printable_line(text: bytes, place: str) -> None:
    """Claim: names from a stranger's file neither paint the terminal nor fill the screen."""
    name = "a\n\x1b[2J" + "b" * 100_000
    change = {"variant": name} if place == "variant" else {name: 1}
    data = changed(text, lambda value: case_of(value).update(change))
    sentence = refusal(data.replace(b"54.8848", b"NaN") if place == "cut off" else data)
    assert sentence.isprintable()
    assert len(sentence) < 1000


HISTORY: dict[str, Any] = {
    "anchor": {"day": "2026-01-01", "time_us": 50.0, "mode": "graph"},
    "steps": [{"day": "2026-02-01", "reason": "new router", "ratio": 1.03}],
}


def test_a_case_keeps_its_first_figure_and_the_steps_since(text: bytes) -> None:
    """Claim: a history comes back to the byte; an entry without one is read as before and has none."""
    assert b'"anchor"' not in text
    baseline = decode(changed(text, lambda value: case_of(value).update(HISTORY)), NAME)
    assert decode(encode(baseline), NAME) == baseline
    assert baseline.cases[0].anchor == Anchor("2026-01-01", 50.0, "graph")
    assert baseline.cases[0].steps == (AcceptedStep("2026-02-01", "new router", 1.03),)


@pytest.mark.parametrize(
    ("history", "words"),
    [
        ({"steps": [{**HISTORY["steps"][0], "ratio": 0}]}, "field steps[0].ratio: expected a number > 0.0"),
        ({"steps": [{**HISTORY["steps"][0], "ratio": -1.0}]}, "field steps[0].ratio: expected a number > 0.0"),
        ({"steps": [{**HISTORY["steps"][0], "ratio": 1e300}]}, "field steps[0].ratio: expected a number <= "),
        ({"steps": [{**HISTORY["steps"][0], "ratio": "1"}]}, "field steps[0].ratio: expected "),
        ({"steps": [{**HISTORY["steps"][0], "day": "today"}]}, "field steps[0].day: expected text matching regex"),
        ({"steps": [{**HISTORY["steps"][0], "reason": "x" * 4001}]}, "field steps[0].reason: expected text"),
        ({"steps": [{"day": "2026-02-01"}]}, "has no field `reason`"),
        ({"steps": []}, "field steps: expected a list of length >= 1"),
        ({"steps": HISTORY["steps"] * 1001}, "field steps: expected a list of length <= 1000"),
        ({"anchor": {**HISTORY["anchor"], "time_us": 0}}, "field anchor.time_us: expected a number > 0.0"),
        ({"anchor": None}, "field anchor: expected "),
        ({"anchor": {**HISTORY["anchor"], "more": 1}}, "has an unknown field `more`"),
    ],
)
def test_a_history_that_is_none_is_refused_by_case_and_field(text: bytes, history: Any, words: str) -> None:
    """Claim: a hostile step is one sentence; it never reaches arithmetic."""
    sentence = refusal(changed(text, lambda value: case_of(value).update({**HISTORY, **history})))
    assert sentence.startswith(f"{NAME}: case fused_column_tiles at 512 tokens: ")
    assert words in sentence


@pytest.mark.parametrize("lost", ["anchor", "steps"])
def test_half_a_history_is_refused(text: bytes, lost: str) -> None:
    """Claim: steps without the figure they began at, or the other way round, are damage."""
    half = {name: value for name, value in HISTORY.items() if name != lost}
    sentence = refusal(changed(text, lambda value: case_of(value).update(half)))
    assert "has an anchor without steps, or steps without an anchor" in sentence


def test_a_process_names_its_facts_and_they_must_be_there(text: bytes) -> None:
    """Claim: facts stand once in a file; a key of none, or a malformed one, is refused."""
    key = "0123456789ab"

    def name_facts(value: dict[str, Any], environments: Any, named: str = key) -> None:
        value.update(environments=environments)
        case_of(value)["processes"][1]["environment"] = named

    baseline = decode(changed(text, lambda value: name_facts(value, {key: {"driver": "580"}})), NAME)
    assert decode(encode(baseline), NAME) == baseline
    first, second = baseline.cases[0].processes[:2]
    assert (baseline.facts_of(first), baseline.facts_of(second)) == ({}, {"driver": "580"})
    lost = refusal(changed(text, lambda value: name_facts(value, {"0" * 12: {}})))
    assert f"field processes[1].environment: names {key}, which is not among environments" in lost
    for environments, named, words in (
        ({key: {"driver": "x" * 401}}, key, "expected text of length <= 400"),
        ({key: {"driver": 1}}, key, "expected text"),
        ({"../x": {}}, key, "environments"),
        ({}, key, "environments"),
        ({key: {}}, "../../etc/passwd", "processes[1].environment"),
    ):
        sentence = refusal(changed(text, lambda value: name_facts(value, environments, named)))  # noqa: B023 (called here)
        assert words in sentence
