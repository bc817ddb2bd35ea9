"""``run.json``: all records of one run, the only thing that crosses machines.

It may come from a stranger's pull request, so reading has limits and checks every value.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from pytest_kernelperf import strict_json
from pytest_kernelperf.atomic_write import write_atomically
from pytest_kernelperf.errors import RunFileError
from pytest_kernelperf.model import CaseTrace, Record, Run, TracedArm

# History of the file:
#   1  first form: device, environment, settings and records with their raw samples
VERSION = 1

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_RECORDS = 50_000
MAX_MEASUREMENTS = 1_000
MAX_SAMPLES = 100_000
MAX_ARMS = 8
MAX_SPANS = 4_000
MAX_TRACED_KERNELS = 1_000
MAX_TRACED_US = 1e12
MAX_TEXT_CHARACTERS = 64 * 1024
MAX_NAME_CHARACTERS = 1_000

MAKE_ANEW = "make it anew with pytest --kernelperf"


class _AnyVersion(msgspec.Struct):
    version: object = None


def write_run(path: Path, run: Run) -> None:
    """Write a run file; its folder is made. A reader sees the old file or the new one.

    Raises:
        RunFileError: a number is not finite, or the run breaks a limit that would keep it from being read.
        OSError: the folder cannot be written to.
    """
    try:
        data = strict_json.layout(run)
    except ValueError as refusal:
        raise RunFileError(f"{path}: cannot be written: {refusal}") from None
    decode_run(data, str(path), advice="nothing was written")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, data)


def read_run(path: Path) -> Run:
    """Read a run file.

    Raises:
        RunFileError: missing, unreadable, too large, of an unknown version, or a field is wrong; one sentence.
    """
    try:
        with path.open("rb") as file:
            # read() sets its size aside at once, so it is asked for the file's own.
            data = file.read(min(MAX_FILE_BYTES, os.fstat(file.fileno()).st_size) + 1)
    except OSError as failure:
        why = failure.strerror or os.strerror(failure.errno or 0)
        raise RunFileError(f"{path}: cannot be read ({why}): {MAKE_ANEW}") from None
    return decode_run(data, str(path))


def decode_run(data: bytes, name: str, *, advice: str = MAKE_ANEW) -> Run:
    """Read a run file's bytes; ``name`` is how sentences name the file.

    Raises:
        RunFileError: one sentence with file, record and field.
    """
    if len(data) > MAX_FILE_BYTES:
        raise RunFileError(f"{name}: has more than {MAX_FILE_BYTES} bytes: {advice}")
    if data.strip() and not data.lstrip().startswith(b"{"):
        raise RunFileError(strict_json.one_line(f"{name}: is no run file: {advice}"))
    version = strict_json.decode(data, _AnyVersion, subject=name, error=RunFileError, advice=advice).version
    if version != VERSION or isinstance(version, bool):
        shown = "no version" if version is None else f"version {version!r:.40}"
        newer = isinstance(version, int) and version > VERSION
        todo = "it was written by a newer pytest-kernelperf: upgrade this one" if newer else advice
        shown = strict_json.one_line(shown)
        raise RunFileError(f"{name}: has {shown}, and this pytest-kernelperf reads version {VERSION}: {todo}")
    run = strict_json.decode(data, Run, subject=name, error=RunFileError, advice=advice)
    for problem in _problems(run):
        raise RunFileError(strict_json.one_line(f"{name}: {problem}: {advice}"))
    return run


def _problems(run: Run) -> Iterator[str]:
    """Yield what types alone do not refuse: counts, lengths, and times that no clock gives."""
    if len(run.records) > MAX_RECORDS:
        yield f"has {len(run.records)} records, more than {MAX_RECORDS}"
    for place, record in enumerate(run.records):
        for problem in _record_problems(record):
            yield f"record {place + 1}: {problem}"
    for path, text in _texts(msgspec.to_builtins(run), ""):
        if len(text) > MAX_TEXT_CHARACTERS:
            yield f"field {path} has {len(text)} characters, more than {MAX_TEXT_CHARACTERS}"


def _record_problems(record: Record) -> Iterator[str]:
    for field, text in (("kernel", record.case.kernel), ("variant", record.case.variant), ("test", record.test)):
        if len(text) > MAX_NAME_CHARACTERS:
            yield f"field {field} has {len(text)} characters, more than {MAX_NAME_CHARACTERS}"
    if not 0 <= record.case.tokens < 2**63:
        yield f"field case.tokens is {record.case.tokens}, not a size"
    for field, amount in (("moved_bytes", record.moved_bytes), ("operations", record.operations)):
        if amount is not None and amount < 0:
            yield f"field {field} is {amount}, below 0"
    if record.time_us is not None and record.time_us <= 0:
        yield f"field time_us is {record.time_us}, not above 0"
    if len(record.measurements) > MAX_MEASUREMENTS:
        yield f"has {len(record.measurements)} measurements, more than {MAX_MEASUREMENTS}"
    for place, measurement in enumerate(record.measurements):
        where = f"measurements[{place}]"
        if len(measurement.samples) > MAX_SAMPLES:
            yield f"field {where} has {len(measurement.samples)} samples, more than {MAX_SAMPLES}"
        if any(sample.time_us <= 0 or sample.host_us < 0 for sample in measurement.samples):
            yield f"field {where} has a sample whose time is not above 0"
        if any(sample.cycles is not None and sample.cycles <= 0 for sample in measurement.samples):
            yield f"field {where} has a sample whose clock is not above 0"
    if record.trace is not None:
        yield from _trace_problems(record.trace)


def _trace_problems(trace: CaseTrace) -> Iterator[str]:
    """Yield what keeps a trace from being drawn: more than fits, or spans of kernels that are not there."""
    if len(trace.arms) > MAX_ARMS:
        yield f"field trace has {len(trace.arms)} arms, more than {MAX_ARMS}"
    if trace.compute_units is not None and not 1 <= trace.compute_units < 2**31:
        yield f"field trace.compute_units is {trace.compute_units}, no number of compute units"
    for place, arm in enumerate(trace.arms):
        for problem in _arm_problems(arm):
            yield f"field trace.arms[{place}] has {problem}"


def _arm_problems(arm: TracedArm) -> Iterator[str]:
    for name, count, most in (("kernels", len(arm.kernels), MAX_TRACED_KERNELS), ("spans", len(arm.spans), MAX_SPANS)):
        if count > most:
            yield f"{count} {name}, more than {most}"
    if any(not 0 <= span.kernel < len(arm.kernels) for span in arm.spans):
        yield "a span of a kernel that is not among its kernels"
    starts_us = [span.start_us for span in arm.spans]
    if any(start_us < 0 for start_us in starts_us) or starts_us != sorted(starts_us):
        yield "spans that are not in order"
    times_us = [span.duration_us for span in arm.spans]
    times_us += [us for one in arm.kernels for us in (one.average_us, one.median_us, one.minimum_us, one.total_us)]
    if any(not 0 < us <= MAX_TRACED_US for us in times_us) or any(start_us > MAX_TRACED_US for start_us in starts_us):
        yield f"a time that is not above 0, or above {MAX_TRACED_US:g} us"
    if any(kernel.calls < 1 for kernel in arm.kernels):
        yield "a kernel without calls"
    if not 0 <= arm.busy_ratio <= 1 or not 0 <= (arm.median_gap_us or 0) <= MAX_TRACED_US or arm.rounds < 1:
        yield "a share, a gap or a number of rounds that cannot be"
    workgroups = [count for kernel in arm.kernels for count in kernel.workgroups]
    workgroups += [span.workgroups for span in arm.spans if span.workgroups is not None]
    if any(not 1 <= count < 2**63 for count in workgroups):
        yield "a number of workgroups that is none"


def _texts(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and text of every string, names of fields included."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield path, str(key)
            yield from _texts(item, f"{path}.{key}"[:200].lstrip("."))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _texts(item, f"{path}[{index}]")
