// Gives thunks their kernels' names: reads the mangled names out of the compiler's assembly and puts them in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kp {

struct Renamed {
    std::string text;
    std::vector<std::string> kernels;      // by number: the name hipModuleGetFunction takes
    std::vector<std::string> expressions;  // by number: lowered names
    std::string error;
};

Renamed name_kernels(std::string_view assembly, int kernels, int expressions);

}  // namespace kp
