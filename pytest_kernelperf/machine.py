"""What a machine's files say and what probes of its device found: the records that ``kernelperf doctor`` reads.

A machine is described without opening its device; a probe ran on an open one. None: not known, or not readable.
"""

from __future__ import annotations

from pytest_kernelperf.model import Frozen

KNOWN_PEAKS = {"gfx1151": (256.0, "LPDDR5X-8000 on 256 bits")}
"""Peak bandwidth in GB/s by specification, and of what, where the memory clock that drivers report misleads.

LPDDR5X moves eight words per reported clock, not the two of other double data rate memory.
"""

# --- what the machine's files say ---------------------------------------------------------------


class GpuState(Frozen, frozen=True):
    """A GPU's clock, power and policy at one moment; ``source`` says who told (``card1``, ``NVML``).

    ``performance_level`` is amdgpu's (``auto``, ``low``, ``high``, ``manual``, ``profile_…``) or NVML's (``P0``).
    ``throttled_by`` names what holds the clock down, as far as the driver says it. ``vram_bytes`` is memory of its own
    (on an APU what the firmware sets aside), ``gtt_bytes`` what it may use of the host's.
    """

    source: str
    clock_mhz: float | None = None
    most_clock_mhz: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: float | None = None
    performance_level: str = ""
    busy_percent: int | None = None
    throttled_by: str = ""
    memory_clock_mhz: float | None = None
    most_memory_clock_mhz: float | None = None
    vram_bytes: int | None = None
    gtt_bytes: int | None = None


class SpeedPolicy(Frozen, frozen=True):
    """What holds a device's speed where it is besides its hardware; empty or None where it is not known.

    ``firmware`` names versions, ``clock_policy`` what decides the clocks (``auto``, a governor, application clocks).
    """

    firmware: str = ""
    clock_policy: str = ""
    power_limit_w: float | None = None


class Gpu(Frozen, frozen=True):
    """A GPU as the kernel's files (KFD) or NVML describe it.

    ``place`` is its PCI address (``0000:c5:00.0``); ``hip_compute_units`` what HIP would count.
    """

    vendor: str
    name: str
    place: str
    architecture: str = ""
    key: str = ""
    compute_units: int | None = None
    hip_compute_units: int | None = None
    compute_units_source: str = ""
    peak_gb_per_s: float | None = None
    l2_bytes: int | None = None
    last_level_bytes: int | None = None
    state: GpuState | None = None


class GpuUser(Frozen, frozen=True):
    """A process that has a GPU's compute driver open; ``queues`` it made, and the GPUs (PCI addresses) they are on.

    Both as far as KFD says.
    """

    pid: int
    name: str
    queues: int | None = None
    places: tuple[str, ...] = ()


class Runtime(Frozen, frozen=True):
    """One of the three runtimes: the library found for it, or the sentence that says what is missing.

    ``host_code_compiler`` makes device code of files with host code in them; else ``host_code_problem`` says why not.
    """

    name: str
    library: str
    problem: str
    host_code_compiler: str = ""
    host_code_problem: str = ""


class Machine(Frozen, frozen=True):
    """A machine by its files below ``root``; ``governor`` is the CPU's clock policy.

    ``users`` is None where nobody says who has the compute driver open.
    """

    root: str
    kernel: str
    processor: str
    cores: int
    memory_bytes: int
    governor: str
    gpus: tuple[Gpu, ...]
    users: tuple[GpuUser, ...] | None
    runtimes: tuple[Runtime, ...]
    environment: tuple[str, ...]


# --- what probes of the open device found -------------------------------------------------------


class Answering(Frozen, frozen=True, tag="answering"):
    """The files that answer for HIP and hiprtc, as ``dladdr`` says it, and the device's PCI address."""

    hip: str
    hiprtc: str
    place: str


class CompileReading(Frozen, frozen=True, tag="compile"):
    """The same source compiled twice, in other folders and under another path.

    ``kernels``: how many it holds; ``differing``: those whose digests differ; ``whole_equal``: the files are equal.
    """

    kernels: int
    differing: tuple[str, ...]
    whole_equal: bool


class GateReading(Frozen, frozen=True, tag="gate"):
    """What the gate did. ``not_used_because``: launches block here, so that there is none.

    ``holds``: what was queued behind the closed gate did not run; ``opens``: it ran once the gate was opened;
    ``left_after_ms``: when the gate left by itself, though nobody opened it, None if it did not;
    ``second_releaser``: whether the native thread opened it in time.
    """

    not_used_because: str = ""
    holds: bool = False
    opens: bool = False
    left_after_ms: float | None = None
    second_releaser: bool = False


class QueueReading(Frozen, frozen=True, tag="queue"):
    """How many launches fit behind a closed gate. ``full``: the next one waited; else there was room for more.

    ``needed``: how many the guard puts there at most.
    """

    depth: int
    full: bool
    needed: int


class TimerReading(Frozen, frozen=True, tag="timer"):
    """The device's clock as its events show it, in ns.

    ``step_ns``: the smallest difference between two times; ``least_ns``: the shortest time between two events.
    """

    step_ns: float | None
    least_ns: float | None
    readings: int


class ActivityReading(Frozen, frozen=True, tag="activity"):
    """Who else was active for ``window_s`` seconds while we were not, and who has the GPU open (idle or not)."""

    window_s: float
    foreign_cores: float
    steal_cores: float
    busiest: str
    contended_by: str
    users: tuple[str, ...]


class RecorderReading(Frozen, frozen=True, tag="recorder"):
    """What takes traces here, and the file that does: it was found to fit, and where it could be tried, it was."""

    by: str
    file: str


Reading = Answering | CompileReading | GateReading | QueueReading | TimerReading | ActivityReading | RecorderReading
