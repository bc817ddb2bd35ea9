"""What is sampled live: the project's kernels, each variant at each size, in its own build and in others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from lesson.cases import load_kernel

from pytest_kernelperf.errors import CompileError
from pytest_kernelperf.kernel import Kernel
from pytest_kernelperf.model import CaseId, CodeObject, DeviceFacts, Plan
from pytest_kernelperf.plan import build_plan
from pytest_kernelperf.source import collect_bundle
from pytest_kernelperf.worker.array import InputSet
from pytest_kernelperf.worker.pool import WorkerPool
from verdict.builds import PLAIN, other_builds
from verdict.contrasts import SAME_INSTRUCTIONS

KERNELS = Path(__file__).parents[2] / "kernels"

Say = Callable[[str], None]


@dataclass(frozen=True)
class Subject:
    """A case that can be measured: its plan, inputs, and code by build."""

    id: CaseId
    plan: Plan
    inputs: InputSet
    outputs: tuple[str, ...]
    codes: dict[str, CodeObject]


def open_subjects(
    pool: WorkerPool,
    facts: DeviceFacts,
    kernels: Sequence[str],
    variants: Collection[str],
    tokens: Collection[int],
    with_builds: bool,
    say: Say,
) -> Iterator[Subject]:
    """Compile every kernel, with other builds where a design asks for them, and make inputs and plans.

    ``variants`` and ``tokens``: these alone; all where there are none.
    """
    sys.path.insert(0, str(KERNELS))  # their tests import what lies beside the kernels
    for name in kernels:
        kernel = load_kernel(KERNELS / name / f"test_{name}.py")
        sizes = [size for size in kernel.tokens if not tokens or size in tokens]
        cases = [
            case
            for size in sizes
            for case in plan_variants(kernel, size, facts)
            if not variants or case[0].variant in variants
        ]
        if not cases:
            continue
        names = tuple({launch.kernel: None for _, _, plan in cases for launch in plan.launches})
        bundle = collect_bundle(kernel)
        builds = {PLAIN: pool.compile(bundle, names)}
        for build, changed in other_builds(bundle, facts.runtime).items() if with_builds else ():
            try:
                builds[build] = pool.compile(changed, names)
            except CompileError as error:
                say(f"  {name}: no build {build} ({str(error).splitlines()[0][:100]})")
        smallest = InputSet.create(kernel.compute_inputs(min(kernel.tokens)))
        outputs = tuple(kernel.compute_reference(min(kernel.tokens), smallest))
        smallest.close()
        for case, inputs, plan in cases:
            subject = Subject(case, plan, inputs, outputs, {PLAIN: builds[PLAIN]})
            yield replace(subject, codes=dict(equal_builds(pool, subject, builds, say)))


def equal_builds(
    pool: WorkerPool, subject: Subject, builds: Mapping[str, CodeObject], say: Say
) -> Iterator[tuple[str, CodeObject]]:
    """Builds that compute what the plain one computes, bit for bit; the name says where instructions are the same."""
    wanted = {launch.kernel: builds[PLAIN].kernels[launch.kernel] for launch in subject.plan.launches}
    expected = run(pool, subject, builds[PLAIN]) if len(builds) > 1 else {}
    for build, code in builds.items():
        if build == PLAIN:
            yield build, code
            continue
        found = run(pool, subject, code)
        if all(np.array_equal(found[name], expected[name], equal_nan=True) for name in expected):
            same = all(code.kernels[name].instruction_digest == of.instruction_digest for name, of in wanted.items())
            yield f"{build} {SAME_INSTRUCTIONS}" if same else build, code
        else:
            say(f"  {subject.id}: the build {build} computes something else")


def run(pool: WorkerPool, subject: Subject, code: CodeObject) -> dict[str, Any]:
    """A case's outputs from one build, as bytes."""
    outputs = pool.run(subject.id, subject.plan, code, subject.inputs, subject.outputs)
    return {name: np.frombuffer(array.tobytes(), np.uint8) for name, array in outputs.items()}


def plan_variants(kernel: Kernel, tokens: int, facts: DeviceFacts) -> Iterator[tuple[CaseId, InputSet, Plan]]:
    """Every variant at one size, all on the same inputs."""
    inputs = InputSet.create(kernel.compute_inputs(tokens))
    for variant in kernel.variants.values():
        case = CaseId(kernel.name, variant.name, tokens)
        yield case, inputs, build_plan(case, variant.function, facts, inputs)


def all_kernels() -> tuple[str, ...]:
    """All kernels of the project."""
    return tuple(sorted(path.parent.name for path in KERNELS.glob("*/test_*.py")))
