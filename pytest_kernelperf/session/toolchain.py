"""What the toolchain did since a case was accepted: its accepted source, compiled today."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_kernelperf.baseline.entry import BaselineCase
from pytest_kernelperf.baseline.store import BaselineStore
from pytest_kernelperf.errors import BaselineError, KernelperfError
from pytest_kernelperf.kernel_name import find_kernel
from pytest_kernelperf.model import CaseId, CodeObject, DeviceFacts, ReadyObject, SourceBundle

Compile = Callable[[SourceBundle, bytes, CaseId], CodeObject]

_NAMES = {"compiler": "compiler", "driver": "driver", "hip_version": "HIP"}


@dataclass(frozen=True)
class Recompiled:
    """An accepted case's source compiled today: the code, or ``problem``, the sentence that says why there is none.

    ``change``: what is another than when the case was accepted, ``compiler 19.1.4 -> 20.0.0``.
    """

    change: str
    code: CodeObject | None = None
    problem: str = ""

    def makes(self, digests: dict[str, str]) -> bool:
        """Whether its instructions, kernel by kernel, are these."""
        return self.code is not None and instructions(self.code, digests) == digests


class ToolchainSource:
    """Compiles accepted sources, each once, where the toolchain is another than the one they were accepted with."""

    def __init__(self, store: BaselineStore, facts: DeviceFacts, compile_bundle: Compile) -> None:
        self._store = store
        self._facts = facts
        self._compile = compile_bundle
        self._made: dict[str, CodeObject | str] = {}

    def recompile(self, accepted: BaselineCase, case: CaseId) -> Recompiled | None:
        """Compile the accepted source; None where the toolchain is the same, or there is no source to compile."""
        change = toolchain_change(accepted, self._facts)
        if not change:
            return None
        digest = accepted.source_digest
        if digest not in self._made:
            try:
                bundle = self._store.read_source(self._facts.key, digest)
                if isinstance(bundle.build, ReadyObject):
                    return None
                self._made[digest] = self._compile(bundle, b"", case)
            except BaselineError as error:
                self._made[digest] = f"the accepted source cannot be read: {error}"
            except KernelperfError as error:
                self._made[digest] = f"the accepted source does not compile today: {error}"
        made = self._made[digest]
        if isinstance(made, str):
            return Recompiled(change, problem=made)
        if made.cannot_run:
            return Recompiled(change, problem=made.cannot_run)
        return Recompiled(change, made)


def toolchain_change(accepted: BaselineCase, facts: DeviceFacts) -> str:
    """What of compiler, driver and HIP is another than when the case was accepted; what either side does not know is
    left out."""
    pairs = [(words, getattr(accepted, name), getattr(facts, name)) for name, words in _NAMES.items()]
    return ", ".join(f"{words} {old} -> {new}" for words, old, new in pairs if old and new and old != new)


def instructions(code: CodeObject, wanted: dict[str, str]) -> dict[str, str]:
    """The instruction digests of the kernels that ``wanted`` names, as launches name them."""
    found = {launch: find_kernel(code.kernels, launch) for launch in wanted}
    return {launch: code.kernels[name].instruction_digest for launch, name in found.items() if name is not None}
