"""Examinations as three machines give them: a laptop without a GPU, an H200, a Strix Halo box with ROCm."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pytest_kernelperf.doctor.examination import Examination
from pytest_kernelperf.machine import (
    ActivityReading,
    Answering,
    CompileReading,
    GateReading,
    Gpu,
    GpuState,
    Machine,
    QueueReading,
    Reading,
    RecorderReading,
    Runtime,
    TimerReading,
)
from pytest_kernelperf.model import DeviceFacts
from pytest_kernelperf.worker.examiner import Opened
from pytest_kernelperf.worker.message import ProbeName

NO_CUDA = "the cuda runtime cannot be used here: the NVIDIA driver's libcuda.so.1 cannot be opened"
NO_ROCM = "the rocm runtime needs AMD's libamdhip64.so: install ROCm 6.4 or newer, or set ROCM_PATH"

RUNTIMES = (
    Runtime("rocm", "", NO_ROCM),
    Runtime("cuda", "", NO_CUDA),
    Runtime("cpu", "/site/libamdhip64.so", "", "", "no hipcc"),
)

LAPTOP = Machine(
    root="/",
    kernel="6.12.0",
    processor="AMD Ryzen 7 PRO 8840U",
    cores=8,
    memory_bytes=32 << 30,
    governor="powersave",
    gpus=(),
    users=(),
    runtimes=RUNTIMES,
    environment=(),
)

CPU_FACTS = DeviceFacts(
    runtime="cpu",
    library="/site/hip_cpu/lib/libamdhip64.so",
    key="cpu-amd-ryzen-7-pro-8840u-f25m117-v4-8c-clang19.1",
    name="AMD Ryzen 7 PRO 8840U",
    architecture="x86-64-v4",
    compute_units=8,
    hip_compute_units=8,
    warp_size=32,
    max_threads_per_block=1024,
    max_shared_bytes=65536,
    total_memory_bytes=32 << 30,
    l2_bytes=1 << 20,
    last_level_bytes=16 << 20,
    compute_units_source="physical cores that this process may use",
    hip_version="7.0.0",
    hip_python_version="10.0.0.0.1.2",
    compiler="clang++ 19.1.7",
    driver="Linux 6.12.0",
)

ANSWERING = Answering("/site/hip_cpu/lib/libamdhip64.so", "/site/hip_cpu/lib/libhiprtc.so", "")
IDLE = ActivityReading(0.5, 0.02, 0.0, "pid 7 (editor)", "", ())

CPU = Examination(
    package="0.1.0",
    python="3.12.3",
    requested="auto",
    machine=LAPTOP,
    facts=CPU_FACTS,
    answering=ANSWERING,
    compiled=CompileReading(2, (), False),
    gate=GateReading("", True, True, 250.4, True),
    queue=QueueReading(4096, False, 512),
    timer=TimerReading(1.0, 40.0, 63),
    activity=IDLE,
    recorder=RecorderReading("the cpu runtime", "/site/hip_cpu/lib/libamdhip64.so"),
)

NO_COMPILER = "probe.hip does not compile: no working C++ compiler was found (clang++, g++ or c++ in PATH)"

WITHOUT_COMPILER = msgspec.structs.replace(
    CPU,
    facts=msgspec.structs.replace(CPU_FACTS, compiler=""),
    compiled=None,
    gate=None,
    queue=None,
    problems={"compile": NO_COMPILER},
)

H200_STATE = GpuState("NVML", 345.0, 1980.0, 79.17, 700.0, 37.0, "P0", 0)

H200 = msgspec.structs.replace(
    CPU,
    machine=msgspec.structs.replace(
        LAPTOP,
        governor="",
        gpus=(Gpu("NVIDIA", "NVIDIA H200", "0000:1b:00.0", state=H200_STATE),),
        runtimes=(RUNTIMES[0], Runtime("cuda", "/site/hip_cuda/lib/libamdhip64.so", ""), RUNTIMES[2]),
    ),
    facts=msgspec.structs.replace(
        CPU_FACTS,
        runtime="cuda",
        library="/site/hip_cuda/lib/libamdhip64.so",
        key="sm90-132sm",
        name="NVIDIA H200",
        architecture="sm_90",
        compute_units=132,
        hip_compute_units=132,
        peak_gb_per_s=4814.272,
        l2_bytes=60 << 20,
        last_level_bytes=None,
        compute_units_source="hipDeviceAttributeMultiprocessorCount",
        compiler="nvrtc 13.0",
        driver="nvidia 580.159.04",
    ),
    answering=Answering("/site/hip_cuda/lib/libamdhip64.so", "/site/hip_cuda/lib/libhiprtc.so", "0000:1b:00.0"),
    compiled=CompileReading(2, (), True),
    gate=GateReading("", True, True, 250.1, True),
    queue=QueueReading(1021, True, 512),
    timer=TimerReading(32.0, 1792.0, 63),
    activity=ActivityReading(0.5, 1.01, 0.0, "pid 1160 (python3)", "pid 1160 (python3)", ("pid 1160 (python3)",)),
    recorder=RecorderReading("CUPTI", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.2025.3.1"),
)

STRIX_GPU = Gpu(
    vendor="AMD",
    name="gfx1151",
    place="0000:c5:00.0",
    architecture="gfx1151",
    key="gfx1151-40cu",
    compute_units=40,
    hip_compute_units=20,
    compute_units_source="KFD node 1: simd_count / simd_per_cu",
    peak_gb_per_s=256.0,
    l2_bytes=2 << 20,
    last_level_bytes=32 << 20,
    state=GpuState("card1", 613.0, 2900.0, 15.084, 120.0, 38.0, "auto", 0),
)

STRIX = msgspec.structs.replace(
    CPU,
    machine=msgspec.structs.replace(
        LAPTOP,
        gpus=(STRIX_GPU,),
        runtimes=(Runtime("rocm", "/opt/rocm/lib/libamdhip64.so.7", "", "/opt/rocm/bin/amdclang++"), *RUNTIMES[1:]),
    ),
    facts=msgspec.structs.replace(
        CPU_FACTS,
        runtime="rocm",
        library="/opt/rocm/lib/libamdhip64.so.7",
        key="gfx1151-40cu",
        name="AMD Radeon 8060S Graphics",
        architecture="gfx1151",
        compute_units=40,
        hip_compute_units=20,
        peak_gb_per_s=256.0,
        l2_bytes=2 << 20,
        last_level_bytes=32 << 20,
        compute_units_source="KFD node 1: simd_count / simd_per_cu",
        compiler="hiprtc 7.2",
        driver="amdgpu 6.16.6",
    ),
    answering=Answering("/opt/rocm/lib/libamdhip64.so.7", "/opt/rocm/lib/libhiprtc.so.7", "0000:c5:00.0"),
    recorder=RecorderReading("rocprofv3 of ROCm 7.2.0", "/opt/rocm/bin/rocprofv3"),
)


class ScriptedPatient:
    """A patient that answers from an examination, and raises what it is told to; ``asked`` says in which order."""

    def __init__(self, answers: Examination, **errors: Exception) -> None:
        self.answers = answers
        self.errors = errors
        self.asked: list[str] = []

    def look(self, root: Path) -> Machine:
        """The examination's machine, below ``root``."""
        self._ask("look")
        assert self.answers.machine is not None
        return msgspec.structs.replace(self.answers.machine, root=str(root))

    def open(self) -> Opened:
        """The examination's device."""
        self._ask("open")
        assert self.answers.facts is not None
        return Opened(self.answers.facts, self.answers.profilers)

    def probe(self, name: ProbeName) -> Reading | None:
        """The examination's reading of that name."""
        self._ask(name)
        reading: Reading | None = getattr(self.answers, {"compile": "compiled"}.get(name, name))
        return reading

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if what in self.errors:
            raise self.errors[what]
