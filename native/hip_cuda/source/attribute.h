// HIP's device attributes in terms of CUDA's.
#pragma once

namespace kp {

// CUDA's number for one of HIP's attributes; 0 where the value is not CUDA's to say (attribute_of), -1 for no attribute.
int cuda_attribute(int hip);

// An attribute's value for a device that exists, as a HIP error.
int attribute_of(int* value, int hip, int device);

}  // namespace kp
