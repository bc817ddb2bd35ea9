"""How a run ends that does not go to its end: terminated, or without any device."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest


def start(guarded: Any, plugin_arguments: tuple[str, ...], *arguments: str) -> subprocess.Popen[str]:
    """A guarding pytest whose reference waits at eight tokens, once it has got there."""
    guarded.replace(
        "test_scale.py",
        "def reference(tokens, x):\n",
        "def reference(tokens, x):\n"
        "    if tokens == 8:\n"
        "        import pathlib, time\n"
        "        pathlib.Path(__file__).with_name('waiting').touch()\n"
        "        time.sleep(120)\n",
    )
    command = [sys.executable, "-m", "pytest", *plugin_arguments, "--kernelperf", "--kernelperf-runtime=cpu"]
    process = subprocess.Popen(
        [*command, *arguments],
        cwd=guarded.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )
    deadline = time.monotonic() + 100
    while not (guarded.path / "waiting").exists():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_terminated_run_writes_what_was_judged(
    guarded: Any, plugin_arguments: tuple[str, ...], number: signal.Signals
) -> None:
    """As a job manager does it: the run file holds the cases before, the exit code is that of an interrupted run."""
    process = start(guarded, plugin_arguments)
    try:
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert guarded.verdicts() == {"plain-1": "new", "strided-1": "new", "factor_two-1": "caught"}
    assert "2 cases: 2 new; mutation: 1 caught" in output
    assert ("SIGTERM: what was judged so far is written" in output) is (number is signal.SIGTERM)


def test_a_second_signal_ends_a_run_at_once(guarded: Any, plugin_arguments: tuple[str, ...]) -> None:
    """Whoever cannot wait is not made to: only the first SIGTERM is minded."""
    (guarded.path / "conftest.py").write_text(
        "import time, pathlib\n"
        "def pytest_keyboard_interrupt(excinfo):\n"
        "    pathlib.Path(__file__).with_name('ending').touch()\n"
        "    time.sleep(120)\n"
    )
    process = start(guarded, plugin_arguments)
    try:
        process.terminate()
        while not (guarded.path / "ending").exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.terminate()
        process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == -signal.SIGTERM


def test_a_handler_of_somebody_elses_stays(guarded: Any) -> None:
    """A conftest that minds SIGTERM itself goes on doing so."""
    (guarded.path / "conftest.py").write_text(
        "import signal\n"
        "def mine(number, frame): pass\n"
        "signal.signal(signal.SIGTERM, mine)\n"
        "def pytest_sessionfinish(): assert signal.getsignal(signal.SIGTERM) is mine\n"
    )
    guarded.guard("-k", "plain-1").assert_outcomes(passed=1)


def test_without_a_usable_runtime_the_run_file_says_so(guarded: Any) -> None:
    """Every case fails with the sentence, in the run file too, and nothing can be stored."""
    if Path("/dev/kfd").exists() and os.environ.get("ROCM_PATH"):
        pytest.skip("an AMD GPU is here")
    result = guarded.child.run("--kernelperf", "--kernelperf-runtime=rocm", "-k", "plain", "--update-baselines=first")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    run = guarded.run_file()
    assert run["device"]["key"] == ""
    assert {record["decision"]["verdict"] for record in run["records"]} == {"failed"}
    assert all("rocm" in record["decision"]["reason"] for record in run["records"])
    result.stdout.fnmatch_lines(["no device: no runtime can be used here (asked for: rocm)", "2 cases: 2 failed"])
    assert not (guarded.path / "baselines").exists()
    shown = guarded.command("show", ".kernelperf/run.json")
    assert shown.returncode == 0
    assert "no device: no runtime can be used here (asked for: rocm)" in shown.stdout
