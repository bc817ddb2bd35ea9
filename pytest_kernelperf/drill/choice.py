"""Which of a project's cases a drill uses: few, of different kernels, each at its largest size."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_kernelperf.case import CaseSpec
from pytest_kernelperf.drill.tampering import Tampering
from pytest_kernelperf.kernel import Variant


def choose(specs: Sequence[CaseSpec], tampering: Tampering) -> list[CaseSpec]:
    """Return the cases to keep, in their order.

    By name where names are given. Else as many as asked for, spread evenly over the kernels: of each the first variant
    at its largest size, since small ones are over before a clock sees a difference. Starved ones, where that is
    expected, come last. With the mutations of the chosen kernels at the chosen sizes where they are asked for.
    """
    variants = [spec for spec in specs if not spec.mutation_of]
    if tampering.cases:
        chosen = [spec for spec in variants if str(spec.case) in tampering.cases]
    elif tampering.choose:
        chosen = _spread(variants, tampering.choose)
    else:
        chosen = variants
    sizes = {(spec.kernel.name, spec.tokens) for spec in chosen}
    mutations = [s for s in specs if s.mutation_of and tampering.mutations and (s.kernel.name, s.tokens) in sizes]
    return [spec for spec in specs if spec in chosen or spec in mutations]


def _spread(variants: Sequence[CaseSpec], most: int) -> list[CaseSpec]:
    by_kernel: dict[str, list[CaseSpec]] = {}
    for spec in variants:
        by_kernel.setdefault(spec.kernel.name, []).append(spec)
    kernels = [sorted(of, key=_rank) for of in by_kernel.values()]
    taken = [of[0] for of in kernels[:: max(1, len(kernels) // most)]][:most]
    rest = [spec for of in kernels for spec in of[1:]]
    return taken + rest[: most - len(taken)] if len(kernels) < most else taken


def _rank(spec: CaseSpec) -> tuple[bool, int]:
    starved = isinstance(spec.doing, Variant) and spec.tokens in (spec.doing.expect_starved or {})
    return starved, -spec.tokens
