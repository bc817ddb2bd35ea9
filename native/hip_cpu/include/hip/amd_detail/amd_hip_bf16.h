// Part of hip_bf16.h here.
#pragma once
#include "../hip_bf16.h"
