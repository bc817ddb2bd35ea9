// The one device: this host's cores.
#pragma once

#include <cstddef>

namespace kp {

constexpr int max_threads_per_block = 1024;
constexpr unsigned max_block[3] = {1024, 1024, 1024};
constexpr unsigned max_grid[3] = {2147483647, 65535, 65535};
constexpr std::size_t max_shared_bytes = 65536;
constexpr int warp_size = 32;
constexpr int hip_version = 70000000;  // major * 10,000,000 + minor * 100,000 + patch

}  // namespace kp
