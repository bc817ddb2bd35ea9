// HIP's half precision is CUDA's: the same names, the same roundings.
#pragma once
#include <kernelperf_cuda/device.h>
#if __has_include(<cuda_fp16.h>)
#include <cuda_fp16.h>
#else
#error "half precision needs CUDA's cuda_fp16.h: install the CUDA toolkit or the nvidia-cuda-runtime wheel of NVRTC's version"
#endif
