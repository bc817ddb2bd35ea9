// What each kernel of a relocatable object uses of a workgroup's shared memory, read from what its instructions refer to.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace kp {

// Kernel name to bytes of static shared memory: __shared__ variables are thread-local here (group_use.h), and so are told
// from all others. Variables that only functions of the kernel use count too. Empty for what is no such object.
std::map<std::string, std::size_t> shared_bytes_of(std::string_view relocatable);

}  // namespace kp
