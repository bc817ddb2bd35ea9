"""A baseline file: what was accepted for one kernel on one device, enough to run it again.

The file names the device's key, so that a file copied into another device's folder is noticed. Code
objects and sources lie beside it, by digest.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from pytest_kernelperf import strict_json
from pytest_kernelperf.baseline.entry import Baseline, BaselineCase, DeviceSummary, Environments, case_name
from pytest_kernelperf.baseline.field import DeviceKey, KernelName, ModulePath
from pytest_kernelperf.errors import BaselineError
from pytest_kernelperf.model import BufferArgument, FillStep, LaunchStep

T = TypeVar("T")

# History of the file:
#   1  first form: cases with plan, buffers, digests and samples per process;
#      since cold caches can be asked for, a case taken with them has "cache": "cold" (no other case has the field);
#      "operations" stands in cases whose variant states them, and in no other;
#      a process may name the facts it ran under ("environment", a key of the file's "environments"), and a case that
#      was accepted anew since its first figure has that one ("anchor") and the steps since ("steps"); older entries
#      have none of the three and mean what they meant
VERSION = 1

MAX_FILE_BYTES = 32 * 1024 * 1024

RESTORE = "restore the file from git, or delete it and store it anew with pytest --kernelperf --update-baselines"


class _AnyVersion(msgspec.Struct):
    version: object = None


class _AnyCase(msgspec.Struct):
    variant: object = None
    tokens: object = None


class _Undecoded(msgspec.Struct, forbid_unknown_fields=True):
    """A baseline whose cases are still text, so that a refusal can say which case it is about."""

    version: int
    kernel: KernelName
    device_key: DeviceKey
    device: DeviceSummary
    test_module: ModulePath
    cases: Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=10_000)]
    environments: Environments | msgspec.UnsetType = msgspec.UNSET


def encode(baseline: Baseline) -> bytes:
    """Return the file's bytes; reading them and encoding again gives the same bytes.

    Raises:
        BaselineError: the record breaks a rule of the file (not finite, no samples, a bad name).
    """
    try:
        data = strict_json.layout(baseline)
    except ValueError as refusal:
        raise BaselineError(f"the baseline of {baseline.kernel} cannot be stored: {refusal}") from None
    decode(data, f"the baseline of {baseline.kernel}", advice="nothing was stored; this is a fault of the guard")
    return data


def decode(data: bytes, name: str, *, folder_key: str | None = None, advice: str = RESTORE) -> Baseline:
    """Read a baseline file's bytes; ``name`` is how sentences name the file.

    ``folder_key`` is the device key of the folder it lies in; None leaves that unchecked.

    Raises:
        BaselineError: one sentence with file, case and field.
    """
    if len(data) > MAX_FILE_BYTES:
        raise BaselineError(f"{name}: has {len(data)} bytes, a baseline has at most {MAX_FILE_BYTES}: {advice}")
    refuse_version(_strictly(data, _AnyVersion, name, advice).version, name)
    raw = _strictly(data, _Undecoded, name, advice)
    cases = tuple(_decode_case(case, place, name, advice) for place, case in enumerate(raw.cases))
    keys = [(case.variant, case.tokens) for case in cases]
    for before, after in itertools.pairwise(keys):
        if before >= after:
            how = "twice" if before == after else "out of order"
            raise BaselineError(f"{name}: has case {case_name(*after)} {how}: {advice}")
    baseline = Baseline(
        raw.version, raw.kernel, raw.device_key, raw.device, raw.test_module, cases, environments=raw.environments
    )
    for problem in _unknown_environments(baseline):
        raise BaselineError(strict_json.one_line(f"{name}: {problem}: {advice}"))
    if folder_key is not None and baseline.device_key != folder_key:
        raise BaselineError(
            f"{name}: was stored on device {baseline.device_key} but lies in the folder of {folder_key}: "
            f"move it to the folder {baseline.device_key}, or delete it"
        )
    return baseline


def refuse_version(version: object, name: str) -> None:
    """Refuse a file of another version with what to do about it."""
    if version == VERSION and not isinstance(version, bool):
        return
    if isinstance(version, int) and version > VERSION:
        advice = "it was written by a newer pytest-kernelperf: upgrade this one"
    else:
        advice = RESTORE
    shown = "no version" if version is None else f"version {version!r:.40}"
    shown = strict_json.one_line(shown)
    raise BaselineError(f"{name}: has {shown}, and this pytest-kernelperf reads version {VERSION}: {advice}")


def _strictly(data: bytes | msgspec.Raw, kind: type[T], subject: str, advice: str) -> T:
    return strict_json.decode(data, kind, subject=subject, error=BaselineError, advice=advice)


def _decode_case(raw: msgspec.Raw, place: int, name: str, advice: str) -> BaselineCase:
    known = _strictly(raw, _AnyCase, f"{name}: case number {place + 1}", advice)
    if isinstance(known.variant, str) and isinstance(known.tokens, int):
        subject = f"{name}: case {case_name(known.variant[:200], known.tokens)}"
    else:
        subject = f"{name}: case number {place + 1}"
    case = _strictly(raw, BaselineCase, subject, advice)
    for problem in _inconsistencies(case):
        raise BaselineError(strict_json.one_line(f"{subject}: {problem}: {advice}"))
    return case


def _unknown_environments(baseline: Baseline) -> Iterator[str]:
    known = frozenset[str]() if baseline.environments is msgspec.UNSET else frozenset(baseline.environments)
    for case in baseline.cases:
        for place, process in enumerate(case.processes):
            if process.environment is not msgspec.UNSET and process.environment not in known:
                yield (
                    f"case {case.name}: field processes[{place}].environment: names {process.environment}, which is "
                    "not among environments"
                )


def _inconsistencies(case: BaselineCase) -> Iterator[str]:
    """Yield what in a case contradicts itself, so that a damaged plan is never sent to a device."""
    if (case.anchor is msgspec.UNSET) != (case.steps is msgspec.UNSET):
        yield "has an anchor without steps, or steps without an anchor"
    # Days are counted before stored times may gate, so that one of no calendar must not count.
    for field, day in _days(case):
        if not _is_day(day):
            yield f"field {field}: expected a day such as 2026-01-31, not {day}"
    buffers = {buffer.name for buffer in case.buffers}
    for place, step in enumerate(case.plan.steps):
        if isinstance(step, LaunchStep):
            used = [argument.buffer for argument in step.arguments if isinstance(argument, BufferArgument)]
            if step.kernel not in case.instruction_digests:
                yield f"field instruction_digests: has nothing for kernel {step.kernel} of plan.steps[{place}]"
        elif isinstance(step, FillStep):
            used = [step.buffer]
        else:
            used = [step.target, step.source]
        for name in used:
            if name not in buffers:
                yield f"field plan.steps[{place}]: uses buffer {name}, which is not among its buffers"


def _days(case: BaselineCase) -> Iterator[tuple[str, str]]:
    """Every day that a case names, with its field."""
    yield "accepted_at", case.accepted_at
    for place, process in enumerate(case.processes):
        yield f"processes[{place}].day", process.day
    if case.anchor is not msgspec.UNSET:
        yield "anchor.day", case.anchor.day
    for place, step in enumerate(() if case.steps is msgspec.UNSET else case.steps):
        yield f"steps[{place}].day", step.day


def _is_day(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True
