// Gives thunks their kernels' names: reads the mangled names out of the compiler's assembly and puts them in.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kp {

struct Renamed {
    std::string text;
    std::vector<std::string> kernels;      // by number: the name hipModuleGetFunction takes
    std::vector<std::string> expressions;  // by number: lowered names
    std::vector<std::pair<std::size_t, std::size_t>> same;  // numbers of kernels of one and the same name
    std::string error;
};

Renamed name_kernels(std::string_view assembly, int kernels, int expressions);

}  // namespace kp
