// The vector types are part of hip_runtime.h here.
#pragma once
#include "hip_runtime.h"
