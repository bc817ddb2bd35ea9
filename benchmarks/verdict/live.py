"""Samples taken live, through the guard's own workers: fresh processes, shared buffers, blocks in balanced order.

A generation is a set of fresh processes that are alive together, as those of one run of the guard. Each takes every
measurement in turn, and is replaced by the next generation. What an arm is stands in its line: ``copy`` for identical
code (each copy a code object of its own in the device's memory), ``extra_rounds`` for a slowdown that was put in,
``build`` for other code.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import msgspec

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.measure.request import Arm
from pytest_kernelperf.model import CodeObject, DeviceFacts, Mode
from pytest_kernelperf.stats.schedule import Look
from pytest_kernelperf.worker.pool import WorkerPool
from verdict.builds import PLAIN
from verdict.subjects import Say, Subject, open_subjects
from verdict.taking import How, NotMeasured, Taking

MOST_PROCESSES = 100
"""More than any guard takes: processes of a generation are numbered from this times its number on."""

KEEP_EVERY_S = 60.0
DESKS = 2

T = TypeVar("T")


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
    variants: tuple[str, ...]
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
    """Take samples until the budget is spent; ``keep`` is called now and then, and at the end.

    Raises:
        KernelperfError: nothing can be measured at all.
    """
    with WorkerPool(options.runtime) as pool:
        facts = pool.facts()
        wanted = (options.kernels, options.variants, options.tokens, options.wants_builds)
        subjects = list(open_subjects(pool, facts, *wanted, say))
    if not subjects:
        raise UsageError(f"none of {', '.join(options.kernels)} has such a variant or size: there is nothing to sample")
    session = Session(facts)
    budget, generator = Budget(options.seconds, options.checks), random.Random(options.seed)
    measurements = deal(subjects, options, generator)
    kept = budget.began
    try:
        with open_desk(facts) as desk:
            while not budget.spent:
                with WorkerPool(options.runtime) as pool:
                    Generation(session, options, budget, pool, desk).take(measurements)
                session.generations += 1
                if time.monotonic() - kept > KEEP_EVERY_S:
                    keep(session)
                    kept = time.monotonic()
                say(
                    f"  generation {session.generations}: {budget.taken} checks of identical code, "
                    f"{session.unmeasured} not measured, {time.monotonic() - budget.began:.0f} s"
                )
    finally:
        for subject in subjects:
            subject.inputs.close()
        keep(session)
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


@dataclass
class Underway:
    """A measurement that was begun: what it is, what its lines say, and the answer that it waits for."""

    number: int
    design: Design
    taking: Taking
    arms: Sequence[tuple[Arm, dict[str, Any]]]
    answer: Future[dict[str, Look | None]]


@dataclass
class Generation:
    """Fresh processes, and the measurements that are under way in them.

    While one measurement's answer is worked out on the host's other cores, the next one's first look is taken.
    """

    session: Session
    options: Options
    budget: Budget
    pool: WorkerPool
    desk: Executor

    def take(self, measurements: Iterator[tuple[Subject, Mode, Design]]) -> None:
        """Measure some cases, each until it is clear."""
        before: Underway | None = None
        for number in range(self.options.per_generation):
            if self.budget.spent:
                break
            if not number:
                self.pool.start(self.options.how.schedule.first.processes)
            begun = self.begin(number, *next(measurements))
            if before is not None:
                self.finish(before)
            before = begun
        if before is not None:
            self.finish(before)

    def begin(self, number: int, subject: Subject, mode: Mode, design: Design) -> Underway | None:
        """Take the first look; None where that cannot be measured."""
        options = self.options
        arms = make_arms(subject, design, random.Random(f"{options.seed}/{self.session.generations}/{number}"))
        just_arms = [arm for arm, _ in arms]
        outputs = subject.outputs if options.check_outputs else ()
        how = replace(options.how, rounds=design.rounds)
        taking = Taking(self.pool, subject.id, mode, just_arms, subject.inputs, outputs, how)
        self.budget.taken += design.copies - 1
        try:
            return Underway(number, design, taking, arms, self.look(taking))
        except NotMeasured as reason:
            self.refuse(taking, design, reason)
            return None

    def finish(self, begun: Underway) -> None:
        """Take the looks that are missing, and keep what was taken."""
        taking = begun.taking
        try:
            taking.settle(begun.answer.result())
            while not taking.over:
                taking.settle(self.look(taking).result())
        except NotMeasured as reason:
            self.refuse(taking, begun.design, reason)
        else:
            self.session.rows += describe(self.session, begun.number, taking, begun.design, begun.arms, self.options)

    def look(self, taking: Taking) -> Future[dict[str, Look | None]]:
        """Take the next look, and ask what follows from it. Raises ``NotMeasured``."""
        taking.step()
        return self.desk.submit(taking.question.answer)

    def refuse(self, taking: Taking, design: Design, reason: NotMeasured) -> None:
        """Note what was not measured, and why."""
        self.session.refused.append(f"{taking.case}, {taking.mode}: {reason}")
        self.session.unmeasured += design.copies - 1


class Inline(Executor):
    """Answers at once, in this thread: where a kernel needs the cores itself."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Call it."""
        answer: Future[T] = Future()
        answer.set_result(fn(*args, **kwargs))
        return answer


def open_desk(facts: DeviceFacts) -> Executor:
    """Where answers are worked out: beside the measurements, unless these take place on the same cores."""
    if facts.runtime == "cpu":
        return Inline()
    return ProcessPoolExecutor(DESKS, multiprocessing.get_context("spawn"))


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
