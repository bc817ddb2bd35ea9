"""What a drill does to baselines in its scratch folder: renames a case, damages files in ways that have been seen."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from pytest_kernelperf.baseline.store import BaselineStore
from pytest_kernelperf.model import CaseId

RENAMED = "_before_it_was_renamed"


def rename_case(store: BaselineStore, device_key: str, case: CaseId) -> str:
    """Give a case of the baseline a name that no test has, as if the test had been renamed since; return that name."""
    baseline = store.read(device_key, case.kernel)
    assert baseline is not None
    renamed = f"{case.variant}{RENAMED}"
    cases = (
        msgspec.structs.replace(each, variant=renamed) if (each.variant, each.tokens) == case_key(case) else each
        for each in baseline.cases
    )
    ordered = tuple(sorted(cases, key=lambda each: (each.variant, each.tokens)))
    store.write(device_key, msgspec.structs.replace(baseline, cases=ordered), {}, {})
    return renamed


def case_key(case: CaseId) -> tuple[str, int]:
    """What a case is called within its baseline."""
    return case.variant, case.tokens


def cut_off(data: bytes) -> bytes:
    """The first half, as a full disk or a killed copy leaves it."""
    return data[: len(data) // 2]


def not_a_number(data: bytes) -> bytes:
    """The first sample replaced by NaN: compared with anything, it says no."""
    return re.sub(rb'("times_us": \[)[^,\]]+', rb"\1NaN", data, count=1)


def later_version(data: bytes) -> bytes:
    """The file as a release to come would write it."""
    return re.sub(rb'"version": [0-9]+', b'"version": 9999', data, count=1)


def one_bit(data: bytes) -> bytes:
    """One bit flipped in the middle, as a bad disk or a bad merge of a binary file does."""
    middle = len(data) // 2
    return data[:middle] + bytes((data[middle] ^ 0x10,)) + data[middle + 1 :]


def objects_of(store: BaselineStore, device_key: str, kernel: str) -> tuple[Path, ...]:
    """The files of the code objects that a kernel's baseline refers to."""
    baseline = store.read(device_key, kernel)
    assert baseline is not None
    digests = sorted({case.object_digest for case in baseline.cases})
    return tuple(store.root / device_key / "objects" / f"{digest}.gz" for digest in digests)
