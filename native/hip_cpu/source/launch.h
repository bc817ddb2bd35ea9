// A kernel launch, ready to run: its thunk, its packed arguments and its shape.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "group.h"
#include "recording.h"

namespace kp {

// Must match include/kernelperf_cpu/launch.h.
struct Launch {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    unsigned zero;
    void (*run_groups)(const Launch*, std::uint64_t first, std::uint64_t count, GroupEntry entry, void* context, const char* kernel);
};

using Thunk = void (*)(const void* arguments, std::uint64_t first_group, std::uint64_t groups, const Launch* launch);

// How long a launch takes on one core, learned from its first few and then kept: whether it is shared among cores must not
// change while it is measured, and must not hang on what else the machine does.
struct Pace {
    std::atomic<std::uint64_t> groups{0};  // of the launches that this holds for
    std::atomic<unsigned> launches{0};     // learned from
    std::atomic<float> alone_ns{0};        // the quickest on one core

    void forget(std::uint64_t new_groups) {
        groups.store(new_groups, std::memory_order_relaxed);
        launches.store(0, std::memory_order_relaxed);
        alone_ns.store(0, std::memory_order_relaxed);
    }
};

struct KernelCall {
    Thunk thunk = nullptr;
    const KnownKernel* kernel = nullptr;
    Launcher launcher;
    Launch launch{};
    std::uint64_t groups = 0;
    Pace* pace = nullptr;  // the kernel's, kept by its module; a graph's nodes have one for their code and shape
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
        kernel = other.kernel;
        launcher = other.launcher;
        launch = other.launch;
        groups = other.groups;
        pace = other.pace;
        set_arguments(other.argument_bytes);
        std::memcpy(arguments(), const_cast<KernelCall&>(other).arguments(), argument_bytes);
        return *this;
    }

private:
    std::unique_ptr<unsigned char[]> outside_;
    alignas(16) unsigned char inside_[64];
};

// Run it on this thread and the pool's; returns when all workgroups are done.
void execute(KernelCall& call);

}  // namespace kp
