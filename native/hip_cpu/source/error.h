// Error codes on their way out: each thread remembers its last one.
#pragma once

#include "hip_abi.h"

namespace kp {

// Remember `error` for hipGetLastError (success and not_ready are no errors), and return it.
int kept(int error);

}  // namespace kp
