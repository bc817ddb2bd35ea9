// Part of hip_fp16.h here.
#pragma once
#include "../hip_fp16.h"
