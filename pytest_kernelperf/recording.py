"""What a runtime records of its launches, as columns: one numpy record for each dispatch, and what they refer to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_kernelperf.model import DeviceFacts

DISPATCH = np.dtype(
    [
        ("start_ns", np.uint64),
        ("end_ns", np.uint64),
        ("kernel", np.uint64),
        ("stream", np.uint64),
        ("queue", np.uint64),
        ("correlation", np.uint64),
        ("thread", np.uint64),
        ("graph_exec", np.uint64),
        ("graph_node", np.uint64),
        ("workgroups", np.uint32, 3),
        ("block", np.uint32, 3),
        ("static_shared_bytes", np.uint32),
        ("dynamic_shared_bytes", np.uint32),
        ("registers", np.uint32),
        ("scratch_bytes", np.uint32),
    ]
)
"""``struct kernelperf_dispatch`` of ``native/hip_common/trace.h``, which says what the fields mean; 112 bytes."""

Dispatches = NDArray[Any]
"""Shape (dispatches,), dtype ``DISPATCH``."""


@dataclass(frozen=True)
class RecordedKernel:
    """A kernel by its symbol in the code object, and as the source writes it: ``scale<float>(float*, int)``."""

    symbol: str
    name: str


@dataclass(frozen=True)
class Recording:
    """What one process recorded on one device.

    ``dispatches`` are in order of ``start_ns``; ``kernels`` has the names of each kernel number in them, and
    ``lost`` says how many more there were. ``origin`` is who took the times: ``cpu``, or ``cupti``.
    """

    origin: str
    device: DeviceFacts
    dispatches: Dispatches
    kernels: Mapping[int, RecordedKernel]
    command: str
    pid: int
    lost: int = 0
