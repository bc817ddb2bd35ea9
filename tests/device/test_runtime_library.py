"""Which HIP library a worker loads: selected by path and proved, whatever else the machine offers.

Each case runs in a child process, since a library that was opened stays open.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_kernelperf
from pytest_kernelperf.errors import RuntimeUnavailable
from pytest_kernelperf.runtime.library import choose, find_rocm

SOURCE = Path(__file__).parent.parent / "helpers" / "stand_in_hip.c"

SELECT = """
import sys
from pathlib import Path
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.library import Chosen, select
folder = Path(sys.argv[1])
chosen = Chosen("cpu", folder / "libamdhip64.so", folder / "libhiprtc.so")
try:
    {before}
    selected = select(chosen)
    hip = selected.bindings.hip
    print("answers:", hip.hipGetErrorString(hip.hipError_t.hipErrorInvalidValue)[1].decode())
    {after}
except KernelperfError as error:
    print("refused:", type(error).__name__, error)
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with stand-ins for both libraries: ours, a system's, a wheel's, and one without a device."""
    root = tmp_path_factory.mktemp("libraries")
    folders = {}
    for who, devices in (("ours", 1), ("system", 1), ("wheel", 1), ("empty", 0)):
        folders[who] = root / who / "lib"
        folders[who].mkdir(parents=True)
        for name in ("libamdhip64.so", "libhiprtc.so"):
            subprocess.run(
                ["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", f'-DWHO="{who}"', f"-DWHO_DEVICES={devices}",
                 str(SOURCE), "-o", str(folders[who] / name)],
                check=True,
            )  # fmt: skip
    return folders


@pytest.fixture
def wheel(libraries: dict[str, Path], tmp_path: Path) -> Path:
    """A folder for PYTHONPATH with a ``rocm_sdk`` package that offers the wheel's libraries."""
    package = tmp_path / "packages" / "rocm_sdk"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        f"from pathlib import Path\ndef find_libraries(*names):\n"
        f"    return [Path({str(libraries['wheel'])!r}) / f'lib{{name}}.so' for name in names]\n"
    )
    return package.parent


def child(program: str, folder: Path, environment: dict[str, str], packages: Path | None = None) -> str:
    """What a child process prints; ``environment`` on top of a bare one."""
    search = [str(path) for path in (packages, *(Path(p).parent for p in pytest_kernelperf.__path__)) if path]
    search += [path for path in sys.path if path]
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(search)} | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def program(before: str = "pass", after: str = "pass") -> str:
    return SELECT.format(before=before, after=after)


@pytest.mark.parametrize("variable", ["ROCM_PATH", "ROCM_HOME", "LD_LIBRARY_PATH", "LD_PRELOAD"])
def test_no_variable_brings_in_another_library(libraries: dict[str, Path], variable: str) -> None:
    """A system library in $ROCM_PATH/lib, in the linker's path or preloaded is not picked up."""
    value = {
        "LD_LIBRARY_PATH": str(libraries["system"]),
        "LD_PRELOAD": str(libraries["system"] / "libamdhip64.so"),
    }.get(variable, str(libraries["system"].parent))

    assert child(program(), libraries["ours"], {variable: value}) == "answers: error of ours"


def test_a_rocm_sdk_wheel_is_not_picked_up(libraries: dict[str, Path], wheel: Path) -> None:
    """A rocm_sdk package that offers libraries does not replace the chosen one."""
    assert child(program(), libraries["ours"], {}, packages=wheel) == "answers: error of ours"


SHIPPED = """
import numpy as np
from pytest_kernelperf.runtime.compile import compile_bundle
from pytest_kernelperf.runtime.gate import gate_bundle
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.library import choose
from pytest_kernelperf.runtime.loop import Loop
with Device(choose("cpu")) as device, device.upload(np.arange(5)) as buffer, Loop(device) as loop:
    print(device.facts().library)
    print(buffer.download(np.int64, (5,)).tolist(), list(compile_bundle(device, gate_bundle()).kernels))
"""


def test_the_shipped_cpu_runtime_works_beside_all_of_them(libraries: dict[str, Path], wheel: Path) -> None:
    """Our own library answers every call, though a system, a wheel and a preloaded library are on offer."""
    environment = {
        "ROCM_PATH": str(libraries["system"].parent),
        "LD_LIBRARY_PATH": str(libraries["system"]),
        "LD_PRELOAD": f"{libraries['system'] / 'libamdhip64.so'}:{libraries['system'] / 'libhiprtc.so'}",
        "HOME": os.environ.get("HOME", "/"),
    }

    library, rest = child(SHIPPED, Path(), environment, packages=wheel).splitlines()

    assert library.endswith("_native/hip_cpu/lib/libamdhip64.so")
    assert rest == "[0, 1, 2, 3, 4] ['kernelperf_gate']"


def test_a_library_that_answered_first_is_refused(libraries: dict[str, Path]) -> None:
    """If hip-python opened another library before, the choice is refused and both files are named."""
    before = f"""
    from pytest_kernelperf.runtime.compat import open_bindings
    other = Path({str(libraries["system"])!r})
    open_bindings(other / "libamdhip64.so", other / "libhiprtc.so").answer_address()
    """.strip()

    said = child(program(before=before), libraries["ours"], {})

    assert said.startswith("refused: RuntimeUnavailable hip-python is answered by")
    assert str(libraries["system"] / "libamdhip64.so") in said
    assert str(libraries["ours"] / "libamdhip64.so") in said


def test_another_hiprtc_is_refused(libraries: dict[str, Path]) -> None:
    """Both libraries are proved, not only the first."""
    before = f"""
    from pytest_kernelperf.runtime.compat import open_bindings
    other = Path({str(libraries["system"])!r})
    open_bindings(other / "libamdhip64.so", other / "libhiprtc.so").compile_answer_address()
    """.strip()

    said = child(program(before=before), libraries["ours"], {})

    assert said.startswith("refused: RuntimeUnavailable hip-python's hiprtc is answered by")


def test_native_code_gets_functions_of_the_same_file(libraries: dict[str, Path]) -> None:
    """The launch function's address lies in the chosen file; a function that it lacks is one sentence."""
    after = """
    from pytest_kernelperf.runtime.library import file_of
    print(file_of(selected.function_address("hipModuleLaunchKernel")))
    selected.function_address("hipGraphLaunch")
    """.strip()

    lines = child(program(after=after), libraries["ours"], {"ROCM_PATH": str(libraries["system"].parent)}).splitlines()

    assert Path(lines[1]).samefile(libraries["ours"] / "libamdhip64.so")
    assert lines[2].startswith("refused: RuntimeUnavailable")
    assert lines[2].endswith("has no function hipGraphLaunch: use a newer HIP")


def test_a_missing_library_is_one_sentence(libraries: dict[str, Path], tmp_path: Path) -> None:
    """A path that cannot be opened is refused in the linker's words."""
    said = child(program(), tmp_path, {"ROCM_PATH": str(libraries["system"].parent)})

    assert said.startswith("refused: RuntimeUnavailable the cpu runtime's library cannot be opened")


def test_a_runtime_without_devices_is_unavailable(libraries: dict[str, Path]) -> None:
    """No device: the code's name, and what to check."""
    said = child(program(after="Device(chosen).__enter__()"), libraries["empty"], {})

    assert "refused: RuntimeUnavailable the cpu runtime has no device 0 (hipErrorNoDevice (100)" in said
    assert "/dev/kfd" in said


def test_a_failed_call_names_itself_the_code_and_what_to_do(libraries: dict[str, Path]) -> None:
    """The error gate's sentence: call, code's name and number, the library's words, advice."""
    said = child(program(after="Device(chosen).__enter__().allocate(8)"), libraries["ours"], {})

    assert said.splitlines()[1] == (
        "refused: DeviceError hipMalloc failed: hipErrorOutOfMemory (2), error of ours; "
        "use smaller sizes, or free the device's memory for the guard"
    )


def test_a_call_that_the_library_lacks_is_one_sentence(libraries: dict[str, Path]) -> None:
    """A function that is missing in an older HIP says so."""
    said = child(program(after="Device(chosen).__enter__().synchronise()"), libraries["ours"], {})

    assert "refused: DeviceError hipDeviceSynchronize cannot be called" in said


def test_auto_passes_over_a_system_library_without_a_device(
    libraries: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ROCm installation on a machine without an AMD GPU is not chosen by auto, only when asked for."""
    monkeypatch.setenv("ROCM_PATH", str(libraries["system"].parent))
    monkeypatch.setattr("pytest_kernelperf.runtime.library.has_amd_device", lambda: False)
    monkeypatch.setattr("pytest_kernelperf.runtime.library.native_path", lambda name: _shipped(tmp_path, name))

    assert choose("auto").name == "cpu"
    assert choose("cpu").amdhip64 == tmp_path / "hip_cpu/lib/libamdhip64.so"
    assert (choose("rocm").name, choose("rocm").amdhip64) == ("rocm", libraries["system"] / "libamdhip64.so")


def test_auto_prefers_an_amd_gpu(libraries: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """With a device and a library, rocm comes first."""
    monkeypatch.setenv("ROCM_PATH", str(libraries["system"].parent))
    monkeypatch.setattr("pytest_kernelperf.runtime.library.has_amd_device", lambda: True)

    assert choose("auto").name == "rocm"


def test_a_versioned_library_is_found_where_the_plain_name_is_missing(
    libraries: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installations without development links have libamdhip64.so.7 only; the highest version counts."""
    folder = tmp_path / "lib"
    folder.mkdir()
    for version in ("6", "7", "10"):
        (folder / f"libamdhip64.so.{version}").symlink_to(libraries["system"] / "libamdhip64.so")
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))

    assert find_rocm() == (folder / "libamdhip64.so.10", folder / "libamdhip64.so.10")


def test_rocm_without_a_library_says_where_it_was_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing found: one sentence with the places and what to do."""
    monkeypatch.setattr("pytest_kernelperf.runtime.library._rocm_folders", lambda: iter([tmp_path]))

    with pytest.raises(RuntimeUnavailable, match=r"libamdhip64.*\$ROCM_PATH.*install ROCm"):
        choose("rocm")


def test_the_cuda_runtime_says_that_it_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Asked for by name, a runtime that was not built is one sentence."""
    monkeypatch.setattr(pytest_kernelperf, "__path__", [str(tmp_path)])

    with pytest.raises(RuntimeUnavailable, match="cuda runtime is not part of this version"):
        choose("cuda")


def test_an_unknown_runtime_is_refused_with_the_known_ones() -> None:
    """A misspelt runtime lists the right spellings."""
    with pytest.raises(RuntimeUnavailable, match="no runtime 'metal': choose one of auto, rocm, cuda, cpu"):
        choose("metal")


def _shipped(folder: Path, name: str) -> Path:
    if name.startswith("hip_cuda"):
        raise RuntimeUnavailable("not built")
    return folder / name
