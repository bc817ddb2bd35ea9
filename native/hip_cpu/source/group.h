// Workgroups whose threads wait for each other, run as fibres: barriers and wave operations.
//
// Threads run one after the other, each until it waits. Within a wave of 32, those that wait at the same place (site) for a
// wave operation go on together once every other lane of the wave waits too or has ended: the lockstep of a GPU's wave.
// Of several places the one with the lowest number comes first (see source/group_use.h). A barrier opens when all threads
// that have not ended wait at one; whole waves may have ended. Anything else can never go on, and the launch fails.
#pragma once

#include <cstdint>
#include <string>

namespace kp {

struct Launch;

// Must match include/kernelperf_cpu/group.h.
struct Group {
    std::uint64_t (*exchange)(Group*, unsigned kind, unsigned site, std::uint64_t value, unsigned source);
    int (*barrier)(Group*, unsigned kind, unsigned site, int predicate);
    void (*fail)(Group*, const char* file, int line, const char* condition);
    void* dynamic_shared;
    unsigned block[3];
    unsigned thread;
    unsigned serial;
    void (*fence)(Group*, void* variable, unsigned bytes, const char* name);
};

// Bytes on both sides of a fenced variable; its serial number takes the first four.
constexpr unsigned fence_bytes = 128;

// Runs thread group->thread of workgroup group->block.
using GroupEntry = void (*)(void* context, Group* group);

// A fault has led out of the workgroups that this OS thread was running, if it was running any as fibres: these begin anew.
void abandon_groups();
// Of a fault on this OS thread, before that: what to say if a fibre's stack has run over, else "".
std::string stack_run_over(const void* address, const void* stack_pointer);
// Where an address lies that is past a launch's dynamic shared memory: "4 bytes past the end of ... of 256 bytes"; else "".
std::string beside_shared_memory(const void* address, unsigned shared_bytes);

// Run workgroups first ... first + count - 1 of a launch on this OS thread. A failure is reported (problem.h), and the
// workgroups behind it are left out.
void run_groups(const Launch* launch, std::uint64_t first, std::uint64_t count, GroupEntry entry, void* context, const char* kernel);

}  // namespace kp
