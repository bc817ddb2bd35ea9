// Source text to code object: preprocess, rewrite, compile, name, assemble, link.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cache.h"

namespace kp {

struct Source {
    std::string text;
    std::string name;                                          // as the user calls the file
    std::vector<std::pair<std::string, std::string>> headers;  // include name, text
    std::vector<std::string> options;
    std::vector<std::string> name_expressions;
};

enum class Outcome { compiled, refused, bad_option, no_compiler, bad_input, failed };

// `compiled.log` says what went wrong.
Outcome compile(const Source& source, Compiled& compiled);

}  // namespace kp
