// The older name of the same type: hip_bfloat16.
#pragma once

#include "hip_bf16.h"

using hip_bfloat16 = __hip_bfloat16;
