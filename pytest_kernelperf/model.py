"""The records that the guard passes on: frozen values, no behaviour but derived figures.

They travel to device workers, into baselines and into ``run.json``. Units stand in the names:
``_us`` microseconds per round of the plan, ``_bytes``, ``_ratio`` (1.0 = no change). Unknown fields
are refused everywhere (``forbid_unknown_fields``), since baselines and run files may be strangers'.
"""

from __future__ import annotations

import hashlib
import math
from enum import Enum
from typing import Literal

import msgspec

Mode = Literal["graph", "queued", "loop"]
"""How a sample is taken; modes are never compared with each other."""

Cache = Literal["warm", "cold"]
"""What the caches hold when a round starts: what the round before left there, or nothing of its arguments.

Cache states are never compared with each other either.
"""

RuntimeName = Literal["rocm", "cuda", "cpu"]

Dimensions = tuple[int, int, int]


class Frozen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all records: immutable and strict about unknown fields."""


# --- what runs --------------------------------------------------------------------------------


class Floor(Frozen, frozen=True):
    """The fewest workgroups a launch may have where it cannot fill the device, and the reason."""

    workgroups: int
    reason: str


class BufferArgument(Frozen, frozen=True, tag="buffer"):
    """A device buffer's address, ``offset_bytes`` into it."""

    buffer: str
    offset_bytes: int = 0


class ScalarArgument(Frozen, frozen=True, tag="scalar"):
    """A value copied into the launch: numpy dtype string, little-endian bytes, alignment in bytes.

    ``data``: the bytes.
    """

    dtype: str
    data: bytes
    alignment: int


Argument = BufferArgument | ScalarArgument


class LaunchStep(Frozen, frozen=True, tag="launch"):
    """One kernel launch: grid in workgroups, block in threads, arguments in order.

    ``shared_bytes``: dynamic shared memory. ``floor``: the fewest workgroups that are meant, where they are too few
    for the device.
    """

    kernel: str
    grid: Dimensions
    block: Dimensions
    arguments: tuple[Argument, ...] = ()
    shared_bytes: int = 0
    floor: Floor | None = None

    @property
    def workgroups(self) -> int:
        """Workgroups of this launch."""
        return math.prod(self.grid)


class FillStep(Frozen, frozen=True, tag="fill"):
    """Set ``size_bytes`` bytes of a buffer to ``byte`` (hipMemsetAsync).

    ``offset_bytes``: where in the buffer it begins.
    """

    buffer: str
    byte: int
    offset_bytes: int
    size_bytes: int


class CopyStep(Frozen, frozen=True, tag="copy"):
    """Copy bytes from one device buffer to another (hipMemcpyAsync, device to device).

    ``size_bytes`` bytes of the buffer ``source``, from ``source_offset_bytes`` on, to the buffer ``target``, from
    ``target_offset_bytes`` on.
    """

    target: str
    source: str
    target_offset_bytes: int
    source_offset_bytes: int
    size_bytes: int


Step = LaunchStep | FillStep | CopyStep


class BufferSpec(Frozen, frozen=True):
    """A device buffer: its name, numpy dtype string (``<f4``) and shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]


class Plan(Frozen, frozen=True):
    """A variant's steps at one size, in order, as data."""

    steps: tuple[Step, ...]

    @property
    def launches(self) -> tuple[LaunchStep, ...]:
        """The kernel launches among the steps."""
        return tuple(step for step in self.steps if isinstance(step, LaunchStep))

    @property
    def digest(self) -> str:
        """SHA-256 of what is run; floors are what is expected of it, so they are left out."""
        bare = tuple(
            msgspec.structs.replace(step, floor=None) if isinstance(step, LaunchStep) else step for step in self.steps
        )
        return digest_of(Plan(bare))


class DeviceBuild(Frozen, frozen=True, tag="device"):
    """The source also holds host code, so that a real compiler makes its device code.

    ``compiler`` and ``architecture`` are what the project's compile commands name, empty where they name none.
    """

    compiler: str = ""
    architecture: str = ""


class ReadyObject(Frozen, frozen=True, tag="object"):
    """There is no source: the file is a code object, or an offload bundle; ``digest`` is its SHA-256."""

    digest: str


class SourceBundle(Frozen, frozen=True):
    """A kernel's source with the project headers it includes: all that its compiler gets to see.

    ``files`` maps paths relative to the main file's folder (posix, ``main`` among them) to text.
    ``options`` are compiler options, the project's only (``-D``, ``-I``, ``-std``).
    ``name_expressions`` are kernels to instantiate (``scale<float>``).
    ``build`` is unset where hiprtc compiles it: an unset field is not written, so older digests stay as they are.
    """

    main: str
    files: dict[str, str]
    options: tuple[str, ...] = ()
    name_expressions: tuple[str, ...] = ()
    build: DeviceBuild | ReadyObject | msgspec.UnsetType = msgspec.UNSET

    @property
    def digest(self) -> str:
        """SHA-256 of the whole bundle."""
        return digest_of(self)


ParameterKind = Literal["pointer", "signed", "unsigned", "float", "bool", "struct", "unknown"]


class Parameter(Frozen, frozen=True):
    """One kernel parameter as the code object's own metadata states it.

    ``pointee_*`` describe what a pointer points to, where the metadata says so (0 and ``unknown`` elsewhere).
    """

    kind: ParameterKind
    size_bytes: int
    pointee_kind: ParameterKind = "unknown"
    pointee_size_bytes: int = 0


class KernelFacts(Frozen, frozen=True):
    """What a code object says of one kernel: parameters (None: it says nothing), the digest of its
    instructions, descriptor and metadata, and resources such as ``vgprs`` or ``lds_bytes``."""

    instruction_digest: str
    parameters: tuple[Parameter, ...] | None = None
    resources: dict[str, int] = {}


class CodeObject(Frozen, frozen=True):
    """A compiled module: its bytes, their SHA-256, and what it says of each kernel.

    ``lowered_names`` maps name expressions (``scale<float>``) to the names in the object; both are keys of ``kernels``.
    ``cannot_run`` says why this device cannot run it; what it says of its kernels is then another device's, or empty.
    """

    digest: str
    data: bytes
    kernels: dict[str, KernelFacts]
    log: str = ""
    lowered_names: dict[str, str] = {}
    cannot_run: str = ""


# --- which case -------------------------------------------------------------------------------


class CaseId(Frozen, frozen=True, order=True):
    """Kernel x variant x tokens: one pytest item."""

    kernel: str
    variant: str
    tokens: int

    def __str__(self) -> str:
        return f"{self.kernel} {self.variant} at {self.tokens} token{'s' if self.tokens != 1 else ''}"


class DeviceFacts(Frozen, frozen=True):
    """The device and the HIP library that answers for it.

    ``compute_units`` is what starvation is judged by; ``hip_compute_units`` what HIP reports (half on RDNA, where
    it counts work-group processors). ``firmware``, ``clock_policy`` and ``power_limit_w`` hold its speed where it
    is. None or empty: not known. ``library``: the file that answers. ``key``: under which its baselines are kept.
    ``warp_size``, ``max_threads_per_block`` and ``max_shared_bytes`` are what a launch may use.
    ``total_memory_bytes``, ``l2_bytes`` and ``last_level_bytes`` are its memory's and caches' sizes.
    ``peak_gb_per_s``: the memory's highest bandwidth, of which the report's shares are. ``compute_units_source``:
    where their number was read. ``name`` and ``architecture`` are the device's own words. ``compiler``, ``driver``,
    ``hip_version`` and ``hip_python_version``: of what the code was made with and runs on.
    """

    runtime: RuntimeName
    library: str
    key: str
    name: str
    architecture: str
    compute_units: int
    hip_compute_units: int
    warp_size: int
    max_threads_per_block: int
    max_shared_bytes: int
    total_memory_bytes: int
    peak_gb_per_s: float | None = None
    l2_bytes: int | None = None
    last_level_bytes: int | None = None
    compute_units_source: str = ""
    hip_version: str = ""
    hip_python_version: str = ""
    compiler: str = ""
    driver: str = ""
    firmware: str = ""
    clock_policy: str = ""
    power_limit_w: float | None = None


NO_DEVICE = DeviceFacts("cpu", "", "", "", "", 0, 0, 0, 0, 0, 0)
"""What a run file says of the device where no runtime could be used: nothing, its key least of all."""


# --- what was measured ------------------------------------------------------------------------


NoiseKind = Literal["contention", "two_speeds", "clock_ramp", "throttled", "power_limited", "clock", "timer"]
"""What can move a time without the code: somebody else's work, a process of two speeds, clocks that are still rising
or heat up, clocks that a limit holds down, a power limit that all arms share, a clock that ran otherwise for one arm,
a timer that gave no time."""


class Noise(Frozen, frozen=True):
    """Something that is not the code, found in a measurement: what, in a sentence with its numbers, and what was done.

    ``retaken``: samples that were thrown away for it and taken again. ``settled``: what is left of the measurement is
    free of it.
    """

    kind: NoiseKind
    sentence: str
    retaken: int = 0
    settled: bool = False


class Sample(Frozen, frozen=True):
    """One timed batch: time per round in us, time to enqueue per round in us, block, place in the block.

    ``clock_mhz``: what the device's own counters said of its clock right after the batch; unset where it has none.
    ``host_us``: the time to enqueue. ``arm``: the side of the comparison that was timed.
    """

    arm: str
    block: int
    place: int
    time_us: float
    host_us: float
    clock_mhz: float | msgspec.UnsetType = msgspec.UNSET

    @property
    def cycles(self) -> float | None:
        """Device cycles per round, None where the clock is not known."""
        return None if self.clock_mhz is msgspec.UNSET else self.time_us * self.clock_mhz


InvalidCode = Literal["", "traced", "outputs", "timer", "gate", "mode"]
"""Why samples must not be used: a profiler, outputs gone bad, a clock gone mad, a gate that opened by itself, a mode
that became impossible."""


class Measurement(Frozen, frozen=True):
    """All samples that one process took of one case in one mode.

    ``contended_by`` is empty unless somebody else was active; ``fallback`` says why the mode is not the one asked
    for; ``invalid`` is a sentence where the samples must not be used (traced, outputs gone bad, clock gone mad).
    ``copies``: how many copies of the arguments the rounds took in turn; 1 with warm caches. ``noise``: what was
    found that is not the code. ``dwell_us``: how long each arm ran before each of its samples, so that the device's
    power and clock are that arm's own. ``rounds``: of the plan, in each sample. ``seed``: of the order of arms.
    ``foreign_cores``: how many cores (on a GPU: of processes that have it open) others kept busy meanwhile.
    ``discarded``: samples that were thrown away.
    """

    process: int
    mode: Mode
    rounds: int
    seed: int
    samples: tuple[Sample, ...]
    foreign_cores: float = 0.0
    contended_by: str = ""
    discarded: int = 0
    fallback: str = ""
    invalid: str = ""
    copies: int = 1
    invalid_code: InvalidCode = ""
    noise: tuple[Noise, ...] = ()
    dwell_us: float = 0.0

    def times_us(self, arm: str) -> tuple[float, ...]:
        """Times of one arm, in the order of its blocks."""
        return tuple(s.time_us for s in sorted(self.samples, key=lambda s: s.block) if s.arm == arm)


class Mismatch(Frozen, frozen=True):
    """Where outputs differ from the reference: how many of how many, and the first.

    ``differing`` of ``values`` values differ; at ``first_index``, in memory's order, is ``got`` in place of
    ``want``.
    """

    output: str
    differing: int
    values: int
    first_index: int
    got: str
    want: str


class Comparison(Frozen, frozen=True):
    """What the interleaved test found: change of time as a ratio, its interval, and how many processes agree.

    The interval is over processes, so it is None where there was only one. ``tolerance_ratio`` has 1.0 for none:
    1.01 is 1 %. ``needed`` of ``processes`` must say ``slower`` or ``faster`` for the case to be judged so, and
    ``p_slower`` or ``p_faster``, which take each process as one number, be at most ``agreement_alpha``; ``look_alpha``
    is the error that each process could use at this look, None in records of earlier versions;
    ``not_slower`` counts those that rule a slowdown beyond the tolerance out. ``detectable_ratio`` is the smallest
    slowdown that these samples would have shown, None where no slowdown would have. ``cycles_ratio`` is the change
    in device cycles, None where the device's clock is not known: a time that rose while cycles did not is the
    clock's doing. ``arm`` against ``against``: the two sides; ``time_us`` and ``against_us`` are their medians.
    ``low_ratio`` and ``high_ratio`` are the interval's ends, at ``confidence``. ``blocks``: in each process.
    ``alpha``: the error of one process's test. ``floor_us``: a difference below it never counts.
    ``process_numbers``: which processes; ``per_process_ratio`` has the change in each, ``per_process_shown_ratio``
    the smallest slowdown that each alone would have shown. ``p_not_slower``: of the test that rules a slowdown out.
    """

    arm: str
    against: str
    mode: Mode
    change_ratio: float
    low_ratio: float | None
    high_ratio: float | None
    confidence: float
    processes: int
    slower: int
    faster: int
    blocks: int
    alpha: float
    tolerance_ratio: float
    floor_us: float
    time_us: float
    against_us: float
    per_process_ratio: tuple[float, ...] = ()
    not_slower: int = 0
    needed: int = 0
    detectable_ratio: float | None = None
    p_slower: float | None = None
    p_faster: float | None = None
    p_not_slower: float | None = None
    agreement_alpha: float = 1.0
    process_numbers: tuple[int, ...] = ()
    per_process_shown_ratio: tuple[float, ...] = ()
    cycles_ratio: float | None = None
    look_alpha: float | None = None


class StoredComparison(Frozen, frozen=True):
    """Medians of today beside those stored with the accepted binary; shown, gated only when ``gated``.

    ``arm`` is whose medians: the accepted binary's own (``baseline``), or the new code's (``head``) where the
    accepted binary does not run any more. Only where ``gated``: ``slower``, a slowdown beyond the tolerance is
    proven; ``not_slower``, it is ruled out. ``reason`` says why it is not gated. ``change_ratio``: today's over
    stored. ``p_value``: of the test in which a process is one number; ``processes`` ran today, ``stored_processes``
    on ``stored_days`` days.
    """

    change_ratio: float
    p_value: float
    processes: int
    stored_processes: int
    stored_days: int
    gated: bool
    reason: str = ""
    slower: bool = False
    not_slower: bool = False
    arm: Literal["baseline", "head"] = "baseline"


class CreepStep(Frozen, frozen=True):
    """One accepted change of a case: the day (UTC) and its reason.

    ``ratio``: new / old time; None: the two were not compared. The change that is being judged has no day yet, and is
    the last one.
    """

    day: str
    reason: str
    ratio: float | None


class Creep(Frozen, frozen=True):
    """How much slower a case has become in accepted steps since its fastest accepted figure, of the day ``since``.

    ``change_ratio`` is the product of the steps' ratios, each taken side by side on its day, so that what the machine
    did meanwhile is not in it. ``allowed_ratio`` is the budget, 1.05 for 5 %.
    """

    since: str
    change_ratio: float
    allowed_ratio: float
    steps: tuple[CreepStep, ...]

    @property
    def exceeded(self) -> bool:
        """Whether the steps together are more than the budget allows."""
        return self.change_ratio > self.allowed_ratio


class Verdict(str, Enum):
    """What the guard says of a case."""

    IDENTICAL = "identical"
    UNCHANGED = "unchanged"
    IMPROVED = "improved"
    NEW = "new"
    ACCEPTED = "accepted"
    SKIPPED = "skipped"  # cannot run on this device; its plan was judged all the same
    CAUGHT = "caught"  # a mutation that the reference noticed
    WRONG = "wrong"
    STARVED = "starved"
    REGRESSED = "regressed"
    SLOWER_THAN_REPLACED = "slower_than_replaced"
    CRASHED = "crashed"
    HUNG = "hung"
    FAILED = "failed"  # does not compile, or a HIP call failed
    UNNOTICED = "unnoticed"  # a mutation that the reference did not notice
    UNDECIDED = "undecided"
    INVALID = "invalid"


class Decision(Frozen, frozen=True):
    """A verdict, whether it fails the run, a reason code, and the sentence with the numbers."""

    verdict: Verdict
    fails: bool
    code: str
    reason: str


class LaunchFill(Frozen, frozen=True):
    """How full one launch makes the device: workgroups against the threshold that was used.

    ``kernel``: whose launch. ``compute_units``: the device's, or the target's. ``waves``: of the whole launch, a
    part-filled one counted as one. ``floor``: where one is stated, ``threshold`` is it.
    """

    kernel: str
    workgroups: int
    threshold: int
    compute_units: int
    waves: int
    floor: Floor | None = None

    @property
    def starved(self) -> bool:
        """Whether the launch has fewer workgroups than it must."""
        return self.workgroups < self.threshold


class TracedKernel(Frozen, frozen=True):
    """One kernel of one arm's trace: all times are traced times, longer than untraced ones, and say nothing but why.

    ``median_us`` and ``minimum_us`` leave the first call out where there are more. ``workgroups``: the different
    numbers of workgroups, rising; empty where the trace does not tell. ``starved``: some launch has fewer
    workgroups than the traced device has compute units; None where either is unknown. ``average_us`` and
    ``total_us`` are over all calls; ``calls``: how many, of the kernel ``name``.
    """

    name: str
    calls: int
    average_us: float
    median_us: float
    minimum_us: float
    total_us: float
    workgroups: tuple[int, ...]
    starved: bool | None


class TracedSpan(Frozen, frozen=True):
    """One dispatch on the timeline: ``kernel`` is its place in ``TracedArm.kernels``, times are traced us.

    ``start_us`` counts from the first span's start. ``workgroups`` is None where the trace does not tell.
    ``duration_us``: from its start to its end.
    """

    kernel: int
    start_us: float
    duration_us: float
    workgroups: int | None


class TracedArm(Frozen, frozen=True):
    """What the trace of one arm says: its kernels, the longest in total first, and two whole rounds of it.

    ``rounds``: how many rounds were replayed and recorded. ``spans``: the dispatches of two rounds behind the first,
    in order; empty where rounds cannot be told apart. ``median_gap_us`` (None: one dispatch alone), ``busy_ratio``
    (share of the time in which a kernel ran) and ``starving`` (gaps longer than kernels) are over all rounds but the
    first. ``path``: the ``.db``, relative to the run file's folder.
    """

    arm: str
    kernels: tuple[TracedKernel, ...]
    spans: tuple[TracedSpan, ...]
    rounds: int
    median_gap_us: float | None
    busy_ratio: float
    starving: bool
    path: str


class CaseTrace(Frozen, frozen=True):
    """The traces of a case's arms, all recorded in one way; they decide nothing.

    ``origin``: what recorded them, ``rocprofv3``, ``cpu`` or ``cupti``. ``notes``: what went wrong, a sentence each;
    an arm without a trace has one. ``compute_units``: the traced device's, as the trace's agent tells them; None where
    it does not.
    """

    origin: str
    arms: tuple[TracedArm, ...] = ()
    notes: tuple[str, ...] = ()
    compute_units: int | None = None


ParentState = Literal["identical", "baseline", "timed", "absent", "unplayable"]
"""What the parent commit's code of a case is to head's: the same; the accepted one; another, timed beside it; not
there; there, but it could not be run beside it."""


class LimitEdit(Frozen, frozen=True):
    """A limit (``name``) that a change states otherwise than its parent, and whose the case was judged by.

    ``parent`` and ``here``: the values of both, for reading. ``judged_by``: ``parent`` where a change could else be
    judged by what it allows itself.
    """

    name: str
    parent: str
    here: str
    judged_by: Literal["parent", "here"] = "parent"


class ParentCase(Frozen, frozen=True):
    """The parent commit's code of a case: what it is to the code under test, in a word and in a sentence.

    ``limits``: those that this change states otherwise.
    """

    state: ParentState
    sentence: str
    limits: tuple[LimitEdit, ...] = ()


class Accepted(Frozen, frozen=True):
    """Who accepted a slowdown (``by``), why (``reason``), and for which commit alone (its full SHA)."""

    by: str
    reason: str
    commit: str


class BaselineEdit(Frozen, frozen=True):
    """A change of the project's own baselines beside those that it is measured against.

    ``old_us`` and ``new_us``: the times per round that both state, None where there is no such entry. ``reason`` is
    the one that the new entry gives. ``same_code``: the new entry holds head's very instructions, plan and inputs;
    None where that was not looked at (the case was not run, or the entry is gone). ``file``: the baseline file,
    relative to the project's root.
    """

    case: CaseId
    kind: Literal["added", "changed", "removed"]
    file: str
    old_us: float | None = None
    new_us: float | None = None
    reason: str = ""
    same_code: bool | None = None


class AcceptanceUse(Frozen, frozen=True):
    """A maintainer's acceptance that the run was given; ``refused``: the sentence that says why it has no effect.

    ``by``: who gave it, with which ``reason``, for which ``commit``.
    """

    by: str
    reason: str
    commit: str
    refused: str = ""


class Proposal(Frozen, frozen=True):
    """A case whose baseline should move, why, and the times per round that it has and would have, where known.

    ``old_us`` and ``new_us`` are these times.
    """

    case: CaseId
    why: Literal["improved", "new", "accepted", "renamed"]
    old_us: float | None = None
    new_us: float | None = None


class Blame(Frozen, frozen=True):
    """What a run was held against, beside the baselines, and what came of that for the run as a whole.

    ``commit``: the commit that was measured, ``parent_commit`` the one whose plans were given; empty where not
    known. ``parent_problems``: what of the parent could not be exported. ``baselines``: the folder that baselines
    were taken from, where it is not the project's own. ``vanished``: cases that the parent, or a baseline, has and
    no test any more; renamed ones are not among them. ``proposals``: cases whose baseline should move. ``edits``:
    what the project's own baselines have otherwise. ``acceptance``: the one that the run was given.
    """

    commit: str = ""
    parent_commit: str = ""
    parent_problems: tuple[str, ...] = ()
    baselines: str = ""
    edits: tuple[BaselineEdit, ...] = ()
    vanished: tuple[CaseId, ...] = ()
    acceptance: AcceptanceUse | None = None
    proposals: tuple[Proposal, ...] = ()


class Record(Frozen, frozen=True):
    """All about one case in one run.

    ``toolchain``: the accepted source, compiled today, against the accepted binary; it decides nothing by itself.
    ``trace``: its arms as a profiler recorded them, after the verdict; None: no trace was asked for. ``source``:
    the kernel's source file, relative to the project's root. ``resources_changed``: for each kernel that uses other
    resources than the accepted one, a sentence; ``launches_changed``: for each launch that is of another size than the
    accepted plan's, or one for all where they are other launches. ``parent``: None where no parent was given, or the
    case did not get as far. ``renamed_from``: the case whose baseline this one is held against, since no test has it
    any more.
    ``new_since``: the day (UTC) since when a case without baseline is declared; empty where nobody asked.
    ``baseline_edit``: the project's own entry is another. ``test``: the test file. ``plan``: what was run.
    ``plan_digest``, ``inputs_digest``, ``source_digest``, ``object_digest`` and ``instruction_digests`` are what
    identical code is known by; the last is by kernel, as ``resources`` are. ``buffers``: what the plan works on.
    ``moved_bytes`` and ``operations``: what the variant states of a round. ``fills``: how full each launch makes
    the device. ``time_us``: head's median time per round, or the baseline's where ``time_is_stored``; ``host_us``:
    the time to enqueue it. ``measurements``: the raw samples; ``comparisons`` are made of them. ``stored``: today
    beside the stored times. ``mismatch``: where results are wrong. ``notes``: what else to know, a sentence each.
    ``mutation_of``: the variant that this one breaks on purpose; empty for a variant. ``creep``: what accepted
    steps come to. ``accepted``: the acceptance that excused it.
    """

    case: CaseId
    test: str
    decision: Decision
    plan: Plan | None = None
    plan_digest: str = ""
    buffers: tuple[BufferSpec, ...] = ()
    inputs_digest: str = ""
    source_digest: str = ""
    object_digest: str = ""
    instruction_digests: dict[str, str] = {}
    resources: dict[str, dict[str, int]] = {}
    moved_bytes: int | None = None
    operations: int | None = None
    fills: tuple[LaunchFill, ...] = ()
    mode: Mode = "graph"
    time_us: float | None = None
    time_is_stored: bool = False
    host_us: float | None = None
    measurements: tuple[Measurement, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    stored: StoredComparison | None = None
    mismatch: Mismatch | None = None
    notes: tuple[str, ...] = ()
    mutation_of: str = ""
    cache: Cache = "warm"
    creep: Creep | None = None
    toolchain: Comparison | None = None
    source: str = ""
    resources_changed: tuple[str, ...] = ()
    launches_changed: tuple[str, ...] = ()
    trace: CaseTrace | None = None
    parent: ParentCase | None = None
    renamed_from: CaseId | None = None
    accepted: Accepted | None = None
    new_since: str = ""
    baseline_edit: BaselineEdit | None = None


class CurveRecord(Frozen, frozen=True):
    """All timed sizes of one variant in one run, pooled: ``tokens`` are those sizes.

    ``change_ratio`` is the mean over sizes, None where too few were timed to pool; the interval is over processes.
    ``sizes_slower`` counts sizes whose mean lies above no change; ``per_size_ratio`` is each one's own change.
    ``tolerance_ratio`` has 1.0 for none. ``kernel`` and ``variant`` say whose curve, ``test`` in which file.
    ``processes``: how many were pooled; ``low_ratio`` and ``high_ratio`` are the interval's ends. ``p_slower``: of
    the test over processes; ``p_sizes_slower``: of the one over sizes.
    """

    kernel: str
    variant: str
    test: str
    decision: Decision
    tokens: tuple[int, ...] = ()
    mode: Mode = "graph"
    processes: int = 0
    change_ratio: float | None = None
    low_ratio: float | None = None
    high_ratio: float | None = None
    tolerance_ratio: float | None = None
    sizes_slower: int = 0
    p_slower: float | None = None
    p_sizes_slower: float | None = None
    per_size_ratio: tuple[float, ...] = ()


class Drift(Frozen, frozen=True):
    """The accepted binaries of all timed cases today beside their own stored times: did the machine move?

    ``change_ratio`` is the middle case's, ``per_process_ratio`` each process's of today over its cases. ``reason``
    says why nothing can be said; ``changed`` what differs from the facts that the stored processes ran under, where
    those were kept (``facts_known``). ``stored_from`` and ``stored_to``: first and last day of the stored processes
    (UTC). ``moved``: whether they differ by more than ``tolerance_ratio``, at ``p_value`` below ``alpha``.
    ``cases`` were compared, in ``processes`` of today and ``stored_processes``.
    """

    change_ratio: float
    p_value: float
    alpha: float
    tolerance_ratio: float
    cases: int
    processes: int
    stored_processes: int
    moved: bool
    reason: str = ""
    per_process_ratio: tuple[float, ...] = ()
    stored_from: str = ""
    stored_to: str = ""
    facts_known: bool = False
    changed: tuple[str, ...] = ()


class Run(Frozen, frozen=True):
    """One run of the guard: ``run.json``.

    ``commit``: what was measured, as CI names it; empty where it does not. ``tool_version``: of pytest-kernelperf.
    ``started_at``: UTC. ``environment``: what may explain a change of speed. ``settings``: as the run had them.
    ``records``: one for each case that was run; ``curves``: one for each variant of three sizes or more.
    ``scripted_clock``: times are played from a script, by tests alone. ``drift``: whether the machine moved.
    ``blame``: what the run was held against.
    """

    version: int
    tool_version: str
    started_at: str
    device: DeviceFacts
    environment: dict[str, str]
    settings: dict[str, str]
    records: tuple[Record, ...]
    scripted_clock: bool = False
    drift: Drift | None = None
    curves: tuple[CurveRecord, ...] = ()
    commit: str = ""
    blame: Blame | None = None


def digest_of(value: object) -> str:
    """SHA-256 (hex) of a value's canonical JSON: sorted keys, so that equal values have equal digests."""
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


def digest_of_bytes(data: bytes | memoryview) -> str:
    """SHA-256 (hex) of bytes."""
    return hashlib.sha256(data).hexdigest()
