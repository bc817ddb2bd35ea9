"""CASE.json: one case's arms as data, from which they can be run again without their project.

Beside it lies CASE.json.data: the inputs as one process shares them with another, then the code objects. Both are
replaced atomically, the data first, and every part is held against its digest before it is used, so that files which
do not belong together are noticed. What a replay runs is the file's code: play your own, as you would run your own
programs.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from pytest_kernelperf import strict_json
from pytest_kernelperf.atomic_write import discard, temporary_beside, write_atomically
from pytest_kernelperf.baseline.replay import plan_problem
from pytest_kernelperf.code_object import read_kernels
from pytest_kernelperf.errors import CodeObjectError, KernelperfError, ReplayError, UsageError
from pytest_kernelperf.measure.request import Arm
from pytest_kernelperf.model import (
    BufferSpec,
    CaseId,
    CodeObject,
    DeviceFacts,
    Frozen,
    Plan,
    RuntimeName,
    digest_of_bytes,
)
from pytest_kernelperf.plan import MOST_STEPS, check_signature
from pytest_kernelperf.worker.array import InputSet, Layout, digest_arrays

# History of the file:
#   1  first form: case, runtime, device key, buffers with their inputs, arms with code objects and plans
VERSION = 1

MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_DATA_BYTES = 2 * 1024 * 1024 * 1024
PIECE_BYTES = 8 * 1024 * 1024

MAKE_ANEW = "take the trace anew with pytest --kernelperf --kernelperf-trace=always"

Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Text = Annotated[str, Meta(max_length=10_000)]


class StoredObject(Frozen, frozen=True):
    """A code object: its SHA-256, and where it lies in the data file.

    ``digest``: its SHA-256. ``offset_bytes`` and ``size_bytes``: where its bytes begin in the data file, and how
    many they are.
    """

    digest: Digest
    offset_bytes: Annotated[int, Meta(ge=0, le=MAX_DATA_BYTES)]
    size_bytes: Annotated[int, Meta(ge=1, le=MAX_DATA_BYTES)]


class StoredArm(Frozen, frozen=True):
    """One arm: its name, its plan and the digest of its code object.

    ``lowered_names``: symbols of kernels that the plan names otherwise.
    """

    name: Annotated[str, Meta(pattern="^[a-z_]{1,40}$")]
    plan: Plan
    object_digest: Digest
    lowered_names: dict[Text, Text]


class StoredCase(Frozen, frozen=True):
    """What CASE.json holds. ``inputs_digest`` is that of the layout and all values (``worker.array``).

    ``device_key``: of the device that it was taken on. ``buffers``: what the plans work on; ``inputs``: where their
    first contents lie. ``objects`` and ``arms``: what can be played.
    """

    version: int
    case: CaseId
    runtime: RuntimeName
    device_key: Text
    buffers: Annotated[tuple[BufferSpec, ...], Meta(max_length=1000)]
    inputs: Layout
    inputs_digest: Digest
    objects: Annotated[tuple[StoredObject, ...], Meta(min_length=1, max_length=8)]
    arms: Annotated[tuple[StoredArm, ...], Meta(min_length=1, max_length=8)]


class ReplayCase:
    """A case that was read: what can be played, everything checked that needs no device. Used with ``with``."""

    def __init__(self, stored: StoredCase, inputs: InputSet, arms: tuple[Arm, ...]) -> None:
        """Take over ``inputs``."""
        self.case = stored.case
        self.runtime: RuntimeName = stored.runtime
        self.device_key = stored.device_key
        self.inputs = inputs
        self.arms = arms

    def arm(self, name: str) -> Arm:
        """Return an arm. Raises ``ReplayError`` where there is none of that name."""
        for arm in self.arms:
            if arm.name == name:
                return arm
        raise ReplayError(f"there is no arm {name!r}: {self.case} has {', '.join(arm.name for arm in self.arms)}")

    def __enter__(self) -> ReplayCase:
        return self

    def __exit__(self, *_: object) -> None:
        self.inputs.close()


def data_path(path: Path) -> Path:
    """Return where the inputs and code objects of a CASE.json lie."""
    return path.with_name(f"{path.name}.data")


def write_case(
    path: Path,
    case: CaseId,
    device: DeviceFacts,
    buffers: tuple[BufferSpec, ...],
    inputs: InputSet,
    arms: Sequence[Arm],
) -> None:
    """Write what replays a case; the folder must be there.

    Raises:
        ReplayError: it would be larger than is read again, or cannot be written.
    """
    codes = {arm.code.digest: arm.code.data for arm in arms}
    offset, objects = inputs.layout.total_bytes, []
    for digest, code in codes.items():
        objects.append(StoredObject(digest, offset, len(code)))
        offset += len(code)
    if offset > MAX_DATA_BYTES:
        raise ReplayError(f"its inputs and code are {offset:,} bytes, and a replay takes {MAX_DATA_BYTES:,} at most")
    stored = StoredCase(
        version=VERSION,
        case=case,
        runtime=device.runtime,
        device_key=device.key,
        buffers=buffers,
        inputs=inputs.layout,
        inputs_digest=inputs.digest,
        objects=tuple(objects),
        arms=tuple(StoredArm(arm.name, arm.plan, arm.code.digest, arm.code.lowered_names) for arm in arms),
    )
    try:
        _write_data(data_path(path), inputs, codes.values())
        write_atomically(path, strict_json.layout(stored))
    except OSError as error:
        raise ReplayError(f"{path} cannot be written ({error.strerror})") from None


def read_case(path: Path) -> ReplayCase:
    """Read a case and hold every part against its digest, its limits and its code objects' own words.

    Raises:
        ReplayError: missing, damaged, cut off, of an unknown version, or its parts do not belong together; one
            sentence.
    """
    name = strict_json.one_line(str(path))
    try:
        data = _read_bytes(path)
        fd = os.open(data_path(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise ReplayError(f"{name}: it or its .data cannot be read ({error.strerror}): {MAKE_ANEW}") from None
    try:
        stored = _decode(data, name)
        if not stat.S_ISREG(os.fstat(fd).st_mode) or os.fstat(fd).st_size > MAX_DATA_BYTES:
            raise ReplayError(f"{name}: its .data is no file of at most {MAX_DATA_BYTES:,} bytes: {MAKE_ANEW}")
        return ReplayCase(stored, _inputs(stored, fd, name), tuple(_arms(stored, fd, name)))
    finally:
        os.close(fd)


def _read_bytes(path: Path) -> bytes:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:  # no waiting for a pipe
        return file.read(min(MAX_FILE_BYTES, os.fstat(file.fileno()).st_size) + 1)


class _AnyVersion(msgspec.Struct):
    version: object = None


def _decode(data: bytes, name: str) -> StoredCase:
    if len(data) > MAX_FILE_BYTES:
        raise ReplayError(f"{name}: has more than {MAX_FILE_BYTES:,} bytes: {MAKE_ANEW}")
    version = strict_json.decode(data, _AnyVersion, subject=name, error=ReplayError, advice=MAKE_ANEW).version
    if version != VERSION or isinstance(version, bool):
        shown = "no version" if version is None else f"version {version!r:.40}"
        raise ReplayError(
            strict_json.one_line(f"{name}: has {shown}, and this pytest-kernelperf replays {VERSION}: {MAKE_ANEW}")
        )
    stored = strict_json.decode(data, StoredCase, subject=name, error=ReplayError, advice=MAKE_ANEW)
    for problem in _problems(stored):
        raise ReplayError(strict_json.one_line(f"{name}: {problem[:400]}: {MAKE_ANEW}"))
    return stored


def _problems(stored: StoredCase) -> Iterator[str]:
    """Yield what types do not refuse: arms or buffers twice, plans that reach outside of their buffers."""
    if len({arm.name for arm in stored.arms}) != len(stored.arms):
        yield "two of its arms have one name"
    if [spec.name for spec in stored.inputs.specs] != [spec.name for spec in stored.buffers]:
        yield "its inputs are not its buffers"
    for arm in stored.arms:
        if len(arm.plan.steps) > MOST_STEPS:
            yield f"arm {arm.name} has {len(arm.plan.steps)} steps, more than {MOST_STEPS}"
        problem = plan_problem(arm.plan, stored.inputs.specs)
        if problem:
            yield f"arm {arm.name} cannot be run ({problem})"
        if arm.object_digest not in {one.digest for one in stored.objects}:
            yield f"arm {arm.name} has no code object"


def _inputs(stored: StoredCase, fd: int, name: str) -> InputSet:
    try:
        inputs = InputSet(stored.inputs, os.dup(fd), stored.inputs_digest)
    except (KernelperfError, TypeError, ValueError, OverflowError, SyntaxError, OSError) as error:
        raise ReplayError(strict_json.one_line(f"{name}: its inputs cannot be used ({error}): {MAKE_ANEW}")) from None
    if digest_arrays(stored.inputs, inputs) != stored.inputs_digest:
        raise ReplayError(f"{name}: the inputs in its .data are not the ones that it names: {MAKE_ANEW}")
    return inputs


def _arms(stored: StoredCase, fd: int, name: str) -> Iterator[Arm]:
    for arm in stored.arms:
        place = next(one for one in stored.objects if one.digest == arm.object_digest)
        data = os.pread(fd, place.size_bytes, place.offset_bytes)
        if digest_of_bytes(data) != place.digest:
            raise ReplayError(
                f"{name}: the code of arm {arm.name} in its .data is not the one that it names: {MAKE_ANEW}"
            )
        code = CodeObject(place.digest, data, {}, lowered_names=arm.lowered_names)
        try:
            kernels = read_kernels(data)
            known = {said: kernels[symbol] for said, symbol in arm.lowered_names.items() if symbol in kernels}
            check_signature(
                stored.case, arm.plan, stored.buffers, msgspec.structs.replace(code, kernels=kernels | known)
            )
        except (CodeObjectError, UsageError, TypeError, ValueError, SyntaxError) as error:
            sentence = f"{name}: arm {arm.name} cannot be run ({str(error)[:400]}): {MAKE_ANEW}"
            raise ReplayError(strict_json.one_line(sentence)) from None
        yield Arm(arm.name, code, arm.plan)


def _write_data(path: Path, inputs: InputSet, codes: Iterable[bytes]) -> None:
    """Write the data file, which may be large, without having it in memory at once."""
    temporary = temporary_beside(path)
    try:
        with temporary.open("xb") as file:
            done = 0
            while done < inputs.layout.total_bytes:
                piece = os.pread(inputs.fd, min(PIECE_BYTES, inputs.layout.total_bytes - done), done)
                file.write(piece)
                done += len(piece)
            for code in codes:
                file.write(code)
        temporary.replace(path)
    finally:
        discard(temporary)
