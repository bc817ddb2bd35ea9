// Recording of launches (hip_common/trace.h): what ran, when, and by which call. Costs one relaxed load while it is off.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace kp {

struct KernelCall;

// A kernel of some code, known for the rest of the process: graphs and records outlive modules.
struct KnownKernel {
    std::uint64_t number;  // from 1
    std::string name;      // its symbol
    std::string identity;  // the same for the same kernel of the same bytes
    std::size_t shared_bytes;  // static
};
const KnownKernel* know_kernel(const std::string& identity, const std::string& name, std::size_t shared_bytes);

// The call that launches: its number and thread; zeros while nothing is recorded.
struct Launcher {
    std::uint64_t call = 0;
    std::uint64_t thread = 0;
};

extern std::atomic<bool> recording_is_on;
inline bool recording() { return recording_is_on.load(std::memory_order_relaxed); }

Launcher make_launcher();
inline Launcher launcher() { return recording() ? make_launcher() : Launcher{}; }

// Where a launch runs: its stream, and the graph and node that it is part of (zeros: none).
struct Place {
    std::uint64_t stream = 0;
    std::uint64_t graph = 0;
    std::uint64_t node = 0;
};

// Run it, and keep a record.
void execute_recorded(KernelCall& call, const Launcher& launcher, const Place& place);

}  // namespace kp
