"""The whole diagnosis: all findings in order, and whether the guard can run. Pure: no files, no device, no text."""

from __future__ import annotations

from collections.abc import Callable

from pytest_kernelperf.doctor import device, host, probes, recorder
from pytest_kernelperf.doctor.examination import Examination
from pytest_kernelperf.doctor.finding import TOPICS, Finding, Topic
from pytest_kernelperf.model import Frozen

VERSION = 1
"""Version of ``kernelperf doctor --json``. History: 1, the first."""

FINDERS: dict[Topic, Callable[[Examination], Finding]] = {
    "runtime": device.find_runtime,
    "versions": device.find_versions,
    "device": device.find_device,
    "compute units": device.find_compute_units,
    "bandwidth": device.find_bandwidth,
    "caches": device.find_caches,
    "compiler": device.find_compiler,
    "compiling twice": probes.find_repeatability,
    "gate": probes.find_gate,
    "queue": probes.find_queue,
    "timer": probes.find_timer,
    "tracing": probes.find_tracing,
    "recorder": recorder.find_recorder,
    "others": host.find_others,
    "clocks": host.find_clocks,
    "settings": host.find_settings,
    "missing": host.find_missing,
}


class Diagnosis(Frozen, frozen=True):
    """What ``--json`` holds: ``able`` says whether the guard can run here; findings; all that was looked at."""

    version: int
    able: bool
    findings: tuple[Finding, ...]
    examination: Examination


def diagnose(found: Examination) -> Diagnosis:
    """Judge an examination."""
    findings = tuple(FINDERS[topic](found) for topic in TOPICS)
    return Diagnosis(VERSION, all(finding.state != "problem" for finding in findings), findings, found)
