"""The lesson's cases as the guard sees them: kernel, compiled code, inputs, plans."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pytest_kernelperf.kernel import Kernel
from pytest_kernelperf.model import CaseId, CodeObject, DeviceFacts, LaunchStep, Plan, ScalarArgument, SourceBundle
from pytest_kernelperf.plan import build_plan
from pytest_kernelperf.source import collect_bundle
from pytest_kernelperf.worker.array import InputSet

Compile = Callable[[SourceBundle, tuple[str, ...]], CodeObject]

BUFFERS = ("moe", "shared", "weights", "x", "y")
FOLDER = Path(__file__).parents[2] / "kernels" / "moe_add_inject"


@dataclass(frozen=True)
class Case:
    """A variant at a size, its plan and its place in the files that the peers read."""

    id: CaseId
    plan: Plan
    place: int

    @property
    def variant(self) -> str:
        """The variant's name."""
        return self.id.variant

    @property
    def tokens(self) -> int:
        """The size."""
        return self.id.tokens


@dataclass(frozen=True)
class Lesson:
    """All cases, the code object that they run, and the inputs of each size."""

    kernel: Kernel
    bundle: SourceBundle
    code: CodeObject
    cases: tuple[Case, ...]
    inputs: dict[int, InputSet]
    rounds: int

    @classmethod
    def open(cls, compile_: Compile, facts: DeviceFacts, rounds: int, sizes: Sequence[int] | None) -> Lesson:
        """Read the lesson's test module and compile its kernels. Raises ``KernelperfError``."""
        kernel = load_kernel(FOLDER / "test_moe_add_inject.py")
        inputs = {tokens: InputSet.create(kernel.compute_inputs(tokens)) for tokens in sizes or kernel.tokens}
        cases: list[Case] = []
        for tokens, arrays in inputs.items():
            for variant in kernel.variants.values():
                case = CaseId(kernel.name, variant.name, tokens)
                cases.append(Case(case, build_plan(case, variant.function, facts, arrays), len(cases)))
        names = tuple({launch.kernel: None for case in cases for launch in case.plan.launches})
        bundle = collect_bundle(kernel)
        return cls(kernel, bundle, compile_(bundle, names), tuple(cases), inputs, rounds)

    def reference(self, tokens: int) -> np.ndarray[Any, np.dtype[Any]]:
        """``x`` as one round leaves it."""
        return self.kernel.compute_reference(tokens, self.inputs[tokens])["x"]

    def describe(self, folder: Path) -> None:
        """Write code object and cases, ``lesson.json``, for programs that know nothing of the guard."""
        code, cases = folder / "lesson.code", folder / "lesson.json"
        code.write_bytes(self.code.data)
        described = [
            {
                "variant": case.variant,
                "tokens": case.tokens,
                "buffers": {name: array.nbytes for name, array in self.inputs[case.tokens].items()},
                "steps": [_describe(step) for step in case.plan.launches],
            }
            for case in self.cases
        ]
        cases.write_text(json.dumps({"code": str(code), "rounds": self.rounds, "cases": described}))

    def close(self) -> None:
        """Free the inputs."""
        for arrays in self.inputs.values():
            arrays.close()


def load_kernel(path: Path) -> Kernel:
    """The ``kernel`` of a test module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = module.kernel
    assert isinstance(kernel, Kernel)
    return kernel


def _describe(step: LaunchStep) -> dict[str, object]:
    arguments: list[str | int] = []
    for argument in step.arguments:
        if isinstance(argument, ScalarArgument):
            arguments.append(int(np.frombuffer(argument.data, argument.dtype)[0]))
        else:
            arguments.append(argument.buffer)
    return {"kernel": step.kernel, "grid": step.grid, "block": step.block, "arguments": arguments}
