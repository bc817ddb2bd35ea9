"""A case's trace, taken once its verdict stands: what happened in its arms, for whoever has to find out why.

Nothing here touches a verdict. Replays are processes of their own, so a profiler in them is none in the workers that
time; and they run while this guard holds the machine, so that nobody else times beside them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.measure.request import Arm
from pytest_kernelperf.model import CaseId, CaseTrace, DeviceFacts, Record, Verdict
from pytest_kernelperf.replay.case_file import data_path, write_case
from pytest_kernelperf.replay.taking import Taker, Wanted, recorder_for
from pytest_kernelperf.session.out_folder import make_out_folder
from pytest_kernelperf.session.part import Machine
from pytest_kernelperf.session.recording import Work
from pytest_kernelperf.session.subject import Subject
from pytest_kernelperf.settings import Settings
from pytest_kernelperf.strict_json import one_line
from pytest_kernelperf.worker.process import worker_environment

FOLDER = "traces"
CASE_FILE = "case.json"
MOST_KEPT_BYTES = 2**30
MOST_WORDS = 1000

BASELINE = "baseline"
_AGAINST = {
    "slower_than_replaced": "replaced",
    "slower_than_own_baseline": "own",
    "slower_than_parent": "parent",
}
"""What the head was slower than, by the code of the decision; the baseline otherwise."""

_SLOWER = (Verdict.REGRESSED, Verdict.SLOWER_THAN_REPLACED)
_NOT_RUN = (Verdict.CRASHED, Verdict.HUNG, Verdict.FAILED, Verdict.WRONG, Verdict.SKIPPED)


class Tracer:
    """Takes the traces of one run's cases.

    Args:
        settings: say which cases are traced, where the files go, and how long a replay may take.
        machine: the lock shared with other guards.
        environment: what replays run in.
    """

    def __init__(self, settings: Settings, machine: Machine, environment: Mapping[str, str]) -> None:
        self._settings = settings
        self._machine = machine
        self._environment = environment
        self._taker: Taker | None = None
        self._kept_bytes = 0

    def wants(self, record: Record) -> bool:
        """Whether a case's verdict asks for a trace. What crashes, hangs or is wrong is not run again for one."""
        verdict = record.decision.verdict
        if self._settings.trace == "always":
            return record.plan is not None and verdict not in _NOT_RUN and not record.mutation_of
        return self._settings.trace == "regression" and verdict in _SLOWER

    def trace(self, record: Record, work: Work, device: DeviceFacts) -> Record:
        """Return the record with its trace; whatever goes wrong is a note in it."""
        subject = work.subject
        if subject is None:
            return record
        head = Arm("head", subject.code, subject.plan)
        arms = compared_arms(record.decision.code, head, work.arms)
        try:
            trace = self._take(record, subject, device, arms)
        except (KernelperfError, OSError) as problem:
            trace = CaseTrace("", notes=(one_line(f"not traced: {problem}"),))
        except Exception as problem:  # a bug of ours must not look like a failing kernel
            words = f"not traced: tracing failed with {type(problem).__name__}: {problem}"
            trace = CaseTrace("", notes=(one_line(words)[:MOST_WORDS],))
        return msgspec.structs.replace(record, trace=trace)

    def _take(self, record: Record, subject: Subject, device: DeviceFacts, arms: tuple[Arm, ...]) -> CaseTrace:
        if self._taker is None:
            recorder = recorder_for(device, self._settings.rocprofv3, self._environment)
            environment = worker_environment(dict(self._environment))
            self._taker = Taker(recorder, environment, self._settings.case_timeout_s)
        name = folder_name(record.case)
        folder = self._settings.out.absolute() / FOLDER / name
        case_file = folder / CASE_FILE
        not_kept = ""
        with self._machine.exclusive():  # another run of this project may be taking this very case's
            shutil.rmtree(folder, ignore_errors=True)
            make_out_folder(self._settings.out)
            folder.mkdir(parents=True)
            try:
                write_case(case_file, record.case, device, subject.buffers, subject.inputs, arms)
                trace = self._taker.take(Wanted(case_file, arms, f"{FOLDER}/{name}"))
            finally:
                not_kept = self._keep(case_file) if record.decision.fails else _remove(case_file)
        return msgspec.structs.replace(trace, notes=(*trace.notes, not_kept)) if not_kept else trace

    def _keep(self, case_file: Path) -> str:
        """Leave what replays a failing case to who looks into it, as long as that is not too much; else say so."""
        beside = data_path(case_file)
        size_bytes = beside.stat().st_size if beside.exists() else 0
        if self._kept_bytes + size_bytes > MOST_KEPT_BYTES:
            _remove(case_file)
            return f"its case.json was not kept: those of this run would fill more than {MOST_KEPT_BYTES / 2**30:g} GiB"
        self._kept_bytes += size_bytes
        return ""


def _remove(case_file: Path) -> str:
    for path in (case_file, data_path(case_file)):
        path.unlink(missing_ok=True)
    return ""


def compared_arms(code: str, head: Arm, timed: Mapping[str, Arm]) -> tuple[Arm, ...]:
    """Return the arms whose difference made the verdict: the head, and what it was compared with.

    ``code`` is the decision's; ``timed``: all arms that were, by name; where none was, the head stands alone.
    """
    against = timed.get(_AGAINST.get(code, BASELINE)) or timed.get(BASELINE)
    return (head,) if against is None else (head, against)


def folder_name(case: CaseId) -> str:
    """Return the name of a case's folder: readable, and another for every case."""
    text = f"{case.kernel}-{case.variant}-{case.tokens}"
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", text)[:100].lstrip(".")
    return plain if plain == text else f"{plain}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def remove_stale(out: Path, records: Iterable[Record], started_s: float) -> None:
    """Remove the traces of other runs, which no run file speaks of any more.

    What is younger than ``started_s`` (seconds since 1970) is another run's that goes on beside this one.
    """
    kept = {folder_name(record.case) for record in records if record.trace is not None}
    folder = out / FOLDER
    for name in os.listdir(folder) if folder.is_dir() and not folder.is_symlink() else ():
        with contextlib.suppress(FileNotFoundError):  # another run removed it at the same moment
            if name not in kept and (folder / name).lstat().st_mtime < started_s:
                shutil.rmtree(folder / name, ignore_errors=True)
