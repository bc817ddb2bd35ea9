"""The guard: one case after the other is prepared, run, counted, timed where it must be, and judged."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from functools import partial

import msgspec

from pytest_kernelperf import judge
from pytest_kernelperf.baseline.entry import Baseline, BaselineCase
from pytest_kernelperf.baseline.exported import Export
from pytest_kernelperf.baseline.rename import Renames
from pytest_kernelperf.baseline.replay import symbols_of
from pytest_kernelperf.baseline.store import BaselineStore
from pytest_kernelperf.case import CaseSpec
from pytest_kernelperf.errors import BaselineError, KernelperfError, UsageError, WorkerCrashed, WorkerHung
from pytest_kernelperf.judge import Evidence, Failure
from pytest_kernelperf.kernel import Variant
from pytest_kernelperf.model import CaseId, CodeObject, DeviceFacts, Record, SourceBundle
from pytest_kernelperf.session.cache import cold_bytes
from pytest_kernelperf.session.comparing import Comparing
from pytest_kernelperf.session.new_limit import NewLimit
from pytest_kernelperf.session.parent import Parent, compare_beside_parent
from pytest_kernelperf.session.part import Keep, Machine, Progress, Workers, unheard
from pytest_kernelperf.session.progress import PREPARING
from pytest_kernelperf.session.recording import (
    STORE_ANEW,
    Work,
    count_workgroups,
    failure_kind,
    is_identical,
    obstacle_to_replay,
    record_of,
    starved_expected,
)
from pytest_kernelperf.session.subject import Subject, SubjectSource, clocked_facts
from pytest_kernelperf.session.timing import Sleep, Timer
from pytest_kernelperf.session.toolchain import ToolchainSource
from pytest_kernelperf.session.tracing import Tracer
from pytest_kernelperf.session.yardstick import Yardstick
from pytest_kernelperf.settings import CaseSettings, Settings
from pytest_kernelperf.stats.mismatch import find_mismatch
from pytest_kernelperf.units import format_counted

# Once so many cases in a row were disturbed to the end, the next ones get one try: whoever it is has come to stay.
BUSY_CASES = 3


class Guard:
    """Judges cases. One guard lives as long as the pytest session and owns the workers.

    Args:
        settings: the run's settings.
        workers: the pool of device workers.
        machine: the lock shared with other guards on this machine.
        store: the baselines.
        root_pid: the process whose tree is ours when activity on the machine is judged.
        progress: told which case is at what.
        sleep: waits between tries; replaced in tests.
        renames: finds the entries of cases that were renamed; None: nothing is known of other cases.
        parent: the code of the commit that the change is merged into; None: baselines alone are compared with.
    """

    def __init__(
        self,
        settings: Settings,
        workers: Workers,
        machine: Machine,
        store: BaselineStore,
        root_pid: int,
        progress: Progress = unheard,
        sleep: Sleep = time.sleep,
        renames: Renames | None = None,
        parent: Export | None = None,
    ) -> None:
        self.settings = settings
        self._workers = workers
        self._machine = machine
        self._store = store
        self._root_pid = root_pid
        self._progress = progress
        self._sleep = sleep
        self._busy_in_a_row = 0
        self._facts: DeviceFacts | None = None
        self._subjects: SubjectSource | None = None
        self._toolchain: ToolchainSource | None = None
        self._renames = renames
        self._parent = Parent(parent, judge=settings.own_baselines is not None) if parent is not None else None
        limit = settings.new_limit_days
        self._new_limit = None if limit is None or settings.update_reason is not None else NewLimit(limit)
        self._yardstick = Yardstick(settings, store)
        self._tracer = Tracer(settings, machine, os.environ)

    @property
    def facts(self) -> DeviceFacts:
        """The device's facts; the first use starts a worker."""
        if self._facts is None:
            self._facts = clocked_facts(self._workers.facts(), scripted=self.settings.clock_script is not None)
        return self._facts

    @property
    def device(self) -> DeviceFacts | None:
        """The device's facts for the run file, asked for even if no case got as far; None where there is none."""
        try:
            return self.facts
        except KernelperfError:
            return None

    def check(self, spec: CaseSpec, settings: CaseSettings, test: str, keep: Keep | None = None) -> Record:
        """Judge one case; whatever goes wrong becomes the record's verdict, never an exception.

        Args:
            spec: the case.
            settings: the run's case settings with the marker's laid over them.
            test: the test module, as baselines name it.
            keep: takes the case's code object and source where they may be stored as accepted.
        """
        target = self.settings.target
        evidence = Evidence(
            case=spec.case,
            mutation_of=spec.mutation_of,
            starved_expected=starved_expected(spec),
            update_reason=self.settings.update_reason,
            for_target=target is not None,
            untimed=self.settings.untimed,
            accepted=self.settings.acceptance.of(spec.case) if self.settings.acceptance is not None else None,
        )
        work = Work(spec, settings, evidence)
        try:
            self._judge(work)
        except (WorkerCrashed, WorkerHung, KernelperfError) as error:
            kind = failure_kind(error)
            work.evidence = msgspec.structs.replace(work.evidence, failure=Failure(kind, str(error)))
        if keep is not None and work.subject is not None and not work.subject.code.cannot_run:
            _keep(work, work.subject, keep)
        record = record_of(work, test, self.settings.root)
        return self._trace(record, work) if self._tracer.wants(record) else record

    def close(self) -> None:
        """Stop the workers and let go of the shared memory."""
        self._workers.close()
        if self._subjects is not None:
            self._subjects.close()

    def _judge(self, work: Work) -> None:
        """Go through the phases in the order of the verdicts; stop when the case is decided."""
        self._prepare(work)
        count_workgroups(work, self.facts, self.settings.target)
        if work.evidence.cannot_run:
            return
        self._run(work)
        if work.spec.mutation_of or self.settings.untimed or not self._recall(work):
            return
        with self._machine.shared():
            self._compare_toolchain(work)
        with self._machine.exclusive():
            self._compare(work)
            self._compare_replaced(work)
            self._compare_own(work)

    def _prepare(self, work: Work) -> None:
        """Inputs, reference, plan and code; the machine is shared meanwhile."""
        self._progress(work.spec.case, PREPARING)
        with self._machine.shared():
            # A worker's start is work too, so it waits while another guard times.
            if self._subjects is None:
                self._subjects = SubjectSource(self.facts, self.settings.target, self._compile)
                self._toolchain = ToolchainSource(self._store, self.facts, self._compile)
            work.subject = self._subjects.prepare(work.spec)

    def _compile(self, bundle: SourceBundle, data: bytes, case: CaseId) -> CodeObject:
        self._progress(case, "compiling")
        target = self.settings.target.architecture if self.settings.target is not None else ""
        return self._workers.compile(bundle, (), case=case, data=data, target=target)

    def _run(self, work: Work) -> None:
        """Run the plan once and compare its outputs."""
        subject = _ready(work)
        self._progress(work.spec.case, "checking results")
        with self._machine.shared():
            names = tuple(subject.expected)
            got = self._workers.run(work.spec.case, subject.plan, subject.code, subject.inputs, names)
        tolerance = work.spec.kernel.tolerance
        mismatches = (find_mismatch(name, got[name], subject.expected[name], tolerance) for name in names)
        work.evidence = msgspec.structs.replace(
            work.evidence,
            mismatch=next((found for found in mismatches if found is not None), None),
            profilers=self._workers.profilers,
        )

    def _recall(self, work: Work) -> bool:
        """Look the baseline up; return whether the case still has to be timed."""
        subject = _ready(work)
        baseline = self._store.read(self.facts.key, work.spec.kernel.name)
        work.accepted = baseline.case(work.spec.doing.name, work.spec.tokens) if baseline else None
        if work.accepted is None:
            self._recall_renamed(work, subject)
        if work.accepted is None and self._new_limit is not None and not self.settings.untimed:
            since = self._new_limit.since(work.spec)
            work.evidence = msgspec.structs.replace(
                work.evidence, new_since=since.isoformat(), new_for_too_long=self._new_limit.is_over(since)
            )
        if work.accepted is not None and (obstacle := obstacle_to_replay(subject, work.accepted, work.settings)):
            if self.settings.update_reason is None:
                raise BaselineError(f"{work.spec.case}: {obstacle}: store it anew with {STORE_ANEW}")
            work.notes += (f"measured afresh, since {obstacle}",)
            work.accepted = None
        same = work.accepted is not None and is_identical(subject, work.accepted)
        self._recall_own(work, subject)
        settled = same and not self.settings.full and work.own is None and self._replaced_is_settled(work, baseline)
        if self._parent is not None:
            self._parent.look_up(work, subject, self._replaced(work), self.facts)
        work.evidence = msgspec.structs.replace(
            work.evidence,
            has_baseline=work.accepted is not None,
            identical=settled and work.parent is None,
            is_baselines=settled and work.parent is not None,
        )
        return judge.needs_timing(work.evidence)

    def _recall_renamed(self, work: Work, subject: Subject) -> None:
        """Look for the entry of the case that this one was, as the test says, or as what it runs says."""
        if self._renames is None:
            return
        key, former, found = self.facts.key, work.spec.former, None
        if former is not None and (entry := self._renames.declared(key, former)) is not None:
            found = former, entry
        else:
            digests = subject.instruction_digests
            found = self._renames.same(key, work.spec.tokens, subject.plan, digests, subject.buffers)
        if found is not None:
            work.renamed_from, work.accepted = found
            work.notes += (f"renamed: held against the baseline of {work.renamed_from}",)

    def _recall_own(self, work: Work, subject: Subject) -> None:
        """Look the project's own entry up, where another's count; one of head's own code needs no measuring."""
        found = self._yardstick.edited(self.facts.key, work.spec, work.accepted)
        if found is None:
            return
        own, edit = found
        same = is_identical(subject, own)
        work.edit = msgspec.structs.replace(edit, same_code=same)
        work.own = None if same else own
        work.evidence = msgspec.structs.replace(
            work.evidence,
            own_differs=not same,
            own_problem="" if same else obstacle_to_replay(subject, own, work.settings),
        )

    def _replaced_is_settled(self, work: Work, baseline: Baseline | None) -> bool:
        """Whether the variant that this one replaces is as it was too, so that their comparison stands."""
        other = self._replaced(work)
        if other is None:
            return True
        accepted = baseline.case(other.spec.doing.name, other.spec.tokens) if baseline else None
        return accepted is None or is_identical(other, accepted)

    def _replaced(self, work: Work) -> Subject | None:
        doing = work.spec.doing
        if not isinstance(doing, Variant) or doing.replaces is None or self._subjects is None:
            return None
        return self._subjects.prepare(replace(work.spec, doing=work.spec.kernel.variants[doing.replaces]))

    def _compare(self, work: Work) -> None:
        """Time the head beside all that it is held against; without the parent's code where that does not run."""
        if not compare_beside_parent(work, self._workers, self._compare_accepted):
            self._compare_accepted(work)
        self._busy_in_a_row = self._busy_in_a_row + 1 if work.evidence.contended_by else 0

    def _compare_accepted(self, work: Work) -> None:
        """Time the head, beside the accepted binary where there is one, until it is decided or may not go on."""
        subject, comparing = _ready(work), self._comparing(work)
        if work.parent is not None and (work.accepted is None or work.evidence.is_baselines):
            comparing.compare_parent(work, subject)
        elif work.evidence.is_baselines:
            # The parent's code was all that there was to compare with, and does not run.
            work.evidence = msgspec.structs.replace(work.evidence, identical=True, is_baselines=False)
        elif work.accepted is None:
            comparing.time_alone(work, subject, shown_only=self.settings.update_reason is None)
        else:
            code = self._accepted_code(work.accepted)
            try:
                comparing.compare_accepted(work, subject, code)
            except KernelperfError:
                unplayable = self._why_unplayable(work, subject, work.accepted, code)
                if not unplayable:
                    raise
                if work.parent is not None:
                    comparing.compare_parent(work, subject)
                comparing.compare_stored_times(work, subject, unplayable)

    def _why_unplayable(self, work: Work, subject: Subject, accepted: BaselineCase, code: CodeObject) -> str:
        """Run the accepted binary by itself, once its comparison has failed; say why it fails, empty if it does not."""
        try:
            self._workers.run(work.spec.case, accepted.plan, code, subject.inputs, tuple(subject.expected))
        except KernelperfError as error:
            return f"the accepted binary does not run here any more ({error})"
        return ""

    def _compare_replaced(self, work: Work) -> None:
        """Time the variant beside the one that it replaces, unless it has failed already."""
        other = self._replaced(work)
        if other is None or work.evidence.contended_by or judge.decide(work.evidence).fails:
            return
        self._comparing(work).compare_replaced(work, _ready(work), other)

    def _compare_own(self, work: Work) -> None:
        """Time head beside the code of the entry that the change itself brings, where that is another."""
        own, store = work.own, self._yardstick.own
        evidence = work.evidence
        slower = evidence.comparison is not None and judge.is_slower(evidence.comparison)
        blamed = slower and judge.decide(evidence).fails
        if own is None or store is None or evidence.own_problem or evidence.contended_by or evidence.spoiled or blamed:
            return
        try:
            code = self._code_of(store, own)
            self._comparing(work).compare_own(work, _ready(work), code, own)
        except KernelperfError as error:
            work.evidence = msgspec.structs.replace(work.evidence, own_problem=f"it cannot be run ({error})")

    def _trace(self, record: Record, work: Work) -> Record:
        """Replay the arms that were compared under a profiler, once the verdict stands."""
        self._progress(work.spec.case, "tracing")
        # Not self.facts: a scripted clock has a device key of its own, a replay does not.
        return self._tracer.trace(record, work, self._workers.facts())

    def _compare_toolchain(self, work: Work) -> None:
        """Compile the accepted source anew where the toolchain has changed; what it makes is timed if it is another."""
        if work.accepted is None or self._toolchain is None:
            return
        made = self._toolchain.recompile(work.accepted, work.spec.case)
        if made is None:
            return
        if made.problem:
            work.notes += (f"the toolchain changed ({made.change}), and {made.problem}",)
            return
        is_head = made.makes(_ready(work).instruction_digests)
        same = made.makes(work.accepted.instruction_digests)
        work.recompiled = None if same or is_head else made.code
        work.evidence = msgspec.structs.replace(
            work.evidence, toolchain_change=made.change, toolchain_is_head=is_head and not same
        )

    def _accepted_code(self, accepted: BaselineCase) -> CodeObject:
        return self._code_of(self._store, accepted)

    def _code_of(self, store: BaselineStore, accepted: BaselineCase) -> CodeObject:
        data = store.read_object(self.facts.key, accepted.object_digest)
        names = symbols_of(data, accepted.instruction_digests)
        return CodeObject(accepted.object_digest, data, {}, lowered_names=names)

    def _start(self, case: CaseId, processes: int) -> None:
        """Start what is not alive yet, which takes a second."""
        self._progress(case, f"starting {format_counted(processes, 'process', 'processes')}")
        self._workers.start(processes)

    def _comparing(self, work: Work) -> Comparing:
        cold = cold_bytes(work.settings.cache, self.facts, self.settings.last_level_bytes)
        say = partial(self._progress, work.spec.case)
        return Comparing(
            Timer(self._workers, self._root_pid, self._sleep, say, cold),
            self.facts,
            lambda: self._workers.profilers,
            1 if self._busy_in_a_row >= BUSY_CASES else judge.TRIES,
            partial(self._start, work.spec.case),
            thorough=(self.settings.full and not self.settings.sparing) or self.settings.update_reason is not None,
        )


def _ready(work: Work) -> Subject:
    if work.subject is None:
        raise UsageError(f"{work.spec.case}: was not prepared")
    return work.subject


def _keep(work: Work, subject: Subject, keep: Keep) -> None:
    """Put what runs the case aside for its baseline; without that nothing can be stored."""
    try:
        keep(subject.code, subject.bundle)
    except OSError as error:
        problem = f"{work.spec.case}: what runs it cannot be kept for its baseline ({error}): see --kernelperf-out"
        work.evidence = msgspec.structs.replace(work.evidence, failure=Failure("failed", problem))
