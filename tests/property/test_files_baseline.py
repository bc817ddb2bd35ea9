"""Baseline files hold whatever may be accepted, and refuse whatever was damaged."""

from __future__ import annotations

from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from pytest_kernelperf.baseline.entry import AcceptedStep, Anchor, Baseline, BaselineCase, ProcessSamples
from pytest_kernelperf.baseline.extend import MOST_DAYS, extend
from pytest_kernelperf.baseline.facts import under, with_facts
from pytest_kernelperf.baseline.format import decode, encode
from pytest_kernelperf.baseline.history import MOST_STEPS, creep_of, steps_of, with_history
from pytest_kernelperf.baseline.update import Acceptance, update
from pytest_kernelperf.errors import BaselineError
from pytest_kernelperf.model import (
    BufferArgument,
    BufferSpec,
    CaseId,
    Comparison,
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
ratios = st.floats(min_value=1e-300, max_value=1e9, exclude_min=True)
accepted_steps = st.lists(
    st.builds(AcceptedStep, day=days, reason=texts, ratio=st.none() | ratios), min_size=1, max_size=8
).map(tuple)
anchors = st.builds(Anchor, day=days, time_us=times_us, mode=st.sampled_from(["graph", "queued"]))
first_accepted = st.builds(
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
accepted_anew = st.builds(
    lambda case, anchor, steps: msgspec.structs.replace(case, anchor=anchor, steps=steps),
    first_accepted,
    anchors,
    accepted_steps,
)
cases = first_accepted | accepted_anew


def in_order(cases: list[BaselineCase], facts: dict[str, str]) -> Baseline:
    """A baseline of these cases, in the order that files have, all but the first processes naming their facts."""
    ordered = sorted(cases, key=lambda case: (case.variant, case.tokens))
    named = [
        msgspec.structs.replace(case, processes=(case.processes[0], *under(case.processes[1:], facts)))
        for case in ordered
    ]
    return with_facts(msgspec.structs.replace(BASELINE, cases=tuple(named)), None, facts)


baselines = st.builds(
    in_order,
    st.lists(cases, min_size=1, max_size=4, unique_by=lambda case: (case.variant, case.tokens)),
    st.dictionaries(texts, texts, max_size=3),
)


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
    named = {process.environment: dict[str, str]() for process in case.processes}
    facts = {key: value for key, value in named.items() if key is not msgspec.UNSET} or msgspec.UNSET
    text = encode(msgspec.structs.replace(BASELINE, cases=(case,), environments=facts))
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


@given(first_accepted, st.lists(st.none() | ratios, min_size=1, max_size=12))
def test_all_steps_are_kept_with_the_first_figure(case: BaselineCase, accepted: list[float | None]) -> None:
    """Claim: however often a case is accepted anew, its anchor stays and its steps are in their order."""
    entry_now = case
    for ratio in accepted:
        record = compared_record(entry_now, ratio)
        entry_now = with_history(msgspec.structs.replace(case, accepted_at="2026-03-02"), entry_now, record)
    assert entry_now.anchor == Anchor(case.accepted_at, case.time_us, case.mode)
    assert [step.ratio for step in steps_of(entry_now)] == accepted


@given(accepted_anew, st.floats(0, 0.5), st.none() | ratios)
def test_creep_is_the_rise_from_the_fastest_figure_and_never_a_gain(
    case: BaselineCase, allowed: float, further: float | None
) -> None:
    """Claim: whatever a file says of its steps, the rise is a finite number of at least 1."""
    creep = creep_of(case, allowed, further)
    assert creep is not None
    assert 1 <= creep.change_ratio < float("inf")
    assert creep.exceeded == (creep.change_ratio > 1 + allowed)


def test_more_steps_than_are_kept_become_one_with_their_product() -> None:
    """Claim: a file does not grow for ever, and what was lost in its steps stays."""
    case = BASELINE.cases[0]
    for _ in range(MOST_STEPS + 50):
        case = with_history(BASELINE.cases[0], case, compared_record(case, 1.001))
    assert len(steps_of(case)) == MOST_STEPS
    creep = creep_of(case, 0.05)
    assert creep is not None
    assert abs(creep.change_ratio / 1.001 ** (MOST_STEPS + 50) - 1) < 1e-9
    assert decode(encode(msgspec.structs.replace(BASELINE, cases=(case,))), "again").cases == (case,)


@given(first_accepted, st.lists(days, min_size=1, max_size=12, unique=True))
def test_an_entry_gains_a_process_of_each_day_and_keeps_the_first_and_the_newest(
    case: BaselineCase, further: list[str]
) -> None:
    """Claim: bounded, in order of days, byte-stable when asked twice on a day, and all else stays as accepted."""
    baseline = in_order([case], {})
    for day in sorted(further):
        before = baseline.cases[0]
        found = extend(baseline, [compared_record(case, 1.0)], day, {"driver": day})
        assert (found.baseline is None) == (day in {process.day for process in before.processes})
        baseline = found.baseline or baseline
        assert extend(baseline, [compared_record(case, 1.0)], day, {"driver": day}).baseline is None
    after = baseline.cases[0]
    stored = [process.day for process in after.processes]
    first = min(process.day for process in case.processes)
    assert after.days <= max(MOST_DAYS, case.days)
    assert first in stored or min(further) < first
    assert msgspec.structs.replace(after, processes=case.processes) == case
    assert decode(encode(baseline), "again") == baseline


def compared_record(case: BaselineCase, ratio: float | None) -> Record:
    """A record of the case, compared side by side with its accepted binary where there is a ratio."""
    samples = (Sample("head", 0, 0, 1.5, 0.1), Sample("baseline", 0, 1, 1.5, 0.1))
    comparisons = [] if ratio is None else [Comparison(
        "head", "baseline", "graph", ratio, None, None, 0.95, 5, 0, 0, 20, 1e-5, 1.01, 0.0, 1.5, 1.5
    )]  # fmt: skip
    return Record(
        case=CaseId(BASELINE.kernel, case.variant, case.tokens),
        test="",
        decision=Decision(Verdict.UNCHANGED, False, "", ""),
        mode=case.mode,
        cache=case.cache_state,
        measurements=(Measurement(0, case.mode, 200, 1, samples),),
        comparisons=tuple(comparisons),
    )
