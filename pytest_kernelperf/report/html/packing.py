"""All samples of a run in few bytes: three columns over all cases, deflated once.

A time is a step of 65,535 between its case's shortest and longest, of equal ratio: 0.0004 % where a case spreads by
30 %. Arms and blocks are small numbers that repeat, so next to nothing of them is left.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pytest_kernelperf.model import Frozen, Measurement, Record, Sample
from pytest_kernelperf.report.html.markdown import shown
from pytest_kernelperf.report.text import one_line

STEPS = 65_535
MOST_ARMS = 255


class PackedMeasurement(Frozen, frozen=True):
    """One process's samples: how many, in order of time, behind those of the measurement before it."""

    process: int
    samples: int
    contended: bool


class PackedCase(Frozen, frozen=True):
    """A case's samples: ``first`` is the place of its first one in all columns.

    A sample's time is ``low_us * (high_us / low_us) ** (step / 65535)``; its arm is a place in ``arms``. Blocks are
    counted from 0 in each measurement: a 1 stands where a sample is in another block than the one before.
    """

    first: int
    low_us: float
    high_us: float
    arms: tuple[str, ...]
    measurements: tuple[PackedMeasurement, ...]


class Packed(Frozen, frozen=True):
    """Samples of a run: ``data`` is base64 of a zlib stream with ``count`` times (uint16, little endian), arms
    (uint8) and beginnings of blocks (uint8), one column behind the other. ``cases``: None where there are none."""

    count: int
    data: str
    cases: tuple[PackedCase | None, ...]


def pack(records: Sequence[Record]) -> Packed:
    """Return all samples of records, in their order."""
    cases: list[PackedCase | None] = []
    times: list[NDArray[np.uint16]] = []
    arms: list[NDArray[np.uint8]] = []
    begins: list[NDArray[np.uint8]] = []
    count = 0
    for record in records:
        measurements = [one for one in record.measurements if one.samples]
        if not measurements:
            cases.append(None)
            continue
        names = _arms(measurements)
        all_us = np.array([sample.time_us for one in measurements for sample in _in_time(one)], dtype=np.float64)
        low_us, high_us = float(all_us.min()), float(all_us.max())
        times.append(_steps(all_us, low_us, high_us))
        for one in measurements:
            ordered = _in_time(one)
            arms.append(np.array([names.get(sample.arm, 0) for sample in ordered], dtype=np.uint8))
            blocks = [sample.block for sample in ordered]
            begins.append(np.array([0, *(one != before for before, one in pairwise(blocks))], dtype=np.uint8))
        packed = tuple(PackedMeasurement(one.process, len(one.samples), bool(one.contended_by)) for one in measurements)
        cases.append(PackedCase(count, low_us, high_us, tuple(shown(one_line(name)) for name in names), packed))
        count += len(all_us)
    columns = (
        np.concatenate(times or [np.empty(0, np.uint16)]).astype("<u2"),
        np.concatenate(arms or [np.empty(0, np.uint8)]),
        np.concatenate(begins or [np.empty(0, np.uint8)]),
    )
    return Packed(count, deflated(b"".join(column.tobytes() for column in columns)), tuple(cases))


def deflated(data: bytes) -> str:
    """Return bytes as base64 of a zlib stream, which browsers inflate by themselves."""
    return base64.b64encode(zlib.compress(data, 6)).decode("ascii")


def _in_time(measurement: Measurement) -> list[Sample]:
    return sorted(measurement.samples, key=lambda sample: (sample.block, sample.place))


def _arms(measurements: Iterable[Measurement]) -> dict[str, int]:
    names = dict.fromkeys(sample.arm for one in measurements for sample in one.samples)
    return {name: place for place, name in enumerate(list(names)[:MOST_ARMS])}


def _steps(times_us: NDArray[np.float64], low_us: float, high_us: float) -> NDArray[np.uint16]:
    width = math.log(high_us) - math.log(low_us)  # their ratio may be more than a number holds
    if width == 0:
        return np.zeros(len(times_us), dtype=np.uint16)
    return np.rint((np.log(times_us) - math.log(low_us)) / width * STEPS).astype(np.uint16)
