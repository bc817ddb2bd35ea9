"""Writes a recording as a rocpd database (schema 3.0.3), laid out as rocprofv3 lays out its own.

Every row that AMD's views join is there: without its event, region string, queue, thread or symbol a dispatch would be
in the table and in no view. Texts that viewers show are never null.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from pytest_kernelperf.atomic_write import discard, flush_folder, followed, temporary_beside, write_atomically
from pytest_kernelperf.errors import TraceError
from pytest_kernelperf.recording import Dispatches, Recording
from pytest_kernelperf.trace.comparison import without_arguments
from pytest_kernelperf.trace.file import shown
from pytest_kernelperf.trace.layout import SCHEMA_VERSION, create_tables, suffix, table_name
from pytest_kernelperf.trace.layout_views import create_views
from pytest_kernelperf.trace.origin import ORIGIN_TAG, Origin, sidecar
from pytest_kernelperf.trace.origin import VERSION as ORIGIN_VERSION

CHUNK_ROWS = 20_000
NO_TEXT, KERNEL_DISPATCH = 1, 2
HOST, GPU, CODE_OBJECT = 0, 1, 1
_VENDORS = {"cuda": "NVIDIA", "rocm": "AMD"}


def write_trace(path: Path, recording: Recording) -> None:
    """Write a recording to ``path``, and its origin beside it (``path.json``); both appear whole or not at all.

    Raises:
        TraceError: it holds no dispatch (rocprofv3 writes no file then either), or the file cannot be written.
    """
    if not len(recording.dispatches):
        raise TraceError(f"{shown(path)} is not written: no kernel was recorded, so check that the plan launches one")
    target = followed(path)
    try:
        temporary = temporary_beside(target)
        try:
            with closing(sqlite3.connect(temporary, isolation_level=None)) as database:
                _Writer(database, recording).write()
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            # First the sidecar: the new times must never be taken for those of another profiler.
            write_atomically(sidecar(target), msgspec.json.encode(Origin(ORIGIN_VERSION, recording.origin)) + b"\n")
            temporary.replace(target)
            flush_folder(target.parent)
        finally:
            discard(temporary)
    except (OSError, sqlite3.Error) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise TraceError(f"{shown(path)} cannot be written ({reason}): name a file in a folder with room") from None


class _Writer:
    """One database being filled, all in one transaction."""

    def __init__(self, database: sqlite3.Connection, recording: Recording) -> None:
        self._database = database
        self._recording = recording
        self._guid = _new_guid()
        self._node = _machine_hash()

    def write(self) -> None:
        # The file is a temporary one that a failure removes, so it needs no journal of its own.
        for setting in ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE"):
            self._database.execute(f"PRAGMA {setting}")
        self._database.execute("BEGIN")
        for statement in (*create_tables(self._guid), *create_views()):
            self._database.execute(statement)
        self._write_machine()
        self._write_lanes()
        self._write_kernels()
        self._write_dispatches()
        self._database.execute("COMMIT")

    def _write_machine(self) -> None:
        recording, system = self._recording, os.uname()
        start_ns, end_ns = self._window()
        self._insert("metadata", "tag value", [
            ("schema_version", SCHEMA_VERSION), ("uuid", suffix(self._guid)), ("guid", self._guid),
            (ORIGIN_TAG, recording.origin), ("kernelperf_lost", str(recording.lost)),
        ])  # fmt: skip
        self._insert("string", "id string", [(NO_TEXT, ""), (KERNEL_DISPATCH, "KERNEL_DISPATCH")])
        self._insert(
            "info_node",
            "id hash machine_id system_name hostname release version hardware_name domain_name",
            [(self._node, self._node, f"{self._node:016x}", system.sysname, system.nodename, system.release,
              system.version, system.machine, "")],
        )  # fmt: skip
        self._insert(
            "info_process",
            "id nid ppid pid init fini start end command",
            [(recording.pid, self._node, os.getppid() if recording.pid == os.getpid() else 0, recording.pid, start_ns,
              end_ns, start_ns, end_ns, _plain(recording.command))],
        )  # fmt: skip
        device = recording.device
        extra = {"node_id": GPU, "cu_count": device.compute_units, "wave_front_size": device.warp_size,
                 "runtime": device.runtime, "device_key": device.key}  # fmt: skip
        vendor = _VENDORS.get(device.runtime, "")
        processor = (HOST, "CPU", HOST, system.machine, "", "", system.machine, {"node_id": HOST})
        gpu = (GPU, "GPU", GPU, device.architecture, device.name, vendor, device.name, extra)
        self._insert(
            "info_agent",
            "id nid pid type absolute_index logical_index type_index uuid name model_name vendor_name product_name "
            "user_name extdata",
            [(number, self._node, recording.pid, kind, index, index, 0, 0, name, model, maker, product, product,
              json.dumps(more)) for number, kind, index, name, model, maker, product, more in (processor, gpu)],
        )  # fmt: skip

    def _write_lanes(self) -> None:
        """Threads, queues and streams; the default ones are always there."""
        pid, dispatches = self._recording.pid, self._recording.dispatches
        start_ns, end_ns = self._window()
        threads = {pid, *_numbers(self._threads())}
        self._insert(
            "info_thread",
            "id nid ppid pid tid name start end",
            [(one, self._node, 0, pid, one, f"Thread {one}", start_ns, end_ns) for one in sorted(threads)],
        )
        for table, name in (("queue", "Queue"), ("stream", "Stream")):
            rows = [
                (one, self._node, pid, f"{name} {one}" if one else f"Default {name}")
                for one in sorted({0, *_numbers(_signed(dispatches[table]))})
            ]
            self._insert(f"info_{table}", "id nid pid name", rows)

    def _write_kernels(self) -> None:
        pid, dispatches = self._recording.pid, self._recording.dispatches
        self._insert(
            "info_code_object",
            "id nid pid agent_id uri load_base load_size load_delta storage_type",
            [(CODE_OBJECT, self._node, pid, GPU, f"memory://{pid}", 0, 0, 0, "MEMORY")],
        )
        numbers, first = np.unique(dispatches["kernel"], return_index=True)
        rows = []
        for number, place in zip(numbers.tolist(), first.tolist(), strict=True):
            kernel, one = self._recording.kernels[number], dispatches[place]
            symbol, name = _plain(kernel.symbol), _plain(kernel.name)
            names = {"kernel_id": number, "formatted_kernel_name": name, "demangled_kernel_name": name,
                     "truncated_kernel_name": truncated(name)}  # fmt: skip
            rows.append((
                number, self._node, pid, CODE_OBJECT, f"{symbol}.kd", name, 0, 0, 0,
                int(one["static_shared_bytes"]), int(one["scratch_bytes"]), 0, int(one["registers"]), 0,
                json.dumps(names),
            ))  # fmt: skip
        self._insert(
            "info_kernel_symbol",
            "id nid pid code_object_id kernel_name display_name kernel_object kernarg_segment_size "
            "kernarg_segment_alignment group_segment_size private_segment_size sgpr_count arch_vgpr_count "
            "accum_vgpr_count extdata",
            rows,
        )

    def _write_dispatches(self) -> None:
        """Dispatches are numbered from 1 by their start, and so are their events."""
        dispatches = self._recording.dispatches
        number = np.arange(1, len(dispatches) + 1)
        call = _signed(dispatches["correlation"])
        event = "id category_id stack_id parent_stack_id correlation_id"
        self._insert_columns("event", event, [number, KERNEL_DISPATCH, call, 0, call])
        block, grid = dispatches["block"].astype(np.int64), dispatches["workgroups"].astype(np.int64)
        shared = dispatches["static_shared_bytes"].astype(np.int64) + dispatches["dynamic_shared_bytes"]
        fields = {
            "id": number,
            "nid": self._node,
            "pid": self._recording.pid,
            "tid": self._threads(),
            "agent_id": GPU,
            "kernel_id": _signed(dispatches["kernel"]),
            "dispatch_id": number,
            "queue_id": _signed(dispatches["queue"]),
            "stream_id": _signed(dispatches["stream"]),
            "start": _signed(dispatches["start_ns"]),
            "end": _signed(dispatches["end_ns"]),
            "private_segment_size": dispatches["scratch_bytes"],
            "group_segment_size": shared,
            **{f"workgroup_size_{axis}": block[:, place] for place, axis in enumerate("xyz")},
            **{f"grid_size_{axis}": grid[:, place] * block[:, place] for place, axis in enumerate("xyz")},
            "graph_exec_id": _signed(dispatches["graph_exec"]),
            "graph_node_id": _signed(dispatches["graph_node"]),
            "region_name_id": NO_TEXT,
            "event_id": number,
        }
        self._insert_columns("kernel_dispatch", " ".join(fields), list(fields.values()))

    def _window(self) -> tuple[int, int]:
        dispatches = self._recording.dispatches
        return int(dispatches["start_ns"].min()), int(dispatches["end_ns"].max())

    def _threads(self) -> NDArray[np.int64]:
        """Of each dispatch; the process's first thread stands for one that is not known."""
        threads = _signed(self._recording.dispatches["thread"])
        return np.where(threads == 0, self._recording.pid, threads)

    def _insert_columns(self, table: str, columns: str, values: Sequence[NDArray[np.generic] | int]) -> None:
        """Insert rows whose columns are arrays, or one number for all; the latter become part of the statement."""
        names = columns.split()
        fixed = {name: value for name, value in zip(names, values, strict=True) if isinstance(value, int)}
        arrays = {name: value for name, value in zip(names, values, strict=True) if not isinstance(value, int)}
        self._insert(table, " ".join(arrays), _rows(list(arrays.values())), fixed)

    def _insert(
        self, table: str, columns: str, rows: Iterable[Sequence[object]], fixed: dict[str, int] | None = None
    ) -> None:
        names = columns.split()
        fixed = fixed or {}
        listed = ", ".join(f'"{name}"' for name in (*names, *fixed))
        marks = ", ".join(["?"] * len(names) + [str(value) for value in fixed.values()])
        self._database.executemany(f'INSERT INTO "{table_name(table, self._guid)}" ({listed}) VALUES ({marks})', rows)


def truncated(name: str) -> str:
    """A kernel's name alone, as ``rocprofv3 -T`` has it: ``scale`` of ``void ns::scale<float>(float*)``."""
    depth, kept = 0, ""
    for letter in without_arguments(name):
        depth += letter == "<"
        if not depth:
            kept += letter
        depth -= letter == ">" and depth > 0
    return kept.split("::")[-1].split(" ")[-1] or name


def _rows(columns: Sequence[NDArray[np.generic]]) -> Iterator[tuple[object, ...]]:
    for first in range(0, len(columns[0]), CHUNK_ROWS):
        yield from zip(*(column[first : first + CHUNK_ROWS].tolist() for column in columns), strict=True)


def _signed(numbers: Dispatches) -> NDArray[np.int64]:
    """SQLite's whole numbers are signed: handles beyond 2^63 stay different from all others."""
    return np.ascontiguousarray(numbers).view(np.int64)


def _numbers(values: NDArray[np.int64]) -> list[int]:
    found: list[int] = np.unique(values).tolist()
    return found


def _plain(text: str) -> str:
    """Text that SQLite has: a command line's stray bytes come as halves of characters, and NUL ends its JSON texts."""
    return text.encode("utf-8", "replace").decode().replace("\0", "?")


def _new_guid() -> str:
    """A UUID of version 7 (RFC 9562): milliseconds since 1970, then chance."""
    number = (time.time_ns() // 1_000_000 & (1 << 48) - 1) << 80 | secrets.randbits(80)
    number = number & ~(0xF << 76) | 7 << 76
    text = f"{number & ~(3 << 62) | 2 << 62:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _machine_hash() -> int:
    """A number for this machine from which its own identifier cannot be told."""
    try:
        identity = Path("/etc/machine-id").read_bytes().strip()
    except OSError:
        identity = b""
    digest = hashlib.sha256(b"pytest-kernelperf " + (identity or os.uname().nodename.encode())).digest()
    return int.from_bytes(digest[:6], "big") | 1
