#pragma once
#include <kernelperf_cuda/device.h>
