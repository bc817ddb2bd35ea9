"""Cases under new names: which entry, whose case no test has any more, a case without one goes on from.

Either the test says so (``renamed_from=``), or the entry runs the very same: instructions, launches and buffers,
whatever the kernels, the variant or the task are called now.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from pytest_kernelperf.baseline.check import KnownCases, stale_cases
from pytest_kernelperf.baseline.entry import BaselineCase
from pytest_kernelperf.baseline.store import BaselineStore, read_file
from pytest_kernelperf.errors import BaselineError
from pytest_kernelperf.model import BufferSpec, CaseId, LaunchStep, Plan, digest_of


class Renames:
    """The entries that no test has any more, by what they run.

    Args:
        store: the baselines.
        known_cases: the cases that tests have today.
        root: the project's folder.
    """

    def __init__(self, store: BaselineStore, known_cases: KnownCases, root: Path) -> None:
        self._store = store
        self._known_cases = known_cases
        self._root = root
        self._vanished: dict[str, dict[CaseId, BaselineCase]] = {}

    def declared(self, device_key: str, old: CaseId) -> BaselineCase | None:
        """Return the entry of a case that a test names as its former self; None where there is none, or it lives on.

        Raises:
            BaselineError: its file cannot be used.
        """
        baseline = self._store.read(device_key, old.kernel)
        entry = baseline.case(old.variant, old.tokens) if baseline is not None else None
        known = self._known_cases(old.kernel, baseline.test_module) if baseline is not None else None
        return None if known is not None and (old.variant, old.tokens) in known else entry

    def same(
        self, device_key: str, tokens: int, plan: Plan, digests: Mapping[str, str], buffers: tuple[BufferSpec, ...]
    ) -> tuple[CaseId, BaselineCase] | None:
        """Return the vanished case that runs the very same at a size, and its entry; None where there is none."""
        wanted = fingerprint(plan, digests, buffers)
        for case, entry in self._of(device_key).items():
            same_size = case.tokens == tokens
            if same_size and fingerprint(entry.plan, entry.instruction_digests, entry.buffers) == wanted:
                return case, entry
        return None

    def _of(self, device_key: str) -> dict[CaseId, BaselineCase]:
        if device_key not in self._vanished:
            self._vanished[device_key] = dict(sorted(self._read(device_key).items()))
        return self._vanished[device_key]

    def _read(self, device_key: str) -> dict[CaseId, BaselineCase]:
        found: dict[CaseId, BaselineCase] = {}
        for file in self._store.files():
            if file.parent.name != device_key:
                continue
            try:
                baseline = read_file(file)
            except (BaselineError, FileNotFoundError):
                continue  # its own item fails
            for entry in stale_cases(baseline, self._known_cases, self._root):
                found[CaseId(baseline.kernel, entry.variant, entry.tokens)] = entry
        return found


def fingerprint(plan: Plan, digests: Mapping[str, str], buffers: tuple[BufferSpec, ...]) -> str:
    """Return what a case runs, as a digest: kernels by their instructions, so that their names do not count."""
    steps = [
        msgspec.structs.replace(step, kernel=digests.get(step.kernel, f"unknown {step.kernel}"), floor=None)
        if isinstance(step, LaunchStep)
        else step
        for step in plan.steps
    ]
    return digest_of([steps, list(buffers)])


def moved(entry: BaselineCase, former: CaseId, case: CaseId) -> BaselineCase:
    """Return an entry under its case's new name; all else is as it was accepted.

    From another kernel's file the facts that its processes ran under do not come along: they are that file's.
    """
    processes = entry.processes
    if former.kernel != case.kernel:
        processes = tuple(msgspec.structs.replace(process, environment=msgspec.UNSET) for process in processes)
    return msgspec.structs.replace(entry, variant=case.variant, tokens=case.tokens, processes=processes)
