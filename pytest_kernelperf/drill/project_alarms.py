"""The alarms that are set off in the user's own project, with the user's own kernels and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_kernelperf.drill.damage import (
    cut_off,
    later_version,
    not_a_number,
    objects_of,
    one_bit,
    rename_case,
)
from pytest_kernelperf.drill.expectation import Answer, expect, failing, passing
from pytest_kernelperf.drill.load import busy_device
from pytest_kernelperf.drill.slowness import Slowness, plain_slowness, small_slowness
from pytest_kernelperf.drill.tampering import Tampering
from pytest_kernelperf.drill.task import FULL, CannotSetOff, Scene, Task
from pytest_kernelperf.model import Record

QUIET = ("unchanged", "undecided")
"""What untouched code that is timed may be called: not proven either way is no blame, as long as it passes."""

BESIDE_BROKEN = ("identical", *QUIET)


def identical(scene: Scene) -> Answer:
    """Run again: nothing has changed."""
    return expect(scene.ground.guard(), passing(scene.names, "identical"))


def untouched(scene: Scene) -> Answer:
    """Time what did not change."""
    return expect(scene.time_untouched(), passing(scene.names, *QUIET))


def mutations(scene: Scene) -> Answer:
    """Run the mutations of the chosen kernels at the chosen sizes."""
    run = scene.ground.guard(tampering=Tampering("", cases=scene.names, mutations=True))
    broken = tuple(str(record.case) for record in run.records if record.mutation_of)
    if run.records and not broken:
        raise CannotSetOff("no chosen kernel has a mutation: state one with @kernel.mutation")
    return expect(run, passing(broken, "caught") | passing(scene.names, "identical"), tell=broken)


def flipped_bit(scene: Scene) -> Answer:
    """Change one bit of one value of one case's results."""
    run = scene.ground.guard(tampering=Tampering("", of=scene.first, flip=True))
    wanted = failing(scene.first, "wrong", words="1 of ") | passing(scene.others, "identical")
    return expect(run, wanted, tell=(scene.first,))


def slowed_head(scene: Scene, slowness: Callable[[Record | None], Slowness]) -> Answer:
    """Run more rounds of the code under test in each batch than its time is given for."""
    slow = slowness(scene.untouched_record())
    run = scene.ground.guard(FULL, tampering=Tampering("", of=scene.first, slow={"head": slow.ratio}))
    answer = expect(run, failing(scene.first, *slow.must) | passing(scene.others, *QUIET), tell=(scene.first,))
    return answer.after(slow.describe(run.record(scene.first)))


def slowed_baseline(scene: Scene) -> Answer:
    """The same to the accepted code: then the code under test is faster, and nobody is to blame."""
    slow = plain_slowness(scene.untouched_record())
    run = scene.ground.guard(FULL, tampering=Tampering("", of=scene.first, slow={"baseline": slow.ratio}))
    wanted = passing((scene.first,), "improved") | passing(scene.others, *QUIET)
    answer = expect(run, wanted, tell=(scene.first,))
    return answer.after(slow.describe(run.record(scene.first)))


def renamed_case(scene: Scene) -> Answer:
    """Have the baseline know a case that no test has any more."""
    with put_back(scene):
        renamed = rename_case(scene.ground.store, scene.device.key, scene.cases[0])
        run = scene.ground.guard()
    wanted = passing((scene.first,), "new") | passing(scene.others, "identical")
    return expect(run, wanted, file=f"{scene.cases[0].kernel}.json", file_words=renamed, tell=(scene.first,))


def damaged_file(scene: Scene, damage: Callable[[bytes], bytes]) -> Answer:
    """Damage the baseline's file: its item fails, and so do its cases, which must not pass as new."""
    kernel = scene.cases[0].kernel
    with put_back(scene):
        damage_file(scene.ground.store.path(scene.device.key, kernel), damage)
        run = scene.ground.guard()
    wanted = passing((str(case) for case in scene.cases if case.kernel != kernel), "identical")
    for case in scene.cases:
        wanted |= failing(str(case), "failed", words=f"{kernel}.json") if case.kernel == kernel else {}
    return expect(run, wanted, file=f"{kernel}.json", file_words=f"{kernel}.json")


def damaged_object(scene: Scene) -> Answer:
    """Flip one bit of an accepted code object: its baseline's item fails, though nothing has to be timed."""
    kernel = scene.cases[0].kernel
    with put_back(scene):
        damage_file(objects_of(scene.ground.store, scene.device.key, kernel)[0], one_bit)
        run = scene.ground.guard()
    return expect(run, passing(scene.names, "identical"), file=f"{kernel}.json", file_words="objects/")


def killed_worker(scene: Scene) -> Answer:
    """Kill a worker while it times: its case says so, and the others are judged in a fresh one."""
    run = scene.ground.guard(FULL, tampering=Tampering("", of=scene.first, kill=True))
    wanted = failing(scene.first, "crashed", words="SIGKILL") | passing(scene.others, *QUIET)
    return expect(run, wanted, tell=(scene.first,))


def busy(scene: Scene) -> Answer:
    """Have another process work on the device meanwhile: nothing is said of the code, and who it is stands there."""
    if scene.scripted:
        raise CannotSetOff("the clock is scripted, and with it who else is active")
    with busy_device(scene.runtime) as pid:
        run = scene.ground.guard(FULL, tampering=Tampering("", cases=(scene.first,)))
    wanted = failing(scene.first, "invalid", words=f"busy (pid {pid} ")
    return expect(run, wanted, tell=(scene.first,))


def damage_file(path: Path, damage: Callable[[bytes], bytes]) -> None:
    """Replace a file by its damaged self, which must differ."""
    data = path.read_bytes()
    damaged = damage(data)
    if damaged == data:
        raise CannotSetOff(f"{path.name} has nothing that this damage would hit")
    path.write_bytes(damaged)


@contextmanager
def put_back(scene: Scene) -> Iterator[None]:
    """Put the scratch baselines back as they are now."""
    root = scene.ground.store.root
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    try:
        yield
    finally:
        for path, data in before.items():
            path.write_bytes(data)


PROJECT_TASKS = (
    Task("identical", "ran the guard on code that it has just stored", "all cases identical, none fails", identical),
    Task("mutations", "ran the mutations of the chosen kernels", "the reference notices every one", mutations),
    Task("wrong", "changed one bit of one result of the first case", "it is wrong, nobody else fails", flipped_bit),
    Task("renamed", "renamed the first case since it was stored", "its baseline's item fails", renamed_case),
    Task(
        "cut-off",
        "cut its baseline's file off in the middle",
        "the file's item fails, and its cases are not taken for new",
        lambda scene: damaged_file(scene, cut_off),
    ),
    Task(
        "not-a-number",
        "put NaN in the place of a stored sample",
        "the file's item fails, and its cases are not taken for new",
        lambda scene: damaged_file(scene, not_a_number),
    ),
    Task(
        "later-version",
        "made its baseline's file one of a later version",
        "the file's item fails, and its cases are not taken for new",
        lambda scene: damaged_file(scene, later_version),
    ),
    Task("bit-rot", "flipped one bit of an accepted code object", "its baseline's item fails", damaged_object),
    Task("untouched", "timed code that did not change", "nothing is slower, faster or failing", untouched),
    Task(
        "slowed",
        "ran more rounds of the first case's new code than its time is given for",
        "it is regressed, nobody else fails",
        lambda scene: slowed_head(scene, plain_slowness),
    ),
    Task(
        "slightly-slowed",
        "the same by twice the slowdown that is allowed",
        "it fails, regressed where that much can be shown here; nobody else does",
        lambda scene: slowed_head(scene, small_slowness),
    ),
    Task(
        "slowed-baseline",
        "ran more rounds of its accepted code",
        "it is improved, nobody fails",
        slowed_baseline,
    ),
    Task(
        "killed-worker",
        "killed the worker that timed the first case",
        "it is crashed, all others are judged",
        killed_worker,
    ),
    Task("busy", "had another process work on the device meanwhile", "the case is invalid and says who", busy),
)
