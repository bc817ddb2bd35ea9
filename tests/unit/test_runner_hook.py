"""The hooks as programs: what they print, what they end, what they leave; and the machine that they look at."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kernelperf_runner", reason="the runner's programs (.github/runner) are not beside these tests")

from kernelperf_runner.document import Refusal
from kernelperf_runner.hook import completed, end_worker
from kernelperf_runner.machine import set_performance_level, unfit, wait_until_fit
from kernelperf_runner.process import Processes
from kernelperf_runner.rules import Limits
from runner_jobs import fork, pull_request, settings, variables
from strix_halo import CARD, KFD, write_strix_halo

PROGRAM = Path(__file__).parents[2] / ".github" / "runner"
HEAD = "a" * 40
AUTO = Limits(performance_level="auto")


@pytest.fixture
def box(tmp_path: Path) -> Path:
    """An idle Strix Halo box, and settings that let nobody but the repository itself in."""
    root = write_strix_halo(tmp_path / "box")
    for queue in (root / KFD / "proc" / "4242" / "queues").glob("*/type"):
        queue.unlink()
        queue.parent.rmdir()
    (tmp_path / "gate.json").write_text(json.dumps(settings(machine={"performance_level": "auto", "wait_s": 0})))
    return root


def started(box: Path, payload: Any, **changed: str) -> tuple[str, dict[str, str]]:
    """The command of the hook for a payload, and its environment."""
    event = box.parent / "event.json"
    event.write_text(payload if isinstance(payload, str) else json.dumps(payload))
    job = variables("pull_request", payload if isinstance(payload, dict) else pull_request())
    command = (
        f"'{sys.executable}' -I -B '{PROGRAM}' started --settings '{box.parent}/gate.json' --root '{box}' --log-s 0"
    )
    return command, {**job, "GITHUB_EVENT_PATH": str(event), "PATH": os.environ["PATH"], **changed}


def run(box: Path, payload: Any, **changed: str) -> subprocess.CompletedProcess[str]:
    """Run the hook as the runner does, by a shell, in an environment of its own."""
    command, environment = started(box, payload, **changed)
    return subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, check=False)


class TestBeforeAJob:
    """The program that ACTIONS_RUNNER_HOOK_JOB_STARTED starts."""

    def test_the_repositorys_own_pull_request_runs(self, box: Path) -> None:
        """And the log says why."""
        done = run(box, pull_request())
        assert done.returncode == 0
        assert "this job may run: pull request 2 comes from Codertocat/Hello-World itself" in done.stdout
        assert "idle, cool and set for measuring" in done.stdout

    @pytest.mark.parametrize(
        ("payload", "why"),
        [
            (fork(), "comes from a fork"),
            ("{", "is damaged"),
            (fork("labeled", f"perf-ok:{HEAD}", head="b" * 40), "names another commit"),
        ],
    )
    def test_a_refusal_is_an_error_in_the_log_and_an_exit_code(self, box: Path, payload: Any, why: str) -> None:
        """One annotation, one sentence."""
        done = run(box, payload)
        assert done.returncode == 1
        assert done.stdout.startswith("::error title=kernelperf runner::this job does not run here: ")
        assert why in done.stdout
        assert done.stdout.count("\n") == 1
        assert not done.stderr

    def test_without_settings_nothing_runs(self, box: Path) -> None:
        """A box that is half set up."""
        (box.parent / "gate.json").unlink()
        assert run(box, pull_request()).returncode == 1

    def test_an_environment_cannot_change_the_program(self, box: Path, tmp_path: Path) -> None:
        """Isolated mode: no Python path, start-up file or home of whoever set the environment."""
        (tmp_path / "json.py").write_text("raise SystemExit(0)")
        assert run(box, fork(), PYTHONPATH=str(tmp_path), PYTHONSTARTUP=str(tmp_path / "json.py")).returncode == 1

    def test_a_refusal_ends_the_worker_so_that_no_step_follows(self, box: Path, tmp_path: Path) -> None:
        """A step that says ``if: always()`` runs after a hook that failed, but not without the worker."""
        command, environment = started(box, fork())
        worker = tmp_path / "Runner.Worker"
        worker.write_text(f"#!/bin/bash\n{command}\necho 'the step that always runs'\n")
        worker.chmod(0o755)
        done = subprocess.run([worker], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == -signal.SIGKILL
        assert "this job does not run here" in done.stdout
        assert "always" not in done.stdout

    def test_a_job_that_may_run_keeps_its_worker(self, box: Path, tmp_path: Path) -> None:
        """The same, the other way round."""
        command, environment = started(box, pull_request())
        worker = tmp_path / "Runner.Worker"
        worker.write_text(f"#!/bin/bash\n{command}\necho 'the step that always runs'\n")
        worker.chmod(0o755)
        done = subprocess.run([worker], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0
        assert "the step that always runs" in done.stdout

    def test_cancelling_does_not_save_a_refused_job(self, box: Path, tmp_path: Path) -> None:
        """The runner interrupts and then terminates a hook; neither keeps it from ending the worker."""
        command, environment = started(box, fork())
        worker = tmp_path / "Runner.Worker"
        worker.write_text(f"#!/bin/bash\ntrap : INT TERM\n{command.replace('--log-s 0', '--log-s 1')}\necho always\n")
        worker.chmod(0o755)
        with subprocess.Popen(
            [worker], env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as job:
            assert job.stdout is not None
            assert "does not run here" in job.stdout.readline()
            os.killpg(job.pid, signal.SIGINT)
            os.killpg(job.pid, signal.SIGTERM)
            assert "always" not in job.stdout.read()
            assert job.wait() == -signal.SIGKILL


class TestTheMachine:
    """What must hold before anything is measured."""

    def test_an_idle_cool_machine_is_fit(self, box: Path) -> None:
        """With the performance level that the settings want."""
        assert unfit(box, AUTO) == ""

    @pytest.mark.parametrize(
        ("file", "text", "why"),
        [
            ("gpu_busy_percent", "97\n", "the GPU is 97 % busy"),
            ("gpu_busy_percent", "", "the GPU is at work, as far as can be told"),
            ("hwmon/hwmon5/temp1_input", "88000\n", "the GPU is at 88 °C"),
            ("hwmon/hwmon5/temp1_input", "x", "the GPU is at a temperature not known"),
            ("power_dpm_force_performance_level", "low\n", "the GPU's performance level is low, not auto"),
            ("hwmon/hwmon5/power1_cap", "55000000\n", "the GPU's power limit is 55 W, not 120 W"),
        ],
    )
    def test_what_would_distort_a_measurement_is_named(self, box: Path, file: str, text: str, why: str) -> None:
        """One sentence, with the figure."""
        (box / CARD / file).write_text(text)
        assert unfit(box, Limits(performance_level="auto", power_cap_w=120)) == why

    def test_another_process_on_the_gpu_is_named(self, box: Path) -> None:
        """One with queues; an open device alone is no work."""
        (box / KFD / "proc" / "4242" / "queues" / "0").mkdir()
        assert unfit(box, AUTO) == "the GPU has queues of llama-server (4242)"

    def test_a_machine_that_calms_down_is_waited_for(self, box: Path) -> None:
        """As long as the settings say, by a clock that is played."""
        busy, now = box / CARD / "gpu_busy_percent", [0.0]
        busy.write_text("50\n")

        def sleep(seconds: float) -> None:
            now[0] += seconds
            if now[0] >= 6:
                busy.write_text("0\n")

        wait_until_fit(box, Limits(performance_level="auto", wait_s=10), sleep, lambda: now[0])
        assert now[0] == 6
        busy.write_text("50\n")
        seconds = iter(range(100))
        with pytest.raises(Refusal, match="after 10 s of waiting the GPU is 50 % busy"):
            wait_until_fit(box, Limits(performance_level="auto", wait_s=10), lambda s: None, lambda: next(seconds))

    def test_no_gpu_and_two_gpus_are_refused(self, box: Path, tmp_path: Path) -> None:
        """Which one would be measured?"""
        with pytest.raises(Refusal, match="0 are there"):
            unfit(tmp_path, AUTO)
        other = box / "sys/class/drm/card2/device"
        other.mkdir(parents=True)
        (other / "vendor").write_text("0x1002\n")
        with pytest.raises(Refusal, match="2 are there"):
            unfit(box, AUTO)

    def test_the_clock_policy_is_set_and_looked_at(self, box: Path) -> None:
        """A driver that does not take a level keeps the old one, without an error."""
        set_performance_level(box, "high")
        assert unfit(box, Limits()) == ""
        file = box / CARD / "power_dpm_force_performance_level"
        file.unlink()
        file.symlink_to("/dev/null")
        with pytest.raises(Refusal, match="does not take the performance level high"):
            set_performance_level(box, "high")


class TestAfterAJob:
    """What the job left behind."""

    @pytest.fixture
    def unit(self, tmp_path: Path) -> Processes:
        """A control group of the runner's unit; its processes are in ``procs``."""
        (tmp_path / "proc" / "self").mkdir(parents=True)
        (tmp_path / "proc" / "self" / "cgroup").write_text("0::/system.slice/kernelperf-job.service\n")
        (tmp_path / "groups" / "system.slice" / "kernelperf-job.service").mkdir(parents=True)
        return Processes(tmp_path / "proc", tmp_path / "groups")

    @staticmethod
    def fill(unit: Processes, *processes: int) -> None:
        """Put processes into the group."""
        folder = unit.groups / "system.slice" / "kernelperf-job.service"
        (folder / "cgroup.procs").write_text("".join(f"{process}\n" for process in processes))

    def test_processes_of_the_unit_that_are_left_are_ended(self, unit: Processes) -> None:
        """Itself apart."""
        with subprocess.Popen(["sleep", "600"], start_new_session=True) as stray:
            self.fill(unit, stray.pid, os.getpid())
            assert completed({}, unit) == 0
            assert stray.wait() == -signal.SIGKILL

    def test_outside_the_runners_unit_nothing_is_ended(self, unit: Processes) -> None:
        """A hook that somebody starts by hand must not end his session."""
        (unit.proc / "self" / "cgroup").write_text("0::/user.slice\n")
        with subprocess.Popen(["sleep", "600"]) as other:
            self.fill(unit, other.pid)
            completed({}, unit)
            end_worker(unit)
            time.sleep(0.05)
            assert other.poll() is None
            other.kill()

    def test_without_a_worker_a_refusal_ends_the_whole_unit(self, unit: Processes) -> None:
        """Should the runner's program ever be called otherwise."""
        with subprocess.Popen(["sleep", "600"]) as runner:
            self.fill(unit, runner.pid, os.getpid())
            end_worker(unit)
            assert runner.wait() == -signal.SIGKILL

    def test_what_cannot_be_deleted_keeps_nothing_else_from_it(self, unit: Processes, tmp_path: Path) -> None:
        """A folder that the job has shut, or made too long a name for: the supervisor deletes it, as root."""
        (tmp_path / ".cache").mkdir()
        assert completed({"HOME": str(tmp_path), "GITHUB_WORKSPACE": "/" + "x" * 5000}, unit) == 0
        assert not (tmp_path / ".cache").exists()

    def test_files_that_the_next_job_could_read_are_deleted(self, unit: Processes, tmp_path: Path) -> None:
        """Checkout, tools, compilers' caches, start-up files. A link is deleted, what it points to is not."""
        kept = tmp_path / "kept"
        kept.mkdir()
        home, work = tmp_path / "home", tmp_path / "work"
        for folder in (home / ".cache" / "comgr", work / "_tool", work / "_temp", work / "project"):
            folder.mkdir(parents=True)
        (home / ".bashrc").write_text("evil")
        (home / ".config").symlink_to(kept)
        completed(
            {"HOME": str(home), "RUNNER_TEMP": str(work / "_temp"), "GITHUB_WORKSPACE": str(work / "project")}, unit
        )
        assert not any(home.iterdir())
        assert [path.name for path in work.iterdir()] == ["_temp"]
        assert kept.is_dir()
