// A change to the preprocessed text: bytes [begin, end) become `text`.
#pragma once

#include <cstddef>
#include <string>

namespace kp {

struct Edit {
    std::size_t begin, end;
    std::string text;
};

}  // namespace kp
