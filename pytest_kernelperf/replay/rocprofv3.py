"""rocprofv3: where it is, whether it belongs to the runtime's ROCm, and how it is called.

A profiler of another ROCm than the program's works for simple traces and crashes or hangs for others; before ROCm 7.0
it writes no rocpd. HIP's own version says neither: ROCm 10.0 has HIP 7.15.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pytest_kernelperf.errors import ReplayError
from pytest_kernelperf.replay.guarded import Ended
from pytest_kernelperf.strict_json import one_line

NAME = "rocprofv3"
OLDEST = (7, 0)
SETTING = "kernelperf_rocprofv3"
MOST_PARENTS = 4
OPT = Path("/opt")

Version = tuple[int, int, int]

# What a profiler that is around this run asks of every process; rocprofv3 appends to what it finds there.
_OTHERS = re.compile(r"ROCP_\w+|ROCPROF_\w+|ROCPROFILER_\w+|ROCTRACER_\w+|HSA_TOOLS_LIB")


def find_rocprofv3(library: Path, stated: Path | None, environment: Mapping[str, str]) -> Path:
    """Return the rocprofv3 to use for a process that loads ``library``; ``stated`` is the user's setting.

    Raises:
        ReplayError: there is none, or it cannot be run.
    """
    if stated is not None:
        if not _runs(stated):
            raise ReplayError(f"{SETTING} is {one_line(str(stated))}, and that is no program that can be run")
        return stated.absolute()
    places = list(dict.fromkeys(_places(library, environment)))
    found = next((place for place in places if _runs(place)), None)
    if found is not None:
        return found.absolute()
    there = next((place for place in places if place.exists()), None)
    if there is not None:
        raise ReplayError(f"{there} cannot be run: make it executable, or set {SETTING} to another")
    raise ReplayError(
        f"{NAME} was found neither beside {library} nor in $ROCM_PATH/bin, {OPT}/rocm/bin or PATH: install ROCm's "
        f"profiler (rocprofiler-sdk, or the wheel rocm-sdk-core), or set {SETTING}"
    )


def check_version(path: Path, library: Path, run: Callable[[Sequence[str]], Ended]) -> str:
    """Return the ROCm version of a rocprofv3 once it is known to be the runtime's, and new enough.

    ``run`` runs a command, guarded.

    Raises:
        ReplayError: too old, another ROCm, or nobody can tell.
    """
    ended = run([str(path), "--version"])
    if ended.code == 2 and "usage" in ended.output:
        raise ReplayError(f"{path} is older than ROCm 7.0 (it knows no --version), and writes no rocpd: update ROCm")
    if ended.problem:
        raise ReplayError(f"{path} --version {ended.problem}")
    said = re.search(r"^\s*rocm_version\s*:\s*(\S+)", ended.output, re.MULTILINE)
    version = parse_version(said[1]) if said else None
    if said is None or version is None:
        raise ReplayError(f"{path} --version does not say which ROCm it belongs to, so it is not used")
    if version[:2] < OLDEST:
        raise ReplayError(f"{path} is of ROCm {_text(version)}, which writes no rocpd: 7.0 or newer does")
    of_runtime, one_installation = runtime_version(library), _beside(path, library)
    if of_runtime is None and not one_installation:
        raise ReplayError(
            f"nothing says that {path} (ROCm {_text(version)}) is of the same ROCm as {library}: set {SETTING} to the "
            f"{NAME} of that ROCm"
        )
    parts = 2 if one_installation else 3  # in one installation a patch of one of its packages may differ
    if of_runtime is not None and of_runtime[:parts] != version[:parts]:
        raise ReplayError(
            f"{path} is of ROCm {_text(version)} and {library} of ROCm {_text(of_runtime)}; only the same may record: "
            f"set {SETTING} to the {NAME} of ROCm {_text(of_runtime)}"
        )
    return _text(version)


def trace_command(path: Path, folder: Path, application: Sequence[str]) -> list[str]:
    """Return the command that records an application's kernels into ``folder``, a file for each process."""
    # Without %pid% every process writes one and the same file, and removes what another wrote.
    output = ["-d", str(folder), "-o", "replay_%pid%"]
    return [str(path), "--kernel-trace", "--output-format", "rocpd", *output, "--", *application]


def trace_environment(environment: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """Return an environment without another profiler's wishes, whose temporary files go to ``scratch``."""
    kept = {name: value for name, value in environment.items() if not _OTHERS.fullmatch(name)}
    return kept | {"TMPDIR": str(scratch)}


def runtime_version(library: Path) -> Version | None:
    """The ROCm version that a HIP library belongs to, as its installation says; None where it says nothing."""
    for folder in _roots(library):
        try:
            text = (folder / ".info" / "version").read_text(encoding="utf-8", errors="replace")[:200]
        except OSError:
            text = folder.name.removeprefix("rocm-") if folder.name.startswith("rocm-") else ""
        version = parse_version(text)
        if version is not None:
            return version
    return None


def parse_version(text: str) -> Version | None:
    """``(7, 2, 0)`` of ``7.2.0-43``; None where there is no version."""
    found = re.match(r"\s*(\d{1,4})\.(\d{1,4})(?:\.(\d{1,6}))?", text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None


def _places(library: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    for folder in _roots(library):
        yield folder / "bin" / NAME
        if folder.name == "_rocm_sdk_core":  # TheRock's wheels: what is not in the one may be in the other
            yield folder.with_name("_rocm_sdk_devel") / "bin" / NAME
    for variable in ("ROCM_PATH", "ROCM_HOME"):
        if environment.get(variable):
            yield Path(environment[variable]) / "bin" / NAME
    yield OPT / "rocm" / "bin" / NAME
    yield from sorted(OPT.glob(f"rocm/core-*/bin/{NAME}"), reverse=True)
    if found := shutil.which(NAME, path=environment.get("PATH")):
        yield Path(found)


def _roots(library: Path) -> Iterator[Path]:
    """Folders that an installation with this library may begin at: as it was named, and where links lead."""
    for path in dict.fromkeys((library, library.resolve())):
        yield from list(path.parents)[1:MOST_PARENTS]


def _beside(path: Path, library: Path) -> bool:
    """Whether both lie in one installation."""
    root = path.resolve().parent.parent
    return root != Path("/") and root in library.resolve().parents


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _text(version: Version) -> str:
    return ".".join(map(str, version))
