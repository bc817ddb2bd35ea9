"""What a case needs before it can run: inputs, reference, plan and code, each made once and kept while of use."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np

from pytest_kernelperf.case import CaseSpec
from pytest_kernelperf.errors import KernelperfError, UsageError
from pytest_kernelperf.kernel import Kernel, Mutation
from pytest_kernelperf.kernel_name import find_kernel
from pytest_kernelperf.model import BufferSpec, CaseId, CodeObject, DeviceFacts, KernelFacts, Plan, SourceBundle
from pytest_kernelperf.plan import buffer_specs, build_plan, check_signature
from pytest_kernelperf.settings import Target
from pytest_kernelperf.source import collect_bundle, is_ready, read_ready_object
from pytest_kernelperf.worker.array import InputSet

Reference = Mapping[str, "np.ndarray[Any, np.dtype[Any]]"]
Compile = Callable[[SourceBundle, bytes, CaseId], CodeObject]
"""From a bundle, and the bytes of a ready code object (empty where there is a source), for a case."""

# Cases come size by size, so one kernel's inputs at one size are in use at a time; two kernels may take turns.
KEPT_SIZES = 2


@dataclass(frozen=True)
class Subject:
    """A case that is ready to run on this device.

    ``judged_plan`` is the plan on the device whose compute units starvation is judged by: the target where one is
    set, else the same as ``plan``.
    """

    spec: CaseSpec
    inputs: InputSet
    expected: Reference
    buffers: tuple[BufferSpec, ...]
    plan: Plan
    judged_plan: Plan
    bundle: SourceBundle
    code: CodeObject
    moved_bytes: int | None
    operations: int | None

    @property
    def instruction_digests(self) -> dict[str, str]:
        """The digest of each kernel that the plan launches."""
        return {name: facts.instruction_digest for name, facts in self._launched.items()}

    @property
    def resources(self) -> dict[str, dict[str, int]]:
        """What each launched kernel uses, where the code object says."""
        return {name: facts.resources for name, facts in self._launched.items() if facts.resources}

    @property
    def _launched(self) -> dict[str, KernelFacts]:
        """What the code object says of each launched kernel, by the name that the launch gives it."""
        named = {step.kernel: find_kernel(self.code.kernels, step.kernel) for step in self.plan.launches}
        return {launch: self.code.kernels[name] for launch, name in named.items() if name is not None}


class SubjectSource:
    """Prepares subjects. The user's functions are called here: once per kernel and size, and once per plan."""

    def __init__(
        self, facts: DeviceFacts, target: Target | None, compile_bundle: Compile, *, with_reference: bool = True
    ) -> None:
        """``with_reference``: compute what outputs are compared with; else nothing is expected of any."""
        self._with_reference = with_reference
        self._facts = facts
        self._judged_facts = target_facts(facts, target)
        self._compile = compile_bundle
        self._sizes: OrderedDict[tuple[int, int], tuple[InputSet, Reference]] = OrderedDict()
        self._codes: dict[str, CodeObject | tuple[KernelperfError, CaseId]] = {}

    def prepare(self, spec: CaseSpec) -> Subject:
        """Make everything the case needs, without running it.

        Raises:
            UsageError: a function, plan or argument is wrong.
            CompileError, DeviceError, WorkerFailure: the source did not compile.
        """
        inputs, expected = self._data(spec.kernel, spec.tokens)
        plan = self._plan(spec, self._facts, inputs)
        judged = plan if self._judged_facts is self._facts else self._plan(spec, self._judged_facts, inputs)
        buffers = buffer_specs(inputs)
        extra = spec.doing.options if isinstance(spec.doing, Mutation) else ()
        bundle = collect_bundle(spec.kernel, extra)
        code = self._code(spec, bundle)
        if code.kernels or not code.cannot_run:
            check_signature(spec.case, plan, buffers, code)
        moved, done = _amount(spec, "moved_bytes", "bytes"), _amount(spec, "operations", "operations")
        return Subject(spec, inputs, expected, buffers, plan, judged, bundle, code, moved, done)

    def close(self) -> None:
        """Let go of the shared memory."""
        while self._sizes:
            self._sizes.popitem()[1][0].close()

    def _data(self, kernel: Kernel, tokens: int) -> tuple[InputSet, Reference]:
        key = (id(kernel), tokens)
        if key not in self._sizes:
            while len(self._sizes) >= KEPT_SIZES:
                self._sizes.popitem(last=False)[1][0].close()
            arrays = _called(f"kernel {kernel.name}, inputs at {tokens} tokens", kernel.compute_inputs, tokens)
            inputs = InputSet.create(arrays)
            what = f"kernel {kernel.name}, reference at {tokens} tokens"
            compute = kernel.compute_reference if self._with_reference else _no_reference
            self._sizes[key] = inputs, _called(what, compute, tokens, inputs)
        self._sizes.move_to_end(key)
        return self._sizes[key]

    def _plan(self, spec: CaseSpec, facts: DeviceFacts, inputs: InputSet) -> Plan:
        plan: Plan = _called(f"{spec.case}, plan", build_plan, spec.case, spec.doing.function, facts, inputs)
        return plan

    def _code(self, spec: CaseSpec, bundle: SourceBundle) -> CodeObject:
        """Compile once; a source that does not compile fails each of its cases without being compiled again."""
        key = bundle.digest
        if key not in self._codes:
            try:
                data = read_ready_object(spec.kernel) if is_ready(bundle) else b""
                self._codes[key] = self._compile(bundle, data, spec.case)
            except KernelperfError as error:
                self._codes[key] = error, spec.case
        found = self._codes[key]
        if isinstance(found, CodeObject):
            return found
        problem, first = found
        raise type(problem)(str(problem).replace(str(first), str(spec.case), 1)) from None


def _no_reference(tokens: int, inputs: InputSet) -> Reference:
    return {}


def target_facts(facts: DeviceFacts, target: Target | None) -> DeviceFacts:
    """Return the facts that plans are judged by: this device's, with the target's compute units where one is set."""
    if target is None:
        return facts
    return msgspec.structs.replace(
        facts,
        architecture=target.architecture,
        compute_units=target.compute_units,
        compute_units_source=f"kernelperf_target ({target.architecture})",
    )


def clocked_facts(facts: DeviceFacts, *, scripted: bool) -> DeviceFacts:
    """Return a device's facts: times of a scripted clock must never pass for its own, so they have another key."""
    return msgspec.structs.replace(facts, key=f"scripted-{facts.key}") if scripted else facts


def _amount(spec: CaseSpec, name: Literal["moved_bytes", "operations"], unit: str) -> int | None:
    """Return how much a variant says it moves or computes, a positive whole number; None where it says nothing."""
    stated: Callable[[int], object] | None = getattr(spec.doing, name, None)
    if stated is None:
        return None
    where = f"{spec.case}, {name}"
    amount = _called(where, stated, spec.tokens)
    if isinstance(amount, bool) or not isinstance(amount, (int, np.integer)) or not 1 <= amount < 2**62:
        raise UsageError(f"{where}: expected a positive whole number of {unit}, got {amount!r}")
    return int(amount)


def _called(where: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call into the user's code; what it raises becomes a sentence that names the place."""
    try:
        return function(*arguments)
    except KernelperfError:
        raise
    except Exception as error:
        line = _own_line(error)
        raise UsageError(f"{where}: raised {type(error).__name__}: {error}{line}") from error


def _own_line(error: Exception) -> str:
    """Return where the user's code raised, the deepest frame outside this package."""
    place, trace = "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if "pytest_kernelperf" not in name and "site-packages" not in name:
            place = f" ({name}:{trace.tb_lineno})"
        trace = trace.tb_next
    return place
