"""Chrome trace JSON, which Perfetto opens: one process for each traced process and device, one track for each stream.

Format: "Trace Event Format" (Google), complete events ``X`` in microseconds, metadata events ``M``. Complete events of
one track must nest, so kernels that overlap (several queues of one stream) get further tracks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_kernelperf.atomic_write import discard, followed, temporary_beside
from pytest_kernelperf.errors import TraceError
from pytest_kernelperf.trace.comparison import without_arguments
from pytest_kernelperf.trace.dispatch import Dispatches, Group
from pytest_kernelperf.trace.file import is_database, shown
from pytest_kernelperf.trace.origin import traced_by
from pytest_kernelperf.trace.summary import read_trace

CHUNK_ROWS = 20_000


def write_perfetto(path: Path, out: Path) -> None:
    """Write a trace's sound kernels to ``out``, which appears whole or not at all; a link is followed.

    Raises:
        TraceError: the trace cannot be used; ``out`` cannot be written, or is a trace or what tells a trace's origin.
    """
    target = followed(out)
    for one, what in ((target, "is a trace"), (traced_by(target), "is where the origin of the trace beside it stands")):
        if is_database(one):
            raise TraceError(f"{shown(out)} {what}: name another file for Perfetto")
    dispatches = read_trace(path)
    try:
        temporary = temporary_beside(target)
        try:
            with temporary.open("x", encoding="utf-8") as file:
                file.writelines(perfetto_parts(dispatches))
            temporary.replace(target)
        finally:
            discard(temporary)
    except OSError as problem:
        raise TraceError(f"{shown(out)} cannot be written ({problem.strerror}): name another file") from None


def perfetto_parts(dispatches: Dispatches) -> Iterator[str]:
    """Yield the text of the file in parts; dispatches are sorted by start. Times count from the first start."""
    yield '{"displayTimeUnit": "ns", "traceEvents": [\n'
    yield from _joined(_events(dispatches))
    yield "\n]}\n"


def _joined(events: Iterable[dict[str, object]]) -> Iterator[str]:
    separator = ""
    for event in events:
        # As it is: Perfetto refuses a whole file for one letter beyond 16 bits that is escaped (\ud83d\ude42).
        yield separator + json.dumps(event, ensure_ascii=False)
        separator = ",\n"


def _events(dispatches: Dispatches) -> Iterator[dict[str, object]]:
    processes: dict[object, int] = {}
    tracks: dict[tuple[int, int | None], list[tuple[int, int]]] = {}
    count_of: dict[int, int] = {}
    begin_ns = int(dispatches.start_ns[0]) if len(dispatches.start_ns) else 0
    for first in range(0, len(dispatches.group), CHUNK_ROWS):
        part = slice(first, first + CHUNK_ROWS)
        rows = zip(
            dispatches.start_ns[part].tolist(),
            dispatches.end_ns[part].tolist(),
            dispatches.group[part].tolist(),
            strict=True,
        )
        for start_ns, end_ns, number in rows:
            group = dispatches.groups[number]
            key = (group.file, group.guid, group.pid, group.device)
            if key not in processes:
                processes[key] = len(processes) + 1
                yield _metadata("process_name", processes[key], 0, _process_name(group))
            process = processes[key]
            lanes = tracks.setdefault((process, group.stream), [])
            for place, (track, free_ns) in enumerate(lanes):
                if free_ns <= start_ns:
                    lanes[place] = (track, end_ns)
                    break
            else:
                track = count_of[process] = count_of.get(process, 0) + 1
                lanes.append((track, end_ns))
                stream = "stream" if group.stream is None else f"stream {group.stream}"
                yield _metadata("thread_name", process, track, stream + (f" ({len(lanes)})" if len(lanes) > 1 else ""))
            yield {
                "ph": "X",
                "cat": "kernel",
                "name": without_arguments(group.kernel),
                "pid": process,
                "tid": track,
                "ts": (start_ns - begin_ns) / 1e3,
                "dur": (end_ns - start_ns) / 1e3,
                "args": {"kernel": group.kernel, "workgroups": group.workgroups, "queue": group.queue},
            }


def _process_name(group: Group) -> str:
    return f"process {group.pid if group.pid is not None else '?'} on {group.device.name} ({group.device.index})"


def _metadata(name: str, process: int, track: int, text: str) -> dict[str, object]:
    return {"ph": "M", "name": name, "pid": process, "tid": track, "args": {"name": text}}
