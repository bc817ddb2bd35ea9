// Turns preprocessed HIP source into plain C++ with one thunk per kernel.
//
//   template <class T> __global__ void scale(T* x) { x[threadIdx.x] *= 2; }
// becomes
//   template <class T> void scale(T* x);                                     declared only: its mangled name is HIP's
//   template <class T> static inline void kp_kernel_scale(const ::kp::Index kp_index, T* x) { ... }
// and each kernel that can be launched, here by the name expression "scale<float>", gets
//   a thunk `kernelperf_thunk_KP0_`, a parameter table `kernelperf_parameters_KP0_`, and a pointer `kp_name_KP0_` to the
//   declared-only function, from which the compiler's assembly tells the mangled name (see assembly.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kp {

struct Rewritten {
    std::string text;
    std::string error;  // "file:line: error: sentence", or empty
    int kernels = 0;    // numbered KP0_ ...
    std::vector<std::string> defined;  // of each kernel that is no template: "file:line", a newline and its name; "" for instantiations
    int expressions = 0;  // numbered KPE0_ ..., in the order given
};

// `pragma`: see read_body in kernel_body.h.
// `fences`: see group_use.h.
Rewritten rewrite(std::string_view preprocessed, const std::vector<std::string>& name_expressions, const std::string& pragma, bool fences);

}  // namespace kp
