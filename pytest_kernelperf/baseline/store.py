"""Baselines on disk: ``<root>/<device key>/<kernel>.json`` with ``objects/`` and ``sources/`` beside it.

Objects are code objects, gzip-compressed and named by the SHA-256 of what is inside; sources are source
bundles named by their digest. A baseline is replaced in this order: its objects, its sources, then the
JSON by one rename, and only then what nothing refers to any more goes. A process killed at any moment
leaves the old baseline whole, or the new one.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from pytest_kernelperf import strict_json
from pytest_kernelperf.atomic_write import flush_folder, remove_temporaries, write_atomically
from pytest_kernelperf.baseline import format as baseline_format
from pytest_kernelperf.baseline.entry import Baseline
from pytest_kernelperf.baseline.format import RESTORE
from pytest_kernelperf.errors import BaselineError
from pytest_kernelperf.model import SourceBundle, digest_of_bytes

MAX_OBJECT_BYTES = 512 * 1024 * 1024
MAX_STORED_BYTES = 128 * 1024 * 1024

LOCK_WAIT_S = 120

CALIBRATION = "calibration.json"
"""What ``kernelperf calibrate`` stores beside a device's baselines (``baseline.calibration``); no kernel's file."""

_GZIP = 31  # zlib's number for a gzip header, whose time stays 0, so that equal objects are equal files
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_DIGEST = re.compile(rb"[0-9a-f]{64}")

# Locks and temporary files begin with a dot; git is told to leave them out.
_GITIGNORE = b"# written by pytest-kernelperf: its lock and the temporary files of killed runs\n.*\n!.gitignore\n"


class BaselineStore:
    """All baselines under one folder. Reading takes no lock, writing one per device key."""

    def __init__(self, root: Path, step: Callable[[str], None] = lambda name: None) -> None:
        """Open the store at ``root``, which need not exist. ``step`` hears each step of a write, for tests."""
        self.root = root
        self._step = step
        self._references: dict[Path, tuple[int, int, frozenset[str]]] = {}
        self._held: set[str] = set()
        self._last: tuple[tuple[object, ...], Baseline] | None = None

    def path(self, device_key: str, kernel: str) -> Path:
        """Return where a kernel's baseline is or would be.

        Raises:
            BaselineError: a name that cannot be a file's.
        """
        path = self._folder(device_key) / f"{_checked(kernel, 'kernel')}.json"
        if path.name == CALIBRATION:
            raise BaselineError(f"{path}: is what kernelperf calibrate stores, so no kernel can be named {kernel!r}")
        return path

    def files(self) -> tuple[Path, ...]:
        """All baseline files of all device keys, in order."""
        found = (path for path in self.root.glob("*/*.json") if path.name != CALIBRATION and path.name[0] != ".")
        return tuple(sorted(path for path in found if not path.is_fifo()))  # one of those would be read for ever

    def read(self, device_key: str, kernel: str) -> Baseline | None:
        """Return a kernel's baseline on a device, None when there is none.

        Raises:
            BaselineError: it cannot be used as it stands; one sentence with file, case and field.
        """
        path = self.path(device_key, kernel)
        try:
            state = path.stat()
            seen = (path, state.st_ino, state.st_size, state.st_mtime_ns)
            if self._last is None or self._last[0] != seen:  # cases of a kernel come together, and may be hundreds
                self._last = seen, read_file(path)
        except FileNotFoundError:
            return None
        return self._last[1]

    def read_object(self, device_key: str, digest: str) -> bytes:
        """Return an accepted code object's bytes, verified against their digest.

        Raises:
            BaselineError: missing, damaged, or larger than a code object may be.
        """
        path = self._object_path(device_key, digest)
        data = _decompressed(_beside(path), path)
        if digest_of_bytes(data) != digest:
            raise BaselineError(f"{path}: does not hold the code object it is named by: {RESTORE}")
        return data

    def read_source(self, device_key: str, digest: str) -> SourceBundle:
        """Return an accepted source, verified against its digest.

        Raises:
            BaselineError: missing, damaged, or larger than a source may be.
        """
        path = self._source_path(device_key, digest)
        bundle = strict_json.decode(_beside(path), SourceBundle, subject=str(path), error=BaselineError, advice=RESTORE)
        if bundle.digest != digest:
            raise BaselineError(f"{path}: does not hold the source it is named by: {RESTORE}")
        return bundle

    def write(
        self, device_key: str, baseline: Baseline, objects: Mapping[str, bytes], sources: Mapping[str, SourceBundle]
    ) -> None:
        """Store a baseline with the code objects and sources it refers to, then drop what nothing refers to.

        ``objects`` and ``sources`` need hold only what is not stored yet. Two processes take turns.

        Raises:
            BaselineError: a referenced object or source is neither given nor stored whole; the record
                breaks a rule of the file; another process holds the lock for over two minutes.
        """
        path = self.path(device_key, baseline.kernel)
        if baseline.device_key != device_key:
            raise BaselineError(f"{path}: a baseline of device {baseline.device_key} does not belong there")
        data = baseline_format.encode(baseline)
        with self._locked(device_key):
            for digest in sorted({case.object_digest for case in baseline.cases}):
                self._store_object(device_key, digest, objects.get(digest))
            for digest in sorted({case.source_digest for case in baseline.cases}):
                self._store_source(device_key, digest, sources.get(digest))
            if not path.exists() or path.read_bytes() != data:
                write_atomically(path, data, self._step)
            self._remove_unreferenced(device_key)

    def remove(self, device_key: str, kernel: str) -> None:
        """Remove a kernel's baseline, then what nothing refers to any more."""
        with self._locked(device_key):
            path = self.path(device_key, kernel)
            path.unlink(missing_ok=True)
            flush_folder(path.parent)
            self._remove_unreferenced(device_key)

    @contextmanager
    def hold(self, device_key: str) -> Iterator[None]:
        """Hold a device key alone, so that what is read can be changed and written without losing another's change.

        Raises:
            BaselineError: another process holds it for over two minutes.
        """
        with self._locked(device_key):
            yield

    @contextmanager
    def _locked(self, device_key: str) -> Iterator[None]:
        """Hold the device key's folders alone: made, and cleared of what killed writers left. Reentrant."""
        if device_key in self._held:
            yield
            return
        folder = self._folder(device_key)
        places = (folder, folder / "objects", folder / "sources")
        for place in places:
            place.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / ".lock", timeout=LOCK_WAIT_S)
        try:
            lock.acquire()
        except Timeout:
            raise BaselineError(
                f"{folder}: another process has been storing baselines here for over {LOCK_WAIT_S} s "
                f"(it holds {folder / '.lock'}): wait for it or stop it, then run again"
            ) from None
        try:
            for place in places:
                remove_temporaries(place)
            if not (folder / ".gitignore").exists():
                write_atomically(folder / ".gitignore", _GITIGNORE, self._step)
            self._held.add(device_key)
            yield
        finally:
            self._held.discard(device_key)
            lock.release()

    def _store_object(self, device_key: str, digest: str, data: bytes | None) -> None:
        if self._is_whole(self.read_object, device_key, digest):
            return
        path = self._object_path(device_key, digest)
        if data is None or digest_of_bytes(data) != digest:
            raise BaselineError(f"{path}: neither stored whole nor given to be stored, so nothing was changed")
        compressor = zlib.compressobj(9, zlib.DEFLATED, _GZIP)
        write_atomically(path, compressor.compress(data) + compressor.flush(), self._step)

    def _store_source(self, device_key: str, digest: str, bundle: SourceBundle | None) -> None:
        if self._is_whole(self.read_source, device_key, digest):
            return
        path = self._source_path(device_key, digest)
        if bundle is None or bundle.digest != digest:
            raise BaselineError(f"{path}: neither stored whole nor given to be stored, so nothing was changed")
        write_atomically(path, strict_json.layout(bundle), self._step)

    def _is_whole(self, read: Callable[[str, str], object], device_key: str, digest: str) -> bool:
        try:
            read(device_key, digest)
        except BaselineError:
            return False
        return True

    def _remove_unreferenced(self, device_key: str) -> None:
        folder = self._folder(device_key)
        try:
            kept = frozenset[str]().union(*(self._digests_in(path) for path in folder.glob("*.json")))
        except OSError:
            return  # an unreadable baseline may refer to any of them
        for path in (*folder.glob("objects/*.gz"), *folder.glob("sources/*.json")):
            if path.stem not in kept and not path.name.startswith("."):
                path.unlink(missing_ok=True)
                self._step("unreferenced removed")

    def _digests_in(self, path: Path) -> frozenset[str]:
        """All digests that stand in a baseline's text; a file too damaged to decode still keeps what it names."""
        status = path.stat()
        known = self._references.get(path)
        if known is None or known[:2] != (status.st_mtime_ns, status.st_size):
            digests = frozenset(match.decode() for match in _DIGEST.findall(path.read_bytes()))
            known = self._references[path] = (status.st_mtime_ns, status.st_size, digests)
        return known[2]

    def _folder(self, device_key: str) -> Path:
        return self.root / _checked(device_key, "device key")

    def _object_path(self, device_key: str, digest: str) -> Path:
        return self._folder(device_key) / "objects" / f"{_checked(digest, 'digest')}.gz"

    def _source_path(self, device_key: str, digest: str) -> Path:
        return self._folder(device_key) / "sources" / f"{_checked(digest, 'digest')}.json"


def read_file(path: Path, name: str = "") -> Baseline:
    """Read a baseline file, whose folder is named by its device key; ``name`` is how sentences name it.

    Raises:
        FileNotFoundError: there is none.
        BaselineError: it cannot be used as it stands, or it belongs to another device or kernel.
    """
    name = name or str(path)
    data = _bounded(path, baseline_format.MAX_FILE_BYTES, name)
    baseline = baseline_format.decode(data, name, folder_key=path.parent.name)
    if baseline.kernel != path.stem:
        raise BaselineError(f"{name}: is the baseline of kernel {baseline.kernel}: name it {baseline.kernel}.json")
    return baseline


def _bounded(path: Path, limit_bytes: int, name: str) -> bytes:
    """Read a file of at most ``limit_bytes``; one byte more is read so that the decoder refuses it."""
    try:
        with path.open("rb") as file:
            # read() sets its size aside at once, so it is asked for the file's own.
            return file.read(min(limit_bytes, os.fstat(file.fileno()).st_size) + 1)
    except FileNotFoundError:
        raise
    except OSError as failure:
        raise BaselineError(f"{name}: cannot be read ({failure.strerror}): {RESTORE}") from None


def _beside(path: Path) -> bytes:
    """Read an object's or source's file."""
    try:
        data = _bounded(path, MAX_STORED_BYTES, str(path))
    except FileNotFoundError:
        raise BaselineError(f"{path}: is missing, but its baseline refers to it: {RESTORE}") from None
    if len(data) > MAX_STORED_BYTES:
        raise BaselineError(f"{path}: has more than {MAX_STORED_BYTES} bytes: {RESTORE}")
    return data


def _decompressed(data: bytes, path: Path) -> bytes:
    """Decompress one gzip stream, never to more than a code object may have."""
    decompressor = zlib.decompressobj(_GZIP)
    try:
        plain = decompressor.decompress(data, MAX_OBJECT_BYTES + 1)
    except zlib.error:
        plain = None
    if plain is not None and len(plain) > MAX_OBJECT_BYTES:
        raise BaselineError(f"{path}: unpacks to more than {MAX_OBJECT_BYTES} bytes: {RESTORE}")
    if plain is None or not decompressor.eof or decompressor.unused_data:
        raise BaselineError(f"{path}: is damaged: {RESTORE}")
    return plain


def _checked(name: str, what: str) -> str:
    """Refuse a name that would not be a plain file name."""
    if not _NAME.fullmatch(name) or name.startswith("."):
        raise BaselineError(
            f"the {what} {name[:200]!r} cannot name a baseline file: "
            "it may have letters, digits, '_', '.' and '-', and not begin with '.'"
        )
    return name
