"""Files with host code and ready code objects, through a worker of the cpu runtime and real compilers."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from compiled_objects import amd_object

from pytest_kernelperf import Kernel, Launch
from pytest_kernelperf.code_object.bundle import unbundle
from pytest_kernelperf.errors import CompileError, RuntimeUnavailable, UsageError
from pytest_kernelperf.kernel_name import find_kernel
from pytest_kernelperf.model import (
    CaseId,
    CodeObject,
    DeviceBuild,
    LaunchStep,
    Plan,
    ReadyObject,
    SourceBundle,
    digest_of_bytes,
)
from pytest_kernelperf.native import native_path
from pytest_kernelperf.plan import buffer_specs, check_signature
from pytest_kernelperf.runtime.code import make_code
from pytest_kernelperf.runtime.compile import describe_code
from pytest_kernelperf.runtime.device_build import build_device, launches_kernels
from pytest_kernelperf.runtime.library import Chosen
from pytest_kernelperf.runtime.toolchain import Toolchain, find_toolchain
from pytest_kernelperf.source import collect_bundle, read_ready_object
from pytest_kernelperf.worker.array import InputSet
from pytest_kernelperf.worker.pool import WorkerPool

ENGINE = """
#include <hip/hip_runtime.h>
#include <algorithm>
#include <cstdio>
#include <vector>
#include "tile.h"

namespace {
template <class T>
__global__ void __launch_bounds__(256) scale(T* values, int n, T by) {
    __shared__ T kept[TILE];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    kept[threadIdx.x % TILE] = i < n ? values[i] : T(0);
    __syncthreads();
    if (i < n) values[i] = std::max(kept[threadIdx.x % TILE] * by, T(OFFSET));
}
}  // namespace

namespace engine {
__global__ void clear(int* counters) { counters[threadIdx.x] = 0; }

void run(float* values, int n, hipStream_t stream) {
    std::vector<int> order{3, 1, 2};
    std::sort(order.begin(), order.end());
    scale<float><<<(n + 255) / 256, 256, 0, stream>>>(values, n, 2.0f);
    if (hipGetLastError() != hipSuccess) std::printf("launch failed\\n");
}
}  // namespace engine
"""
FILES = {"src/engine.hip": ENGINE, "include/tile.h": "#define TILE 64\n"}
OPTIONS = ("-Iinclude", "-DOFFSET=1", "-std=c++17")


def needs(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            package = {"clang++-19": "clang-19", "ld.lld-19": "lld-19", "nvcc": "nvidia-cuda-toolkit"}[program]
            pytest.skip(f"no {program} here: apt-get install {package}")


def compiler_name() -> str:
    return Path(find_toolchain("cpu").program).name


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    """A worker pool on the cpu runtime."""
    try:
        native_path("hip_cpu/lib/libamdhip64.so")
    except RuntimeUnavailable as error:
        pytest.skip(str(error))
    with WorkerPool("cpu") as workers:
        yield workers


@pytest.fixture(autouse=True)
def _no_other_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is installed beside Debian's packages does not matter."""
    monkeypatch.delenv("HIPCXX", raising=False)
    monkeypatch.setenv("ROCM_PATH", "/nonexistent")


def engine(**changes: Any) -> SourceBundle:
    return SourceBundle(
        "src/engine.hip", FILES | changes.pop("files", {}), (*OPTIONS, *changes.pop("options", ())),
        build=DeviceBuild(), **changes,
    )  # fmt: skip


def test_a_file_with_host_code_is_compiled_for_the_target_and_checked(pool: WorkerPool) -> None:
    """<<<>>>, <algorithm>, a template in an anonymous namespace: names, arguments and registers are gfx1151's."""
    needs("clang++-19", "ld.lld-19")
    code = pool.compile(engine(), (), target="gfx1151")
    assert code.cannot_run == (
        "src/engine.hip needs a GPU, since the cpu runtime cannot compile it (it launches kernels with <<<>>>); its "
        f"launches were counted and checked against its code by {compiler_name()} for gfx1151"
    )
    scale = code.kernels["(anonymous namespace)::scale<float>"]
    assert [parameter.size_bytes for parameter in scale.parameters or ()] == [8, 4, 4]
    assert scale.resources["vgprs"] > 0
    assert (scale.resources["lds_bytes"], scale.resources["max_threads"]) == (256, 256)
    assert "engine::clear" in code.kernels


@pytest.mark.parametrize(
    ("file", "name", "sizes"),
    [
        ("wrappers", "activation<float, (engine::Activation)1, 4>", [8, 8, 8]),
        ("wrappers", "activation<__half, (engine::(anonymous namespace)::Activation)2, 4>", [8, 8, 8]),
        ("wrappers", "engine::activation<__hip_bfloat16, (Activation)0, 4>", [8, 8, 8]),
        ("wrappers", "rope<half>", [8, 8, 16]),
        ("wrappers", "engine::vectors", [8, 8, 8, 8, 4]),
        ("wrappers", "reduce", [8, 8, 8, 8, 8, 4]),
        ("wrappers", "elementwise", [1, 8, 4]),
        ("wrappers", "tiles(float*)", [8]),
        ("quantised", "matvec<4, half, true>", [8, 8, 8, 8, 12]),
        ("quantised", "matrix", [8, 8, 8]),
        ("quantised", "pairs", [8, 8, 8, 8]),
    ],
)
def test_an_engines_whole_file_is_compiled_by_clang_alone(
    pool: WorkerPool, file: str, name: str, sizes: list[int]
) -> None:
    """Atomics, shuffles, half precision, mathematics, and the host's calls: each kernel by name, with its arguments."""
    needs("clang++-19", "ld.lld-19")
    main = f"{file}.hip"
    text = (Path(__file__).parent / main).read_text()
    bundle = SourceBundle(main, {main: text}, ("-std=c++17",), build=DeviceBuild())
    code = pool.compile(bundle, (name,), target="gfx1151")
    assert "checked against its code by" in code.cannot_run
    found = find_kernel(code.kernels, name)
    assert found is not None
    assert [parameter.size_bytes for parameter in code.kernels[found].parameters or ()] == sizes
    assert code.kernels[found].resources["vgprs"] > 0


@pytest.mark.parametrize("name", ["scale<float>", "_ZN12_GLOBAL__N_15scaleIfEEvPT_iS1_"])
def test_launches_find_a_template_by_its_name_and_are_checked(pool: WorkerPool, name: str) -> None:
    """Demangled without the anonymous namespace, or mangled; a wrong argument is named before anything runs."""
    needs("clang++-19", "ld.lld-19")
    code = pool.compile(engine(), (name,))
    case, arrays = CaseId("engine", "plain", 1), {"values": np.ones(8, np.float32)}
    specs = buffer_specs(arrays)
    check_signature(case, plan_of(name, arrays, "values", np.int32(8), np.float32(2)), specs, code)
    with pytest.raises(UsageError, match=r"argument 2: np\.int64 is given where the kernel takes"):
        check_signature(case, plan_of(name, arrays, "values", np.int64(8), np.float32(2)), specs, code)


def plan_of(name: str, arrays: dict[str, Any], *arguments: Any) -> Plan:
    from pytest_kernelperf.model import DeviceFacts
    from pytest_kernelperf.plan import build_plan

    facts = DeviceFacts("cpu", "", "cpu", "cpu", "x86-64", 4, 4, 32, 1024, 65536, 2**30)
    return build_plan(
        CaseId("engine", "plain", 1), lambda tokens, device: [Launch(name, 1, 64, arguments)], facts, arrays
    )


def test_a_template_that_nobody_launches_is_instantiated_by_name(pool: WorkerPool) -> None:
    """Name expressions work as with hiprtc."""
    needs("clang++-19", "ld.lld-19")
    code = pool.compile(engine(name_expressions=("scale<double>",)), ("scale<double>", "scale<float>"))
    assert {"(anonymous namespace)::scale<double>", "(anonymous namespace)::scale<float>"} <= set(code.kernels)


def test_the_same_source_is_the_same_object_wherever_it_is_compiled(pool: WorkerPool) -> None:
    """Temporary folders leave no trace, so baselines compare."""
    needs("clang++-19", "ld.lld-19")
    toolchain = find_toolchain("cpu")
    assert build_device(toolchain, engine(), "gfx1151")[0] == build_device(toolchain, engine(), "gfx1151")[0]


def test_what_the_small_header_lacks_is_said_and_nothing_is_checked(pool: WorkerPool) -> None:
    """Without ROCm a library header may be missing: the case is skipped with that reason, not failed."""
    needs("clang++-19", "ld.lld-19")
    if not find_toolchain("cpu").bare:
        pytest.skip("ROCm is here: its own headers are used")
    files = {"src/engine.hip": "#include <rocwmma/rocwmma.hpp>\n" + ENGINE}
    code = pool.compile(engine(files=files), ())
    assert not code.kernels
    assert "arguments not checked" in code.cannot_run
    assert "engine.hip:1: 'rocwmma/rocwmma.hpp' file not found" in code.cannot_run


def test_an_error_of_rocms_own_compiler_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the project's own compiler refuses would fail on the GPU too."""
    needs("clang++-19", "ld.lld-19")
    compiler = tmp_path / "hipcc"
    compiler.write_text('#!/bin/sh\necho "engine.hip:7:1: error: no such thing"\nexit 1\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("HIPCXX", str(compiler))
    with WorkerPool("cpu") as workers, pytest.raises(CompileError, match=r"engine.hip:7: no such thing"):
        workers.compile(engine(), ())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("clang: error: unsupported HIP gpu architecture: gfx1151", "checked against its code by clang++"),
        ("error: unknown target CPU 'gfx1151'", "checked against its code by clang++"),
    ],
)
def test_an_old_rocm_that_does_not_know_the_target_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, said: str
) -> None:
    """Debian's hipcc of 2022 on the path must not keep a plan for gfx1151 from being checked."""
    needs("clang++-19", "ld.lld-19")
    compiler = tmp_path / "hipcc"
    compiler.write_text(f'#!/bin/sh\necho "{words}"\nexit 1\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("HIPCXX", str(compiler))
    with WorkerPool("cpu") as workers:
        assert said in workers.compile(engine(), ("scale<float>",), target="gfx1151").cannot_run


def test_a_clang_that_the_project_names_may_be_without_rocm(pool: WorkerPool) -> None:
    """compile_commands.json of a project that is built with a distribution's clang, on a machine that has no ROCm."""
    needs("clang++-19", "ld.lld-19")
    named = shutil.which("clang++-19") or ""
    bundle = msgspec.structs.replace(engine(), build=DeviceBuild(named, "gfx1151"))
    assert "checked against its code by clang++" in pool.compile(bundle, ("scale<float>",)).cannot_run


def test_a_missing_linker_is_named_with_its_package(tmp_path: Path) -> None:
    """clang comes without lld, and code for AMD GPUs is linked with nothing else."""
    compiler = tmp_path / "clang++"
    compiler.write_text(
        '#!/bin/sh\necho "clang++: error: unable to execute command: Executable \\"lld\\" doesn\'t exist!"\nexit 1\n'
    )
    compiler.chmod(0o755)
    with pytest.raises(CompileError, match=r"\"lld\" doesn't exist!: install lld \(Debian: lld-19\)"):
        build_device(Toolchain(str(compiler), "clang", bare=True), engine(), "gfx1151")


def test_a_project_that_was_not_configured_is_told_so(pool: WorkerPool) -> None:
    """Without compile commands nobody knows where the headers lie."""
    needs("clang++-19", "ld.lld-19")
    source = '#include "engine/model.h"\n__global__ void k() {}\nvoid run() { k<<<1, 1>>>(); }\n'
    bundle = SourceBundle("k.hip", {"k.hip": source}, build=DeviceBuild())
    said = pool.compile(bundle, (), target="gfx1151").cannot_run
    assert "'engine/model.h' file not found; no compile_commands.json names the file" in said
    configured = SourceBundle("k.hip", {"k.hip": source}, build=DeviceBuild("hipcc", "gfx1151"))
    assert "no compile_commands.json" not in pool.compile(configured, (), target="gfx1151").cannot_run


def test_device_code_of_another_file_is_said_by_name(pool: WorkerPool) -> None:
    """-fgpu-rdc lets kernels call what another file defines; one file alone cannot be linked then."""
    needs("clang++-19", "ld.lld-19")
    source = "#include <hip/hip_runtime.h>\n__device__ float far(float);\n"
    source += "__global__ void k(float* p) { p[0] = far(p[0]); }\nvoid run() { k<<<1, 1>>>(nullptr); }\n"
    bundle = SourceBundle("k.hip", {"k.hip": source}, build=DeviceBuild("hipcc", "gfx1151"))
    said = pool.compile(bundle, (), target="gfx1151").cannot_run
    assert "far(float) is not in it, so it is another file's, as -fgpu-rdc allows" in said


def test_a_file_that_the_cpu_runtime_can_compile_runs_there(pool: WorkerPool) -> None:
    """Standard headers and templates are no obstacle; only launches and host calls are."""
    source = (
        "#include <hip/hip_runtime.h>\n#include <algorithm>\n"
        'extern "C" __global__ void twice(float* p) { p[threadIdx.x] = std::max(p[threadIdx.x] * 2, 1.0f); }\n'
    )
    options = ("-mcumode", "-mllvm=-x", "-isystem/opt/rocm/include", "-O2")
    code = pool.compile(engine(files={"src/engine.hip": source}, options=options), ("twice",))
    assert not code.cannot_run
    with InputSet.create({"p": np.arange(4, dtype=np.float32)}) as inputs:
        plan = Plan(
            (LaunchStep("twice", (1, 1, 1), (4, 1, 1), plan_of("twice", dict(inputs), "p").launches[0].arguments),)
        )
        got = pool.run(CaseId("k", "v", 1), plan, code, inputs, ("p",))
    assert got["p"].tolist() == [1, 2, 4, 6]


def test_headers_that_are_included_first_are_so_on_the_cpu_too(pool: WorkerPool) -> None:
    """A source that relies on a precompiled header runs there; an error's line is the source's own."""
    files = {
        "src/k.hip": 'extern "C" __global__ void k(float* p) {\n    p[threadIdx.x] = FIRST * two();\n}\n',
        "include/first.h": '#include <hip/hip_runtime.h>\n#include <vector>\n#include "two.h"\n#define FIRST 3\n',
        "include/two.h": "__device__ inline int two() { return 2; }\n",
    }
    bundle = SourceBundle(
        "src/k.hip", files, ("-includehip/hip_runtime.h", "-includeinclude/first.h", "-Iinclude"), build=DeviceBuild()
    )
    assert not pool.compile(bundle, ("k",)).cannot_run
    broken = msgspec.structs.replace(bundle, files=files | {"src/k.hip": files["src/k.hip"].replace("FIRST", "LAST")})
    assert "k.hip:2:" in pool.compile(broken, ()).cannot_run


@pytest.mark.parametrize(
    ("text", "found"),
    [("k<<<1, 2>>>();", True), ("// k<<<1>>>", False), ('const char* t = "<<<";', False), ("/* a\n<<< */ x", False)],
)
def test_launches_are_looked_for_outside_of_comments_and_texts(text: str, found: bool) -> None:
    """A comment about a launch does not keep a file from the cpu runtime."""
    assert launches_kernels(SourceBundle("k.hip", {"k.hip": text})) is found


# --- ready code objects -----------------------------------------------------------------------

DOUBLE = """
extern "C" __global__ void twice(float* p) { p[thread()] *= 2; }
namespace ns {
template <class T> __global__ void more(T* p) { p[thread()] += 1; }
template __global__ void more(int*);
}
"""

Take = Callable[[str, bytes], CodeObject]


@pytest.fixture
def take(pool: WorkerPool, tmp_path: Path) -> Take:
    """Write a code object file and take it as a kernel's."""

    def taken(name: str, data: bytes) -> CodeObject:
        (tmp_path / name).write_bytes(data)
        kernel = Kernel("k", source=tmp_path / name, tokens=(1,))
        return pool.compile(collect_bundle(kernel), (), data=read_ready_object(kernel), target="gfx1151")

    return taken


def test_a_code_object_for_a_gpu_is_read_on_the_cpu_and_not_run(take: Take) -> None:
    """Its kernels, arguments and registers are known; that it cannot run here is a reason to skip."""
    code = take("twice.hsaco", amd_object(DOUBLE))
    assert "twice.hsaco is code for gfx1151, which the cpu runtime cannot run" in code.cannot_run
    assert code.kernels["twice"].resources["vgprs"] > 0
    assert "ns::more<int>" in code.kernels


@pytest.mark.parametrize("options", [(), ("--offload-compress",)])
def test_a_bundle_gives_what_the_judged_device_would_take(pool: WorkerPool, options: tuple[str, ...]) -> None:
    """The target's code, or without a target that of the GPU usually meant; one without it is refused."""
    data = amd_object(DOUBLE, "gfx1030", "--offload-arch=gfx1151", *options)
    bundle = SourceBundle("all.hipfb", {}, build=ReadyObject(digest_of_bytes(data)))
    for target, named in (("gfx1030", "gfx1030"), ("gfx1151", "gfx1151"), ("", "gfx1151")):
        code = pool.compile(bundle, ("twice",), data=data, target=target)
        assert f"all.hipfb is code for {named}, which the cpu runtime cannot run" in code.cannot_run
        assert code.kernels["twice"].resources["vgprs"] > 0
    with pytest.raises(CompileError, match=r"all.hipfb: the offload bundle has no code object for gfx942"):
        pool.compile(bundle, (), data=data, target="gfx942")


class AmdDevice:
    """An AMD GPU as far as taking a ready code object asks for it."""

    def __init__(self, target_id: str) -> None:
        self.chosen = Chosen("rocm", Path("/rocm"), Path("/rocm"))
        self.target_id, self.architecture = target_id, target_id.split(":")[0]


def test_an_amd_gpu_takes_its_own_part_of_a_bundle_and_refuses_others_code() -> None:
    """By its target ID, features included; code of its family's generic processor and of no stated target too."""
    data = amd_object(DOUBLE, "gfx90a:xnack+", "--offload-arch=gfx90a:xnack-", "--offload-compress")
    bundle = SourceBundle("all.hipfb", {}, build=ReadyObject(digest_of_bytes(data)))
    device: Any = AmdDevice("gfx90a:sramecc+:xnack-")
    code = make_code(device, bundle, ("twice",), data)
    assert code.data == unbundle(data, "gfx90a:xnack-")
    assert not code.cannot_run
    with pytest.raises(CompileError, match=r"code for gfx90a:xnack\+, and this device is gfx90a:sramecc\+:xnack-"):
        make_code(device, bundle, (), unbundle(data, "gfx90a:xnack+"))


def test_a_code_object_of_the_cpu_runtime_runs_as_it_is(pool: WorkerPool, take: Take) -> None:
    """The same file, the same kernels: what hiprtc made is taken without compiling."""
    made = pool.compile(
        SourceBundle("k.hip", {"k.hip": 'extern "C" __global__ void one(int* p) { p[0] = 1; }'}), ("one",)
    )
    code = take("one.co", made.data)
    assert not code.cannot_run
    assert code.digest == made.digest
    assert code.kernels["one"].instruction_digest == made.kernels["one"].instruction_digest


def test_a_file_that_is_no_code_object_fails_with_a_sentence(take: Take) -> None:
    """Not a crash of the worker."""
    with pytest.raises(CompileError, match=r"broken.hsaco: unknown code object"):
        take("broken.hsaco", b"not one")


def test_hipcc_compiles_the_same_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """ROCm's compiler with its own headers and library: the same names, arguments and registers, every time."""
    monkeypatch.undo()  # here what is installed does matter
    try:
        toolchain = find_toolchain("rocm")
    except RuntimeUnavailable as error:
        pytest.skip(f"{error} (Debian: apt-get install hipcc)")
    bundle = engine(name_expressions=("scale<double>",), options=("-ffast-math",))
    data, log = build_device(toolchain, bundle, "gfx1030")
    code = describe_code(bundle, data, log, ("scale<float>", "scale<double>"))
    assert code.kernels["engine::clear"].resources["vgprs"] > 0
    assert build_device(toolchain, bundle, "gfx1030")[0] == data


# --- CUDA -------------------------------------------------------------------------------------


def test_nvcc_compiles_the_same_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """HIP's names for CUDA come with us; clang's own options are left out."""
    monkeypatch.delenv("CUDACXX", raising=False)
    try:
        toolchain = find_toolchain("cuda")
    except RuntimeUnavailable as error:
        pytest.skip(str(error))
    bundle = engine(options=("-ffast-math", "-mcumode"))
    data, log = build_device(toolchain, bundle, "sm_90")
    code = describe_code(bundle, data, log, ("scale<float>",))
    assert [parameter.size_bytes for parameter in code.kernels["engine::clear"].parameters or ()] == [8]
