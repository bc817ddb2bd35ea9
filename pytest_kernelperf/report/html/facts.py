"""What a run was measured on, and how: device, environment, what changed since the baselines, settings."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from pytest_kernelperf import units
from pytest_kernelperf.model import DeviceFacts, Run
from pytest_kernelperf.report.text import one_line
from pytest_kernelperf.report.view import view_of

Pairs = tuple[tuple[str, str], ...]

_DEVICE_KNOWS = frozenset(
    {"driver", "hip_version", "hip_python_version", "compiler", "firmware", "clock_policy", "power_limit"}
)
"""Facts of the environment that the device's table has already."""


@dataclass(frozen=True)
class Facts:
    """Tables of name and text. ``drift`` says in a sentence whether the machine moved, ``changed`` what differs."""

    origin: Pairs
    device: Pairs
    environment: Pairs
    settings: Pairs
    device_line: str
    origin_line: str
    target: str
    drift: str
    changed: tuple[str, ...]


def facts_of(run: Run) -> Facts:
    """Return all that is known beside the cases."""
    return Facts(
        origin=_known(
            ("commit", run.commit),
            ("parent commit", run.blame.parent_commit if run.blame is not None else ""),
            ("measured", _moment(run.started_at)),
            ("pytest-kernelperf", run.tool_version),
            ("times", "from a clock script, not from this device" if run.scripted_clock else ""),
        ),
        device=_device(run.device),
        environment=_known(*((name, text) for name, text in run.environment.items() if name not in _DEVICE_KNOWS)),
        settings=_known(*run.settings.items()),
        device_line=view_of(msgspec.structs.replace(run, records=(), curves=())).device,
        origin_line=_origin(run),
        target=_target(run.settings.get("target", "")),
        drift=_drift(run),
        changed=tuple(map(one_line, run.drift.changed)) if run.drift is not None else (),
    )


def _origin(run: Run) -> str:
    commit = f", commit {run.commit[:12]}" if run.commit else ""
    return one_line(f"{run.tool_version}, {_moment(run.started_at)}{commit}")


def _target(setting: str) -> str:
    """``gfx1151, 40 compute units``, where starvation is not judged for the device at hand."""
    architecture, colon, count = setting.partition(":")
    units_text = f"{count} compute units" if count.isdecimal() else count
    return one_line(f"{architecture}, {units_text}" if colon else architecture)


def _moment(text: str) -> str:
    """``2026-03-01 12:00 UTC``; whatever else a run file says stays as it is."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)", text)
    return f"{found[1]} {found[2]} UTC" if found else text


def _known(*pairs: tuple[str, str]) -> Pairs:
    return tuple((one_line(name).replace("_", " "), one_line(text)) for name, text in pairs if text)


def _device(device: DeviceFacts) -> Pairs:
    if not device.key:
        return (("device", "none: no runtime can be used here"),)
    hip = "" if device.hip_compute_units == device.compute_units else units.format_count(device.hip_compute_units)
    peak = "" if device.peak_gb_per_s is None else f"{units.format_gb_per_s(device.peak_gb_per_s)} GB/s"
    source = f" ({device.compute_units_source})" if device.compute_units_source else ""
    return _known(
        ("name", device.name),
        ("device key", device.key),
        ("runtime", device.runtime),
        ("architecture", device.architecture),
        ("compute units", f"{units.format_count(device.compute_units)}{source}"),
        ("HIP's own count", hip),
        ("lanes a wave", units.format_count(device.warp_size)),
        ("memory", _bytes(device.total_memory_bytes)),
        ("memory's peak", peak),
        ("L2 cache", _bytes(device.l2_bytes)),
        ("last-level cache", _bytes(device.last_level_bytes)),
        ("HIP", device.hip_version),
        ("hip-python", device.hip_python_version),
        ("compiler", device.compiler),
        ("driver", device.driver),
        ("firmware", device.firmware),
        ("clocks", device.clock_policy),
        ("power limit", "" if device.power_limit_w is None else f"{units.format_number(device.power_limit_w)} W"),
    )


def _bytes(size_bytes: int | None) -> str:
    """``64 MiB``, as such sizes are stated; what is no whole number of MiB has its bytes."""
    if not size_bytes:
        return ""
    whole, rest = divmod(size_bytes, 1 << 20)
    return f"{units.format_bytes(size_bytes)} bytes" if rest or not whole else f"{units.format_count(whole)} MiB"


def _drift(run: Run) -> str:
    drift = run.drift
    if drift is None:
        return ""
    if drift.reason and not drift.moved:
        return one_line(f"whether the machine moved since the baselines were stored cannot be said: {drift.reason}")
    change = units.describe_change(drift.change_ratio)
    than = "as" if change == "the same" else "than"
    said = "the machine moved" if drift.moved else "the machine did not move"
    return (
        f"{said}: the accepted binaries of {units.format_counted(drift.cases, 'case')} are {change} today {than} when "
        f"they were stored (p = {units.format_probability(drift.p_value)})"
    )
