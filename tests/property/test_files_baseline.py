"""Baseline files hold whatever may be accepted, and refuse whatever was damaged."""

from __future__ import annotations

from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from pytest_kernelperf.baseline.format import Baseline, BaselineCase, ProcessSamples, decode, encode
from pytest_kernelperf.baseline.update import Acceptance, update
from pytest_kernelperf.errors import BaselineError
from pytest_kernelperf.model import (
    BufferArgument,
    BufferSpec,
    CaseId,
    CopyStep,
    Decision,
    FillStep,
    LaunchStep,
    Measurement,
    Plan,
    Record,
    Sample,
    ScalarArgument,
    Verdict,
)
from pytest_kernelperf.report.run_file import read_run

GOLDEN_FOLDER = Path(__file__).parent.parent / "golden"
GOLDEN = (GOLDEN_FOLDER / "baseline.json").read_bytes()
BASELINE = decode(GOLDEN, "golden")
DEVICE = read_run(GOLDEN_FOLDER / "run.json").device

counts = st.integers(0, 2**53)
dimensions = st.tuples(st.integers(1, 2**31 - 1), st.integers(1, 65535), st.integers(1, 65535))
times_us = st.floats(min_value=1e-6, max_value=1e9, allow_nan=False)
texts = st.text(max_size=60)
names = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=30)
digests = st.text("0123456789abcdef", min_size=64, max_size=64)
days = st.dates().map(lambda day: day.isoformat())

scalars = st.builds(
    ScalarArgument, dtype=st.sampled_from(["<i4", "<f8"]), data=st.binary(max_size=16), alignment=counts
)
arguments = st.one_of(st.builds(BufferArgument, buffer=st.just("x"), offset_bytes=counts), scalars)
steps = st.one_of(
    st.builds(
        LaunchStep,
        kernel=st.just("kernel<float>"),
        grid=dimensions,
        block=dimensions,
        arguments=st.lists(arguments, max_size=4).map(tuple),
        shared_bytes=counts,
        floor=st.none(),
    ),
    st.builds(FillStep, buffer=st.just("x"), byte=st.integers(0, 255), offset_bytes=counts, size_bytes=counts),
    st.builds(
        CopyStep,
        target=st.just("x"),
        source=st.just("x"),
        target_offset_bytes=counts,
        source_offset_bytes=counts,
        size_bytes=counts,
    ),
)
plans = st.builds(Plan, steps=st.lists(steps, max_size=4).map(tuple))
processes = st.builds(
    ProcessSamples,
    day=days,
    rounds=st.integers(1, 200),
    times_us=st.lists(times_us, min_size=1, max_size=20).map(tuple),
)
cases = st.builds(
    BaselineCase,
    variant=names,
    tokens=counts,
    mode=st.sampled_from(["graph", "queued", "loop"]),
    plan=plans,
    buffers=st.just((BufferSpec("x", "<f4", (7, 2560)),)),
    inputs_digest=digests,
    source_digest=digests,
    object_digest=digests,
    instruction_digests=st.fixed_dictionaries({"kernel<float>": digests}),
    resources=st.dictionaries(texts, st.dictionaries(texts, counts, max_size=3), max_size=2),
    processes=st.lists(processes, min_size=1, max_size=4).map(tuple),
    moved_bytes=st.none() | counts,
    reason=texts,
    accepted_at=days,
    tool_version=texts,
    compiler=texts,
    driver=texts,
    hip_version=texts,
    cache=st.sampled_from([msgspec.UNSET, "cold"]),
    operations=st.just(msgspec.UNSET) | st.integers(1, 2**62),
)


def in_order(cases: list[BaselineCase]) -> Baseline:
    """A baseline of these cases, in the order that files have."""
    ordered = sorted(cases, key=lambda case: (case.variant, case.tokens))
    return msgspec.structs.replace(BASELINE, cases=tuple(ordered))


baselines = st.lists(cases, min_size=1, max_size=4, unique_by=lambda case: (case.variant, case.tokens)).map(in_order)


def damaged(data: bytes) -> st.SearchStrategy[bytes]:
    """A file with a few bytes cut out, put in or replaced, or cut off at the end."""
    places = st.integers(0, len(data))

    def damage(edits: list[tuple[int, int, bytes]]) -> bytes:
        changed = data
        for start, length, put in edits:
            changed = changed[:start] + put + changed[start + length :]
        return changed

    pieces = st.sampled_from([b"", b"NaN", b"-", b"1e999", b"null", b"[", b"]", b"{", b"}", b",", b'"', b"\xff", b"0"])
    edits = st.tuples(places, st.integers(0, 40), pieces | st.binary(max_size=4))
    return st.one_of(places.map(lambda length: data[:length]), st.lists(edits, min_size=1, max_size=3).map(damage))


@given(baselines)
def test_every_baseline_comes_back_and_is_written_to_the_same_bytes(baseline: Baseline) -> None:
    """Claim: write, read, write gives the same record and the same bytes."""
    data = encode(baseline)
    assert decode(data, "again") == baseline
    assert encode(decode(data, "again")) == data


@given(damaged(GOLDEN))
def test_damage_is_refused_with_a_sentence_or_is_a_baseline(data: bytes) -> None:
    """Claim: whatever happens to the bytes, reading gives one sentence or a baseline that can be written."""
    sentence = None
    try:
        baseline = decode(data, "file")
    except BaselineError as refusal:
        sentence = str(refusal)
    if sentence is None:
        assert decode(encode(baseline), "again") == baseline
    else:
        assert sentence.startswith("file: ")
        assert "\n" not in sentence


def entry(case: BaselineCase) -> bytes:
    """A case's block of lines, as it stands between the others."""
    text = encode(msgspec.structs.replace(BASELINE, cases=(case,)))
    return text[text.index(b"    {") : text.index(b"\n  ],\n")]


@given(baselines, st.data())
def test_an_entry_that_is_not_accepted_anew_stays_to_the_byte(baseline: Baseline, data: st.DataObject) -> None:
    """Claim: accepting some cases leaves the block of lines of all others as it was."""
    places = data.draw(st.sets(st.integers(0, len(baseline.cases) - 1)))
    accepted = [baseline.cases[place] for place in sorted(places)]
    measurement = Measurement(0, "graph", 200, 1, (Sample("head", 0, 0, 1.5, 0.1),))
    records = [
        Record(
            case=CaseId(baseline.kernel, case.variant, case.tokens),
            test="",
            decision=Decision(Verdict.IMPROVED, False, "", ""),
            plan=case.plan,
            buffers=case.buffers,
            inputs_digest=case.inputs_digest,
            source_digest=case.source_digest,
            object_digest=case.object_digest,
            instruction_digests=case.instruction_digests,
            measurements=(measurement,),
        )
        for case in accepted
    ]
    acceptance = Acceptance(baseline.kernel, baseline.test_module, DEVICE, "why", "2026-03-02", "0.1.0")
    after = update(baseline, records, acceptance).baseline
    assert (after is None) == (not accepted)
    text = encode(after or baseline)
    for case in baseline.cases:
        kept = after is None or case not in accepted
        assert kept == (after is None or after.case(case.variant, case.tokens) == case)
        assert not kept or entry(case) in text
