"""Whether compiling the same source twice gives the same instructions, wherever it is done.

The guard calls a case `identical` by the digests of its kernels' instructions. A compiler that lets a path, a folder
or the time into them would make every case look changed.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from pytest_kernelperf.machine import CompileReading
from pytest_kernelperf.model import CodeObject, SourceBundle
from pytest_kernelperf.runtime.compile import compile_bundle
from pytest_kernelperf.runtime.hip import Device

PLACES = ("probe.hip", "another/place/probe_again.hip")
"""The two paths of the same source."""


def probe_bundle(main: str) -> SourceBundle:
    """The probes' source under a path of one's choice."""
    folder = resources.files("pytest_kernelperf.runtime")
    text, part = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("probe.hip", "probe_part.h"))
    return SourceBundle(main, {main: text, "probe_part.h": part, str(Path(main).parent / "probe_part.h"): part})


def read_compile(device: Device) -> CompileReading:
    """Compile the probes' source twice, afresh.

    Raises:
        CompileError: it does not compile at all.
    """
    one, other = (_compile(device, main) for main in PLACES)
    return compare_objects(one, other)


def compare_objects(one: CodeObject, other: CodeObject) -> CompileReading:
    """Compare two code objects kernel by kernel."""
    names = sorted(one.kernels.keys() | other.kernels.keys())
    digests = [{name: facts.instruction_digest for name, facts in code.kernels.items()} for code in (one, other)]
    differing = tuple(name for name in names if digests[0].get(name) != digests[1].get(name))
    return CompileReading(len(names), differing, one.data == other.data)


def _compile(device: Device, main: str) -> CodeObject:
    with tempfile.TemporaryDirectory() as folder, _elsewhere(Path(folder) / main):
        return compile_bundle(device, probe_bundle(main))


@contextlib.contextmanager
def _elsewhere(folder: Path) -> Iterator[None]:
    """Compilers work in this folder and keep nothing: a stored result of yesterday's would prove nothing."""
    folder.mkdir(parents=True)
    changed = {"TMPDIR": str(folder), "XDG_CACHE_HOME": str(folder), "AMD_COMGR_CACHE": "0"}
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
