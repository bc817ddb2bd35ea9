"""Folders of sample files as strangers give them: read as written, or refused in one sentence."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from verdict.contrasts import find_contrasts
from verdict.rows import MODES, FileError, read_file, read_folder, write_file

DATA = Path(__file__).parents[1] / "data" / "h200" / "twins.jsonl.gz"

ROW = st.fixed_dictionaries(
    {
        "process": st.integers(0, 5),
        "mode": st.sampled_from(MODES),
        "variant": st.sampled_from(["a", "b"]),
        "tokens": st.sampled_from([1, 512]),
        "us": st.lists(st.floats(0.5, 1e4), min_size=1, max_size=8),
    },
    optional={
        "copy": st.integers(0, 3),
        "buffers": st.sampled_from(["shared", "own"]),
        "spin_cycles": st.sampled_from([0, 50]),
        "build": st.sampled_from(["plain", "ptxas -O2"]),
        "host_us": st.lists(st.floats(0.1, 9.0), max_size=4),
        "something": st.sampled_from(["new", 3, True, None]),
    },
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place for files that each example overwrites."""
    return tmp_path_factory.mktemp("samples")


@given(rows=st.lists(ROW, min_size=1, max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_written_is_read(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Whatever fields there are; unknown ones that describe keep lines apart, further figures do not matter."""
    file = folder / "written.jsonl.gz"
    write_file(file, rows)
    found = read_file(file)
    assert [list(row.us) for row in found] == [row["us"] for row in rows]
    assert [row.mode for row in found] == [row["mode"] for row in rows]
    assert [dict(row.others) for row in found] == [
        {"something": json.dumps(row["something"])} if "something" in row else {} for row in rows
    ]
    for contrast in find_contrasts(found):
        assert all(len(pair.new) == len(pair.old) > 0 for pair in contrast.pairs.values())


@given(places=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=4))
@settings(deadline=None)
def test_damaged_files_are_refused_in_one_sentence_or_read(folder: Path, places: list[tuple[float, int]]) -> None:
    """Bytes of a real file changed at random: never anything but rows or a sentence that names the file."""
    data = bytearray(DATA.read_bytes()[:4000])
    for place, byte in places:
        data[int(place * (len(data) - 1))] = byte
    file = folder / "damaged.jsonl.gz"
    file.write_bytes(bytes(data))
    with pytest.raises(FileError) as refused:  # what is cut off is at least not whole
        read_file(file)
    assert str(refused.value).startswith(str(file))
    assert "\n" not in str(refused.value)


GOOD = {"process": 0, "mode": "graph", "variant": "a", "tokens": 1, "us": [1.0]}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[]", "expected an object"),
        ("{", "line 2"),
        (json.dumps(GOOD | {"us": []}), "no sample"),
        (json.dumps(GOOD | {"us": ["fast"]}), "Expected `float`"),
        (json.dumps(GOOD | {"us": 1.0}), "Expected `array`"),
        (json.dumps(GOOD | {"mode": "cold"}), "the mode is 'cold', expected one of loop, queued, graph"),
        (json.dumps({name: value for name, value in GOOD.items() if name != "process"}), "`process`"),
        (json.dumps(GOOD | {"tokens": "many"}), "Expected `int`"),
        ('{"process": 0, "mode": "graph", "variant": "a", "tokens": 1, "us": [1e999]}', "line 2"),
    ],
)
def test_a_line_that_is_none_is_named(folder: Path, line: str, said: str) -> None:
    """File, number and what is wrong with it."""
    file = folder / "line.jsonl.gz"
    file.write_bytes(gzip.compress(f"{json.dumps(GOOD)}\n{line}\n".encode()))
    with pytest.raises(FileError) as refused:
        read_file(file)
    assert str(refused.value).startswith(f"{file}, line 2: ")
    assert said in str(refused.value)


def test_folders_without_files_are_refused(tmp_path: Path) -> None:
    """With what to give instead."""
    with pytest.raises(FileError, match=r"is no folder: give one that holds files \*\.jsonl\.gz"):
        read_folder(tmp_path / "nowhere")
    with pytest.raises(FileError, match=r"holds no file \*\.jsonl\.gz: give a folder of the format of tests/data/h200"):
        read_folder(tmp_path)


def test_a_mode_that_is_not_in_the_line_is_in_the_files_name(tmp_path: Path) -> None:
    """As in aa_loop, whose lines have none."""
    write_file(tmp_path / "aa_loop.jsonl.gz", [{name: value for name, value in GOOD.items() if name != "mode"}])
    assert [row.mode for row in read_folder(tmp_path)] == ["loop"]
