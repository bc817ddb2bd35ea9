"""A commit's code of all its cases in one file (``kernelperf plans``): what replays them, without their project.

The file is one gzip stream of JSON. Code objects and sources are in it by digest, and everything is held against its
digest when it is read, so that damage is noticed. What a guard runs beside a case is the file's code.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from pytest_kernelperf import strict_json
from pytest_kernelperf.atomic_write import followed, write_atomically
from pytest_kernelperf.baseline.field import Digest, KernelName, ModulePath, ShortText, Text, VariantName
from pytest_kernelperf.errors import ReplayError
from pytest_kernelperf.model import BufferSpec, CaseId, Frozen, Plan, SourceBundle, digest_of_bytes
from pytest_kernelperf.plan import MOST_STEPS

# History of the file:
#   1  first form: commit, device key, cases with plans, what could not be exported, objects and sources by digest
#   2  the limits that the commit judges a case by, since a change is not judged by its own
VERSION = 2

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_PLAIN_BYTES = 256 * 1024 * 1024
MAX_CASES = 30_000
EXPORT_ANEW = "export the commit anew with kernelperf plans"

_GZIP = 31
_TEXT_CHARACTERS = 4000

Tokens = Annotated[int, Meta(ge=0, le=2**62)]
Share = Annotated[float, Meta(ge=0.0, le=0.99)]


class PlannedLimits(Frozen, frozen=True):
    """What the commit judges a case by.

    ``tolerance``, ``curve_tolerance``: smallest slowdown that counts, of the case and over all sizes, as a share of its
    time; null: the runtime's default, and half of the sizes' own. ``floor_us``: smallest difference that counts.
    ``creep``: slowdown in accepted steps that is said. ``results``: how far results may lie from the reference, in
    words.
    """

    tolerance: Share | None
    floor_us: Annotated[float, Meta(ge=0.0, le=1e9)]
    curve_tolerance: Share | None
    creep: Share
    results: ShortText


class PlannedCase(Frozen, frozen=True):
    """One case: what it runs, on which buffers. ``object_digest`` and ``source_digest`` name parts of the file.

    ``kernel``, ``variant`` and ``tokens`` say which, ``test_module`` its test file. ``inputs_digest``: of the
    inputs' shapes, types and values. ``instruction_digests`` and ``resources`` are per kernel. ``limits``: what the
    commit judges the case by.
    """

    kernel: KernelName
    variant: VariantName
    tokens: Tokens
    test_module: ModulePath
    plan: Plan
    buffers: Annotated[tuple[BufferSpec, ...], Meta(max_length=1000)]
    inputs_digest: Digest
    source_digest: Digest
    object_digest: Digest
    instruction_digests: dict[ShortText, Digest]
    resources: dict[ShortText, dict[ShortText, int]]
    limits: PlannedLimits

    @property
    def case(self) -> CaseId:
        """Which case it is."""
        return CaseId(self.kernel, self.variant, self.tokens)


class Unexported(Frozen, frozen=True):
    """A case that the commit has and that could not be exported, and why.

    ``kernel``, ``variant`` and ``tokens`` say which, ``sentence`` why.
    """

    kernel: KernelName
    variant: VariantName
    tokens: Tokens
    sentence: Text

    @property
    def case(self) -> CaseId:
        """Which case it is."""
        return CaseId(self.kernel, self.variant, self.tokens)


class Export(Frozen, frozen=True):
    """All cases of one commit, compiled for one device.

    ``commit`` is its full SHA, ``device_key`` the device's; both empty where not known. ``problems``: what kept
    modules from being collected, or everything from being exported, a sentence each. ``tool_version``: of
    pytest-kernelperf. ``unexported``: cases without code. ``objects`` and ``sources``: by digest.
    """

    version: int
    commit: Annotated[str, Meta(pattern=r"\A(?:[0-9a-f]{40}|[0-9a-f]{64})?\Z")]
    device_key: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_.-]*\Z", max_length=200)]
    tool_version: ShortText
    cases: Annotated[tuple[PlannedCase, ...], Meta(max_length=MAX_CASES)] = ()
    unexported: Annotated[tuple[Unexported, ...], Meta(max_length=MAX_CASES)] = ()
    problems: Annotated[tuple[Text, ...], Meta(max_length=10_000)] = ()
    objects: dict[Digest, bytes] = msgspec.field(default_factory=dict)
    sources: dict[Digest, SourceBundle] = msgspec.field(default_factory=dict)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything that could not be exported, a sentence each."""
        return (*self.problems, *(f"{one.case}: {one.sentence}" for one in self.unexported))


class _AnyVersion(msgspec.Struct):
    version: object = None


def sentence(text: str) -> str:
    """Return what went wrong on one line, as long as the file takes it."""
    return strict_json.one_line(" ".join(text.split()))[:_TEXT_CHARACTERS]


def encode(export: Export) -> bytes:
    """Return the file's bytes: equal exports are equal bytes.

    Raises:
        ReplayError: it would be larger than is read again, or breaks a rule of the file.
    """
    compressor = zlib.compressobj(6, zlib.DEFLATED, _GZIP)
    data = compressor.compress(msgspec.json.encode(export, order="deterministic")) + compressor.flush()
    decode(data, "the exported plans", advice="nothing was written")
    return data


def decode(data: bytes, name: str, *, advice: str = EXPORT_ANEW) -> Export:
    """Read an export's bytes; ``name`` is how sentences name the file.

    Raises:
        ReplayError: too large, damaged, cut off, of another version, or parts do not belong together; one sentence.
    """
    plain = _decompressed(data, name, advice)
    version = strict_json.decode(plain, _AnyVersion, subject=name, error=ReplayError, advice=advice).version
    if version != VERSION or isinstance(version, bool):
        newer = isinstance(version, int) and version > VERSION
        todo = "it was written by a newer pytest-kernelperf: upgrade this one" if newer else advice
        shown = strict_json.one_line("no version" if version is None else f"version {version!r:.40}")
        raise ReplayError(f"{name}: has {shown}, and this pytest-kernelperf reads version {VERSION}: {todo}")
    export = strict_json.decode(plain, Export, subject=name, error=ReplayError, advice=advice)
    for problem in _inconsistencies(export):
        raise ReplayError(strict_json.one_line(f"{name}: {problem[:400]}: {advice}"))
    return export


def write_export(path: Path, export: Export) -> None:
    """Write the file in place of the one before, by one rename.

    Raises:
        ReplayError: it would be too large, or cannot be written there.
    """
    data = encode(export)
    try:
        write_atomically(followed(path), data)
    except OSError as failure:
        raise ReplayError(f"{path} cannot be written ({failure.strerror}): name another file with --output") from None


def read_export(path: Path) -> Export:
    """Read a file that ``kernelperf plans`` wrote.

    Raises:
        ReplayError: it is not there, is no file, or cannot be used as it stands; one sentence.
    """
    name = strict_json.one_line(str(path))
    try:
        # A pipe of this name must not be waited for.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ReplayError(f"{name}: is no file: name what kernelperf plans wrote")
            data = file.read(min(MAX_FILE_BYTES, status.st_size) + 1)
    except OSError as failure:
        raise ReplayError(f"{name}: cannot be read ({failure.strerror}): {EXPORT_ANEW}") from None
    return decode(data, name)


def _decompressed(data: bytes, name: str, advice: str) -> bytes:
    if len(data) > MAX_FILE_BYTES:
        raise ReplayError(f"{name}: has more than {MAX_FILE_BYTES:,} bytes: {advice}")
    decompressor = zlib.decompressobj(_GZIP)
    try:
        plain = decompressor.decompress(data, MAX_PLAIN_BYTES + 1)
    except zlib.error:
        raise ReplayError(f"{name}: is damaged, or no file of kernelperf plans: {advice}") from None
    if len(plain) > MAX_PLAIN_BYTES:
        raise ReplayError(f"{name}: unpacks to more than {MAX_PLAIN_BYTES:,} bytes: {advice}")
    if not decompressor.eof or decompressor.unused_data:
        raise ReplayError(f"{name}: is cut off, or goes on behind its end: {advice}")
    return plain


def _inconsistencies(export: Export) -> Iterator[str]:
    known = [*(case.case for case in export.cases), *(one.case for one in export.unexported)]
    if len(set(known)) != len(known):
        yield "has a case twice"
    for digest, data in export.objects.items():
        if digest_of_bytes(data) != digest:
            yield f"the code object {digest} is not the one that it is named after"
    for digest, bundle in export.sources.items():
        if bundle.digest != digest:
            yield f"the source {digest} is not the one that it is named after"
    for case in export.cases:
        if case.object_digest not in export.objects or case.source_digest not in export.sources:
            yield f"{case.case} has no code object or no source"
        if len(case.plan.steps) > MOST_STEPS:
            yield f"{case.case} has {len(case.plan.steps):,} steps, more than {MOST_STEPS:,}"
