// HIP's device side as NVRTC compiles it. The library includes this in front of every source, as AMD's hiprtc does.
#pragma once
#include <kernelperf_cuda/device.h>
