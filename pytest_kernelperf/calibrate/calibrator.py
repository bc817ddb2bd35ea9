"""Calibrates case after case: stores what is there in a scratch folder, and has the guard compare it with itself."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone

import msgspec

from pytest_kernelperf import __version__
from pytest_kernelperf.baseline.calibration import VERSION, Calibration, SeenCase, SeenGroup
from pytest_kernelperf.baseline.entry import Baseline, DeviceSummary
from pytest_kernelperf.baseline.store import BaselineStore
from pytest_kernelperf.baseline.update import Acceptance, update
from pytest_kernelperf.calibrate.observation import observe
from pytest_kernelperf.calibrate.schedule import PASSES, Schedule
from pytest_kernelperf.calibrate.wish import Outcome, Wish
from pytest_kernelperf.case import CaseSpec
from pytest_kernelperf.kernel import Variant
from pytest_kernelperf.model import CodeObject, DeviceFacts, Mode, Record, SourceBundle, Verdict
from pytest_kernelperf.session.guard import Guard
from pytest_kernelperf.session.part import Keep
from pytest_kernelperf.session.timing import policy_of
from pytest_kernelperf.settings import CaseSettings

REASON = "calibration: compared with itself"

MOST_DISTURBED = 3
"""So many disturbed measurements in a row, each after the guard's own tries, and whoever it is has come to stay."""

Clock = Callable[[], float]


class ScratchStore(BaselineStore):
    """Baselines in a scratch folder, given out as if they had been taken in the mode that is calibrated.

    Their stored samples are of another mode then; nothing that a calibration keeps is made of those.
    """

    mode: Mode = "graph"

    def read(self, device_key: str, kernel: str) -> Baseline | None:
        """Return a kernel's baseline with the mode asked for."""
        baseline = super().read(device_key, kernel)
        if baseline is None:
            return None
        cases = tuple(msgspec.structs.replace(case, mode=self.mode) for case in baseline.cases)
        return msgspec.structs.replace(baseline, cases=cases)


@dataclass
class _Case:
    """What is known of one case so far."""

    spec: CaseSpec
    settings: CaseSettings
    test: str
    stored: bool = False
    last_s: float = 0.0
    visits: int = 0
    tried: set[Mode] = field(default_factory=set)
    groups: dict[Mode, list[SeenGroup]] = field(default_factory=lambda: defaultdict(list))


class Calibrator:
    """Stands where the guard does in a session: ``check`` measures a case beside itself for its share of the time.

    Args:
        guard: the guard, whose workers measure copies; its settings are changed from case to case.
        store: the guard's baselines, in a scratch folder.
        fresh: ends all workers, so that the next request meets fresh processes.
        wish: what is asked for.
        schedule: how long each visit may take.
        clock: returns seconds.
    """

    def __init__(
        self,
        guard: Guard,
        store: ScratchStore,
        fresh: Callable[[], None],
        wish: Wish,
        schedule: Schedule,
        clock: Clock = time.monotonic,
    ) -> None:
        self._guard = guard
        self._store = store
        self._fresh = fresh
        self._wish = wish
        self._schedule = schedule
        self._clock = clock
        self._settings = guard.settings
        self._started_s = clock()
        self._visits = 0
        self._cases: dict[str, _Case] = {}
        self._left_out: dict[str, str] = {}
        self._disturbed = 0
        self._disturbed_in_a_row = 0
        self._disturbance = ""
        self._facts: DeviceFacts | None = None
        self.problem = ""

    @property
    def over(self) -> bool:
        """Whether to begin no further visit: the time is up, or it is pointless."""
        return bool(self.problem) or self._schedule.over(self._elapsed_s, self._visits)

    @property
    def device(self) -> DeviceFacts | None:
        """The device's facts; None before a case was measured, or where there is none."""
        return self._facts

    def check(self, spec: CaseSpec, settings: CaseSettings, test: str, keep: Keep | None = None) -> Record:
        """Measure a case beside itself, in fresh processes each time, for this visit's share of the time."""
        began_s, share_s = self._clock(), self._schedule.share_s(self._elapsed_s, self._visits)
        self._visits += 1
        case = self._cases.setdefault(str(spec.case), _Case(_alone(spec), settings, test))
        case.visits += 1
        if not case.stored:
            record = self._accept(case)
            if not case.stored:
                return record
        while True:
            group_s = self._clock()
            record = self._measure(case)
            now_s = self._clock()
            case.last_s = now_s - group_s
            left_out = str(spec.case) in self._left_out
            if self.problem or left_out or not Schedule.again(share_s, now_s - began_s, case.last_s):
                return record

    def close(self) -> None:
        """Stop the workers."""
        self._guard.close()

    def outcome(self, cases: list[str], now: datetime | None = None) -> Outcome:
        """What came of it; ``cases``: all that were to be calibrated."""
        seen = [each for case in self._cases.values() for each in self._seen(case)]
        problem = self.problem
        if not problem and not seen:
            reasons = [*self._left_out.values(), self._disturbance, "the time did not suffice for one case"]
            problem = f"nothing was measured: {next(reason for reason in reasons if reason)}"
        measured = {name: case for name, case in self._cases.items() if case.groups and name not in self._left_out}
        return Outcome(
            calibration=None if problem or self._facts is None else self._calibration(self._facts, seen, now),
            problem=problem,
            left_out=tuple(sorted(self._left_out.items())),
            unreached=tuple(name for name in cases if name not in measured and name not in self._left_out),
            disturbed=self._disturbed,
            missed_modes=tuple(
                (name, mode) for name, case in measured.items() for mode in self._wish.modes if mode not in case.tried
            ),
            visited_once=tuple(name for name, case in measured.items() if case.visits < PASSES),
        )

    def _accept(self, case: _Case) -> Record:
        """Have the guard take the code as it stands for accepted."""
        self._guard.settings = replace(self._settings, update_reason=REASON, full=False)
        kept: list[tuple[CodeObject, SourceBundle]] = []
        record = self._guard.check(
            case.spec, case.settings, case.test, lambda code, bundle: kept.append((code, bundle))
        )
        self._facts = facts = self._guard.device or self._facts
        if self._is_disturbed(record):
            return record
        if facts is None or not kept or record.decision.verdict is not Verdict.NEW:
            self._left_out[str(case.spec.case)] = f"{record.decision.verdict.value}: {record.decision.reason}"
            return record
        kernel = case.spec.case.kernel
        day = datetime.now(timezone.utc).date().isoformat()
        acceptance = Acceptance(kernel, case.test, facts, REASON, day, __version__)
        self._store.mode = record.mode
        result = update(BaselineStore.read(self._store, facts.key, kernel), [record], acceptance)
        if result.baseline is None:
            self._left_out[str(case.spec.case)] = "; ".join(result.refused) or "it could not be stored"
            return record
        ((code, bundle),) = kept[-1:]
        self._store.write(facts.key, result.baseline, {code.digest: code.data}, {bundle.digest: bundle})
        case.stored = True
        return record

    def _measure(self, case: _Case) -> Record:
        """One group of fresh processes, which measure the case in every mode."""
        self._fresh()
        self._guard.settings = replace(self._settings, update_reason=None, full=True, sparing=True)
        policy = policy_of(case.settings, self._guard.facts.runtime)
        gate = case.settings.mode
        for mode in (gate, *(mode for mode in self._wish.modes if mode != gate)):
            if mode != gate and self._elapsed_s >= self._wish.budget_s:
                break  # an open case goes on to many processes, in each mode
            self._store.mode = mode
            case.tried.add(mode)
            record = self._guard.check(case.spec, replace(case.settings, mode=mode), case.test)
            if self._is_disturbed(record):
                break
            group = observe(record, policy)
            if group is None:
                self._left_out[str(case.spec.case)] = f"{record.decision.verdict.value}: {record.decision.reason}"
                break
            if record.mode == mode:  # a plan that cannot be captured was queued, which is measured anyhow
                case.groups[mode].append(group)
            elif mode == gate and record.mode not in self._wish.modes:
                case.groups[record.mode].append(group)
        return record

    def _is_disturbed(self, record: Record) -> bool:
        """Note whether somebody else was active, and give up where they stay."""
        if record.decision.code != "busy":
            self._disturbed_in_a_row = 0
            return False
        self._disturbed += 1
        self._disturbed_in_a_row += 1
        self._disturbance = record.decision.reason
        if self._disturbed_in_a_row >= MOST_DISTURBED:
            self.problem = (
                f"{record.decision.reason} ({self._disturbed_in_a_row} times in a row): a calibration is of a quiet "
                "machine, so nothing was stored"
            )
        return True

    def _seen(self, case: _Case) -> list[SeenCase]:
        facts = self._facts
        if facts is None:
            return []
        policy = policy_of(case.settings, facts.runtime)
        fallback = case.settings.mode not in case.groups and case.settings.mode == "graph"
        gate: Mode = "queued" if fallback else case.settings.mode
        return [
            SeenCase(
                kernel=case.spec.case.kernel,
                variant=case.spec.case.variant,
                tokens=case.spec.case.tokens,
                mode=mode,
                gate=mode == gate,
                tolerance=policy.tolerance,
                floor_us=policy.floor_us,
                alpha=policy.alpha,
                groups=tuple(groups),
            )
            for mode, groups in case.groups.items()
            if groups
        ]

    def _calibration(self, facts: DeviceFacts, seen: list[SeenCase], now: datetime | None) -> Calibration:
        return Calibration(
            version=VERSION,
            device_key=facts.key,
            device=DeviceSummary.of(facts),
            measured_at=(now or datetime.now(timezone.utc)).isoformat(timespec="seconds"),
            spent_s=round(self._elapsed_s, 1),
            tool_version=__version__,
            compiler=facts.compiler,
            driver=facts.driver,
            hip_version=facts.hip_version,
            cache=self._settings.case.cache,
            processes=max(len(group.processes) for case in seen for group in case.groups),
            copies=self._wish.copies,
            cases=tuple(sorted(seen, key=lambda case: case.key)),
        )

    @property
    def _elapsed_s(self) -> float:
        return self._clock() - self._started_s


def _alone(spec: CaseSpec) -> CaseSpec:
    """The case without the variant that it replaces: that comparison is of different code."""
    return replace(spec, doing=replace(spec.doing, replaces=None)) if isinstance(spec.doing, Variant) else spec
