"""Where a case stands on its page: ``report.html#case=moe_add_inject/separate/512``, to be pasted anywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from urllib.parse import quote

from pytest_kernelperf.model import CaseId

MOST_NAME = 80
"""Longer names end in a digest of the whole."""


def addresses_of(cases: Iterable[CaseId]) -> list[str]:
    """Return an address for each case, in order, all different.

    An address is both an element's id and what stands behind ``#``: letters, digits and ``_.-~%/=`` alone, so that it
    means the same in a link, in a browser's bar and in a chat. It depends on the case's name only, unless a run has
    two cases of one name.
    """
    addresses: list[str] = []
    taken: dict[str, int] = {}
    for case in cases:
        address = f"case={_part(case.kernel)}/{_part(case.variant)}/{case.tokens}"
        taken[address] = taken.get(address, 0) + 1
        addresses.append(address if taken[address] == 1 else f"{address}~{taken[address]}")
    return addresses


def _part(name: str) -> str:
    quoted = quote(name, safe="", errors="replace").replace("~", "%7E")
    if len(quoted) <= MOST_NAME:
        return quoted
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{quoted[: MOST_NAME - 13].rstrip('%')}~{digest}"
