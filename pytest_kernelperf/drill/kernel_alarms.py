"""The alarms that need a kernel that can be broken at will: the drill's own, under the project's settings."""

from __future__ import annotations

from pytest_kernelperf.drill.expectation import Answer, expect, failing, passing
from pytest_kernelperf.drill.task import CannotSetOff, Scene, Task

USUAL_TURNS = 300
"""As the kernel's test has it."""

SPIN_TIMES = 20.0
"""A kernel that spins longer does so by this many times the tolerance: launching it takes time that does not grow."""


def starved(scene: Scene) -> Answer:
    """Launch one workgroup where there were a thousand; the results are the same."""
    if scene.device.compute_units <= 1:
        raise CannotSetOff(f"{scene.device.name} has one compute unit, which one workgroup fills")
    run = scene.ground.guard(environment={"KERNELPERF_DRILL_STARVED": "1"})
    wanted = failing(scene.first, "starved", words="1 workgroup") | passing(scene.others, "identical")
    return expect(run, wanted, tell=(scene.first,))


def spinning(scene: Scene) -> Answer:
    """Have the kernel spin longer: new arguments, so that nothing but the device's time tells."""
    if scene.scripted:
        raise CannotSetOff("the clock is scripted, and does not see how long a kernel takes")
    tolerance = _tolerance(scene)
    turns = round(USUAL_TURNS * (1 + SPIN_TIMES * tolerance))
    run = scene.ground.guard(environment={"KERNELPERF_DRILL_TURNS": str(turns)})
    wanted = failing(scene.first, "regressed") | passing(scene.others, "identical")
    answer = expect(run, wanted, tell=(scene.first,))
    return answer.after(f"{turns} turns for {USUAL_TURNS}")


def _tolerance(scene: Scene) -> float:
    comparison = next((c for record in scene.time_untouched().records for c in record.comparisons), None)
    return comparison.tolerance_ratio - 1 if comparison is not None else 0.05


KERNEL_TASKS = (
    Task("starved", "launched one workgroup of a kernel that had a thousand", "it is starved, though right", starved),
    Task("spinning", "had a kernel spin longer", "it is regressed, its neighbour identical", spinning),
)
