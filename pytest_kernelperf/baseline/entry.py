"""What a baseline file holds: its cases, the samples they were accepted with, and how they came to be accepted."""

from __future__ import annotations

import statistics
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from pytest_kernelperf.baseline.field import (
    Count,
    Day,
    DeviceKey,
    Digest,
    EnvironmentKey,
    KernelName,
    ModulePath,
    Ratio,
    ShortText,
    Text,
    TimeUs,
    VariantName,
)
from pytest_kernelperf.model import BufferSpec, Cache, DeviceFacts, Frozen, Mode, Plan, RuntimeName


class ProcessSamples(Frozen, frozen=True):
    """What one process measured of the accepted code: time per round in us, one per block, and the day (UTC).

    ``environment``: the key of its facts (driver, clock policy, …) among the file's ``environments``.
    """

    day: Day
    rounds: Annotated[int, Meta(ge=1)]
    times_us: Annotated[tuple[TimeUs, ...], Meta(min_length=1, max_length=10_000)]
    environment: EnvironmentKey | msgspec.UnsetType = msgspec.UNSET

    @property
    def median_us(self) -> float:
        """Median time per round."""
        return statistics.median(self.times_us)


class Anchor(Frozen, frozen=True):
    """The first figure that was accepted of a case: time per round in us, its mode, and the day (UTC)."""

    day: Day
    time_us: TimeUs
    mode: Mode


class AcceptedStep(Frozen, frozen=True):
    """One later acceptance: its day, the reason given, and new binary / old binary, both timed side by side then.

    ``ratio`` is null where the two were not compared (another mode, another interface).
    """

    day: Day
    reason: Text
    ratio: Ratio | None


class BaselineCase(Frozen, frozen=True):
    """One accepted case: what it runs, on which buffers, and the samples it was accepted with.

    ``resources`` and ``instruction_digests`` are per kernel of the plan; ``object_digest`` and ``source_digest``
    name files beside the baseline. The plan's floors are left out: they are what is expected of the code, not what
    runs. ``cache`` is unset where caches were warm, ``operations`` where the variant states none, ``anchor`` and
    ``steps`` before a second acceptance: an unset field is not written, so the bytes of older entries stay.
    ``variant`` and ``tokens`` say which case. ``processes``: what each process measured. ``moved_bytes``: what the
    variant states. ``inputs_digest``: of the inputs' shapes, types and values. ``reason`` and ``accepted_at``: why
    and when it was accepted; ``tool_version``, ``compiler``, ``driver`` and ``hip_version``: with what.
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
    anchor: Anchor | msgspec.UnsetType = msgspec.UNSET
    steps: Annotated[tuple[AcceptedStep, ...], Meta(min_length=1, max_length=1000)] | msgspec.UnsetType = msgspec.UNSET

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
    """Which device the key stands for, for who reads the file.

    ``name`` and ``architecture`` are its own words; ``compute_units``: what starvation is judged by,
    ``hip_compute_units`` what HIP counts.
    """

    runtime: RuntimeName
    name: ShortText
    architecture: ShortText
    compute_units: Count
    hip_compute_units: Count

    @classmethod
    def of(cls, facts: DeviceFacts) -> DeviceSummary:
        """Take what a baseline keeps of a device's facts."""
        return cls(facts.runtime, facts.name, facts.architecture, facts.compute_units, facts.hip_compute_units)


Environments = Annotated[
    dict[EnvironmentKey, Annotated[dict[ShortText, ShortText], Meta(max_length=200)]],
    Meta(min_length=1, max_length=1000),
]


class Baseline(Frozen, frozen=True):
    """All accepted cases of one kernel on one device.

    ``test_module`` is the kernel's test file, posix, relative to the project's root. Cases are in order of variant
    and tokens, each once. ``environments``: the facts that processes ran under, name -> text, by key.
    ``device_key``: the name of the folder that it lies in.
    """

    version: int
    kernel: KernelName
    device_key: DeviceKey
    device: DeviceSummary
    test_module: ModulePath
    cases: Annotated[tuple[BaselineCase, ...], Meta(min_length=1, max_length=10_000)]
    environments: Environments | msgspec.UnsetType = msgspec.UNSET

    def facts_of(self, process: ProcessSamples) -> dict[str, str]:
        """Return the facts that a process ran under; empty where nothing was kept of them."""
        known = {} if self.environments is msgspec.UNSET else self.environments
        return {} if process.environment is msgspec.UNSET else known.get(process.environment, {})

    def case(self, variant: str, tokens: int) -> BaselineCase | None:
        """Return the accepted case, or None when there is none."""
        return next((case for case in self.cases if (case.variant, case.tokens) == (variant, tokens)), None)


def case_name(variant: str, tokens: int) -> str:
    """Return a case as sentences name it."""
    return f"{variant} at {tokens} token{'s' if tokens != 1 else ''}"
