"""Where HIP on CUDA looks for CUPTI, and which it refuses; no GPU is needed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hip_cuda_recording import TRACE, traced
from hip_cuda_stand_in import ask, build_cupti, build_driver

from pytest_kernelperf.errors import RuntimeUnavailable
from pytest_kernelperf.runtime.cuda import wheel_folders


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """Skip where the library was not built."""
    try:
        from pytest_kernelperf.native import native_path

        native_path("hip_cuda/lib/libamdhip64.so")
    except RuntimeUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a stand-in libcuda.so.1."""
    return build_driver(tmp_path_factory.mktemp("driver"))


@pytest.fixture(scope="module")
def cupti(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stand-in libcupti.so.13."""
    return build_cupti(tmp_path_factory.mktemp("cupti") / "libcupti.so.13")


def test_without_a_driver_its_own_sentence_comes(cupti: Path) -> None:
    """CUPTI is not even opened: that of CUDA 13.2 crashes without a driver."""
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has an NVIDIA driver")

    told = ask(
        TRACE + "s = start()\nprint((s, 'libcupti' in open('/proc/self/maps').read()))",
        None,
        KERNELPERF_CUPTI=str(cupti),
    )

    assert isinstance(told, tuple)
    (code, sentence), mapped = told
    assert (code, mapped) == (1, False)
    assert sentence.endswith("install the NVIDIA driver, or give this container the GPU")


FOUND = """
said = start()
files = {line.split()[-1] for line in open("/proc/self/maps") if "libcupti" in line}
print((said, sorted(files)))
"""


def skip_where_cupti_is_installed(driver: Path) -> None:
    """What is looked at later cannot be reached where a toolkit's own CUPTI comes first."""
    told = ask(TRACE + FOUND, driver, KERNELPERF_NVRTC="/nowhere")
    assert isinstance(told, tuple)
    if told[1]:
        pytest.skip(f"this machine's own CUPTI comes first: {told[1][0]}")


MISSING = (
    "CUPTI (libcupti.so) was found neither beside NVRTC nor in a CUDA toolkit ($CUDA_HOME, "
    "$CUDA_PATH, nvcc's, /usr/local/cuda) nor as a wheel nor by the loader: install it with 'pip install "
    "nvidia-cuda-cupti', or set KERNELPERF_CUPTI to its path"
)


def test_without_cupti_one_sentence_says_where_it_was_looked_for(driver: Path) -> None:
    """And what to install."""
    skip_where_cupti_is_installed(driver)

    told = ask(TRACE + FOUND, driver, KERNELPERF_NVRTC="/nowhere")

    assert told == ((1, MISSING), [])


@pytest.mark.parametrize(
    ("variable", "folder"),
    [
        ("CUDA_HOME", "extras/CUPTI/lib64"),
        ("CUDA_HOME", "lib64"),
        ("CUDA_PATH", "targets/x86_64-linux/lib"),
        ("KERNELPERF_CUPTI", ""),
        ("KERNELPERF_CUPTI_WHEELS", ""),
        ("LD_LIBRARY_PATH", ""),
    ],
)
def test_each_place_is_looked_in(driver: Path, cupti: Path, tmp_path: Path, variable: str, folder: str) -> None:
    """A toolkit's two places, a wheel's folder, the loader's path, and the setting's folder."""
    if variable == "LD_LIBRARY_PATH":
        skip_where_cupti_is_installed(driver)
    library = tmp_path / folder / "libcupti.so.13"
    library.parent.mkdir(parents=True, exist_ok=True)
    library.write_bytes(cupti.read_bytes())
    (library.parent / "libcupti_static.a").touch()
    # Without this machine's nvcc, whose toolkit may have a CUPTI too.
    environment = {"KERNELPERF_NVRTC": "/nowhere", "PATH": "/nowhere", variable: str(tmp_path)}
    if variable == "LD_LIBRARY_PATH":
        (tmp_path / "libcuda.so.1").symlink_to(driver / "libcuda.so.1")

    told = ask(TRACE + FOUND, tmp_path if variable == "LD_LIBRARY_PATH" else driver, **environment)

    assert told == ((0, ""), [str(library)])


def test_the_toolkit_of_nvcc_is_looked_in(driver: Path, cupti: Path, tmp_path: Path) -> None:
    """Through a link on the PATH, as distributions set it."""
    library = tmp_path / "cuda/extras/CUPTI/lib64/libcupti.so.13"
    for file in (library, tmp_path / "cuda/bin/nvcc"):
        file.parent.mkdir(parents=True)
    library.write_bytes(cupti.read_bytes())
    (tmp_path / "cuda/bin/nvcc").touch(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/nvcc").symlink_to("../cuda/bin/nvcc")

    told = ask(TRACE + FOUND, driver, KERNELPERF_NVRTC="/nowhere", PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")

    assert told == ((0, ""), [str(library)])


def test_cuptis_wheels_are_found_on_the_search_path(tmp_path: Path) -> None:
    """Both places that NVIDIA's wheels use; a folder that holds NVRTC alone is none of CUPTI's."""
    for place in (
        "one/nvidia/cuda_cupti/lib/libcupti.so.12",
        "two/nvidia/cu13/lib/libcupti.so.13",
        "three/nvidia/cu13/lib/libnvrtc.so.13",
    ):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).touch()

    found = wheel_folders([str(tmp_path / name) for name in ("three", "two", "one")], "libcupti")

    assert found == [str(tmp_path / "two/nvidia/cu13/lib"), str(tmp_path / "one/nvidia/cuda_cupti/lib")]


def test_a_cupti_that_cannot_be_used_is_passed_over(driver: Path, cupti: Path, tmp_path: Path) -> None:
    """The highest version of a folder comes first; where it lacks a call, the next one is taken."""
    build_cupti(tmp_path / "libcupti.so.14", "-DcuptiActivityFlushAll=other")
    older = tmp_path / "libcupti.so.13"
    older.write_bytes(cupti.read_bytes())

    assert ask(TRACE + FOUND, driver, KERNELPERF_CUPTI=str(tmp_path)) == ((0, ""), [str(older)])


def test_a_cupti_newer_than_the_driver_is_refused(driver: Path, cupti: Path, tmp_path: Path) -> None:
    """CUDA 13's with a driver of CUDA 12: the sentence says what fits."""
    settings = {"STAND_IN_DRIVER": "12040", "KERNELPERF_NVRTC": "/nowhere"}
    reason = f"{cupti} is of CUDA 13, newer than the driver's CUDA 12"

    _, said = traced("print(start())", driver, cupti, **settings)
    assert said == (
        f"the CUPTI library that KERNELPERF_CUPTI names cannot be used ({reason}): give the path of libcupti.so, or "
        "unset it"
    )

    toolkit = tmp_path / "lib64" / cupti.name
    toolkit.parent.mkdir()
    toolkit.write_bytes(cupti.read_bytes())
    assert ask(TRACE + "print(start())", driver, CUDA_HOME=str(tmp_path), **settings) == (
        1,
        f"no CUPTI library here can be used ({toolkit} is of CUDA 13, newer than the driver's CUDA 12): install one of "
        "the driver's CUDA version with 'pip install nvidia-cuda-cupti-cu12'",
    )


@pytest.mark.parametrize(
    "call",
    [
        "GetVersion",
        "GetResultString",
        "ActivityRegisterCallbacks",
        "ActivityRegisterTimestampCallback",
        "ActivityEnable",
        "ActivityDisable",
        "ActivityFlushAll",
        "ActivityGetNextRecord",
        "ActivityGetNumDroppedRecords",
    ],
)
def test_a_cupti_that_lacks_a_call_is_refused(driver: Path, tmp_path: Path, call: str) -> None:
    """Before anything is recorded, and by its name."""
    library = build_cupti(tmp_path / "libcupti.so.13", f"-Dcupti{call}=other")

    _, said = traced("print(start())", driver, library)

    assert f"({library} has no cupti{call})" in said


def test_a_cupti_of_another_name_is_refused(driver: Path, cupti: Path, tmp_path: Path) -> None:
    """Only by its name do others see in the process's mappings that it is traced; a link does not hide it."""
    hidden = tmp_path / "tracer.so"
    hidden.write_bytes(cupti.read_bytes())
    link = tmp_path / "libcupti.so.13"
    link.symlink_to(hidden)

    _, said = traced("print(start())", driver, link)

    assert f"({hidden} is not called libcupti.so)" in said
