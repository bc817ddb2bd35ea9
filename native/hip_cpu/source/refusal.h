// What GPU code uses and no host has: found by name in the user's own text, and refused with a sentence.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "token.h"

namespace kp {

// The first token that the cpu runtime refuses, with what to say of it; tokens.list.size() if there is none. `ours`: whether
// each file is one of the device headers, which may use anything.
std::size_t find_refused(const Tokens& tokens, const std::vector<bool>& ours, std::string& sentence);

}  // namespace kp
