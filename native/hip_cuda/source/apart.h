// Compiling in a process of its own, for options that NVRTC does not forget.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hiprtc.h"

namespace kp {

// Whether an option stays behind in NVRTC. After one program with --restrict, NVRTC 13.0 compiles all later programs of
// the process so, asked for or not; and its cache does not tell code made with it from code made without.
bool stays_behind(const std::string& option);

// Fork, compile in the child, and take over what that leaves in the program; an RtcResult.
int compile_apart(Program& program, const std::function<int(Program&)>& compile);

}  // namespace kp
