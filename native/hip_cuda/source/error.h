// From CUDA's result codes to HIP's, and what each thread remembers of its last failure.
#pragma once

namespace kp {

// HIP's numbers that we return of our own accord.
constexpr int success = 0, invalid_value = 1, invalid_configuration = 9, invalid_memcpy_direction = 21, insufficient_driver = 35,
              no_device = 100, invalid_device = 101, not_ready = 600, not_supported = 801, unknown_error = 999;

// HIP's number for one of CUDA's. Most are the same; the others go to the HIP error that asks for the same remedy.
int hip_error(int cuda);

// HIP's name for one of its numbers.
const char* hip_error_name(int error);

// Remember a HIP error for hipGetLastError (success and not_ready are no errors), and return it. `cuda` is the code
// that it came from, which hipGetErrorString names where HIP's own words say less.
int kept(int error, int cuda = 0);

}  // namespace kp
