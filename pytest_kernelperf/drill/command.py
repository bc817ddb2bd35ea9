"""The drill, step by step: store the code as it stands, then set off one alarm after the other."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from pytest_kernelperf import __version__
from pytest_kernelperf.drill.alarm import VERSION, Alarm, Drill, State
from pytest_kernelperf.drill.ground import Ground, PytestGround
from pytest_kernelperf.drill.guard_run import GuardRun
from pytest_kernelperf.drill.kernel_alarms import KERNEL_TASKS
from pytest_kernelperf.drill.project_alarms import PROJECT_TASKS
from pytest_kernelperf.drill.tampering import Tampering
from pytest_kernelperf.drill.task import CannotSetOff, Scene, Task
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.model import CaseId
from pytest_kernelperf.settings import CaseSettings

REASON = "drill"
NAMES = tuple(task.name for task in (*PROJECT_TASKS, *KERNEL_TASKS))

OWN_KERNEL = Path(__file__).parent / "kernel"
OWN_FILES = ("drill.hip", "test_drill.py")
OWN_CASES = (CaseId("drill", "spin", 65_536), CaseId("drill", "bystander", 65_536))

NOTHING_FOUND = (4, 5)
"""Exit codes of pytest: its arguments mean nothing to it (a path that is not there), and no test was collected."""

Say = Callable[[str], None]


class CannotBegin(KernelperfError):
    """The code as it stands does not get through the guard, so that nothing can be said of its alarms."""


def drill(
    arguments: Sequence[str],
    *,
    runtime: str = "auto",
    cases: int = 3,
    names: Sequence[str] = (),
    say: Say = lambda line: None,
    done: Callable[[Alarm], None] = lambda alarm: None,
) -> Drill:
    """Set off the alarms that ``names`` names, or all of them.

    Args:
        arguments: paths and options as for ``pytest --kernelperf``, no single tests.
        runtime: as ``--kernelperf-runtime`` has it.
        cases: how many of the project's cases are used at most.
        names: alarms by name.
        say: told where the drill is.
        done: given each alarm as it is done.
    """
    started_s = time.monotonic()
    alarms: list[Alarm] = []
    scenes: list[Scene] = []
    problem = ""
    with TemporaryDirectory(prefix="kernelperf-drill-") as name:
        scratch = Path(name)
        try:
            refuse_single_tests(arguments)
            project = PytestGround(scratch / "project", arguments, runtime, say=say)
            if tasks := wanted(PROJECT_TASKS, names):
                scenes.append(open_project(project, runtime, cases, say))
                alarms += [set_off(task, scenes[-1], say, done) for task in tasks]
            if tasks := wanted(KERNEL_TASKS, names):
                scenes.append(open_own(scratch / "own", runtime, project.settings, say))
                alarms += [set_off(task, scenes[-1], say, done) for task in tasks]
        except KernelperfError as error:
            problem = str(error)
    device = scenes[0].device if scenes else None
    return Drill(
        version=VERSION,
        tool_version=__version__,
        device=device.name if device else "",
        device_key=device.key if device else "",
        cases=tuple(name for scene in scenes for name in scene.names),
        alarms=tuple(alarms),
        seconds=time.monotonic() - started_s,
        problem=problem,
    )


def wanted(tasks: Sequence[Task], names: Sequence[str]) -> tuple[Task, ...]:
    """The tasks that are asked for, in their order."""
    return tuple(task for task in tasks if not names or task.name in names)


def refuse_single_tests(arguments: Sequence[str]) -> None:
    """Refuse node ids: with a part of a module collected, nobody can say that a case of its baselines is gone."""
    single = [argument for argument in arguments if "::" in argument]
    if single:
        raise CannotBegin(f"{single[0]} is a part of a file: give files or folders, and choose cases with -k")


def open_project(ground: PytestGround, runtime: str, cases: int, say: Say) -> Scene:
    """Store the project's code as it stands, in the scratch folder."""
    say("storing the code as it stands")
    run = ground.guard(f"--update-baselines={REASON}", tampering=Tampering("", choose=cases))
    names = ground.chosen
    found = [record.case for record in run.records if str(record.case) in names]
    # The largest comes first, since it is the one that is slowed: one that is over at once shows no slowdown.
    return _scene(ground, run, tuple(sorted(found, key=lambda case: -case.tokens)), runtime)


def open_own(scratch: Path, runtime: str, settings: dict[str, str], say: Say) -> Scene:
    """Store the drill's own kernel, guarded by the settings that the project's runs had, if there were any."""
    say("storing the drill's own kernel")
    scratch.mkdir()
    for name in OWN_FILES:
        shutil.copy(OWN_KERNEL / name, scratch / name)
    (scratch / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    arguments = [*settings_options(settings), str(scratch / "test_drill.py")]
    ground = PytestGround(scratch / "ground", arguments, runtime, scratch, say)
    run = ground.guard(f"--update-baselines={REASON}", tampering=Tampering("", cases=tuple(map(str, OWN_CASES))))
    ground.chosen = tuple(map(str, OWN_CASES))
    return _scene(ground, run, OWN_CASES, runtime)


def settings_options(settings: dict[str, str]) -> list[str]:
    """The case settings of a run as options of another; what was not set stays so."""
    names = CaseSettings.__dataclass_fields__
    return [
        option
        for name in names
        if (text := settings.get(name, "None")) != "None"
        for option in ("-o", f"kernelperf_{name}={text}")
    ]


def set_off(task: Task, scene: Scene, say: Say, done: Callable[[Alarm], None]) -> Alarm:
    """Set one alarm off."""
    say(f"{task.name}: {task.did}")
    started_s = time.monotonic()
    state: State
    try:
        answer = task.act(scene)
        found, state = answer.found, "rang" if answer.rang else "disturbed" if answer.disturbed else "silent"
    except CannotSetOff as obstacle:
        found, state = str(obstacle), "left out"
    except KernelperfError as error:
        found, state = str(error), "silent"
    found = found.replace(f"{scene.ground.store.root}/", "")
    alarm = Alarm(task.name, task.did, task.must, found, state, round(time.monotonic() - started_s, 1))
    done(alarm)
    return alarm


def _scene(ground: Ground, run: GuardRun, cases: tuple[CaseId, ...], runtime: str) -> Scene:
    failing = [f"{record.case}: {record.decision.reason}" for record in run.failing]
    missing = [str(case) for case in cases if run.record(str(case)) is None]
    if run.device is None or run.code or failing or missing or not cases:
        why = failing or [f"{name} was not judged" for name in missing] or [f"the end of what it said:\n{run.output}"]
        what = (
            "pytest finds nothing to guard"
            if run.code in NOTHING_FOUND
            else ("the code as it stands does not get through the guard")
        )
        raise CannotBegin(f"{what} (exit code {run.code}): {why[0]}")
    return Scene(ground, run.device, cases, runtime, scripted=bool(os.environ.get("KERNELPERF_CLOCK_SCRIPT")))
