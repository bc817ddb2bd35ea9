#pragma once
#include <hip/hip_runtime.h>

#define HIP_INF_F __builtin_huge_valf()
#define HIP_NAN_F __builtin_nanf("")
#define HIP_MAX_NORMAL_F 3.402823466e38f
#define HIP_PI_F 3.141592654f
#define HIP_INF __builtin_huge_val()
#define HIP_NAN __builtin_nan("")
#define HIP_PI 3.1415926535897931
