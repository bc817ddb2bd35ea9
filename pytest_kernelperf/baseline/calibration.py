"""``calibration.json``: what identical code looked like beside itself on one device.

It lies beside the baselines of the device. ``kernelperf calibrate`` writes it; whoever wants to know how sharp the
guard is here reads it. It holds what each process saw; rates, bounds and spreads are derived from that
(``calibration_summary``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from pytest_kernelperf import strict_json
from pytest_kernelperf.atomic_write import write_atomically
from pytest_kernelperf.baseline.entry import DeviceSummary, case_name
from pytest_kernelperf.baseline.field import DeviceKey, KernelName, ShortText, TimeUs, VariantName
from pytest_kernelperf.baseline.store import CALIBRATION
from pytest_kernelperf.errors import BaselineError
from pytest_kernelperf.model import Cache, Frozen, Mode

# History of the file:
#   1  first form: cases by mode, each with groups of processes that measured copies of one code object
VERSION = 1

MAX_FILE_BYTES = 32 * 1024 * 1024
MAX_CASES = 30_000
MAKE_ANEW = "make it anew with kernelperf calibrate, or delete it"

Moment = Annotated[str, Meta(pattern=r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00\Z")]
Ratio = Annotated[float, Meta(gt=0, le=1e6)]
Share = Annotated[float, Meta(ge=0, le=1e6)]
Few = Annotated[int, Meta(ge=0, le=64)]
ContrastVerdict = Literal["regressed", "improved", "unchanged", "undecided"]


class SeenProcess(Frozen, frozen=True):
    """What one fresh process measured of one case: copies of one code object on the same buffers.

    ``time_us`` and ``host_us`` are the reference copy's medians per round (time, and time to enqueue it).
    ``spread_share`` is the spread from block to block of a copy's time beside the reference's, as a share of it
    (one standard deviation). ``change_ratios`` has one median ratio for each other copy; ``slower`` counts those that
    this process alone calls slower.
    """

    time_us: TimeUs
    host_us: Annotated[float, Meta(ge=0, le=1e12)]
    spread_share: Share
    change_ratios: Annotated[tuple[Ratio, ...], Meta(min_length=1, max_length=64)]
    slower: Few


class SeenGroup(Frozen, frozen=True):
    """What a group of fresh processes said together: one verdict for each other copy, as the guard decides.

    ``detectable_ratio`` is the smallest slowdown that these samples would have shown; None: they would show none.
    """

    verdicts: Annotated[tuple[ContrastVerdict, ...], Meta(min_length=1, max_length=64)]
    detectable_ratio: Ratio | None
    processes: Annotated[tuple[SeenProcess, ...], Meta(min_length=1, max_length=64)]


class SeenCase(Frozen, frozen=True):
    """One case in one mode. ``gate``: it is the mode that the project's settings gate it in.

    ``kernel``, ``variant`` and ``tokens`` say which. ``tolerance``: 0.01 is 1 %; ``floor_us`` and ``alpha``: as the
    project sets them. ``groups``: of processes, one for each time that it was asked.
    """

    kernel: KernelName
    variant: VariantName
    tokens: Annotated[int, Meta(ge=0, le=2**62)]
    mode: Mode
    gate: bool
    tolerance: Annotated[float, Meta(ge=0, lt=1)]
    floor_us: Annotated[float, Meta(ge=0, le=1e9)]
    alpha: Annotated[float, Meta(gt=0, lt=0.5)]
    groups: Annotated[tuple[SeenGroup, ...], Meta(min_length=1, max_length=100_000)]

    @property
    def key(self) -> tuple[str, str, int, Mode]:
        """What a case is ordered by."""
        return (self.kernel, self.variant, self.tokens, self.mode)

    @property
    def name(self) -> str:
        """The case as sentences name it."""
        return f"{self.kernel} {case_name(self.variant, self.tokens)}, {self.mode}"


class Calibration(Frozen, frozen=True):
    """All that one calibration saw on one device. ``processes``: in a group; ``copies``: of each code object.

    ``device_key``: the name of the folder that it lies in. ``measured_at``: UTC. ``spent_s``: how long it took.
    ``tool_version``, ``compiler``, ``driver`` and ``hip_version``: with what. ``cases``: in each mode that was
    measured.
    """

    version: int
    device_key: DeviceKey
    device: DeviceSummary
    measured_at: Moment
    spent_s: Annotated[float, Meta(ge=0, le=1e9)]
    tool_version: ShortText
    compiler: ShortText
    driver: ShortText
    hip_version: ShortText
    cache: Cache
    processes: Annotated[int, Meta(ge=1, le=64)]
    copies: Annotated[int, Meta(ge=2, le=64)]
    cases: Annotated[tuple[SeenCase, ...], Meta(min_length=1, max_length=MAX_CASES)]


class _AnyVersion(msgspec.Struct):
    version: object = None


def encode(calibration: Calibration) -> bytes:
    """Return the file's bytes; reading them and encoding again gives the same bytes.

    Raises:
        BaselineError: the record breaks a rule of the file.
    """
    name = f"the calibration of {calibration.device_key}"
    try:
        data = strict_json.layout(calibration)
    except ValueError as refusal:
        raise BaselineError(f"{name} cannot be stored: {refusal}") from None
    decode(data, name, advice="nothing was stored; this is a fault of the guard")
    return data


def decode(data: bytes, name: str, *, folder_key: str | None = None, advice: str = MAKE_ANEW) -> Calibration:
    """Read a calibration file's bytes; ``name`` is how sentences name the file.

    ``folder_key`` is the device key of the folder it lies in; None leaves that unchecked.

    Raises:
        BaselineError: one sentence with file and field.
    """
    if len(data) > MAX_FILE_BYTES:
        raise BaselineError(f"{name}: has more than {MAX_FILE_BYTES} bytes: {advice}")
    version = strict_json.decode(data, _AnyVersion, subject=name, error=BaselineError, advice=advice).version
    if version != VERSION or isinstance(version, bool):
        newer = isinstance(version, int) and version > VERSION
        todo = "it was written by a newer pytest-kernelperf: upgrade this one" if newer else advice
        shown = strict_json.one_line("no version" if version is None else f"version {version!r:.40}")
        raise BaselineError(f"{name}: has {shown}, and this pytest-kernelperf reads version {VERSION}: {todo}")
    calibration = strict_json.decode(data, Calibration, subject=name, error=BaselineError, advice=advice)
    for problem in _inconsistencies(calibration):
        raise BaselineError(strict_json.one_line(f"{name}: {problem}: {advice}"))
    if folder_key is not None and calibration.device_key != folder_key:
        raise BaselineError(
            f"{name}: is of device {calibration.device_key} but lies in the folder of {folder_key}: {advice}"
        )
    return calibration


def calibration_path(baselines: Path, device_key: str) -> Path:
    """Where a device's calibration is or would be, below the folder of the baselines."""
    return baselines / device_key / CALIBRATION


def read_calibration(baselines: Path, device_key: str) -> Calibration | None:
    """Return a device's calibration, None where there is none.

    Raises:
        BaselineError: it cannot be used as it stands.
    """
    path = calibration_path(baselines, device_key)
    try:
        with path.open("rb") as file:
            # read() sets its size aside at once, so it is asked for the file's own.
            data = file.read(min(MAX_FILE_BYTES, os.fstat(file.fileno()).st_size) + 1)
    except FileNotFoundError:
        return None
    except OSError as failure:
        raise BaselineError(f"{path}: cannot be read ({failure.strerror}): {MAKE_ANEW}") from None
    return decode(data, str(path), folder_key=device_key)


def write_calibration(baselines: Path, calibration: Calibration) -> Path:
    """Store a calibration in place of the one before, by one rename; return the file's path.

    Raises:
        BaselineError: the record breaks a rule of the file.
        OSError: the folder cannot be written to.
    """
    data = encode(calibration)
    path = calibration_path(baselines, calibration.device_key)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, data)
    return path


def _inconsistencies(calibration: Calibration) -> Iterator[str]:
    keys = [case.key for case in calibration.cases]
    if keys != sorted(set(keys)):
        yield "field cases: is out of order, or has a case twice"
    others = calibration.copies - 1
    for case in calibration.cases:
        for place, group in enumerate(case.groups):
            where = f"case {case.name}, group {place + 1}"
            if len(group.verdicts) != others or any(len(each.change_ratios) != others for each in group.processes):
                yield f"{where}: has not one verdict and one ratio for each of {others} copies beside the first"
            if any(each.slower > others for each in group.processes):
                yield f"{where}: a process calls more copies slower than there are"
            if len(group.processes) > calibration.processes:
                yield f"{where}: has more than {calibration.processes} processes"
