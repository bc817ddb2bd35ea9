"""What a user writes: a kernel with its inputs, reference, variants and mutations.

A ``Kernel`` collects functions; nothing runs until the guard asks. Steps are in ``step.py``.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, overload

import numpy as np

from pytest_kernelperf.declaration import check_expectation, check_former_name, check_texts, function_name
from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import Floor
from pytest_kernelperf.step import At, Copy, Fill, Launch, cdiv

Arrays = Mapping[str, "np.ndarray[Any, np.dtype[Any]]"]
PlanFunction = Callable[..., "Sequence[Launch | Fill | Copy]"]
AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])

Build = Literal["hiprtc", "device", "object"]
"""How a kernel's code object is made: from a plain .hip file, from one with host code too, or it is there already."""

OBJECT_SUFFIXES = frozenset({".hsaco", ".co", ".cubin", ".hipfb", ".o", ".so"})
NO_SOURCE_SUFFIXES = frozenset({".fatbin", ".ptx", ".bc", ".a"})
"""No code objects either, but what is said of them then names what they are and what to do."""

__all__ = ["At", "Copy", "Fill", "Floor", "Kernel", "Launch", "Mutation", "Tolerance", "Variant", "cdiv"]


@dataclass(frozen=True)
class Tolerance:
    """How far a result may lie from the reference: ``absolute + relative * abs(reference)``, and why."""

    absolute: float
    relative: float
    reason: str

    def __post_init__(self) -> None:
        """Refuse a tolerance that tolerates anything, or that nobody explains."""
        __tracebackhide__ = True
        for name, value in (("absolute", self.absolute), ("relative", self.relative)):
            number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
            if not number or not 0 <= float(value) < math.inf:
                raise UsageError(f"a Tolerance's {name} is a finite number of 0 or more, not {value!r}")
        if not isinstance(self.reason, str) or not self.reason.strip():
            raise UsageError(f"a Tolerance needs a reason: why may the result lie {self.absolute} from the reference?")


@dataclass(frozen=True)
class Variant:
    """One way of doing a kernel's task."""

    name: str
    function: PlanFunction
    moved_bytes: Callable[[int], int] | None = None
    replaces: str | None = None
    expect_starved: Mapping[int, str] | None = None
    operations: Callable[[int], int] | None = None
    renamed_from: str | None = None


@dataclass(frozen=True)
class Mutation:
    """A variant broken on purpose: if the reference does not notice, the test is too weak."""

    name: str
    function: PlanFunction
    of: str
    options: tuple[str, ...] = ()


class Kernel:
    """A task with inputs, a reference, variants and mutations.

    Args:
        name: as it stands in reports and baselines; letters, digits, ``_``, ``-`` and ``.``.
        source: the ``.hip`` file, or a ready code object (``.hsaco``, ``.co``, ``.cubin``, an offload bundle), relative
            to the file that creates the kernel.
        tokens: the problem sizes, each a case for every variant.
        options: compiler options (``-DNAME=1``, ``-Ifolder`` relative to the source's folder, ``-std=c++17``).
        name_expressions: template kernels to instantiate (``scale<float>``), named so in launches.
        tolerance: how far results may lie from the reference; bit for bit when left out.
        build: ``hiprtc`` (the default for sources); ``device`` for a file that also holds host code, which hipcc,
            amdclang++ or nvcc then compiles device-only; ``object`` (the default for ready code objects).
        compile_commands: with ``build="device"``, the project's ``compile_commands.json`` or the folder that holds it,
            relative like ``source``; looked for beside and above the source, and in ``build`` there, when left out.
        renamed_from: the name that it had, so that its cases are held against the baselines of that; until those are
            moved by ``--update-baselines``.

    Raises:
        UsageError: a name, size or option that cannot be used, in one sentence.
    """

    def __init__(
        self,
        name: str,
        *,
        source: str | Path,
        tokens: Sequence[int],
        options: Sequence[str] = (),
        name_expressions: Sequence[str] = (),
        tolerance: Tolerance | None = None,
        build: Build | None = None,
        compile_commands: str | Path | None = None,
        renamed_from: str | None = None,
    ) -> None:
        __tracebackhide__ = True
        allowed = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
        if not isinstance(name, str) or not name or name.startswith(".") or not set(name) <= allowed or len(name) > 100:
            raise UsageError(
                f"a kernel's name is its baseline's file name: at most 100 letters, digits, '_', '-', '.', not {name!r}"
            )
        if name == "calibration":
            raise UsageError(
                "a kernel's name is its baseline's, and calibration.json is what kernelperf calibrate stores"
            )
        whole = isinstance(tokens, (list, tuple, range)) and all(
            isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 1 for n in tokens
        )
        if not whole or not tokens:
            raise UsageError(f"kernel {name}: tokens are a list of whole numbers of 1 or more, not {tokens!r}")
        sizes = tuple(int(n) for n in tokens)
        if not isinstance(source, (str, Path)) or not str(source) or "\0" in str(source):
            raise UsageError(f"kernel {name}: source is the path of a file, not {source!r}")
        if tolerance is not None and not isinstance(tolerance, Tolerance):
            raise UsageError(f"kernel {name}: tolerance is a Tolerance(absolute, relative, reason), not {tolerance!r}")
        check_texts(f"kernel {name}: options", options)
        check_texts(f"kernel {name}: name_expressions", name_expressions)
        if len(set(sizes)) != len(sizes):
            raise UsageError(f"kernel {name}: tokens {tokens!r} name a size twice: leave one out")
        self.name = name
        self.renamed_from = check_former_name(f"kernel {name}", name, renamed_from)
        self.tokens = sizes
        self.options = tuple(options)
        self.name_expressions = tuple(name_expressions)
        self.tolerance = tolerance
        self.module_path = Path(sys._getframe(1).f_globals.get("__file__", "."))
        self.source = (self.module_path.parent / source).resolve()
        self.build = _build(name, self.source, build)
        if compile_commands is not None and self.build != "device":
            raise UsageError(f'kernel {name}: compile_commands is read with build="device" only: add that')
        given = compile_commands
        self.compile_commands = None if given is None else (self.module_path.parent / given).resolve()
        self.variants: dict[str, Variant] = {}
        self.mutations: dict[str, Mutation] = {}
        self._inputs: Callable[..., Arrays] | None = None
        self._reference: Callable[..., Arrays] | None = None

    def __repr__(self) -> str:
        return f"Kernel({self.name!r})"

    def inputs(self, function: AnyFunction) -> AnyFunction:
        """Register ``function(tokens) -> {name: array}``: one device buffer for each array."""
        __tracebackhide__ = True
        if self._inputs is not None:
            raise UsageError(f"kernel {self.name}: inputs are stated twice: keep one function under @kernel.inputs")
        self._inputs = function
        return function

    def reference(self, function: AnyFunction) -> AnyFunction:
        """Register ``function(tokens, buffer, ...) -> {name: expected array}``; it gets the buffers that it names."""
        __tracebackhide__ = True
        if self._reference is not None:
            raise UsageError(f"kernel {self.name}: the reference is stated twice: keep one under @kernel.reference")
        self._reference = function
        return function

    @overload
    def variant(self, function: AnyFunction, /) -> AnyFunction: ...
    @overload
    def variant(
        self,
        *,
        moved_bytes: Callable[[int], int] | None = None,
        replaces: str | None = None,
        expect_starved: Mapping[int, str] | None = None,
        operations: Callable[[int], int] | None = None,
        renamed_from: str | None = None,
    ) -> Callable[[AnyFunction], AnyFunction]: ...

    def variant(
        self,
        function: Any = None,
        *,
        moved_bytes: Callable[[int], int] | None = None,
        replaces: str | None = None,
        expect_starved: Mapping[int, str] | None = None,
        operations: Callable[[int], int] | None = None,
        renamed_from: str | None = None,
    ) -> Any:
        """Register ``function(tokens, device) -> [Launch, Fill or Copy, ...]`` under its own name.

        Args:
            moved_bytes: bytes that the variant must read and write at a size, for GB/s.
            replaces: the variant that this one has to beat.
            expect_starved: sizes at which too few workgroups are expected, each with the reason; such a case is
                reported as starved and does not fail.
            operations: arithmetic operations that the task takes at a size (a multiply-add is two), for Gop/s; worth
                stating where arithmetic bounds the variant, not memory.
            renamed_from: the name that it had, so that it is held against the baselines of that; until those are moved
                by ``--update-baselines``.
        """

        def register(plan: AnyFunction) -> AnyFunction:
            __tracebackhide__ = True
            name = function_name(f"kernel {self.name}, variant", plan)
            check_expectation(f"kernel {self.name}, variant {name}", expect_starved)
            if name in self.variants:
                raise UsageError(f"kernel {self.name}: variant {name} is stated twice: rename one")
            unknown = sorted(set(expect_starved or {}) - set(self.tokens))
            if unknown:
                raise UsageError(
                    f"kernel {self.name}, variant {name}: expect_starved names {unknown[0]} tokens, "
                    f"which is none of the kernel's sizes {self.tokens}"
                )
            if replaces is not None and replaces not in self.variants:
                raise UsageError(
                    f"kernel {self.name}, variant {name}: replaces={replaces!r} is no variant stated above it; "
                    f"known so far: {', '.join(self.variants) or 'none'}"
                )
            former = check_former_name(f"kernel {self.name}, variant {name}", name, renamed_from)
            self.variants[name] = Variant(name, plan, moved_bytes, replaces, expect_starved, operations, former)
            return plan

        __tracebackhide__ = True
        return register(function) if function is not None else register

    def mutation(self, *, of: str, options: Sequence[str] = ()) -> Callable[[AnyFunction], AnyFunction]:
        """Register a broken plan of variant ``of``, compiled with ``options`` added; the reference must notice it."""

        def register(plan: AnyFunction) -> AnyFunction:
            __tracebackhide__ = True
            name = function_name(f"kernel {self.name}, mutation", plan)
            check_texts(f"kernel {self.name}, mutation {name}: options", options)
            if name in self.mutations or name in self.variants:
                raise UsageError(f"kernel {self.name}: mutation {name} has a name that is taken: rename it")
            if of not in self.variants:
                raise UsageError(
                    f"kernel {self.name}, mutation {name}: of={of!r} is no variant stated above it; "
                    f"known so far: {', '.join(self.variants) or 'none'}"
                )
            self.mutations[name] = Mutation(name, plan, of, tuple(options))
            return plan

        return register

    def compute_inputs(self, tokens: int) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
        """Call the user's ``inputs``; C-contiguous, read-only arrays.

        Raises:
            UsageError: no inputs stated, or what they return is no dictionary of arrays.
        """
        if self._inputs is None:
            raise UsageError(f"kernel {self.name} has no inputs: state them with @kernel.inputs")
        arrays = self._inputs(tokens)
        where = f"kernel {self.name}, inputs at {tokens} tokens"
        if not isinstance(arrays, Mapping) or not arrays:
            raise UsageError(f"{where}: expected a dictionary of name -> numpy array, got {type(arrays).__name__}")
        result = {}
        for name, array in arrays.items():
            if not isinstance(name, str) or not name.isidentifier():
                raise UsageError(f"{where}: buffer names are Python identifiers, not {name!r}")
            if not isinstance(array, np.ndarray) or array.dtype.hasobject or array.size == 0:
                raise UsageError(f"{where}: buffer {name} must be a numpy array of numbers with at least one value")
            result[name] = np.ascontiguousarray(array).reshape(array.shape)
            result[name].flags.writeable = False
        return result

    def compute_reference(self, tokens: int, inputs: Arrays) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
        """Call the user's ``reference`` with the buffers it names; expected arrays by buffer name.

        Raises:
            UsageError: no reference stated; an unknown name, another shape or another dtype than the buffer's.
        """
        if self._reference is None:
            raise UsageError(f"kernel {self.name} has no reference: state it with @kernel.reference")
        where = f"kernel {self.name}, reference at {tokens} tokens"
        parameters = inspect.signature(self._reference).parameters
        takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        named = [name for name in list(parameters)[1:] if parameters[name].kind is not inspect.Parameter.VAR_KEYWORD]
        unknown = [name for name in named if name not in inputs and parameters[name].default is inspect.Parameter.empty]
        if unknown:
            raise UsageError(f"{where}: it asks for {unknown[0]!r}, but the inputs are {', '.join(inputs)}")
        chosen = {name: inputs[name] for name in (inputs if takes_all else named) if name in inputs}
        expected = self._reference(tokens, **chosen)
        if not isinstance(expected, Mapping) or not expected:
            raise UsageError(f"{where}: expected a dictionary of name -> numpy array, got {type(expected).__name__}")
        for name, array in expected.items():
            if name not in inputs:
                raise UsageError(f"{where}: it returns {name!r}, but the buffers are {', '.join(inputs)}")
            if (
                not isinstance(array, np.ndarray)
                or array.shape != inputs[name].shape
                or array.dtype != inputs[name].dtype
            ):
                came = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
                raise UsageError(
                    f"{where}: {name} must be {inputs[name].dtype} {inputs[name].shape} like its buffer, not {came}"
                )
        return dict(expected)


def _build(name: str, source: Path, build: Build | None) -> Build:
    """Return how the code object is made; the file's ending says where the test does not."""
    if build is None:
        return "object" if source.suffix in OBJECT_SUFFIXES | NO_SOURCE_SUFFIXES else "hiprtc"
    if build not in get_args(Build):
        raise UsageError(f"kernel {name}: build is one of {', '.join(get_args(Build))}, not {build!r}")
    return build
