// HIP's bfloat16 under its names; the functions on it are called alike in CUDA.
#pragma once
#include <kernelperf_cuda/device.h>
#if __has_include(<cuda_bf16.h>)
#include <cuda_bf16.h>
#else
#error "bfloat16 needs CUDA's cuda_bf16.h: install the CUDA toolkit or the nvidia-cuda-runtime wheel of NVRTC's version"
#endif
using __hip_bfloat16 = __nv_bfloat16;
using __hip_bfloat162 = __nv_bfloat162;
using __hip_bfloat16_raw = __nv_bfloat16_raw;
using __hip_bfloat162_raw = __nv_bfloat162_raw;
