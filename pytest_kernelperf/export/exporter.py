"""Compile cases and put them together: nothing is run, no reference is computed, nothing is timed."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_kernelperf import __version__
from pytest_kernelperf.baseline.exported import VERSION, Export, PlannedCase, Unexported, sentence
from pytest_kernelperf.case import CaseSpec
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.model import CaseId, CodeObject, LaunchStep, Plan, SourceBundle
from pytest_kernelperf.session.limits import limits_of
from pytest_kernelperf.session.part import Machine, Progress, Workers, unheard
from pytest_kernelperf.session.subject import Subject, SubjectSource, clocked_facts
from pytest_kernelperf.settings import CaseSettings, Settings


class Exporter:
    """Exports the cases of one commit.

    Args:
        settings: the run's.
        workers: compile.
        machine: the lock shared with guards, so that nothing compiles beside a measurement.
        progress: told which case is at what.
    """

    def __init__(self, settings: Settings, workers: Workers, machine: Machine, progress: Progress = unheard) -> None:
        self._settings = settings
        self._workers = workers
        self._machine = machine
        self._progress = progress

    def export(
        self, cases: Iterable[tuple[CaseSpec, str, CaseSettings]], commit: str, problems: Iterable[str] = ()
    ) -> Export:
        """Return the cases, each given with its test module and settings; what cannot be exported is in it with why.

        Raises:
            RuntimeUnavailable: there is no device to compile for.
        """
        with self._machine.shared():
            facts = clocked_facts(self._workers.facts(), scripted=self._settings.clock_script is not None)
        planned: list[PlannedCase] = []
        unexported: list[Unexported] = []
        objects: dict[str, bytes] = {}
        sources: dict[str, SourceBundle] = {}
        subjects = SubjectSource(facts, self._settings.target, self._compile, with_reference=False)
        try:
            for spec, module, settings in cases:
                if spec.mutation_of:
                    continue
                subject = self._prepare(subjects, spec)
                if isinstance(subject, str):
                    unexported.append(Unexported(spec.kernel.name, spec.doing.name, spec.tokens, subject))
                    continue
                planned.append(_planned(subject, module, settings))
                objects[subject.code.digest] = subject.code.data
                sources[subject.bundle.digest] = subject.bundle
        finally:
            subjects.close()
        return Export(
            version=VERSION,
            commit=commit,
            device_key=facts.key,
            tool_version=__version__,
            cases=tuple(sorted(planned, key=lambda case: case.case)),
            unexported=tuple(sorted(unexported, key=lambda one: one.case)),
            problems=tuple(sentence(problem) for problem in problems),
            objects=objects,
            sources=sources,
        )

    def _prepare(self, subjects: SubjectSource, spec: CaseSpec) -> Subject | str:
        """Return the case ready to run, or why it is not."""
        self._progress(spec.case, "exporting")
        try:
            with self._machine.shared():
                subject = subjects.prepare(spec)
        except KernelperfError as error:
            return sentence(str(error)).removeprefix(str(spec.case)).lstrip(":, ") or "it could not be compiled"
        return sentence(subject.code.cannot_run) or subject

    def _compile(self, bundle: SourceBundle, data: bytes, case: CaseId) -> CodeObject:
        target = self._settings.target.architecture if self._settings.target is not None else ""
        return self._workers.compile(bundle, (), case=case, data=data, target=target)


def empty(commit: str, problem: str) -> Export:
    """Return the export of a commit of which nothing could be exported."""
    return Export(VERSION, commit, "", __version__, problems=(sentence(problem),))


def _planned(subject: Subject, module: str, settings: CaseSettings) -> PlannedCase:
    kernels = {launch.kernel for launch in subject.plan.launches}
    return PlannedCase(
        kernel=subject.spec.kernel.name,
        variant=subject.spec.doing.name,
        tokens=subject.spec.tokens,
        test_module=module,
        plan=_without_floors(subject.plan),
        buffers=subject.buffers,
        inputs_digest=subject.inputs.digest,
        source_digest=subject.bundle.digest,
        object_digest=subject.code.digest,
        instruction_digests={name: one for name, one in subject.instruction_digests.items() if name in kernels},
        resources={name: one for name, one in subject.resources.items() if name in kernels},
        limits=limits_of(settings, subject.spec.kernel),
    )


def _without_floors(plan: Plan) -> Plan:
    """Floors are what is expected of the code, not what runs."""
    return Plan(
        tuple(
            LaunchStep(step.kernel, step.grid, step.block, step.arguments, step.shared_bytes)
            if isinstance(step, LaunchStep)
            else step
            for step in plan.steps
        )
    )
