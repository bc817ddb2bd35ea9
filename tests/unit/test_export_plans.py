"""A commit's plans in one file: whole, bounded, the same bytes for the same code, and how it differs from others."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import msgspec
import pytest
from guard_bench import Bench

from pytest_kernelperf.baseline import exported
from pytest_kernelperf.baseline.exported import Export, decode, encode, read_export, write_export
from pytest_kernelperf.errors import ReplayError, UsageError
from pytest_kernelperf.export.change import Change, find_changes, read_against
from pytest_kernelperf.model import CaseId

COMMIT = "a1" * 20
PLAIN, FUSED = CaseId("k", "plain", 8), CaseId("k", "fused", 8)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A bench of two variants."""
    return Bench(tmp_path)


def packed(plain: bytes) -> bytes:
    """Compress as the file is."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    return compressor.compress(plain) + compressor.flush()


def test_an_export_comes_back_as_it_was_and_holds_all_that_a_replay_needs(bench: Bench) -> None:
    """Plans, buffers, code and source; nothing was run or timed for it, and no mutation is among it."""
    bench.workers.outputs = lambda plan, inputs: pytest.fail("nothing is run")
    export = bench.export("plain", "fused", "broken", commit=COMMIT)
    write_export(bench.folder / "p", export)
    found = read_export(bench.folder / "p")
    assert found == export
    assert (bench.folder / "p").read_bytes() == encode(export)
    assert [case.case for case in found.cases] == [FUSED, PLAIN]
    assert found.cases[0].object_digest in found.objects
    assert found.sources[found.cases[0].source_digest].files["k.hip"] == bench.source.read_text()
    assert not bench.workers.requests
    assert [path.name for path in bench.folder.iterdir() if path.name.startswith(".")] == []


def test_the_machine_is_shared_while_it_compiles(bench: Bench) -> None:
    """Somebody else's measurement is not disturbed."""
    bench.machine.asked.clear()
    bench.export()
    assert set(bench.machine.asked) == {"shared"}


def test_a_bomb_is_refused_without_being_unpacked(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file that unpacks to a large one."""
    monkeypatch.setattr(exported, "MAX_PLAIN_BYTES", 100_000)
    with pytest.raises(ReplayError, match="unpacks to more than 100,000 bytes"):
        decode(packed(b" " * 10_000_000), "p")
    monkeypatch.setattr(exported, "MAX_FILE_BYTES", 100)
    with pytest.raises(ReplayError, match="has more than 100 bytes"):
        decode(os.urandom(101), "p")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "cut off"),
        (b"{}", "damaged, or no file of kernelperf plans"),
        (packed(b"{}"), "no version"),
        (packed(b'{"version": 3}'), "upgrade this one"),
        (packed(b'{"version": true}'), "version True"),
        (packed(b'{"version": "2"}'), "version '2'"),
        (packed(b'{"version": 2}'), "has no field"),
        (packed(b'{"version": 2, "commit": "", "device_key": "../x", "tool_version": ""}'), "device_key"),
        (packed(b'{"version": 2, "commit": "main", "device_key": "", "tool_version": ""}'), "commit"),
        (packed(b'{"version": 2}')[:-3], "cut off"),
        (packed(b'{"version": 2}') + b"more", "goes on behind its end"),
        (packed(b"[" * 100_000), "p: "),
    ],
)
def test_damage_is_one_sentence(data: bytes, words: str) -> None:
    """File, what came, and what to do."""
    with pytest.raises(ReplayError) as refusal:
        decode(data, "p")
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_parts_that_do_not_belong_together_are_refused(bench: Bench) -> None:
    """Each is held against its digest, and each case has all of its parts, once."""
    export = bench.export()
    digest = export.cases[0].object_digest
    source = export.cases[0].source_digest
    for changed, words in (
        ({"objects": {digest: b"other"}}, "not the one that it is named after"),
        ({"sources": {source: msgspec.structs.replace(export.sources[source], options=("-DX",))}}, "named after"),
        ({"objects": {}}, "has no code object"),
        ({"cases": (*export.cases, export.cases[0])}, "has a case twice"),
    ):
        with pytest.raises(ReplayError, match=words):
            encode(msgspec.structs.replace(export, **changed))


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    """A pipe, a folder, nothing."""
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", ".", "none"):
        with pytest.raises(ReplayError, match=r"is no file|cannot be read"):
            read_export(tmp_path / name)
    with pytest.raises(ReplayError, match="cannot be written"):
        write_export(tmp_path / "none" / "p", Export(2, "", "", ""))


def test_changed_new_gone_and_renamed_cases_are_told_apart(bench: Bench) -> None:
    """Against another export, as against baselines."""
    bench.accept("plain", "fused")
    before = bench.export()
    write_export(bench.folder / "before", before)
    for against in (bench.folder / "before", bench.settings.baselines):
        known = read_against(against, "cpu-test")
        assert find_changes(before, known) == ()
        assert find_changes(bench.export("plain"), known) == (Change(FUSED, "gone"),)
        assert find_changes(before, {PLAIN: known[PLAIN]}) == (Change(FUSED, "new"),)
        old = CaseId("k", "former", 8)
        assert find_changes(before, {PLAIN: known[PLAIN], old: known[FUSED]}) == (Change(FUSED, "renamed", old),)
        said = {FUSED: old}
        assert find_changes(before, {PLAIN: known[PLAIN], old: known[PLAIN]}, said) == (Change(FUSED, "renamed", old),)
        bench.source.write_text("kernel double_kernel v2\nkernel other_kernel v1\n")
        assert find_changes(bench.export(), known) == (Change(PLAIN, "changed"),)
        bench.source.write_text("kernel double_kernel v1\nkernel other_kernel v1\n")
    assert read_against(bench.settings.baselines, "gfx1151-40cu") == {}
    with pytest.raises(UsageError, match="was compiled for cpu-test"):
        read_against(bench.folder / "before", "gfx1151-40cu")
    with pytest.raises(UsageError, match="there is no"):
        read_against(bench.folder / "none", "cpu-test")


def test_what_does_not_compile_any_more_has_changed(bench: Bench) -> None:
    """It is not as it was."""
    before = {case.case: case for case in bench.export().cases}
    bench.workers.failure = UsageError("k plain at 8 tokens: it does not compile")
    export = bench.export("plain")
    assert export.sentences == ("k plain at 8 tokens: it does not compile",)
    assert find_changes(export, before) == (Change(FUSED, "gone"), Change(PLAIN, "changed"))
