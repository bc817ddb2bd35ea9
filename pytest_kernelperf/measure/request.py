"""What a measurement is asked to be: data that travels to a worker, so nothing here needs a device."""

from __future__ import annotations

from pytest_kernelperf.model import CaseId, CodeObject, Frozen, Mode, Plan


class Arm(Frozen, frozen=True):
    """One side of a comparison: its name (``head``, ``baseline``, ...), the code object and the launch plan.

    ``rounds_ratio`` is a known change of time, put in on purpose to see whether it is noticed: with 1.01 a batch runs
    202 rounds of the plan where the other arms' run 200, and its time is still given per round of those 200. A guard
    never sets it; benchmarks and drills do.
    """

    name: str
    code: CodeObject
    plan: Plan
    rounds_ratio: float = 1.0

    def rounds_of(self, rounds: int) -> int:
        """The rounds that this arm runs where an arm without a change runs ``rounds``: at least one more or fewer."""
        wanted = round(rounds * self.rounds_ratio)
        if self.rounds_ratio > 1:
            return max(wanted, rounds + 1)
        return wanted if self.rounds_ratio == 1 else max(1, min(wanted, rounds - 1))

    def changed_ratio(self, rounds: int) -> float:
        """The change that is put in at ``rounds``: whole rounds may be more or less than ``rounds_ratio``, and a batch
        of one round cannot be made shorter."""
        return self.rounds_of(rounds) / rounds


class MeasureRequest(Frozen, frozen=True):
    """Blocks of samples of one case, all arms on the same buffers, in one process.

    Attributes:
        case: what the errors name.
        mode: how a sample is taken; a plan that cannot be captured is measured ``queued`` instead, and says so.
        arms: one or more; names are unique.
        blocks: how many blocks to take, each with one sample of every arm.
        first_block: the number of the first of them, so that a second look goes on in the same random order.
        seed: decides the order of the arms in every block; stored with the samples.
        rounds: rounds of the plan per sample; None: sized after the warm-up. A second look passes the first's.
        max_rounds: upper limit when sized; None: the runtime's default. Fewer are taken where outputs would overflow.
        target_us: longest batch in us when sized; None: the runtime's default.
        warm_up_us: longest warm-up of all arms together, in us; None: the runtime's default.
        check_outputs: buffers that must not be non-finite after timing where they were finite after one round.
        cold_bytes: rounds must not find their arguments in caches of this size (bytes of all levels before memory), so
            each takes the next of several copies; 0: caches stay warm.
        dwell_us: how long each arm runs, untimed, before each of its samples.
        reads_clock: whether the device's clock is read after each sample, which takes a tenth of a millisecond.
        root_pid: the process whose tree counts as our own when activity on the machine is judged.
    """

    case: CaseId
    mode: Mode
    arms: tuple[Arm, ...]
    blocks: int
    first_block: int = 0
    seed: int = 0
    rounds: int | None = None
    max_rounds: int | None = None
    target_us: float | None = None
    warm_up_us: float | None = None
    check_outputs: tuple[str, ...] = ()
    cold_bytes: int = 0
    dwell_us: float = 0.0
    reads_clock: bool = True
    root_pid: int = 0

    @property
    def longest_dwell_s(self) -> float:
        """How long arms may dwell in all, in seconds: blocks are taken again as often as they were asked for at most,
        and all of them twice more while times still move."""
        return 2 * 3 * self.blocks * len(self.arms) * self.dwell_us / 1e6
