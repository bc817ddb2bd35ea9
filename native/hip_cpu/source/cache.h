// Compiled kernels on disk, by content; safe with several processes, since files appear whole or not at all.
#pragma once

#include <string>
#include <vector>

namespace kp {

struct Compiled {
    std::string object;                // the container (container.h)
    std::string log;                   // the compiler's words, warnings too
    std::vector<std::string> lowered;  // names of the name expressions, in order
};

// Folder of the cache, or "" where there is no home to put it in.
std::string cache_folder();

bool cache_read(const std::string& key, Compiled& compiled);
void cache_write(const std::string& key, const Compiled& compiled);  // failing to write is no failure

}  // namespace kp
