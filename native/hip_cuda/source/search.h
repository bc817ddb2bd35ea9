// Where the libraries that are opened at run time lie: settings, CUDA toolkits, wheels.
#pragma once

#include <string>
#include <vector>

namespace kp {

// An environment variable, or null where it is unset or empty.
const char* setting(const char* name);

// The folder of a path.
std::string parent(const std::string& path);

bool readable(const std::string& path);

// The folders in a setting, colons between them.
std::vector<std::string> folders_of(const char* name);

// <stem>.so and <stem>.so.<number> of a folder, the highest number first. (Not <stem>.alt.so.<number>.)
std::vector<std::string> libraries_in(const std::string& folder, const std::string& stem);

// Where a CUDA toolkit lies that nobody named.
constexpr const char* default_toolkit = "/usr/local/cuda";

// The roots of CUDA toolkits that may be here: $CUDA_HOME, $CUDA_PATH, /usr/local/cuda.
std::vector<std::string> toolkits();

}  // namespace kp
