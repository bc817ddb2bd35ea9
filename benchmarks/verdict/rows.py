"""Sample files: folders of ``*.jsonl.gz``, one JSON object a line, as `tests/data/h200/README.md` describes them.

A line is one arm's samples in one process: ``process``, ``variant``, ``tokens`` and ``us`` (microseconds per round, one
a sample). ``mode``, ``copy``, ``buffers``, ``order``, ``build``, ``spin_cycles``, ``host_us`` may be there; what
``--live`` writes has ``kernel``, ``rounds``, ``extra_rounds``, ``contended``, ``generation``, ``turn`` (a process may
take a case several times) and ``blocks`` (the block of each sample) too. Any other field keeps lines apart that differ
in it: they are other cases.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

SUFFIX = ".jsonl.gz"
MODES = ("loop", "queued", "graph")
MOST_LINE_BYTES = 16 * 1024 * 1024


class FileError(Exception):
    """A folder or a file that cannot be used; the text is the sentence."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line: an arm's samples in one process. ``file`` and ``others`` are not in the line itself."""

    process: int
    variant: str
    tokens: int
    us: tuple[float, ...]
    mode: str = ""
    kernel: str = ""
    copy: int | None = None
    buffers: str = ""
    order: str = ""
    build: str = "plain"
    spin_cycles: int = 0
    rounds: int = 0
    extra_rounds: int = 0
    contended: bool = False
    generation: int = -1
    turn: int = 0
    blocks: tuple[int, ...] = ()
    file: str = ""
    others: tuple[tuple[str, str], ...] = ()


_OWN = frozenset(Row.__struct_fields__) - {"file", "others"}


def read_folders(folders: Sequence[Path]) -> list[Row]:
    """All rows of several folders, whose files have names of their own: samples are told apart by them.

    Raises:
        FileError: as ``read_folder``, or two files of one name.
    """
    seen: dict[str, Path] = {}
    for file in (file for folder in folders for file in sorted(folder.glob(f"*{SUFFIX}"))):
        if file.name in seen:
            raise FileError(f"{seen[file.name]} and {file} have one name, by which samples are told apart: rename one")
        seen[file.name] = file
    return [row for folder in folders for row in read_folder(folder)]


def read_folder(folder: Path) -> list[Row]:
    """All rows of all files of a folder, in the order of names and lines.

    Raises:
        FileError: there is no such folder, no such file in it, or a line that is not one; the sentence says where.
    """
    if not folder.is_dir():
        raise FileError(f"{folder} is no folder: give one that holds files *{SUFFIX}")
    files = sorted(folder.glob(f"*{SUFFIX}"))
    if not files:
        raise FileError(f"{folder} holds no file *{SUFFIX}: give a folder of the format of tests/data/h200")
    return [row for file in files for row in read_file(file)]


def read_file(file: Path) -> list[Row]:
    """All rows of one file. Raises ``FileError``."""
    rows, number = [], 0
    try:
        with gzip.open(file, "rb") as lines:
            while line := lines.readline(MOST_LINE_BYTES):
                number += 1
                if line.strip():
                    rows.append(parse_line(line, file.name.removesuffix(SUFFIX)))
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"{file} cannot be read after line {number}: {error}") from None
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise FileError(f"{file}, line {number}: {error}") from None
    return rows


def parse_line(line: bytes, stem: str) -> Row:
    """One line of the file ``stem``.

    Raises:
        msgspec.DecodeError, ValueError: not JSON, a field missing or of another type, no sample, an unknown mode.
    """
    found = msgspec.json.decode(line)
    if not isinstance(found, dict):
        raise ValueError(f"expected an object such as {{'process': 0, ...}}, got {type(found).__name__}")
    others = tuple(sorted((name, json.dumps(value)) for name, value in found.items() if _describes(name, value)))
    known = {name: value for name, value in found.items() if name in _OWN}
    row = msgspec.convert({**known, "file": stem, "others": others}, Row)
    mode = row.mode or next((mode for mode in MODES if mode in stem), "")
    if mode not in MODES:
        raise ValueError(f"the mode is {row.mode!r}, expected one of {', '.join(MODES)}")
    if not row.us:
        raise ValueError("no sample in 'us'")
    contended = row.contended or stem.startswith("contended")
    return msgspec.structs.replace(row, mode=mode, contended=contended)


def write_file(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows, each a mapping of the fields above; whole or not at all."""
    temporary = file.with_name(f"{file.name}.new")
    with gzip.open(temporary, "wt") as lines:
        for row in rows:
            lines.write(json.dumps(row, separators=(",", ":")) + "\n")
    os.replace(temporary, file)


def _describes(name: str, value: object) -> bool:
    """Whether an unknown field tells cases apart: lists are further figures of the samples, such as ``host_us``."""
    return name not in _OWN and not isinstance(value, (list, dict))


def by_arm(rows: Iterable[Row]) -> Iterator[tuple[Row, int]]:
    """Rows with the number of earlier rows of the same process that are alike in all but the samples."""
    seen: dict[Row, int] = {}
    for row in rows:
        key = msgspec.structs.replace(row, us=(), blocks=())
        seen[key] = seen.get(key, -1) + 1
        yield row, seen[key]
