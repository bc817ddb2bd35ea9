"""What a calibration is asked to do, and what it came to: data that travels between the command and its pytest."""

from __future__ import annotations

from pytest_kernelperf.baseline.calibration import Calibration
from pytest_kernelperf.model import Frozen, Mode

MODES: tuple[Mode, ...] = ("graph", "queued", "loop")


class Wish(Frozen, frozen=True):
    """How to calibrate: for how long, with how many copies of each code object, in which modes beside the gate's.

    ``outcome`` is the file that the run writes its ``Outcome`` to; ``store``: put the result beside the baselines.
    """

    outcome: str
    budget_s: float = 300.0
    copies: int = 4
    modes: tuple[Mode, ...] = MODES
    store: bool = True


class Outcome(Frozen, frozen=True):
    """What came of it.

    ``problem``: why there is no result, in one sentence. ``stored``: the file, empty where nothing was stored.
    ``left_out``: cases that could not be measured beside themselves, each with its reason. ``unreached``: cases for
    which the time did not suffice at all; ``missed_modes``: cases that were measured, each with a mode in which it did
    not suffice for them; ``visited_once``: those for whose second visit it did not. ``disturbed``: measurements that
    were thrown away since somebody else was active.
    """

    calibration: Calibration | None = None
    problem: str = ""
    stored: str = ""
    left_out: tuple[tuple[str, str], ...] = ()
    unreached: tuple[str, ...] = ()
    disturbed: int = 0
    missed_modes: tuple[tuple[str, Mode], ...] = ()
    visited_once: tuple[str, ...] = ()
