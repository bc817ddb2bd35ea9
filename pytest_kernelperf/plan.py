"""From what a user wrote to plain data: plans, with everything wrong refused in one sentence.

All checks that need no device are here; ``check_signature`` needs the compiled code object's metadata.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.kernel import Arrays, At, Copy, Fill, Launch, PlanFunction
from pytest_kernelperf.kernel_name import explain_missing, find_kernel
from pytest_kernelperf.model import (
    Argument,
    BufferArgument,
    BufferSpec,
    CaseId,
    CodeObject,
    CopyStep,
    DeviceFacts,
    Dimensions,
    FillStep,
    Floor,
    KernelFacts,
    LaunchStep,
    Parameter,
    Plan,
    ScalarArgument,
    Step,
)

# A dispatch counts its threads per axis in 32 bits, on AMD and in HIP's own checks.
MOST_THREADS_PER_AXIS = 2**32 - 1
# A GPU's queue takes about a thousand launches; a plan beyond that is no round of a kernel.
MOST_STEPS = 1000
_KINDS = {"i": "signed", "u": "unsigned", "f": "float", "b": "bool", "V": "struct"}


def buffer_specs(inputs: Arrays) -> tuple[BufferSpec, ...]:
    """Describe the inputs as device buffers, in their order."""
    return tuple(BufferSpec(name, _dtype_text(array.dtype), tuple(array.shape)) for name, array in inputs.items())


def build_plan(case: CaseId, function: PlanFunction, device: DeviceFacts, inputs: Arrays) -> Plan:
    """Call a variant's function and turn its steps into a plan.

    Raises:
        UsageError: names kernel, variant, size and argument, and says what to write.
    """
    steps: object = function(case.tokens, device)
    if not isinstance(steps, (list, tuple)) or not steps:
        raise UsageError(f"{case}: expected a list of Launch, Fill and Copy, got {steps!r:.80}")
    if len(steps) > MOST_STEPS:
        raise UsageError(f"{case}: a plan is one round of at most {MOST_STEPS} steps, not {len(steps)}")
    built = tuple(_step(f"{case}, step {place + 1}", step, device, inputs) for place, step in enumerate(steps))
    if not any(isinstance(step, LaunchStep) for step in built):
        raise UsageError(f"{case}: the plan launches no kernel: add a Launch")
    return Plan(built)


def _step(where: str, step: object, device: DeviceFacts, inputs: Arrays) -> Step:
    if isinstance(step, Launch):
        return _launch(f"{where} ({step.kernel})", step, device, inputs)
    if isinstance(step, Fill):
        size = _buffer(where, step.buffer, inputs).nbytes
        if isinstance(step.byte, bool) or not isinstance(step.byte, int) or not 0 <= step.byte <= 255:
            raise UsageError(
                f"{where}: Fill sets bytes, so its value is a whole number from 0 to 255, not {step.byte!r}"
            )
        return FillStep(step.buffer, step.byte, 0, size)
    if isinstance(step, Copy):
        target, source = _buffer(where, step.target, inputs).nbytes, _buffer(where, step.source, inputs).nbytes
        if target != source or step.target == step.source:
            raise UsageError(
                f"{where}: Copy needs two buffers of the same size, not {step.target} ({target} bytes) "
                f"and {step.source} ({source} bytes)"
            )
        return CopyStep(step.target, step.source, 0, 0, target)
    raise UsageError(f"{where}: expected a Launch, Fill or Copy, got {type(step).__name__}")


def _launch(where: str, launch: Launch, device: DeviceFacts, inputs: Arrays) -> LaunchStep:
    if not isinstance(launch.kernel, str) or not launch.kernel:
        raise UsageError(f"{where}: a Launch names its kernel as text, not {launch.kernel!r}")
    grid, block = _dimensions(where, "grid", launch.grid), _dimensions(where, "block", launch.block)
    threads = block[0] * block[1] * block[2]
    if threads > device.max_threads_per_block:
        raise UsageError(
            f"{where}: block={block} is {threads} threads, the device takes {device.max_threads_per_block} a workgroup"
        )
    for axis, groups, width in zip("xyz", grid, block, strict=True):
        if groups * width > MOST_THREADS_PER_AXIS:
            raise UsageError(f"{where}: {groups} x {width} threads along {axis} are over {MOST_THREADS_PER_AXIS}")
    if isinstance(launch.shared, bool) or not isinstance(launch.shared, int) or launch.shared < 0:
        raise UsageError(f"{where}: shared is dynamic shared memory in bytes, not {launch.shared!r}")
    if launch.shared > device.max_shared_bytes:
        raise UsageError(f"{where}: shared={launch.shared} bytes, the device has {device.max_shared_bytes} a workgroup")
    floor = launch.underfill
    if floor is not None and not _is_floor(floor):
        raise UsageError(f"{where}: underfill is Floor(workgroups, reason) with at least 1 and a reason, not {floor!r}")
    arguments = tuple(
        _argument(f"{where}, argument {place + 1}", value, inputs) for place, value in enumerate(launch.args)
    )
    return LaunchStep(launch.kernel, grid, block, arguments, launch.shared, floor)


def _is_floor(floor: object) -> bool:
    """Whether it is a floor of at least one workgroup with a reason; a record does not check its fields itself."""
    return (
        isinstance(floor, Floor)
        and isinstance(floor.workgroups, int)
        and not isinstance(floor.workgroups, bool)
        and 1 <= floor.workgroups < 2**62
        and isinstance(floor.reason, str)
        and bool(floor.reason.strip())
    )


def _dimensions(where: str, name: str, value: int | Sequence[int]) -> Dimensions:
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in given)
    if not whole or not 1 <= len(given) <= 3:
        raise UsageError(f"{where}: {name} is a whole number or up to three, not {value!r}")
    padded = (*(int(n) for n in given if not isinstance(n, tuple)), 1, 1)[:3]
    if min(padded) < 1:
        raise UsageError(f"{where}: {name}={value!r} has a zero or negative size: nothing would run")
    return (padded[0], padded[1], padded[2])


def _argument(where: str, value: object, inputs: Arrays) -> Argument:
    if isinstance(value, str):
        _buffer(where, value, inputs)
        return BufferArgument(value)
    if isinstance(value, At):
        array = _buffer(where, value.buffer, inputs)
        whole = isinstance(value.offset, (int, np.integer)) and not isinstance(value.offset, bool)
        if not whole or not 0 <= value.offset < array.size:
            raise UsageError(
                f"{where}: At({value.buffer!r}, {value.offset!r}) lies outside the buffer's {array.size} values"
            )
        return BufferArgument(value.buffer, int(value.offset) * array.dtype.itemsize)
    if isinstance(value, (bool, int, float)) and not isinstance(value, np.generic):
        suggestion = "np.int32" if isinstance(value, int) else "np.float32"
        raise UsageError(
            f"{where}: {value!r} is a bare Python number, whose size a kernel cannot know: "
            f"write {suggestion}({value!r}) or the type that the kernel declares"
        )
    if isinstance(value, np.generic) and not value.dtype.hasobject and value.dtype.itemsize:
        return ScalarArgument(_dtype_text(value.dtype), value.tobytes(), value.dtype.alignment)
    raise UsageError(
        f"{where}: expected a buffer's name, At(buffer, offset) or a numpy scalar, got {type(value).__name__}"
    )


def _buffer(where: str, name: object, inputs: Arrays) -> np.ndarray[Any, np.dtype[Any]]:
    if not isinstance(name, str) or name not in inputs:
        raise UsageError(f"{where}: {name!r} is no buffer; the inputs are {', '.join(inputs)}")
    return inputs[name]


def _dtype_text(dtype: np.dtype[Any]) -> str:
    return dtype.str if dtype.names is None else str(dtype.descr)


def check_signature(case: CaseId, plan: Plan, buffers: Sequence[BufferSpec], code: CodeObject) -> None:
    """Compare a plan's arguments with what the code object says of its kernels (HIP itself checks nothing).

    Raises:
        UsageError: an unknown kernel, more threads than it takes, another number of arguments, or one of another kind
            or size.
    """
    dtypes = {spec.name: spec.dtype for spec in buffers}
    for place, step in enumerate(plan.steps):
        if not isinstance(step, LaunchStep):
            continue
        where = f"{case}, step {place + 1} ({step.kernel})"
        name = find_kernel(code.kernels, step.kernel)
        if name is None:
            raise UsageError(f"{where}: {explain_missing(code.kernels, step.kernel)}")
        _check_threads(where, step, code.kernels[name])
        parameters = code.kernels[name].parameters
        if parameters is None:
            continue
        if len(parameters) != len(step.arguments):
            raise UsageError(
                f"{where}: the kernel takes {len(parameters)} arguments, the launch gives {len(step.arguments)}"
            )
        for number, (argument, parameter) in enumerate(zip(step.arguments, parameters, strict=True), start=1):
            problem = _argument_problem(argument, parameter, dtypes)
            if problem:
                raise UsageError(f"{where}, argument {number}: {problem}")


def _check_threads(where: str, step: LaunchStep, facts: KernelFacts) -> None:
    """Refuse more threads than the kernel is compiled for, which a device refuses with a word that says little."""
    most, threads = facts.resources.get("max_threads"), math.prod(step.block)
    if most and threads > most:
        raise UsageError(
            f"{where}: block={step.block} is {threads} threads, the kernel is compiled for at most {most}: see its "
            "__launch_bounds__"
        )


def _argument_problem(argument: Argument, parameter: Parameter, dtypes: dict[str, str]) -> str:
    if isinstance(argument, BufferArgument):
        if parameter.kind not in ("pointer", "unknown") or parameter.size_bytes != 8:
            return f"buffer {argument.buffer} is given where the kernel takes {_described(parameter)}"
        if parameter.pointee_kind in ("unknown", "struct", "pointer") or dtypes[argument.buffer].startswith("["):
            return ""
        dtype = np.dtype(dtypes[argument.buffer])
        if (_KINDS.get(dtype.kind), dtype.itemsize) != (parameter.pointee_kind, parameter.pointee_size_bytes):
            pointee = f"{parameter.pointee_kind} values of {parameter.pointee_size_bytes} bytes"
            return f"buffer {argument.buffer} holds {dtype.name}, the kernel's pointer is to {pointee}"
        return ""
    structured = argument.dtype.startswith("[")
    kind = "struct" if structured else _KINDS.get(np.dtype(argument.dtype).kind, "struct")
    named = argument.dtype if structured else f"np.{np.dtype(argument.dtype).name}"
    if parameter.kind == "pointer":
        return f"{named} is given where the kernel takes a pointer: name a buffer"
    if len(argument.data) != parameter.size_bytes or (parameter.kind != "unknown" and parameter.kind != kind):
        return f"{named} is given where the kernel takes {_described(parameter)}"
    return ""


def _described(parameter: Parameter) -> str:
    article = {"unknown": "a", "unsigned": "an unsigned"}.get(parameter.kind, f"a {parameter.kind}")
    return f"{article} value of {parameter.size_bytes} bytes"
