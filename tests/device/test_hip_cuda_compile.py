"""HIP source through HIP on CUDA's hiprtc and NVRTC, for sm_90; no GPU is needed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hip_cuda_calls import compile_hip, hiprtc, nvrtc_version

import pytest_kernelperf
from pytest_kernelperf.code_object import read_kernels
from pytest_kernelperf.errors import RuntimeUnavailable

ROOT = Path(__file__).parent.parent.parent
GATE = Path(pytest_kernelperf.__file__).parent / "runtime" / "gate.hip"
PULSE = GATE.with_name("pulse.hip")

SUCCESS, INVALID_OPTION, COMPILATION = 0, 5, 6

SCALE = 'extern "C" __global__ void scale(float* p, int n) { if (threadIdx.x < n) p[threadIdx.x] *= 2; }\n'


@pytest.fixture(scope="module", autouse=True)
def nvrtc() -> None:
    """Skip where the library was not built, or NVRTC is not installed."""
    try:
        library = hiprtc()
    except RuntimeUnavailable as error:
        pytest.skip(str(error))
    if nvrtc_version(library) == (0, 0):
        pytest.skip("NVRTC is not here: pip install nvidia-cuda-nvrtc")


def code_of(source: str, *options: str) -> bytes:
    """A code object, or the log as the failure."""
    compiled = compile_hip(source, *options)
    assert compiled.result == SUCCESS, compiled.log
    return compiled.code


def skip_without_half(log: str) -> None:
    """Skip where CUDA's headers for half precision and bfloat16 are not installed: NVRTC alone does not bring them."""
    if "needs CUDA's cuda_" in log:
        pytest.skip("cuda_fp16.h is not here: pip install nvidia-cuda-runtime")


def test_the_lessons_kernels_compile_to_machine_code() -> None:
    """Unchanged HIP source gives a cubin for sm_90 that names each kernel and its parameters' sizes."""
    kernels = read_kernels(code_of((ROOT / "kernels/moe_add_inject/moe_add_inject.hip").read_text()))

    assert sorted(kernels) == [
        "add_kernel", "fused_column_tiles", "fused_column_tiles_64", "fused_one_block_per_token", "inject_kernel",
    ]  # fmt: skip
    assert [parameter.size_bytes for parameter in kernels["add_kernel"].parameters or ()] == [4, 8, 8, 8]


@pytest.mark.parametrize("source", sorted(ROOT.glob("kernels/*/*.hip")), ids=lambda path: path.stem)
def test_every_kernel_of_this_repository_compiles(source: Path) -> None:
    """With the headers that lie beside the kernels' folders, and without a warning."""
    headers = {path.name: path.read_text() for path in (*ROOT.glob("kernels/*.h"), *source.parent.glob("*.h"))}
    compiled = compile_hip(source.read_text(), headers=headers, name=source.name)
    skip_without_half(compiled.log)

    assert (compiled.result, compiled.log) == (SUCCESS, "")
    assert read_kernels(compiled.code)


def test_the_gate_compiles() -> None:
    """The gate reads its door at system scope, sleeps, and has a time limit."""
    assert [p.size_bytes for p in read_kernels(code_of(GATE.read_text()))["kernelperf_gate"].parameters or ()] == [
        8
    ] * 3


def test_the_pulse_compiles_for_nvidia() -> None:
    """It counts the device's clock beside each sample, with NVIDIA's own wall clock."""
    parameters = read_kernels(code_of(PULSE.read_text()))["kernelperf_pulse"].parameters or ()
    assert [p.size_bytes for p in parameters] == [8] * 3


def test_the_same_source_gives_the_same_machine_code() -> None:
    """Whatever the file is called and wherever the process stands."""
    first = compile_hip(SCALE, name="one.hip").code
    second = compile_hip(SCALE, name="folder/two.hip").code

    assert read_kernels(first) == read_kernels(second)


ALIASED = (
    'extern "C" __global__ void twice(const float* a, float* x, float* y) '
    "{ x[threadIdx.x] = a[threadIdx.x]; y[threadIdx.x] = a[threadIdx.x]; }\n"
)


def test_an_option_counts_for_its_own_program_alone() -> None:
    """NVRTC 13.0 itself compiles all that follows as if no two pointers met, once one program asked for it."""
    apart = read_kernels(code_of(ALIASED))
    met = read_kernels(code_of(ALIASED, "--restrict"))
    again = read_kernels(code_of(ALIASED))

    assert met["twice"].instruction_digest != apart["twice"].instruction_digest
    assert again == apart


def test_what_is_compiled_apart_tells_its_errors_and_names() -> None:
    """In a process of its own, whose answers are all there: log, result, lowered names."""
    template = "template <typename T> __global__ void fill(T* p) { p[threadIdx.x] = 1; }\n"
    compiled = compile_hip(template, "--restrict", expressions=("fill<float>",))
    broken = compile_hip(SCALE.replace("*= 2", "*= two"), "--restrict")

    assert compiled.result == SUCCESS, compiled.log
    assert compiled.lowered["fill<float>"] in read_kernels(compiled.code)
    assert broken.result == COMPILATION
    assert "user.hip(1): error:" in broken.log


def test_another_kernel_beside_it_changes_no_digest() -> None:
    """A kernel's digest is of its own instructions."""
    alone = read_kernels(code_of(SCALE))["scale"]
    beside = read_kernels(code_of(SCALE + SCALE.replace("scale", "zero").replace("*= 2", "= 0")))

    assert beside["scale"].instruction_digest == alone.instruction_digest
    assert beside["zero"].instruction_digest != alone.instruction_digest


def test_an_error_names_the_users_file_and_line() -> None:
    """The log's first error is the user's own line, in a header too."""
    wrong = compile_hip(
        '#include <hip/hip_runtime.h>\n#include "part.h"\n', headers={"part.h": "int f() {\n  return x;\n}\n"}
    )
    own = compile_hip("#include <hip/hip_runtime.h>\n\n__global__ void f() { y = 1; }\n", name="mine.hip")

    assert (wrong.result, own.result) == (COMPILATION, COMPILATION)
    assert 'part.h(2): error: identifier "x" is undefined' in wrong.log
    assert 'mine.hip(3): error: identifier "y" is undefined' in own.log


def test_headers_options_and_name_expressions_reach_the_compiler() -> None:
    """A template from a header, chosen by a definition, is found by its name expression."""
    header = "template <class T> __global__ void fill(T* p) { p[threadIdx.x] = VALUE; }\n"
    compiled = compile_hip(
        '#include "inner/fill.h"\n', "-DVALUE=3", "-O3", "-Wall",
        headers={"inner/fill.h": header}, expressions=("fill<int>", "fill<double>"),
    )  # fmt: skip

    assert compiled.result == SUCCESS, compiled.log
    assert compiled.lowered == {"fill<int>": "_Z4fillIiEvPT_", "fill<double>": "_Z4fillIdEvPT_"}
    assert set(read_kernels(compiled.code)) == set(compiled.lowered.values())


EVERYTHING = """
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <type_traits>

namespace {
constexpr int table[4] = {1, 2, 3, 4};
constexpr int twice(int x) { return 2 * x; }
template <class T>
__device__ T reduce(T value) {
    for (int offset = warpSize / 2; offset > 0; offset /= 2) value += __shfl_xor(value, offset);
    return value;
}
}  // namespace

template <class T, int N>
__global__ __launch_bounds__(256, 2) void everything(const T* in, float* out, size_t n) {
    static_assert(std::is_same_v<T, std::decay_t<const T&>>);
    __shared__ float part[8];
    HIP_DYNAMIC_SHARED(float, dynamic)
    float v = 0;
    for (size_t i = hipBlockIdx_x * hipBlockDim_x + hipThreadIdx_x; i < n; i += blockDim.x * gridDim.x)
        v += static_cast<float>(in[i]);
    v = reduce(v) + __shfl_down(v, 1u) + __shfl_up(v, 1u) + __shfl(v, 0, 16) + __shfl(double(v), 0);
    if (__lane_id() == 0) part[threadIdx.x / warpSize] = dynamic[threadIdx.x] = v;
    __syncthreads();
    assert(n > 0);
    const unsigned long long lanes = __ballot(v > 0);
    static_assert(sizeof __ballot(1) == 8);
    if (__any(v > 1) && __all(v > 2)) printf("%d\\n", __popcll(lanes));
    float4 f = {1, 2, 3, 4};
    f += f * 2.0f;
    f = -f;
    uint2 u = uint2{1, 2} + 1u;
    if (threadIdx.x == 0) {
        atomicAdd(out, part[0] + f.x + u.x + table[n % 4] + twice(N));
        atomicMax(out + 1, v);
        atomicAdd(reinterpret_cast<size_t*>(out + 4), n);
    }
    unsigned* word = reinterpret_cast<unsigned*>(out);
    unsigned expected = 0;
    __hip_atomic_fetch_add(word, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_store(word, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
    __hip_atomic_compare_exchange_strong(word, &expected, 1u, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED,
                                         __HIP_MEMORY_SCOPE_AGENT);
    out[2] = __hip_atomic_load(word, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) + wall_clock64();
    __builtin_amdgcn_s_sleep(1);
    out[3] = __builtin_amdgcn_readfirstlane(3) + std::numeric_limits<float>::max() + std::sqrt(v) + INFINITY;
    __builtin_nontemporal_store(__builtin_nontemporal_load(out + 7), out + 8);
    hip_bfloat16 rounded(v);
    rounded += rounded;
    out[9] = rounded + __expf(v) + __fdividef(v, 2) + max(v, 1.0f) + static_cast<float>(std::int64_t(3));
    __threadfence_system();
}
"""


def test_what_hip_kernels_use_is_there() -> None:
    """Waves, shared memory, atomics with scopes, vectors, clocks, half, bfloat16 and the C++ headers of kernels."""
    expressions = ("everything<float, 3>", "everything<__half, 4>", "everything<__hip_bfloat16, 5>")
    compiled = compile_hip(EVERYTHING, expressions=expressions)
    skip_without_half(compiled.log)

    assert (compiled.result, compiled.log) == (SUCCESS, "")
    assert len(read_kernels(compiled.code)) == 3


def test_the_headers_need_no_include_in_the_source() -> None:
    """As with AMD's hiprtc, HIP's names are there from the first line."""
    code_of("__global__ void f(long long* p) { *p = wall_clock64() + hipThreadIdx_x; }\n")


def test_an_amd_builtin_without_a_counterpart_is_an_error_that_names_it() -> None:
    """Matrix instructions are not emulated."""
    compiled = compile_hip("__global__ void f(int* p) { *p = __builtin_amdgcn_sudot4(true, 1, true, 2, 3, false); }\n")

    assert compiled.result == COMPILATION
    assert "__builtin_amdgcn_sudot4" in compiled.log


def test_multiplication_and_addition_contract_unless_told_otherwise() -> None:
    """As clang does for GPUs by default; -ffp-contract=off reaches NVRTC."""
    source = 'extern "C" __global__ void f(float* p) { p[0] = p[1] * p[2] + p[3]; }\n'
    default, on, off = (read_kernels(code_of(source, *options))["f"] for options in (
        (), ("-ffp-contract=fast",), ("-ffp-contract=off",)
    ))  # fmt: skip

    assert default.instruction_digest == on.instruction_digest != off.instruction_digest


@pytest.mark.parametrize(
    ("option", "note"),
    [
        ("-munsafe-fp-atomics", "the option -munsafe-fp-atomics is for AMD's compiler: left out"),
        ("--rocm-path=/opt/rocm", "the option --rocm-path=/opt/rocm is for AMD's compiler: left out"),
    ],
)
def test_amds_options_are_left_out_and_said(option: str, note: str) -> None:
    """What chooses among AMD's ways of compiling changes nothing here, and the log says so."""
    compiled = compile_hip(SCALE, option)

    assert compiled.result == SUCCESS
    assert note in compiled.log


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("-mwavefrontsize64", "a CUDA warp has 32 threads"),
        ("-fgpu-rdc", "each code object is compiled and linked by itself"),
    ],
)
def test_options_that_would_change_a_programs_meaning_are_refused(option: str, sentence: str) -> None:
    """One sentence in the log, and no code object."""
    compiled = compile_hip(SCALE, option)

    assert compiled.result == INVALID_OPTION
    assert f"error: the option {option} cannot be honoured: {sentence}" in compiled.log


def test_an_unknown_option_is_nvrtcs_to_refuse() -> None:
    """Its own words are in the log."""
    compiled = compile_hip(SCALE, "--no-such-option")

    assert compiled.result == INVALID_OPTION
    assert "--no-such-option" in compiled.log


def test_an_intermediate_target_still_gives_machine_code() -> None:
    """compute_90 would be PTX, which the driver would compile anew at each load."""
    compiled = compile_hip(SCALE, "-arch", "compute_90")

    assert compiled.result == SUCCESS, compiled.log
    assert read_kernels(compiled.code) == read_kernels(code_of(SCALE))


def test_the_standard_can_be_chosen() -> None:
    """C++17 unless another is asked for; GNU's spelling is understood."""
    source = "static_assert(__cplusplus == EXPECTED);\n" + SCALE

    code_of(source, "-DEXPECTED=201703L")
    code_of(source, "-DEXPECTED=202002L", "-std=gnu++20")


def test_a_program_may_be_compiled_twice_with_other_options() -> None:
    """The second compilation leaves nothing of the first."""
    import ctypes

    library, program, size = hiprtc(), ctypes.c_void_p(), ctypes.c_size_t()
    assert library.hiprtcCreateProgram(ctypes.byref(program), SCALE.encode(), None, 0, None, None) == 0
    for option, expected in ((b"-Dfloat=nonsense", COMPILATION), (b"-DFINE", SUCCESS)):
        options = (ctypes.c_char_p * 2)(b"--gpu-architecture=sm_90", option)
        assert library.hiprtcCompileProgram(program, 2, options) == expected
    assert library.hiprtcGetCodeSize(program, ctypes.byref(size)) == 0
    assert size.value > 0
    assert library.hiprtcGetProgramLogSize(program, ctypes.byref(size)) == 0
    assert size.value == 1  # an empty text's final zero
    assert library.hiprtcDestroyProgram(ctypes.byref(program)) == 0


def child(program: str, **environment: str) -> str:
    """What a child process prints that compiles with another NVRTC, or none."""
    search = [str(ROOT / "tests/helpers"), *(str(Path(path).parent) for path in pytest_kernelperf.__path__)]
    settings = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(search + [p for p in sys.path if p])}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=settings | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_without_nvrtc_compiling_fails_with_the_sentence() -> None:
    """The log says where it was looked for."""
    program = f"from hip_cuda_calls import compile_hip\nc = compile_hip({SCALE!r})\nprint(c.result, c.log)"

    said = child(program, KERNELPERF_NVRTC="/nowhere", KERNELPERF_NVRTC_WHEELS="/nowhere")

    assert said.startswith(f"{COMPILATION} error: the NVRTC library that KERNELPERF_NVRTC names cannot be used")


def test_without_a_device_the_architecture_must_be_named() -> None:
    """There is nothing to choose it by."""
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has an NVIDIA driver")
    compiled = compile_hip(SCALE, "--gpu-architecture=gfx1151")

    assert compiled.result == COMPILATION
    assert "note: the architecture gfx1151 is AMD's: compiled for the CUDA device" in compiled.log
    assert "error: no architecture to compile for" in compiled.log
