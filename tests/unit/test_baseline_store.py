"""The store: what is on disk after writes, kills, damage and two writers."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import msgspec
import pytest
from filelock import FileLock

from pytest_kernelperf.baseline import store as store_module
from pytest_kernelperf.baseline.entry import Baseline
from pytest_kernelperf.baseline.format import decode
from pytest_kernelperf.baseline.store import BaselineStore, read_file
from pytest_kernelperf.errors import BaselineError
from pytest_kernelperf.model import SourceBundle, digest_of_bytes

GOLDEN = Path(__file__).parent.parent / "golden" / "baseline.json"
KEY, KERNEL = "gfx1151-40cu", "moe_add_inject"
Content = tuple[Baseline, dict[str, bytes], dict[str, SourceBundle]]


def content(version: str, kernel: str = KERNEL) -> Content:
    """A baseline with its object and source; each version has its own."""
    data = version.encode() * 1000
    source = SourceBundle(main="k.hip", files={"k.hip": f"// {version}\n"})
    baseline = decode(GOLDEN.read_bytes(), "golden")
    case = msgspec.structs.replace(
        baseline.cases[0], object_digest=digest_of_bytes(data), source_digest=source.digest, reason=version
    )
    baseline = msgspec.structs.replace(baseline, kernel=kernel, cases=(case,))
    return baseline, {digest_of_bytes(data): data}, {source.digest: source}


def reasons(store: BaselineStore, kernel: str = KERNEL) -> str:
    """Which version is stored, after all it refers to was read and verified."""
    baseline = store.read(KEY, kernel)
    assert baseline is not None
    case = baseline.cases[0]
    assert store.read_object(KEY, case.object_digest) == case.reason.encode() * 1000
    assert store.read_source(KEY, case.source_digest).files == {"k.hip": f"// {case.reason}\n"}
    return case.reason


def stored_names(root: Path) -> set[str]:
    """Objects and sources that are there, temporary files included."""
    return {path.name for folder in ("objects", "sources") for path in (root / KEY / folder).iterdir()}


@pytest.fixture
def store(tmp_path: Path) -> BaselineStore:
    """An empty store."""
    return BaselineStore(tmp_path)


def test_what_is_written_is_read(store: BaselineStore) -> None:
    """Claim: a baseline, its code object and its source come back."""
    assert store.read(KEY, KERNEL) is None
    assert store.files() == ()
    store.write(KEY, *content("one"))
    assert reasons(store) == "one"
    assert store.files() == (store.root / KEY / f"{KERNEL}.json",)


def test_a_file_is_read_once_while_it_stays_as_it_is(store: BaselineStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim: cases of a kernel share what was read; a write, another file's length or its loss is noticed."""
    read = []
    monkeypatch.setattr(store_module, "read_file", lambda path: (read.append(path), read_file(path))[1])
    store.write(KEY, *content("one"))
    read.clear()
    assert [reasons(store) for _ in range(3)] == ["one"] * 3
    assert len(read) == 1
    store.write(KEY, *content("two"))
    assert [reasons(store), reasons(store)] == ["two"] * 2
    path = store.path(KEY, KERNEL)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(BaselineError):
        store.read(KEY, KERNEL)
    path.unlink()
    assert store.read(KEY, KERNEL) is None


def test_writing_the_same_again_changes_no_file(store: BaselineStore) -> None:
    """Claim: nothing is rewritten that already stands."""
    store.write(KEY, *content("one"))
    before = {
        path: path.stat().st_mtime_ns for path in store.root.rglob("*") if path.is_file() and path.name != ".lock"
    }
    store.write(KEY, content("one")[0], {}, {})
    after = {path: path.stat().st_mtime_ns for path in store.root.rglob("*") if path.is_file() and path.name != ".lock"}
    assert after == before


def test_equal_objects_are_equal_files(tmp_path: Path) -> None:
    """Claim: compression adds no time and no name, so git sees no change."""
    files = []
    for place in ("a", "b"):
        BaselineStore(tmp_path / place).write(KEY, *content("one"))
        files.append([path.read_bytes() for path in sorted((tmp_path / place).rglob("*")) if path.is_file()])
    assert files[0] == files[1]


def test_what_nothing_refers_to_goes(store: BaselineStore) -> None:
    """Claim: replaced objects and sources are removed, those of other kernels stay."""
    store.write(KEY, *content("shared", "other"))
    store.write(KEY, *content("shared"))
    store.write(KEY, *content("two"))
    assert len(stored_names(store.root)) == 4
    assert reasons(store, "other") == "shared"
    assert reasons(store) == "two"
    store.write(KEY, *content("two", "other"))
    assert len(stored_names(store.root)) == 2
    store.remove(KEY, "other")
    assert reasons(store) == "two"


def test_a_damaged_baseline_keeps_what_it_names(store: BaselineStore) -> None:
    """Claim: objects of a baseline that cannot be decoded are not removed: git may bring it back."""
    store.write(KEY, *content("one", "other"))
    path = store.path(KEY, "other")
    path.write_bytes(path.read_bytes()[:-20])
    store.write(KEY, *content("two"))
    assert len(stored_names(store.root)) == 4


CHILD = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = [{tests!r}]
import test_baseline_store as here
left = int(sys.argv[2])
def step(name):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
here.BaselineStore(Path(sys.argv[1]), step).write(here.KEY, *here.content(sys.argv[3]))
"""

MANY_WRITES = """
store = here.BaselineStore(Path(sys.argv[1]))
for turn in range(20):
    store.write(here.KEY, *here.content(f"{sys.argv[3]} {turn}"))
    store.write(here.KEY, *here.content(f"{sys.argv[3]} {turn}", "kernel-" + sys.argv[3]))
"""


def write_in_child(root: Path, kill_at: int, version: str) -> int:
    """Write in a process that kills itself at a step; return its exit status."""
    code = CHILD.format(tests=str(Path(__file__).parent))
    command = [sys.executable, "-c", code, str(root), str(kill_at), version]
    return subprocess.run(
        command, check=False, timeout=60, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ).returncode


def test_a_kill_at_any_step_leaves_a_whole_baseline(store: BaselineStore) -> None:
    """Claim: kill -9 at every step of a write leaves the old baseline whole, or the new one."""
    store.write(KEY, *content("old"))
    seen = []
    for step in range(100):
        status = write_in_child(store.root, step, f"new {step}")
        seen.append(reasons(store))
        if status == 0:
            break
        assert status == -signal.SIGKILL
    assert seen[0] == "old"
    assert "new" in seen[-2]
    assert seen[-1] == f"new {len(seen) - 1}"
    assert len(seen) > 15
    assert len(stored_names(store.root)) == 2, "the last write cleared what killed ones left"


def test_a_kill_during_the_first_write_leaves_nothing_to_read(tmp_path: Path) -> None:
    """Claim: until the first write is done there is no baseline, rather than half of one."""
    store = BaselineStore(tmp_path)
    assert write_in_child(tmp_path, 3, "new") == -signal.SIGKILL
    assert store.read(KEY, KERNEL) is None
    assert store.files() == ()


def test_two_writers_take_turns(store: BaselineStore) -> None:
    """Claim: writers of the same baseline and of another one leave both whole."""
    code = CHILD.format(tests=str(Path(__file__).parent)) + MANY_WRITES
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(store.root), "10000", name], env=environment)
        for name in ("a", "b")
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    assert reasons(store) in ("a 19", "b 19")
    assert reasons(store, "kernel-a") == "a 19"
    assert reasons(store, "kernel-b") == "b 19"


def test_a_lock_that_is_held_is_said(store: BaselineStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim: a writer does not wait for ever; the sentence says which lock is held."""
    store.write(KEY, *content("one"))
    monkeypatch.setattr(store_module, "LOCK_WAIT_S", 0.05)
    with FileLock(store.root / KEY / ".lock"), pytest.raises(BaselineError, match="another process has been storing"):
        store.write(KEY, *content("two"))
    assert reasons(store) == "one"


def test_an_object_that_is_not_given_is_refused(store: BaselineStore) -> None:
    """Claim: a baseline never refers to what is not there, nor to other bytes than it names."""
    store.write(KEY, *content("one"))
    baseline, objects, sources = content("two")
    for given in ({}, {digest: data + b"." for digest, data in objects.items()}):
        with pytest.raises(BaselineError, match="neither stored whole nor given"):
            store.write(KEY, baseline, given, sources)
    with pytest.raises(BaselineError, match="neither stored whole nor given"):
        store.write(KEY, baseline, objects, {})
    assert reasons(store) == "one"


@pytest.mark.parametrize("kind", ["object", "source"])
@pytest.mark.parametrize("damage", ["missing", "cut", "changed", "empty", "longer", "folder"])
def test_damage_beside_a_baseline_is_said(store: BaselineStore, kind: str, damage: str) -> None:
    """Claim: a missing or damaged object or source is one sentence with its file; writing again heals it."""
    baseline, objects, sources = content("one")
    store.write(KEY, baseline, objects, sources)
    case = baseline.cases[0]
    if kind == "object":
        path, read = store.root / KEY / "objects" / f"{case.object_digest}.gz", store.read_object
        other = gzip.compress(b"another object")
    else:
        path, read = store.root / KEY / "sources" / f"{case.source_digest}.json", store.read_source
        other = path.read_bytes().replace(b"one", b"two")
    digest, data = path.stem, path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage != "missing":
        path.write_bytes({"cut": data[:-9], "changed": other, "empty": b"", "longer": data + b"x"}[damage])
    with pytest.raises(BaselineError) as caught:
        read(KEY, digest)
    assert str(caught.value).startswith(f"{path}: ")
    assert "restore the file from git" in str(caught.value)
    if damage != "folder":
        store.write(KEY, baseline, objects, sources)
        assert reasons(store) == "one"


def test_unpacking_is_bounded(store: BaselineStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim: a small file that unpacks to more than a code object may have is refused."""
    monkeypatch.setattr(store_module, "MAX_OBJECT_BYTES", 1000)
    path = store.root / KEY / "objects" / f"{'0' * 64}.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(bytes(10_000_000)))
    tracemalloc.start()
    try:
        with pytest.raises(BaselineError, match="unpacks to more than 1000 bytes"):
            store.read_object(KEY, "0" * 64)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".x", "a b", "a\n", "ü"])
def test_names_that_are_no_file_names_are_refused(store: BaselineStore, name: str) -> None:
    """Claim: neither kernel, device key nor digest leads out of the store."""
    with pytest.raises(BaselineError, match="cannot name a baseline file"):
        store.read(KEY, name)
    with pytest.raises(BaselineError, match="cannot name a baseline file"):
        store.read(name, KERNEL)
    with pytest.raises(BaselineError, match="cannot name a baseline file"):
        store.read_object(KEY, name)


def test_a_file_in_another_devices_folder_or_under_another_name_is_refused(store: BaselineStore) -> None:
    """Claim: a copied file is noticed by the key and the kernel inside."""
    store.write(KEY, *content("one"))
    text = store.path(KEY, KERNEL).read_bytes()
    for path, words in (
        (store.root / "cpu-x" / f"{KERNEL}.json", "was stored on device gfx1151-40cu but lies in the folder of cpu-x"),
        (store.root / KEY / "other.json", f"is the baseline of kernel {KERNEL}: name it {KERNEL}.json"),
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text)
        with pytest.raises(BaselineError, match=words):
            read_file(path)


def test_git_leaves_out_locks_and_temporaries(store: BaselineStore) -> None:
    """Claim: what begins with a dot is not committed with the baselines."""
    store.write(KEY, *content("one"))
    assert (store.root / KEY / ".gitignore").read_text().splitlines()[1:] == [".*", "!.gitignore"]


def test_a_baseline_of_another_device_is_not_written(store: BaselineStore) -> None:
    """Claim: a baseline is stored under its own key only."""
    with pytest.raises(BaselineError, match="does not belong there"):
        store.write("cpu-x", *content("one"))
