"""What HIP on CUDA hands on to the driver, seen by a stand-in driver; no GPU is needed.

Each question runs in a child process, since a driver that was opened stays open.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hip_cuda_stand_in import ask, build_driver

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


def test_error_names_are_hips(driver: Path) -> None:
    """Each of CUDA's codes becomes a HIP code, whose name is the one that HIP's own enumeration gives."""
    pytest.importorskip("rocm.bindings.hip", reason="hip-python 10 is not installed")
    answers = ask(
        "from rocm.bindings.hip import hipError_t\n"
        "print([(cuda, hip.kernelperf_cuda_error(cuda), name(hip.kernelperf_cuda_error(cuda)),"
        " hipError_t(hip.kernelperf_cuda_error(cuda)).name) for cuda in range(1000)])",
        driver,
    )
    assert isinstance(answers, list)

    assert [answer for answer in answers if answer[2] != answer[3]] == []
    mapped = {cuda: hip for cuda, hip, *_ in answers}
    # The same number means the same, but for the two that HIP gave to something else.
    same = [1, 2, 3, 100, 101, 200, 201, 209, 218, 304, 400, 401, 500, 600, 700, 701, 702, 710, 719, 801, 900, 908, 999]
    assert [mapped[code] for code in same] == same
    assert [mapped[code] for code in (911, 912)] == [999, 9]
    # A kernel's hardware exceptions, a driver that is too old, what is not permitted, and what no driver says today.
    assert {mapped[code] for code in (714, 715, 716, 717, 718)} == {719}
    assert {mapped[code] for code in (222, 803, 804)} == {35}
    assert (mapped[800], mapped[909], mapped[777]) == (801, 702, 999)


def test_a_failures_words_name_what_cuda_said(driver: Path) -> None:
    """HIP has one code for a kernel that failed; the text says how, and the thread remembers the code once."""
    program = """
codes = [hip.hipDeviceSynchronize(), hip.hipGetLastError(), hip.hipGetLastError()]
print(codes, ",", repr(hip.hipGetErrorString(codes[0]).decode()), ",", repr(hip.hipGetErrorString(700).decode()))
"""
    codes, failure, other = ask(program, driver, STAND_IN_FAIL="cuCtxSynchronize=716")  # type: ignore[misc]

    assert codes == [719, 719, 0]
    assert failure == "the kernel failed while running (CUDA_ERROR_MISALIGNED_ADDRESS)"
    assert other == "a kernel touched memory that is not its own"


def test_attributes_ask_for_cudas_counterpart(driver: Path) -> None:
    """HIP's numbers become CUDA's; what only AMD has is zero; what is none is refused."""
    pytest.importorskip("rocm.bindings.hip", reason="hip-python 10 is not installed")
    program = """
from rocm.bindings.hip import hipDeviceAttribute_t
found = {}
for member in hipDeviceAttribute_t:
    value = c_int(-1)
    code = hip.hipDeviceGetAttribute(byref(value), int(member), 1)
    found[member.name.removeprefix("hipDeviceAttribute")] = (code, value.value)
print(found)
"""
    found = ask(program, driver)
    assert isinstance(found, dict)

    expected = {
        "MultiprocessorCount": 16, "PhysicalMultiProcessorCount": 16, "WarpSize": 10, "ClockRate": 13,
        "MemoryClockRate": 36, "MemoryBusWidth": 37, "L2CacheSize": 38, "MaxThreadsPerBlock": 1,
        "MaxSharedMemoryPerBlock": 8, "SharedMemPerBlockOptin": 97, "SharedMemPerMultiprocessor": 81,
        "MaxBlockDimX": 2, "MaxBlockDimZ": 4, "MaxGridDimX": 5, "MaxGridDimZ": 7, "MaxThreadsPerMultiProcessor": 39,
        "MaxRegistersPerBlock": 12, "TotalConstantMemory": 9, "ConcurrentKernels": 31, "CanMapHostMemory": 19,
        "Integrated": 18, "PciBusId": 33, "MaxTexture1DWidth": 21, "CooperativeLaunch": 95,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == {name: (0, 1000 + cuda) for name, cuda in expected.items()}
    assert (found["ComputeCapabilityMajor"], found["ComputeCapabilityMinor"]) == ((0, 9), (0, 0))
    assert found["WallClockRate"] == (0, 1_000_000)
    assert found["AsicRevision"] == (0, 0)
    assert found["VendorSpecificBegin"][0] == 1


def test_a_device_is_described_by_its_driver(driver: Path) -> None:
    """Name, bus id, memory, version; a device that is not there is refused."""
    program = """
text, bytes_, version = ctypes.create_string_buffer(64), c_size_t(), c_int()
said = []
for call in ("hipDeviceGetName", "hipDeviceGetPCIBusId"):
    assert getattr(hip, call)(text, 64, 1) == 0
    said.append(text.value.decode())
hip.hipDeviceTotalMem(byref(bytes_), 1)
hip.hipDriverGetVersion(byref(version))
print([*said, bytes_.value >> 30, version.value, hip.hipSetDevice(2), hip.hipDeviceGetName(text, 64, -1)])
"""
    assert ask(program, driver) == ["Stand-in 1", "0000:c1:00.0", 141, 13000, 101, 101]


def test_a_primary_context_is_made_once_and_is_current_in_every_thread(driver: Path, tmp_path: Path) -> None:
    """Counting devices makes none; the first call that needs one does; another thread and another device follow."""
    program = """
import threading
count = c_int()
hip.hipGetDeviceCount(byref(count))
print([count.value, os.path.exists(os.environ["STAND_IN_LOG"])])
for _ in range(3): hip.hipDeviceSynchronize()
thread = threading.Thread(target=hip.hipDeviceSynchronize); thread.start(); thread.join()
hip.hipSetDevice(1); hip.hipDeviceSynchronize(); hip.hipSetDevice(0); hip.hipDeviceSynchronize()
"""
    log = tmp_path / "log"

    assert ask(program, driver, STAND_IN_LOG=str(log)) == [2, False]
    assert log.read_text().splitlines() == [
        "retain 0", "current 0", "current 0", "retain 1", "current 1", "current 0",
    ]  # fmt: skip


LAUNCH = """
value, size = c_int(7), c_size_t(4)
def launch(grid=(3, 2, 1), block=(64, 1, 1), shared=0, parameters=None, extra=None):
    return hip.hipModuleLaunchKernel(c_void_p(64), *grid, *block, shared, None, parameters, extra)
buffer = (c_void_p * 5)(1, ctypes.addressof(value), 2, ctypes.addressof(size), 3)
pointers = (c_void_p * 1)(ctypes.addressof(value))
"""


def test_launches_take_parameters_or_a_packed_buffer(driver: Path, tmp_path: Path) -> None:
    """HIP's markers of a packed buffer become CUDA's, in any order; unknown ones, and both at once, are refused."""
    program = (
        LAUNCH
        + """
turned = (c_void_p * 5)(2, ctypes.addressof(size), 1, ctypes.addressof(value), 3)
endless = (c_void_p * 7)(1, ctypes.addressof(value), 2, ctypes.addressof(size), 1, ctypes.addressof(value), 3)
unknown = (c_void_p * 3)(4, ctypes.addressof(value), 3)
print([launch(parameters=pointers), launch(extra=buffer), launch(extra=turned), launch(extra=endless),
       launch(extra=unknown), launch(extra=buffer, parameters=pointers)])
"""
    )
    log = tmp_path / "log"

    assert ask(program, driver, STAND_IN_LOG=str(log)) == [0, 0, 0, 1, 1, 1]
    launches = [line for line in log.read_text().splitlines() if line.startswith("launch")]
    assert launches == [
        "launch 3 2 1 / 64 1 1 shared 0 parameter 7",
        "launch 3 2 1 / 64 1 1 shared 0 first 7 size 4",
        "launch 3 2 1 / 64 1 1 shared 0 size 4 first 7",
    ]


def test_more_shared_memory_is_asked_for_once(driver: Path, tmp_path: Path) -> None:
    """CUDA wants to be asked for more than 48 KiB; HIP's users do not know."""
    program = LAUNCH + "print([launch(shared=kib << 10) for kib in (48, 64, 64, 96, 64)])"
    log = tmp_path / "log"

    assert ask(program, driver, STAND_IN_LOG=str(log)) == [0] * 5
    asked = [line for line in log.read_text().splitlines() if line.startswith("function attribute")]
    assert asked == ["function attribute 8 = 65536", "function attribute 8 = 98304"]


def test_impossible_dimensions_are_hips_invalid_configuration(driver: Path) -> None:
    """CUDA calls them an invalid value; a refusal of anything else stays what it was."""
    program = LAUNCH + "print([launch(grid=(0, 1, 1)), launch(block=(2048, 1, 1)), launch()])"

    assert ask(program, driver, STAND_IN_FAIL="cuLaunchKernel=1") == [9, 9, 1]


def test_memory_moves_by_the_kind_that_is_named(driver: Path, tmp_path: Path) -> None:
    """Each direction has its call; fills fill; an unknown direction is refused."""
    program = """
p, q, flags = c_void_p(), c_void_p(), 0x2 | 0x40000000
assert hip.hipMalloc(byref(p), c_size_t(8)) == 0 and hip.hipHostMalloc(byref(q), c_size_t(8), flags) == 0
hip.hipMemset(p, 0x1ff, c_size_t(8))
seen = c_void_p()
hip.hipHostGetDevicePointer(byref(seen), q, 0)
codes = [hip.hipMemcpy(q, p, c_size_t(8), kind) for kind in (0, 1, 2, 3, 4, 5)]
codes += [hip.hipMemcpyAsync(q, p, c_size_t(8), kind, None) for kind in (0, 1, 2, 3, 4, 5)]
print([codes, ctypes.string_at(q, 8), seen.value == q.value])
"""
    log = tmp_path / "log"

    assert ask(program, driver, STAND_IN_LOG=str(log)) == [[0, 0, 0, 0, 0, 21] * 2, b"\xff" * 8, True]
    lines = log.read_text().splitlines()
    assert "host memory with flags 2" in lines
    assert [line for line in lines if line.startswith("cuMemcpy")] == [
        "cuMemcpy", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemcpyDtoD_v2", "cuMemcpy",
        "cuMemcpyAsync", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemcpyAsync",
    ]  # fmt: skip


def test_freeing_nothing_and_asking_for_nothing_succeed(driver: Path) -> None:
    """As in HIP: null addresses are free already, and no bytes are a null address."""
    program = """
p = c_void_p(1)
print([hip.hipFree(None), hip.hipHostFree(None), hip.hipMalloc(byref(p), c_size_t(0)), p.value])
"""
    assert ask(program, driver, STAND_IN_FAIL="cuMemFree_v2=1") == [0, 0, 0, None]


def test_hips_own_event_flags_are_kept_from_cuda(driver: Path, tmp_path: Path) -> None:
    """Fences that HIP's events may ask for have no name in CUDA, which refuses unknown flags."""
    log = tmp_path / "log"
    program = "e = c_void_p()\nprint([hip.hipEventCreateWithFlags(byref(e), c_uint(0xA0000002))])"

    assert ask(program, driver, STAND_IN_LOG=str(log)) == [0]
    assert "event with flags 2" in log.read_text()


def test_a_newer_drivers_call_is_refused_alone(driver: Path) -> None:
    """A driver without a dispensable call works; that call is not supported."""
    program = "n = c_uint()\nprint([hip.hipDeviceSynchronize(), hip.hipModuleGetFunctionCount(byref(n), c_void_p(1))])"

    assert ask(program, driver) == [0, 801]


PROBLEM = "said = hip.kernelperf_cuda_problem()\nprint(repr(said.decode() if said else ''))"


def test_without_a_driver_one_sentence_says_so() -> None:
    """No libcuda.so.1: the sentence names it and what to do; calls say that there is no device."""
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has an NVIDIA driver")

    said = ask(PROBLEM, None)

    assert isinstance(said, str)
    assert "the NVIDIA driver's libcuda.so.1 cannot be opened" in said
    assert said.endswith("install the NVIDIA driver, or give this container the GPU")
    assert ask("n = c_int(5)\nprint([hip.hipGetDeviceCount(byref(n)), n.value, hip.hipDeviceSynchronize()])", None) == [
        100, 0, 100,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"STAND_IN_DEVICES": "0"}, "has no device for this process: check nvidia-smi and CUDA_VISIBLE_DEVICES"),
        ({"STAND_IN_FAIL": "cuInit=999"}, "offers no device (cuInit: CUDA_ERROR_UNKNOWN): check nvidia-smi"),
        ({"KERNELPERF_NVRTC": "/nowhere/libnvrtc.so"}, "that KERNELPERF_NVRTC names cannot be used (/nowhere/libnvrtc"),
    ],
)
def test_each_missing_piece_has_its_sentence(driver: Path, environment: dict[str, str], sentence: str) -> None:
    """No device, a driver that does not start, an NVRTC that is not where it was said to be."""
    said = ask(PROBLEM, driver, **environment)

    assert isinstance(said, str)
    assert sentence in said


def test_nvrtc_newer_than_the_driver_is_passed_over(driver: Path, tmp_path: Path) -> None:
    """Its machine code might not load: the sentence says which it is, and what fits."""
    source = tmp_path / "nvrtc.c"
    calls = ["GetErrorString", "CreateProgram", "DestroyProgram", "CompileProgram", "AddNameExpression"]
    calls += ["GetLoweredName", "GetProgramLogSize", "GetProgramLog", "GetCUBINSize", "GetCUBIN"]
    source.write_text(
        "int nvrtcVersion(int* major, int* minor) { *major = 14; *minor = 1; return 0; }\n"
        + "".join(f"int nvrtc{call}(void) {{ return 0; }}\n" for call in calls)
    )
    library = tmp_path / "libnvrtc.so.14"
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)

    said = ask(PROBLEM, driver, KERNELPERF_NVRTC=str(tmp_path))

    assert isinstance(said, str)
    assert f"{library} is of CUDA 14, newer than the driver's CUDA 13" in said


def test_nvrtcs_wheels_are_found_on_the_search_path(tmp_path: Path) -> None:
    """Both places that NVIDIA's wheels use, in the order of the path; folders without the library are none."""
    for place in ("one/nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "two/nvidia/cu13/lib/libnvrtc.so.13"):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).touch()
    (tmp_path / "three/nvidia/cu13/lib").mkdir(parents=True)

    found = wheel_folders([str(tmp_path / name) for name in ("three", "two", "one")])

    assert found == [str(tmp_path / "two/nvidia/cu13/lib"), str(tmp_path / "one/nvidia/cuda_nvrtc/lib")]


def test_auto_takes_cuda_only_where_it_works(driver: Path) -> None:
    """With everything there it is chosen; with a driver that has no device, the cpu runtime is."""
    pytest.importorskip("hip_cuda_calls")
    from hip_cuda_calls import hiprtc, nvrtc_version

    if nvrtc_version(hiprtc()) == (0, 0):
        pytest.skip("NVRTC is not here: pip install nvidia-cuda-nvrtc")
    program = """
from pytest_kernelperf.runtime import library
library.has_amd_device = lambda: False
print(repr(library.choose("auto").name))
"""
    settings = {name: value for name, value in os.environ.items() if name.startswith(("CUDA", "KERNELPERF_NVRTC"))}

    assert ask(program, driver, **settings) == "cuda"
    assert ask(program, driver, **settings, STAND_IN_DEVICES="0") == "cpu"


def test_the_native_loop_runs_through_it(driver: Path) -> None:
    """Gate, capture, graph and events through hip-python and the loop's own addresses, on the stand-in driver."""
    pytest.importorskip("hip_cuda_calls")
    from hip_cuda_calls import hiprtc, nvrtc_version

    if nvrtc_version(hiprtc()) == (0, 0):
        pytest.skip("NVRTC is not here: pip install nvidia-cuda-nvrtc")
    program = """
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.library import choose
from pytest_kernelperf.runtime.loop import Loop
with Device(choose("cuda")) as device, Loop(device) as loop:
    timing = loop.time_graph(loop._gate.rounds, 3)
    print([device.architecture, timing.total_us, timing.gated, timing.timed_out])
"""
    settings = {name: value for name, value in os.environ.items() if name.startswith(("CUDA", "KERNELPERF_NVRTC"))}

    assert ask(program, driver, **settings) == ["sm_90", 1500.0, True, False]
