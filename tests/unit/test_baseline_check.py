"""The check of each baseline file, and dropping what no test has any more."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from pytest_kernelperf.baseline.check import drop_stale, problems
from pytest_kernelperf.baseline.format import decode
from pytest_kernelperf.baseline.store import BaselineStore
from pytest_kernelperf.model import SourceBundle, digest_of_bytes

GOLDEN = Path(__file__).parent.parent / "golden" / "baseline.json"
MODULE = "kernels/moe_add_inject/test_moe_add_inject.py"
KEYS = ("gfx1151-40cu", "cpu-zen5")
CASES = frozenset({("separate", 7), ("separate", 64), ("fused_column_tiles", 512)})
OBJECT = b"object" * 100
SOURCE = SourceBundle(main="k.hip", files={"k.hip": "// source\n"})


@pytest.fixture
def store(tmp_path: Path) -> BaselineStore:
    """Two devices' baselines of three cases, and their test module."""
    module = tmp_path / MODULE
    module.parent.mkdir(parents=True)
    module.write_text("")
    store = BaselineStore(tmp_path / "baselines")
    golden = decode(GOLDEN.read_bytes(), "golden")
    cases = tuple(
        msgspec.structs.replace(
            golden.cases[0],
            variant=variant,
            tokens=tokens,
            object_digest=digest_of_bytes(OBJECT),
            source_digest=SOURCE.digest,
        )
        for variant, tokens in sorted(CASES)
    )
    for key in KEYS:
        baseline = msgspec.structs.replace(golden, device_key=key, cases=cases)
        store.write(key, baseline, {digest_of_bytes(OBJECT): OBJECT}, {SOURCE.digest: SOURCE})
    return store


@pytest.fixture
def file(store: BaselineStore) -> Path:
    """The first device's baseline."""
    return store.path(KEYS[0], "moe_add_inject")


def found(file: Path, known: frozenset[tuple[str, int]] | None) -> list[str]:
    """What the check says when the kernel's tests have these cases."""
    return problems(file, lambda kernel, module: known, file.parent.parent.parent)


def test_a_good_file_has_no_problems(file: Path) -> None:
    """Claim: more cases in tests than in the baseline are no problem of the baseline."""
    assert found(file, CASES) == []
    assert found(file, CASES | {("new", 1)}) == []


def test_each_stale_case_is_named(file: Path) -> None:
    """Claim: a case that no test has any more is one sentence with what to do."""
    assert found(file, CASES - {("separate", 7)}) == [
        "baselines/gfx1151-40cu/moe_add_inject.json has case separate at 7 tokens, which no test has any more: "
        "restore it, or drop it with pytest --kernelperf --update-baselines"
    ]
    assert len(found(file, frozenset({("separate", 7)}))) == 2


def test_a_module_that_was_not_collected_whole_says_nothing(file: Path) -> None:
    """Claim: -k or a single file never makes other cases stale."""
    assert found(file, None) == []


def test_a_kernel_that_is_gone_is_said(file: Path) -> None:
    """Claim: the kernel left its module."""
    assert found(file, frozenset()) == [
        "baselines/gfx1151-40cu/moe_add_inject.json has 3 cases of moe_add_inject, but "
        f"{MODULE} has no kernel moe_add_inject any more: "
        "restore it, or drop them with pytest --kernelperf --update-baselines"
    ]


def test_a_module_that_is_gone_is_said_even_when_nothing_was_collected(file: Path) -> None:
    """Claim: deleting the test file does not delete its guard silently."""
    (file.parent.parent.parent / MODULE).unlink()
    assert f"but its test module {MODULE} is gone: restore it" in found(file, None)[0]


def test_a_kernel_that_moved_is_no_problem(file: Path) -> None:
    """Claim: where the kernel is found in another module its cases are looked for there."""
    (file.parent.parent.parent / MODULE).unlink()
    assert found(file, CASES) == []


def test_damage_is_one_sentence_each(file: Path) -> None:
    """Claim: a missing object and a missing source are each said once, however many cases refer to them."""
    for folder in ("objects", "sources"):
        for path in (file.parent / folder).iterdir():
            path.unlink()
    sentences = found(file, CASES)
    assert len(sentences) == 2
    assert sentences[0].startswith(f"baselines/{KEYS[0]}/objects/{digest_of_bytes(OBJECT)}.gz: is missing")
    assert sentences[1].startswith(f"baselines/{KEYS[0]}/sources/{SOURCE.digest}.json: is missing")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"54.8848", b"NaN", "cases[0].processes[0].times_us[1] is nan, not a finite number"),
        (b'"version": 1', b'"version": 9', "has version 9"),
        (b'"device_key": "gfx1151-40cu"', b'"device_key": "gfx1100-96cu"', "was stored on device gfx1100-96cu"),
        (b'"kernel": "moe_add_inject"', b'"kernel": "other"', "is the baseline of kernel other"),
    ],
)
def test_an_unusable_file_is_one_sentence(file: Path, old: bytes, new: bytes, words: str) -> None:
    """Claim: what cannot be read fails closed, with the file's name as the user knows it."""
    data = file.read_bytes()
    file.write_bytes(data.replace(old, new, 1) if b"kernel" not in old else new.join(data.rsplit(old, 1)))
    sentences = found(file, CASES)
    assert len(sentences) == 1
    assert sentences[0].startswith("baselines/gfx1151-40cu/moe_add_inject.json: ")
    assert words in sentences[0]


def test_an_unreadable_or_vanished_file_is_one_sentence(file: Path) -> None:
    """Claim: a folder in the file's place, or nothing, is said."""
    file.unlink()
    assert "is gone" in found(file, CASES)[0]
    file.mkdir()
    assert "cannot be read" in found(file, CASES)[0]


def test_stale_cases_are_dropped_for_all_devices(store: BaselineStore, file: Path) -> None:
    """Claim: an update drops a stale case from every device's baseline and keeps the others to the byte."""
    root = file.parent.parent.parent
    known = CASES - {("separate", 7)}
    lines = drop_stale(store, lambda kernel, module: known, root)
    assert lines == [
        f"baselines/{key}/moe_add_inject.json: dropped separate at 7 tokens, which no test has any more"
        for key in sorted(KEYS)
    ]
    for key in KEYS:
        baseline = store.read(key, "moe_add_inject")
        assert baseline is not None
        assert {(case.variant, case.tokens) for case in baseline.cases} == known
        assert found(store.path(key, "moe_add_inject"), known) == []
    assert drop_stale(store, lambda kernel, module: known, root) == []
    assert drop_stale(store, lambda kernel, module: None, root) == []


def test_a_baseline_without_cases_goes_with_its_objects(store: BaselineStore, file: Path) -> None:
    """Claim: when the kernel is gone nothing of it stays behind."""
    assert len(drop_stale(store, lambda kernel, module: frozenset(), file.parent.parent.parent)) == 6
    assert store.files() == ()
    assert list(store.root.glob("*/objects/*")) == []


def test_a_file_that_cannot_be_read_is_not_dropped(store: BaselineStore, file: Path) -> None:
    """Claim: an update leaves what it does not understand."""
    file.write_bytes(b"{")
    drop_stale(store, lambda kernel, module: frozenset(), file.parent.parent.parent)
    assert file.read_bytes() == b"{"
