"""The cases of a kernel: which pytest items there are, and under which names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_kernelperf.kernel import Kernel, Mutation, Variant
from pytest_kernelperf.model import CaseId


@dataclass(frozen=True)
class CaseSpec:
    """One item: a kernel's variant or mutation at one size."""

    kernel: Kernel
    doing: Variant | Mutation
    tokens: int

    @property
    def case(self) -> CaseId:
        """The case's identity in records and baselines."""
        return CaseId(self.kernel.name, self.doing.name, self.tokens)

    @property
    def former(self) -> CaseId | None:
        """The case that this one was, as the test says; None where it says nothing."""
        variant = self.doing.renamed_from if isinstance(self.doing, Variant) else None
        if isinstance(self.doing, Mutation) or (variant is None and self.kernel.renamed_from is None):
            return None
        return CaseId(self.kernel.renamed_from or self.kernel.name, variant or self.doing.name, self.tokens)

    @property
    def item_name(self) -> str:
        """What stands between the brackets of the item's name."""
        return f"{self.doing.name}-{self.tokens}"

    @property
    def mutation_of(self) -> str:
        """The variant that this mutation breaks; empty for a variant."""
        return self.doing.of if isinstance(self.doing, Mutation) else ""


def list_cases(kernel: Kernel) -> Iterator[CaseSpec]:
    """Yield all cases, size by size, so that inputs and references are computed once for a kernel and size."""
    doings: list[Variant | Mutation] = [*kernel.variants.values(), *kernel.mutations.values()]
    for tokens in kernel.tokens:
        for doing in doings:
            yield CaseSpec(kernel, doing, tokens)
