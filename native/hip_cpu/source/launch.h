// A kernel launch, ready to run: its thunk, its packed arguments and its shape.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

namespace kp {

// Must match include/kernelperf_cpu/launch.h.
struct Launch {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
};

using Thunk = void (*)(const void* arguments, std::uint64_t first_group, std::uint64_t groups, const Launch* launch);

// What is known of a kernel's speed: how long one workgroup takes on one core. Two streams may run the same kernel, and a
// lost update does no harm.
struct Pace {
    std::atomic<float> ns_per_group{0};
    std::atomic<unsigned> launches{0};
    Pace() = default;
    Pace(const Pace& other) { *this = other; }
    Pace& operator=(const Pace& other) {
        ns_per_group.store(other.ns_per_group.load(std::memory_order_relaxed), std::memory_order_relaxed);
        launches.store(other.launches.load(std::memory_order_relaxed), std::memory_order_relaxed);
        return *this;
    }
};

struct KernelCall {
    Thunk thunk = nullptr;
    Launch launch{};
    std::uint64_t groups = 0;
    Pace* pace = nullptr;  // the kernel's, kept by its module; a graph's node has its own
    Pace own_pace;
    std::uint32_t argument_bytes = 0;

    void set_arguments(std::uint32_t bytes) {
        argument_bytes = bytes;
        if (bytes > sizeof inside_) outside_ = std::make_unique<unsigned char[]>(bytes);
    }
    unsigned char* arguments() { return outside_ ? outside_.get() : inside_; }

    KernelCall() = default;
    KernelCall(const KernelCall& other) { *this = other; }
    KernelCall& operator=(const KernelCall& other) {
        thunk = other.thunk;
        launch = other.launch;
        groups = other.groups;
        pace = other.pace;
        own_pace = other.own_pace;
        set_arguments(other.argument_bytes);
        std::memcpy(arguments(), const_cast<KernelCall&>(other).arguments(), argument_bytes);
        return *this;
    }

private:
    std::unique_ptr<unsigned char[]> outside_;
    alignas(16) unsigned char inside_[128];
};

// Run it on this thread and the pool's; returns when all workgroups are done.
void execute(KernelCall& call);

}  // namespace kp
