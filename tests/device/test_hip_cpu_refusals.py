"""What the cpu runtime cannot do is a compile error of one sentence, at the line of the user's file."""

from __future__ import annotations

import pytest
from hip_cpu_calls import HipCpu, HipFailure

# What stands in the kernel's second line, and what is said of it.
REFUSED = {
    "matrix instructions": (
        "float8 c = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c);",
        "__builtin_amdgcn_wmma_f32_16x16x16_f16_w32 is not supported by the cpu runtime (matrix instructions: "
        "declare the kernel's architecture, so that it is skipped here)",
    ),
    "buffer instructions": (
        "x[0] = __builtin_amdgcn_raw_buffer_load_b32(r, 0, 0, 0);",
        "__builtin_amdgcn_raw_buffer_load_b32 is not supported by the cpu runtime",
    ),
    "inline assembly": (
        'asm volatile("v_mov_b32 %0, %1" : "=v"(x[0]) : "v"(1.0f));',
        "inline assembly is not supported by the cpu runtime, which compiles for this host's processor",
    ),
    "a launch from a kernel": (
        "other<<<1, 32>>>(x);",
        "<<<...>>> launches a kernel, which is host code; it is not supported by the cpu runtime, nor are kernels that "
        "launch kernels",
    ),
    "textures": (
        "x[0] = tex2D<float>(t, 0, 0);", "tex2D is not supported by the cpu runtime (texture memory)",
    ),
    "a shuffle of more than eight bytes": (
        "x[0] = __shfl(float4{1, 2, 3, 4}, 0).x;", "a shuffled value has at most eight bytes",
    ),
    "the device's library by its inner name": (
        "x[0] = __ocml_exp_f32(x[0]);", "__ocml_exp_f32 is not supported by the cpu runtime",
    ),
}  # fmt: skip


def log_of(source: str) -> str:
    """What the compiler says of a source that it refuses."""
    with pytest.raises(HipFailure) as caught:
        HipCpu().compile(source, name="mine.hip")
    return caught.value.log


@pytest.mark.parametrize("what", REFUSED)
def test_what_no_host_has_is_named(what: str) -> None:
    """File, line and reason, before anything that follows from it."""
    body, sentence = REFUSED[what]
    log = log_of(f'extern "C" __global__ void k(float* x) {{\n  {body}\n}}')
    (said,) = [line for line in log.splitlines() if sentence in line]
    assert "error: " in said
    assert "mine.hip:2" in log


def test_waiting_for_the_whole_grid_is_refused() -> None:
    """Cooperative groups are there, but workgroups run one after another."""
    log = log_of(
        """
        #include <hip/hip_cooperative_groups.h>
        extern "C" __global__ void k() { cooperative_groups::this_grid().sync(); }"""
    )
    assert "waiting for the whole grid (grid_group::sync) is not supported by the cpu runtime" in log


def test_a_way_to_move_lanes_that_rdna_has_not_is_refused() -> None:
    """Only the constant tells, once the call is inlined."""
    log = log_of(
        'extern "C" __global__ void k(int* x) { x[0] = __builtin_amdgcn_mov_dpp(x[0], 0x142, 15, 15, false); }'
    )
    assert "this DPP control or swizzle is not supported by the cpu runtime: it knows those of RDNA's rows" in log


def test_eight_bit_floats_are_refused_by_their_header() -> None:
    """Including what is not there says so."""
    log = log_of("#include <hip/hip_fp8.h>\n")
    assert "hip/hip_fp8.h" in log
    assert "not supported by the cpu runtime yet" in log


def test_two_kernels_of_one_name_and_signature_are_refused() -> None:
    """As C++ has it; both lines are named."""
    log = log_of("__global__ void k(float* x, int) { x[0] = 1; }\n__global__ void k(float* y, int n) { y[0] = 2; }\n")
    assert log == "mine.hip:2: error: redefinition of the kernel k, which has the same parameters at mine.hip:1"


def test_a_kernel_returns_nothing() -> None:
    """Neither a number, nor what turns out to be one."""
    assert "mine.hip:1: error: a kernel must return void" in log_of("__global__ int k() { return 1; }")
    log = log_of("template <class T> struct Same { using type = T; };\n__global__ Same<int>::type k() { return 1; }")
    assert "a kernel must return void" in log


def test_what_looks_like_it_but_is_not_is_let_through() -> None:
    """Empty assembly orders memory only; names in comments and texts; the user's own functions."""
    HipCpu().compile(
        """
        struct Texture { float* data; __device__ float tex(int i) const { return data[i]; } };
        // __builtin_amdgcn_wmma_f32_16x16x16_f16_w32, tex2D, <<<1, 2>>>
        extern "C" __global__ void k(Texture t, int n) {
            asm volatile("" ::: "memory");
            if (n << 2 < 1 << 3) printf("tex2D <<<%d>>>", n);
            t.data[1] = t.tex(0);
        }"""
    )
