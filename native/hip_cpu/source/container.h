// The code object that hiprtcGetCode returns and hipModuleLoadData takes; little-endian.
#pragma once

#include <cstdint>

namespace kp {

// Followed by a linked ELF shared object (to be loaded) and the ELF relocatable it was linked from (to be read: each
// kernel's instructions in their own section). For a kernel <name>, as hipModuleGetFunction takes it, both define
//   kernelperf_thunk_<name>       runs a range of workgroups
//   kernelperf_parameters_<name>  16 bytes a parameter: kind ('p' pointer, 'i' signed, 'u' unsigned, 'f' float, 'b' bool,
//                                 's' struct), kind of what a pointer points to ('?' not known), u16 alignment, u32 size,
//                                 u32 size of what a pointer points to, u32 zero; the symbol's size tells how many
struct ContainerHeader {
    char magic[8];  // "KPCPUOBJ"
    std::uint32_t version;
    std::uint32_t zero;
    std::uint64_t total_bytes;
    std::uint64_t shared_offset;
    std::uint64_t shared_bytes;
    std::uint64_t relocatable_offset;
    std::uint64_t relocatable_bytes;
};

constexpr char container_magic[9] = "KPCPUOBJ";
constexpr std::uint32_t container_version = 1;

}  // namespace kp
