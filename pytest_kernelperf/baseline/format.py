"""A baseline file: what was accepted for one kernel on one device, enough to run it again.

The file names the device's key, so that a file copied into another device's folder is noticed. Code
objects and sources lie beside it, by digest.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta

from pytest_kernelperf import strict_json
from pytest_kernelperf.errors import BaselineError
from pytest_kernelperf.model import (
    BufferArgument,
    BufferSpec,
    Cache,
    DeviceFacts,
    FillStep,
    Frozen,
    LaunchStep,
    Mode,
    Plan,
    RuntimeName,
)

T = TypeVar("T")

# History of the file:
#   1  first form: cases with plan, buffers, digests and samples per process;
#      since cold caches can be asked for, a case taken with them has "cache": "cold" (no other case has the field);
#      "operations" stands in cases whose variant states them, and in no other
VERSION = 1

MAX_FILE_BYTES = 32 * 1024 * 1024

RESTORE = "restore the file from git, or delete it and store it anew with pytest --kernelperf --update-baselines"

KernelName = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-][A-Za-z0-9_.-]*\Z", min_length=1, max_length=120)]
DeviceKey = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_-][A-Za-z0-9_.-]*\Z", min_length=1, max_length=200)]
ModulePath = Annotated[str, Meta(pattern=r"\A[^\x00-\x1f\x7f]+\Z", max_length=1000)]
VariantName = Annotated[str, Meta(pattern=r"\A[^\x00-\x1f\x7f]+\Z", max_length=200)]
Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Day = Annotated[str, Meta(pattern=r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")]
ShortText = Annotated[str, Meta(max_length=400)]
Text = Annotated[str, Meta(max_length=4000)]
TimeUs = Annotated[float, Meta(gt=0, le=1e12)]
Count = Annotated[int, Meta(ge=0, le=2**62)]


class ProcessSamples(Frozen, frozen=True):
    """What one process measured of the accepted code: time per round in us, one per block, and the day (UTC)."""

    day: Day
    rounds: Annotated[int, Meta(ge=1)]
    times_us: Annotated[tuple[TimeUs, ...], Meta(min_length=1, max_length=10_000)]

    @property
    def median_us(self) -> float:
        """Median time per round."""
        return statistics.median(self.times_us)


class BaselineCase(Frozen, frozen=True):
    """One accepted case: what it runs, on which buffers, and the samples it was accepted with.

    ``resources`` and ``instruction_digests`` are per kernel of the plan; ``object_digest`` and
    ``source_digest`` name files beside the baseline. The plan's floors are left out: they are what is
    expected of the code, not what runs. ``cache`` is unset where caches were warm, ``operations`` where the
    variant states none: an unset field is not written, so the bytes of older entries stay.
    """

    variant: VariantName
    tokens: Annotated[int, Meta(ge=0, le=2**62)]
    mode: Mode
    plan: Plan
    buffers: Annotated[tuple[BufferSpec, ...], Meta(max_length=1000)]
    inputs_digest: Digest
    source_digest: Digest
    object_digest: Digest
    instruction_digests: dict[ShortText, Digest]
    resources: dict[ShortText, dict[ShortText, int]]
    processes: Annotated[tuple[ProcessSamples, ...], Meta(min_length=1, max_length=1000)]
    moved_bytes: Count | None
    reason: Text
    accepted_at: Day
    tool_version: ShortText
    compiler: ShortText
    driver: ShortText
    hip_version: ShortText
    cache: Literal["cold"] | msgspec.UnsetType = msgspec.UNSET
    operations: Annotated[int, Meta(ge=1, le=2**62)] | msgspec.UnsetType = msgspec.UNSET

    @property
    def cache_state(self) -> Cache:
        """What the caches held when a round started."""
        return "warm" if self.cache is msgspec.UNSET else "cold"

    @property
    def time_us(self) -> float:
        """Median over processes of their medians."""
        return statistics.median(process.median_us for process in self.processes)

    @property
    def days(self) -> int:
        """On how many different days its processes ran."""
        return len({process.day for process in self.processes})

    @property
    def name(self) -> str:
        """The case as sentences name it: ``separate at 7 tokens``."""
        return case_name(self.variant, self.tokens)


class DeviceSummary(Frozen, frozen=True):
    """Which device the key stands for, for who reads the file."""

    runtime: RuntimeName
    name: ShortText
    architecture: ShortText
    compute_units: Count
    hip_compute_units: Count

    @classmethod
    def of(cls, facts: DeviceFacts) -> DeviceSummary:
        """Take what a baseline keeps of a device's facts."""
        return cls(facts.runtime, facts.name, facts.architecture, facts.compute_units, facts.hip_compute_units)


class Baseline(Frozen, frozen=True):
    """All accepted cases of one kernel on one device.

    ``test_module`` is the kernel's test file, posix, relative to the project's root. Cases are in order
    of variant and tokens, each once.
    """

    version: int
    kernel: KernelName
    device_key: DeviceKey
    device: DeviceSummary
    test_module: ModulePath
    cases: Annotated[tuple[BaselineCase, ...], Meta(min_length=1, max_length=10_000)]

    def case(self, variant: str, tokens: int) -> BaselineCase | None:
        """Return the accepted case, or None when there is none."""
        return next((case for case in self.cases if (case.variant, case.tokens) == (variant, tokens)), None)


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


def case_name(variant: str, tokens: int) -> str:
    """Return a case as sentences name it."""
    return f"{variant} at {tokens} token{'s' if tokens != 1 else ''}"


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
    baseline = Baseline(raw.version, raw.kernel, raw.device_key, raw.device, raw.test_module, cases)
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
    shown = "no version" if version is None else f"version {str(version)[:40]}"
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


def _inconsistencies(case: BaselineCase) -> Iterator[str]:
    """Yield what in a case contradicts itself, so that a damaged plan is never sent to a device."""
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
