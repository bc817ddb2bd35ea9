"""A case as a replay has it: real code objects, plans of every kind of step, inputs of several types; no device."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from pytest_kernelperf.measure.request import Arm
from pytest_kernelperf.model import (
    NO_DEVICE,
    BufferArgument,
    CaseId,
    CodeObject,
    CopyStep,
    FillStep,
    LaunchStep,
    Plan,
    ScalarArgument,
    digest_of_bytes,
)
from pytest_kernelperf.plan import buffer_specs
from pytest_kernelperf.replay.case_file import write_case
from pytest_kernelperf.worker.array import InputSet

CUBINS = Path(__file__).parent.parent / "data" / "cubin"
CASE = CaseId("scale", "plain", 8)
DEVICE = msgspec.structs.replace(NO_DEVICE, runtime="cuda", key="sm90-132sm")
PAIR = np.dtype([("weight", np.float32), ("expert", np.int32)])
ARRAYS = {
    "x": np.arange(64, dtype=np.float32),
    "y": np.zeros(64, np.float32),
    "pairs": np.array([(0.5, 3), (0.25, 1)], PAIR),
}


def code(name: str) -> CodeObject:
    """A real code object with the kernels ``scale`` and ``bend``; ``math::scale`` is what a plan calls the former."""
    data = (CUBINS / name).read_bytes()
    return CodeObject(digest_of_bytes(data), data, {}, lowered_names={"math::scale": "scale"})


def plan(name: str) -> Plan:
    """A plan of a fill, a copy and a launch."""
    factor = np.float32(3)
    scalar = ScalarArgument(factor.dtype.str, factor.tobytes(), 4)
    launch = LaunchStep(name, (1, 1, 1), (64, 1, 1), (BufferArgument("y", 8), scalar, scalar))
    return Plan((FillStep("y", 0, 0, 256), CopyStep("y", "x", 0, 0, 256), launch))


ARMS = [Arm("head", code("three.cubin"), plan("scale")), Arm("baseline", code("two.cubin"), plan("math::scale"))]


def write_sample(path: Path) -> Path:
    """Write the case; return its path."""
    with InputSet.create(ARRAYS) as inputs:
        write_case(path, CASE, DEVICE, buffer_specs(ARRAYS), inputs, ARMS)
    return path
