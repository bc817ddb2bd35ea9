// What /proc and /sys say of the processor.
#pragma once

#include <string>
#include <vector>

namespace kp {

struct Cpu {
    std::string model;              // "AMD EPYC 9965 ..."
    std::string flags;              // instruction set flags, as the kernel lists them
    std::vector<int> cores;         // one logical processor of each physical core in our affinity mask
    int l2_bytes = 0;               // of one core
    long last_level_bytes = 0;
    int khz = 0;                    // highest clock known, 0 if unknown
};

const Cpu& cpu();

}  // namespace kp
