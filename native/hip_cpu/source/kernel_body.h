// What a kernel's body lets the launch code do for speed, and the edits to the body that go with it.
//
// Some shapes are common in GPU code and, taken thread by thread, hide from a host compiler that neighbouring threads touch
// neighbouring elements:
//
//   for (int c = threadIdx.x; c < n; c += blockDim.x) ...     "strided": each thread takes every 256th element
//       One thread may run the iterations of its whole workgroup, in order, as a plain loop over 0 ... n - 1, if an
//       iteration depends on its thread in no other way than by c.
//   const int i = blockIdx.x * blockDim.x + threadIdx.x;      "segmented": the index is taken apart into row and column
//   ... i / columns ... i % columns ...
//       Threads may be run in segments in which i / columns does not change.
//   if (i >= n) return;  or, around all the rest:  if (i < n) ...     "limited"
//       Threads beyond n need not be run.
//   blockIdx.x * blockDim.x + threadIdx.x, and none of the three on its own     "linear"
//       Neighbouring workgroups may be run as one.
//
// The reading is cautious: anything it does not recognise leaves the kernel as written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "token.h"

namespace kp {

struct BodyEdit {
    std::size_t begin, end;  // bytes of the preprocessed text
    std::string text;
};

struct BodyFacts {
    bool strided = false;
    bool linear = false;
    std::string limit;         // limited: the expression for n; else ""
    std::string limit_type;    // that it is converted to first; "" for none
    std::string limited_type;  // of i; "auto" for unsigned
    std::string divisor;  // segmented: the token that the index is divided by; else ""
    std::vector<BodyEdit> edits;
};

// Tokens: parameters between ( and ), body between { and }. `pragma` tells the compiler that the iterations of the loop
// below it do not depend on each other.
BodyFacts read_body(std::string_view text, const Tokens& tokens, const std::string& pragma, std::size_t parameters_open,
                    std::size_t parameters_close, std::size_t open, std::size_t close);

}  // namespace kp
