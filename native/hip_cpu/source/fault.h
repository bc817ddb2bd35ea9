// Faults of a kernel (an address that is not there, a division by zero, a trap) become a reported problem instead of the
// process's end.
//
// The signal's handler leaves the kernel by a jump to where its workgroups were begun: the launch has failed, as on a GPU.
// What a stray write hit before is not undone, so whoever asked is best off with a fresh process after such an error.
#pragma once

#include <cstdint>

#include "launch.h"

namespace kp {

// Run workgroups first ... first + count - 1 of a launch on this thread. A fault ends them, and is reported (problem.h).
void run_caught(KernelCall& call, std::uint64_t first, std::uint64_t count);

}  // namespace kp
