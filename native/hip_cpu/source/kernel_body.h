// What a kernel's body lets the launch code do for speed, and the edits to the body that go with it.
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
    std::string traits = "Plain";  // a type of launch.h
    std::string divisor;
    std::vector<BodyEdit> edits;
};

// Tokens: parameters between ( and ), body between { and }.
BodyFacts read_body(std::string_view text, const Tokens& tokens, std::size_t parameters_open, std::size_t parameters_close,
                    std::size_t open, std::size_t close);

}  // namespace kp
