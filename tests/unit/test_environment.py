"""The environment's facts: what may explain a change of speed, and nothing that names a person or a machine."""

from __future__ import annotations

import platform
import socket
from pathlib import Path

import msgspec
from scripted_workers import FACTS

from pytest_kernelperf.commit import measured_commit
from pytest_kernelperf.environment import describe_environment, differing_environment


def test_readable_facts_are_recorded_and_missing_ones_left_out(tmp_path: Path) -> None:
    """The governor comes from sysfs, what holds the device's speed from its facts, variables by name."""
    governor = tmp_path / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    governor.parent.mkdir(parents=True)
    governor.write_text("performance\n")
    facts = msgspec.structs.replace(
        FACTS, compiler="g++ 12.2.0", firmware="vbios 113", clock_policy="auto", power_limit_w=120.0
    )
    found = describe_environment(facts, {"HIP_LAUNCH_BLOCKING": "1", "HOME": "/home/someone"}, tmp_path)
    assert found == {
        "kernel_release": platform.release(),
        "cpu_governor": "performance",
        "compiler": "g++ 12.2.0",
        "firmware": "vbios 113",
        "clock_policy": "auto",
        "power_limit": "120 W",
        "HIP_LAUNCH_BLOCKING": "1",
    }


def test_no_host_name_is_recorded(tmp_path: Path) -> None:
    """A run file goes to strangers."""
    found = describe_environment(FACTS, {"HOSTNAME": socket.gethostname()}, tmp_path)
    assert "HOSTNAME" not in found


def test_a_change_is_said_with_both_sides() -> None:
    """Also a variable that came or went; a fact that only one side knows is no change."""
    then = {"compiler": "g++ 12", "driver": "1"}
    now = {"compiler": "g++ 13", "HIP_LAUNCH_BLOCKING": "1"}
    assert differing_environment(then, now) == [
        "HIP_LAUNCH_BLOCKING: not set -> 1",
        "compiler: g++ 12 -> g++ 13",
    ]


def test_a_commit_is_taken_from_ci_only_where_it_is_one() -> None:
    """A branch's name or a short one could mean another commit tomorrow."""
    commit = "0123456789abcdef0123456789ABCDEF01234567"
    assert measured_commit({"KERNELPERF_COMMIT": commit}) == commit.lower()
    for other in ("main", commit[:12], commit + "\n", f"{commit}; id", ""):
        assert measured_commit({"KERNELPERF_COMMIT": other}) == ""
    assert measured_commit({}) == ""
