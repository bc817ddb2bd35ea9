// Which host C++ compiler turns kernels into machine code.
#pragma once

#include <string>
#include <vector>

namespace kp {

struct Compiler {
    std::string path;         // absolute; "" if there is none
    std::string name;         // "g++ 12.2.0", "clang++ 19.1.7"
    std::string version;      // the first line of --version
    bool is_clang = false;
    bool keeps_endless_loops = false;  // knows -fno-finite-loops
    bool warns_of_its_own_flags = false;  // of those that every kernel gets, unless told not to
    std::string problem;      // one sentence if there is none
};

// $KERNELPERF_CXX, else clang++ if it works, else g++, else c++; found once per process.
const Compiler& compiler();

// Flags for every kernel, without the language standard.
std::vector<std::string> code_flags(const Compiler& compiler);

}  // namespace kp
