// Device code needs none of the host's calls; this header is here so that shared headers may include it.
#pragma once
#include "hip_runtime.h"
