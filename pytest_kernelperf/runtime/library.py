"""Which HIP library a worker loads, and the proof that this one answers.

``choose`` finds the files; ``select`` sets their absolute paths in hip-python's own loader, makes a first
call, and asks the dynamic linker (``dladdr``) which file answered. A hope is not enough: hip-python 10
prefers TheRock's wheels and ``$ROCM_PATH`` to any preloaded library, and a guard that silently times
another runtime than it says is worse than none.
"""

from __future__ import annotations

import ctypes
import glob
import importlib
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_kernelperf.errors import RuntimeUnavailable
from pytest_kernelperf.model import RuntimeName
from pytest_kernelperf.native import native_path
from pytest_kernelperf.runtime.compat import Bindings, open_bindings
from pytest_kernelperf.runtime.cuda import find_problem
from pytest_kernelperf.runtime.kfd import KFD_ROOT, accelerators

RUNTIMES = ("auto", "rocm", "cuda", "cpu")


@dataclass(frozen=True)
class Chosen:
    """A runtime's name and the absolute paths of its two libraries."""

    name: RuntimeName
    amdhip64: Path
    hiprtc: Path


@dataclass(frozen=True)
class Selected:
    """The libraries that were proved to answer: hip-python's side and the handle for native code."""

    chosen: Chosen
    bindings: Bindings
    handle: ctypes.CDLL

    def function_address(self, name: str) -> int:
        """Address of a HIP function in the library that answers, as native code calls it.

        Raises:
            RuntimeUnavailable: the library lacks it, or another file answers for it.
        """
        try:
            address = ctypes.cast(getattr(self.handle, name), ctypes.c_void_p).value or 0
        except AttributeError as error:
            raise RuntimeUnavailable(f"{self.chosen.amdhip64} has no function {name}: use a newer HIP") from error
        _refuse_other(name, address, self.chosen, (self.chosen.amdhip64,))
        return address


def choose(runtime: str = "auto") -> Chosen:
    """Find the libraries of a runtime: ``rocm``, ``cuda``, ``cpu``, or ``auto``, the first of these that is here.

    Raises:
        RuntimeUnavailable: it is not here; the sentence says what is missing.
    """
    if runtime == "rocm":
        return _choose_rocm()
    if runtime == "cuda":
        return _choose_cuda()
    if runtime == "cpu":
        return Chosen("cpu", *_shipped("hip_cpu"))
    if runtime != "auto":
        raise RuntimeUnavailable(f"there is no runtime {runtime!r}: choose one of {', '.join(RUNTIMES)}")
    if has_amd_device():
        found = find_rocm()
        if found is not None:
            return Chosen("rocm", *found)
    try:
        return _choose_cuda()
    except RuntimeUnavailable:
        return Chosen("cpu", *_shipped("hip_cpu"))


def select(chosen: Chosen) -> Selected:
    """Make hip-python use the chosen libraries, and prove it.

    Raises:
        RuntimeUnavailable: a library cannot be opened, or calls are answered by another file.
    """
    # Opened here first: hip-python would only print why it cannot. The same path gives it the same handle.
    handle, _ = _open(chosen, chosen.amdhip64), _open(chosen, chosen.hiprtc)
    bindings = open_bindings(chosen.amdhip64, chosen.hiprtc)
    _refuse_other("hip-python", bindings.answer_address(), chosen, (chosen.amdhip64,))
    # Old HIP releases keep hiprtc inside libamdhip64, newer ones forward from one to the other.
    _refuse_other("hip-python's hiprtc", bindings.compile_answer_address(), chosen, (chosen.hiprtc, chosen.amdhip64))
    selected = Selected(chosen, bindings, handle)
    selected.function_address("hipModuleLaunchKernel")
    last_problem = getattr(handle, "kernelperf_cpu_last_problem", None)
    if last_problem is not None:
        last_problem.restype = ctypes.c_char_p
        bindings.last_problem = lambda: (last_problem() or b"").decode(errors="replace")
    return selected


def find_rocm() -> tuple[Path, Path] | None:
    """The system's libamdhip64 and libhiprtc, or None; ``$ROCM_PATH`` first, then the usual places."""
    for folder in _rocm_folders():
        amdhip64 = _newest(folder, "libamdhip64.so")
        if amdhip64 is not None:
            return amdhip64, _newest(folder, "libhiprtc.so") or amdhip64
    return None


def has_amd_device() -> bool:
    """Whether an AMD GPU's compute driver is here (KFD; ``/dev/dxg`` under WSL)."""
    if Path("/dev/dxg").exists() and not Path("/dev/nvidiactl").exists():
        return find_rocm() is not None
    return Path("/dev/kfd").exists() and bool(accelerators(KFD_ROOT))


def file_of(address: int) -> Path | None:
    """The file whose mapping holds an address, as the dynamic linker says it (``dladdr``), or None."""
    information = _DlInfo()
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes = [ctypes.c_void_p, ctypes.POINTER(_DlInfo)]
    if not address or not dladdr(address, ctypes.byref(information)) or not information.dli_fname:
        return None
    return Path(os.fsdecode(information.dli_fname))


class _DlInfo(ctypes.Structure):
    _fields_ = (
        ("dli_fname", ctypes.c_char_p),
        ("dli_fbase", ctypes.c_void_p),
        ("dli_sname", ctypes.c_char_p),
        ("dli_saddr", ctypes.c_void_p),
    )


def _open(chosen: Chosen, path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(os.fspath(path))
    except OSError as error:
        raise RuntimeUnavailable(f"the {chosen.name} runtime's library cannot be opened: {error}") from error


def _refuse_other(what: str, address: int, chosen: Chosen, allowed: tuple[Path, ...]) -> None:
    found = file_of(address)
    if found is not None and any(_same_file(found, path) for path in allowed):
        return
    raise RuntimeUnavailable(
        f"{what} is answered by {found or 'no file'}, not by the {chosen.name} runtime's {allowed[0]}: "
        "another HIP library was loaded first; unset LD_PRELOAD and let only the guard's worker open HIP"
    )


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _choose_rocm() -> Chosen:
    found = find_rocm()
    if found is None:
        raise RuntimeUnavailable(
            "the rocm runtime needs AMD's libamdhip64.so, which was found neither in $ROCM_PATH/lib or /opt/rocm/lib "
            "nor in a rocm_sdk wheel nor by ldconfig: install ROCm 6.4 or newer, or set ROCM_PATH"
        )
    return Chosen("rocm", *found)


def _choose_cuda() -> Chosen:
    try:
        chosen = Chosen("cuda", *_shipped("hip_cuda"))
    except RuntimeUnavailable:
        raise RuntimeUnavailable(
            "the cuda runtime is not part of this version of pytest-kernelperf: use --kernelperf-runtime=cpu or rocm"
        ) from None
    problem = find_problem(chosen.amdhip64)
    if problem:
        raise RuntimeUnavailable(f"the cuda runtime cannot be used here: {problem}")
    return chosen


def _shipped(folder: str) -> tuple[Path, Path]:
    return native_path(f"{folder}/lib/libamdhip64.so"), native_path(f"{folder}/lib/libhiprtc.so")


def _rocm_folders() -> Iterator[Path]:
    for variable in ("ROCM_PATH", "ROCM_HOME"):
        if os.environ.get(variable):
            yield Path(os.environ[variable]) / "lib"
    yield Path("/opt/rocm/lib")
    yield from _wheel_folders()
    yield from _linker_folders()


def _wheel_folders() -> Iterator[Path]:
    """Where TheRock's ``rocm_sdk`` wheel keeps the library, if that wheel is installed."""
    try:
        paths = importlib.import_module("rocm_sdk").find_libraries("amdhip64")
    except Exception:  # another project's package: whatever is wrong with it, it offers no library
        return
    for path in paths or ():
        yield Path(path).parent


def _linker_folders() -> Iterator[Path]:
    try:
        listing = subprocess.run(
            ["/sbin/ldconfig", "-p"], capture_output=True, text=True, timeout=10, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return
    for match in re.finditer(r"libamdhip64\.so\S*.* => (/\S+)", listing):
        yield Path(match.group(1)).parent


def _newest(folder: Path, name: str) -> Path | None:
    """The absolute path of ``name`` in a folder, else of its highest version (``libamdhip64.so.7``)."""
    plain = folder / name
    if plain.is_file():
        return plain.absolute()
    versioned = [Path(path) for path in glob.glob(f"{glob.escape(os.fspath(plain))}.[0-9]*")]
    versioned.sort(key=lambda path: [int(part) for part in re.findall(r"\d+", path.name.split(".so.")[1])])
    return versioned[-1].absolute() if versioned else None
