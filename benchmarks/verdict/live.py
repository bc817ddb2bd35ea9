"""Samples taken live, through the guard's own workers: fresh processes, shared buffers, blocks in balanced order.

A generation is a set of fresh processes that are alive together, as those of one run of the guard. Each takes every
measurement in turn, and is replaced by the next generation. What an arm is stands in its line: ``copy`` for identical
code (each copy a code object of its own in the device's memory), ``extra_rounds`` for a slowdown that was put in,
``build`` for other code.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from pytest_kernelperf.measure.request import Arm
from pytest_kernelperf.model import CodeObject, DeviceFacts, Mode
from pytest_kernelperf.worker.pool import WorkerPool
from verdict.builds import PLAIN
from verdict.subjects import Say, Subject, open_subjects
from verdict.taking import How, NotMeasured, Taking

MOST_PROCESSES = 100
"""More than any guard takes: processes of a generation are numbered from this times its number on."""


@dataclass(frozen=True)
class Design:
    """The arms of one measurement: copies of the same code, copies that are slowed, and other builds (how many).

    ``rounds`` a sample; None: as the guard sizes it.
    """

    copies: int
    slowdowns: tuple[float, ...] = ()
    builds: int = 0
    rounds: int | None = None

    @property
    def name(self) -> str:
        """As `--design` gives it."""
        slowed = "".join(f"+{100 * share:g}%" for share in self.slowdowns)
        rounds = f"@{self.rounds}" if self.rounds else ""
        return f"{self.copies}{slowed}" + (f"+{self.builds}b" if self.builds else "") + rounds


@dataclass
class Budget:
    """When to stop: after so many seconds, or so many checks of identical code, measured or not."""

    seconds: float
    checks: int
    began: float = field(default_factory=time.monotonic)
    taken: int = 0

    @property
    def spent(self) -> bool:
        """Whether it is over."""
        return time.monotonic() - self.began > self.seconds or self.taken >= self.checks


@dataclass(frozen=True)
class Options:
    """What to sample, and how."""

    runtime: str
    kernels: tuple[str, ...]
    tokens: tuple[int, ...]
    modes: tuple[Mode, ...]
    designs: tuple[Design, ...]
    how: How
    checks: int
    seconds: float
    seed: int
    per_generation: int
    contended: bool = False
    check_outputs: bool = True

    @property
    def wants_builds(self) -> bool:
        """Whether some design has other builds."""
        return any(design.builds for design in self.designs)


@dataclass
class Session:
    """What was sampled: rows in the files' format, and what was not measured, with reasons and checks."""

    facts: DeviceFacts
    rows: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    unmeasured: int = 0
    generations: int = 0
    seconds: float = 0.0


def sample(options: Options, say: Say, keep: Callable[[Session], None]) -> Session:
    """Take samples until the budget is spent; ``keep`` is called after every generation.

    Raises:
        KernelperfError: nothing can be measured at all.
    """
    with WorkerPool(options.runtime) as pool:
        facts = pool.facts()
        wanted = (options.kernels, options.tokens, options.wants_builds)
        subjects = list(open_subjects(pool, facts, *wanted, say))
    session = Session(facts)
    budget, generator = Budget(options.seconds, options.checks), random.Random(options.seed)
    measurements = deal(subjects, options, generator)
    try:
        while not budget.spent:
            take_generation(session, measurements, options, budget)
            keep(session)
            say(
                f"  generation {session.generations}: {budget.taken} checks of identical code, "
                f"{session.unmeasured} not measured, {time.monotonic() - budget.began:.0f} s"
            )
    finally:
        for subject in subjects:
            subject.inputs.close()
    session.seconds = time.monotonic() - budget.began
    return session


def deal(
    subjects: Sequence[Subject], options: Options, generator: random.Random
) -> Iterator[tuple[Subject, Mode, Design]]:
    """Every case in every mode and design, for ever: kernels in random order, and each one's cases in random order.

    One kernel's cases follow each other, since loading a code object takes a GPU as long as measuring its case.
    """
    kernels: dict[str, list[tuple[Subject, Mode, Design]]] = {}
    for subject in subjects:
        kernels.setdefault(subject.id.kernel, []).extend(
            (subject, mode, design) for mode in options.modes for design in options.designs
        )
    while True:
        for name in generator.sample(list(kernels), len(kernels)):
            generator.shuffle(kernels[name])
            yield from kernels[name]


def take_generation(
    session: Session, measurements: Iterator[tuple[Subject, Mode, Design]], options: Options, budget: Budget
) -> None:
    """Start fresh processes and measure some cases in them."""
    with WorkerPool(options.runtime) as pool:
        for number in range(options.per_generation):
            if budget.spent:
                break
            subject, mode, design = next(measurements)
            if not number:
                start_workers(pool, subject, options.how.schedule.most.processes)
            arms = make_arms(subject, design, random.Random(f"{options.seed}/{session.generations}/{number}"))
            just_arms = [arm for arm, _ in arms]
            outputs = subject.outputs if options.check_outputs else ()
            how = replace(options.how, rounds=design.rounds)
            taking = Taking(pool, subject.id, mode, just_arms, subject.inputs, outputs, how)
            try:
                taking.run()
            except NotMeasured as reason:
                session.refused.append(f"{subject.id}, {mode}: {reason}")
                session.unmeasured += design.copies - 1
                continue
            finally:
                budget.taken += design.copies - 1
            session.rows += describe(session, number, taking, design, arms, options)
    session.generations += 1


def start_workers(pool: WorkerPool, subject: Subject, processes: int) -> None:
    """Start all workers that may be asked at once; each runs a plan, so that its device is open before any timing."""

    def start(process: int) -> None:
        pool.run(subject.id, subject.plan, subject.codes[PLAIN], subject.inputs, subject.outputs, process=process)

    start(0)
    with ThreadPoolExecutor(processes) as threads:
        list(threads.map(start, range(1, processes)))


def make_arms(subject: Subject, design: Design, generator: random.Random) -> list[tuple[Arm, dict[str, Any]]]:
    """The arms of a design, each with what its line says of it; every one has a code object of its own."""
    plain = subject.codes[PLAIN]
    arms: list[tuple[Arm, dict[str, Any]]] = []
    for copy in range(design.copies):
        arms.append((Arm(f"copy{copy}", own(plain, f"copy{copy}"), subject.plan), {"copy": copy}))
    for number, share in enumerate(design.slowdowns):
        name = f"slowed{number}"
        arms.append((Arm(name, own(plain, name), subject.plan, 1 + share), {"copy": number}))
    others = [build for build in subject.codes if build != PLAIN]
    for build in generator.sample(others, min(design.builds, len(others))):
        arms.append((Arm(build, subject.codes[build], subject.plan), {"copy": 0, "build": build}))
    return arms


def own(code: CodeObject, name: str) -> CodeObject:
    """The same bytes under another digest, so that a worker loads them again: to other addresses, as an accepted
    binary and a new one are."""
    return msgspec.structs.replace(code, digest=f"{code.digest}-{name}")


def describe(
    session: Session,
    turn: int,
    taking: Taking,
    design: Design,
    arms: Sequence[tuple[Arm, dict[str, Any]]],
    options: Options,
) -> Iterator[dict[str, Any]]:
    """One line for every arm in every process that took it."""
    for process in sorted(taking.taken):
        for arm, facts in arms:
            samples = taking.samples(process, arm.name)
            if samples["us"]:
                yield {
                    "process": session.generations * MOST_PROCESSES + process,
                    "generation": session.generations,
                    "turn": turn,
                    "mode": taking.taken[process][0].mode,
                    "kernel": taking.case.kernel,
                    "variant": taking.case.variant,
                    "tokens": taking.case.tokens,
                    "design": design.name,
                    **facts,
                    "extra_rounds": arm.rounds_of(samples["rounds"]) - samples["rounds"],
                    **({"contended": True} if options.contended else {}),
                    **samples,
                }
