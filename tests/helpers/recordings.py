"""Recordings for tests, made of a few rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pytest_kernelperf.model import DeviceFacts
from pytest_kernelperf.recording import DISPATCH, RecordedKernel, Recording

FACTS = DeviceFacts(
    runtime="cpu", library="/lib/libamdhip64.so", key="cpu-test", name="AMD EPYC", architecture="znver5",
    compute_units=40, hip_compute_units=40, warp_size=32, max_threads_per_block=1024, max_shared_bytes=65536,
    total_memory_bytes=1 << 34,
)  # fmt: skip

KERNELS = {
    1: RecordedKernel("add_kernel", "add_kernel"),
    2: RecordedKernel("inject_kernel", "inject_kernel"),
    3: RecordedKernel("_Z5scaleIfEvPT_i", "void scale<float>(float*, int)"),
}


def dispatches(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Records of rows; what a row leaves out is 1 in shapes, kernel and correlation, else 0."""
    usual = {"kernel": 1, "correlation": 1, "workgroups": (1, 1, 1), "block": (1, 1, 1)}
    made = [
        tuple({**dict.fromkeys(DISPATCH.names, 0), **usual, **row}[name] for name in DISPATCH.names) for row in rows
    ]
    return np.array(made, DISPATCH)


def recording(rows: Sequence[Mapping[str, Any]], origin: str = "cpu", **fields: Any) -> Recording:
    """A recording of a process 4711 on a device of 40 compute units."""
    made = dispatches(rows)
    made = made[np.argsort(made["start_ns"], kind="stable")]
    return Recording(**{"origin": origin, "device": FACTS, "dispatches": made, "kernels": KERNELS,
                        "command": "kernelperf replay case.json", "pid": 4711, **fields})  # fmt: skip


ROWS = [
        {"start_ns": 1_000_000 + 5000 * place, "end_ns": 1_002_000 + 5000 * place, "kernel": place % 3 + 1,
         "stream": place % 2, "queue": place % 2, "correlation": place + 1, "thread": 4711 + place % 2,
         "graph_exec": place // 6, "graph_node": place // 6 * (place % 6 + 1), "workgroups": (10, 4, 1),
         "block": (64, 2, 2), "static_shared_bytes": 64 * (place % 3), "dynamic_shared_bytes": 128, "registers": 24,
         "scratch_bytes": 16}
        for place in range(12)
]  # fmt: skip
USUAL = recording(ROWS)
"""Twelve dispatches of three kernels on two streams by two threads, half of them by a graph."""
