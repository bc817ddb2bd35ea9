"""Root's part: registers a runner for one job when vetted work waits, watches it, and clears up after it.

There is a runner only while every job that could land on it has been vetted; a refused one is cancelled first. The
credential that registers runners stays with root: the job's user never sees it.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from kernelperf_runner.api import GitHub, Unreachable
from kernelperf_runner.document import Refusal, at
from kernelperf_runner.rules import Rules
from kernelperf_runner.vetting import vet

POLL_S = 15
WATCH_S = 3
IDLE_S = 600
"""A runner that got no job for so long, as GitHub says, is ended: what it was registered for was cancelled."""

NOT_FOUND = 404
NAME = re.compile(r"box-[0-9a-f]{16}")
ACTIVE = ("queued", "in_progress")


class Box(Protocol):
    """What the supervisor does to the machine."""

    def prepare(self, configuration: str) -> None:
        """Lay out a fresh runner with its one-job configuration, and set the clocks for measuring."""
        ...

    def start(self) -> None:
        """Start the runner's unit."""
        ...

    def running(self) -> bool:
        """Whether the unit still runs."""
        ...

    def kill(self) -> None:
        """End everything in the unit at once."""
        ...

    def clear(self) -> None:
        """Delete the job's folders and give the clocks back. Done twice it does no harm."""
        ...


@dataclass(frozen=True)
class Waiting:
    """A run whose jobs could land on this box, and why it may or may not have it."""

    run: int
    allowed: bool
    sentence: str


def waiting(github: GitHub, rules: Rules) -> tuple[Waiting, ...]:
    """Vet every run that has a job which a runner with our labels would be given."""
    entries = [run for status in ACTIVE for run in github.pages("actions/runs", "workflow_runs", status=status)]
    runs = {at(run, "id", int, "a run"): run for run in entries}
    found = []
    for number, run in sorted(runs.items()):
        jobs = github.pages(f"actions/runs/{number}/jobs", "jobs")
        if any(job.get("status") == "queued" and _ours(job, rules) for job in jobs):
            found.append(_vetted(number, run, github, rules))
    return tuple(found)


def _ours(job: Mapping[str, Any], rules: Rules) -> bool:
    """Whether GitHub would give a job to this box: all labels that it wants are ours."""
    labels = job.get("labels")
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise Unreachable("GitHub's answer about a job's labels is not as documented: whose job it is cannot be told")
    return bool(labels) and {label.lower() for label in labels} <= {label.lower() for label in rules.labels}


def _vetted(number: int, run: Mapping[str, Any], github: GitHub, rules: Rules) -> Waiting:
    try:
        return Waiting(number, True, vet(run, github, rules))
    except Refusal as refusal:
        return Waiting(number, False, str(refusal))


def _run_on(name: str, github: GitHub) -> dict[str, Any] | None:
    """The run one of whose jobs is on the runner of that name."""
    for run in github.pages("actions/runs", "workflow_runs", status="in_progress"):
        jobs = github.pages(f"actions/runs/{at(run, 'id', int, 'a run')}/jobs", "jobs")
        if any(job.get("runner_name") == name for job in jobs):
            return run
    return None


def _print(text: str) -> None:
    print(text, flush=True)


@dataclass(frozen=True)
class Supervisor:
    """One box's supervisor."""

    github: GitHub
    box: Box
    rules: Rules
    say: Callable[[str], None] = _print
    sleep: Callable[[float], None] = time.sleep
    cancelled: set[int] = field(default_factory=set)
    """Runs that were told to end, and should be gone by the next round."""

    def serve(self) -> None:
        """Serve jobs for ever, from a clean box on. What goes wrong in one round is said, and the next one begins."""
        self.box.kill()
        self.box.clear()
        self._forget_left()
        while True:
            served, wait_s = False, float(POLL_S)
            try:
                served = self.serve_once()
            except Unreachable as problem:
                self.say(str(problem))
                wait_s = max(wait_s, problem.wait_s)
            except (Refusal, OSError) as problem:
                self.say(str(problem))
            except Exception as problem:
                self.say(f"this round failed: {problem!r:.300}")
            if not served:
                self.sleep(wait_s)

    def serve_once(self) -> bool:
        """Look, vet, and, if all that waits may run, serve one job to its end. Returns whether one was served."""
        found = waiting(self.github, self.rules)
        for each in found:
            self.say(f"run {each.run} {'may' if each.allowed else 'may NOT'} have this box: {each.sentence}")
            if not each.allowed:
                self._cancel(each.run)
        self.cancelled.intersection_update(each.run for each in found)
        if not found or not all(each.allowed for each in found):
            return False
        name = f"box-{secrets.token_hex(8)}"
        body = {"name": name, "runner_group_id": 1, "labels": list(self.rules.labels), "work_folder": "_work"}
        answer = self.github.post("actions/runners/generate-jitconfig", body)
        try:
            self.box.prepare(at(answer, "encoded_jit_config", str, "GitHub's answer"))
            self.box.start()
            self._watch(name, {each.run for each in found})
        finally:
            try:
                self.box.kill()
                self.box.clear()
            finally:
                self._forget(answer)
        return True

    def _cancel(self, run: int) -> None:
        """End a run. A job that says ``if: always()`` stays queued all the same, and then this box would stand."""
        how = "force-cancel" if run in self.cancelled else "cancel"
        self.cancelled.add(run)
        try:
            self.github.post(f"actions/runs/{run}/{how}")
        except Unreachable as problem:
            self.say(f"run {run} was not cancelled, and is tried again: {problem}")

    def _forget(self, answer: Any) -> None:
        """Take the runner off GitHub's list: one that got no job is there for a day, and a job has seen its key."""
        try:
            self._delete(at(answer, "runner.id", int, "the registration"))
        except Refusal as problem:
            self.say(str(problem))

    def _forget_left(self) -> None:
        """Take runners off GitHub's list that a supervisor which was killed has left there."""
        try:
            for runner in self.github.pages("actions/runners", "runners"):
                if NAME.fullmatch(str(runner.get("name"))) and runner.get("status") == "offline":
                    self._delete(at(runner, "id", int, "a runner"))
        except (Unreachable, Refusal) as problem:
            self.say(str(problem))

    def _delete(self, runner: int) -> None:
        try:
            self.github.delete(f"actions/runners/{runner}")
        except Unreachable as problem:
            if problem.status != NOT_FOUND:  # as it should be: GitHub has done so itself, after the job
                self.say(str(problem))

    def _watch(self, name: str, vetted: set[int]) -> None:
        """Wait for the job's end; end it if it came after the vetting and may not run."""
        judged, idle_s, quiet_s = False, 0, 0.0
        while self.box.running():
            self.sleep(WATCH_S)
            quiet_s -= WATCH_S
            if judged or quiet_s > 0:
                continue
            try:
                run = _run_on(name, self.github)
                if run is None:
                    idle_s += WATCH_S
                    if idle_s >= IDLE_S:
                        self.say(f"no job came within {IDLE_S} s")
                        return
                    continue
                number = at(run, "id", int, "the run")
                found = Waiting(number, True, "vetted")
                if number not in vetted:
                    found = _vetted(number, run, self.github, self.rules)
            except (Unreachable, Refusal) as problem:
                self.say(f"{problem}; the gate inside the runner still holds")
                quiet_s = getattr(problem, "wait_s", 0.0)
                continue
            judged = True
            if not found.allowed:
                self.say(f"ending run {number}, which came after the vetting: {found.sentence}")
                self.box.kill()
