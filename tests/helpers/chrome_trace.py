"""Google's "Trace Event Format" as a checker: every rule that a file of kernels can break is a sentence here.

The format's own readers are lenient: Chromium's and Perfetto's drop what they do not understand, so a file that opens
may still show half of its kernels. Perfetto's rules that the document does not state are among these: complete events
of a track nest, times are kept to the nanosecond, a track's and a process's names are given once.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

DURATION, COMPLETE, INSTANT, COUNTER, METADATA = "BE", "X", "iI", "C", "M"
ASYNC, FLOW, OBJECT, OTHER = "bne", "stf", "NOD", "PRvVc(),"
PHASES = frozenset(DURATION + COMPLETE + INSTANT + COUNTER + METADATA + ASYNC + FLOW + OBJECT + OTHER)
WITH_ID = frozenset(ASYNC + FLOW + OBJECT)

OBJECT_KEYS = {"traceEvents", "displayTimeUnit", "systemTraceEvents", "otherData", "stackFrames", "samples",
               "powerTraceAsString", "controllerTraceDataKey", "metadata"}  # fmt: skip
METADATA_ARGUMENTS = {"process_name": ("name", str), "process_labels": ("labels", str),
                      "process_sort_index": ("sort_index", int), "thread_name": ("name", str),
                      "thread_sort_index": ("sort_index", int)}  # fmt: skip
MOST_ID = 2**32 - 1


def problems(text: str) -> list[str]:
    """Return what is wrong with a file, one sentence each; nothing for a file that keeps all rules."""
    try:
        file = json.loads(text, parse_float=Decimal, parse_constant=_refuse_constant, object_pairs_hook=_refuse_twice)
    except ValueError as problem:
        return [f"no JSON: {problem}"]
    if not isinstance(file, dict) or not isinstance(file.get("traceEvents"), list):
        return ["no object with a list traceEvents"]
    if re.search(r"(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]", text):
        return ["an escaped surrogate, for which Perfetto refuses the file"]
    found = [f"unknown field {key} of the file" for key in file.keys() - OBJECT_KEYS]
    if file.get("displayTimeUnit", "ms") not in ("ms", "ns"):
        found.append("displayTimeUnit is neither ms nor ns")
    events = file["traceEvents"]
    for place, event in enumerate(events):
        found += [f"event {place}: {problem}" for problem in _event_problems(event)]
    return found or [*_track_problems(events), *_name_problems(events)]


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no number of JSON")


def _refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    if twice:
        raise ValueError(f"field {twice[0]} stands twice in one object")
    return dict(pairs)


def _event_problems(event: object) -> Iterator[str]:
    if not isinstance(event, dict):
        yield "is no object"
        return
    phase = event.get("ph")
    if phase not in PHASES:
        yield f"ph {phase!r} is no phase"
        return
    if not isinstance(event.get("name"), str) and phase not in "Ee":
        yield "name is no text"
    for key in ("pid", "tid"):
        if not _is_whole(event.get(key)) or not 0 <= event[key] <= MOST_ID:
            yield f"{key} is no number of 32 bits"
    if "args" in event and not isinstance(event["args"], dict):
        yield "args is no object"
    if "cat" in event and not isinstance(event["cat"], str):
        yield "cat is no text"
    if phase in WITH_ID and "id" not in event and "id2" not in event:
        yield f"ph {phase} has no id"
    if phase == METADATA:
        yield from _metadata_problems(event)
        return
    yield from _time_problems(event, "ts")
    if phase == COMPLETE:
        yield from _time_problems(event, "dur")
    elif "dur" in event:
        yield f"ph {phase} has a duration"
    if phase == COUNTER and not all(_is_number(value) for value in event.get("args", {"": ""}).values()):
        yield "a counter's arguments are numbers"


def _time_problems(event: dict[str, Any], key: str) -> Iterator[str]:
    value = event.get(key)
    if not _is_number(value):
        yield f"{key} is no number"
    elif value < 0:
        yield f"{key} is negative"
    elif (value * 1000) % 1:
        yield f"{key} is finer than a nanosecond"


def _metadata_problems(event: dict[str, Any]) -> Iterator[str]:
    name = event.get("name")
    if name not in METADATA_ARGUMENTS:
        yield f"metadata {name!r} is unknown"
        return
    key, kind = METADATA_ARGUMENTS[name]
    value = event.get("args", {}).get(key) if isinstance(event.get("args"), dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        yield f"metadata {name} has no {key}"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _track_problems(events: list[dict[str, Any]]) -> Iterator[str]:
    """Yield complete events that cut across each other, begins without ends, flows that do not begin."""
    tracks: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    begun: Counter[tuple[int, int]] = Counter()
    flows: set[object] = set()
    for event in sorted((one for one in events if one["ph"] != METADATA), key=lambda one: one["ts"]):
        track = event["pid"], event["tid"]
        if event["ph"] == COMPLETE:
            tracks[track].append(event)
        elif event["ph"] == "B":
            begun[track] += 1
        elif event["ph"] == "E":
            begun[track] -= 1
            if begun[track] < 0:
                yield f"track {track}: an end without a begin"
                begun[track] = 0
        elif event["ph"] == "s":
            flows.add(event.get("id", event.get("id2")))
        elif event["ph"] in "tf" and event.get("id", event.get("id2")) not in flows:
            yield f"track {track}: a flow that has not begun"
    for track, count in begun.items():
        if count:
            yield f"track {track}: a begin without an end"
    for track, complete in tracks.items():
        open_until: list[int] = []
        for event in sorted(complete, key=lambda one: (_ns(one["ts"]), -_ns(one["dur"]))):
            start, end = _ns(event["ts"]), _ns(event["ts"]) + _ns(event["dur"])
            while open_until and open_until[-1] <= start:
                open_until.pop()
            if open_until and end > open_until[-1]:
                yield f"track {track}: {event['name']} at {event['ts']} ends after what it lies in"
            open_until.append(end)


def _ns(time_us: Decimal) -> int:
    return int(time_us * 1000)


def _name_problems(events: list[dict[str, Any]]) -> Iterator[str]:
    """Yield processes and tracks that have no name, or two."""
    used = {(event["pid"], event["tid"]) for event in events if event["ph"] != METADATA}
    processes = Counter(event["pid"] for event in events if event["name"] == "process_name" and event["ph"] == METADATA)
    tracks = Counter(
        (event["pid"], event["tid"]) for event in events if event["name"] == "thread_name" and event["ph"] == METADATA
    )
    for process in {process for process, _ in used} | set(processes):
        if processes[process] != 1:
            yield f"process {process} has {processes[process]} names"
    for track in used | set(tracks):
        if tracks[track] != 1:
            yield f"track {track} has {tracks[track]} names"
