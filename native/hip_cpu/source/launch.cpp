#include "launch.h"

#include <algorithm>

#include "pool.h"
#include "wait.h"

namespace kp {
namespace {

// Below this much work on one core, sharing costs more (cache lines travel, a few hundred ns) than it saves.
constexpr double alone_ns = 3'000;
// Above this, it is worth ringing for sleeping helpers.
constexpr double wake_ns = 20'000;
// Least work of a participant and of a chunk.
constexpr double participant_ns = 1'500, chunk_ns = 750;

// Early launches are timed, then one in eight: reading the clock costs about as much as an empty launch.
bool timed(unsigned launches) { return launches < 16 || launches % 8 == 0; }

void learn(Pace& pace, unsigned launches, std::int64_t ns, std::uint64_t groups) {
    if (groups == 0) return;
    const float sample = std::max(0.01f, static_cast<float>(ns) / static_cast<float>(groups));
    const float before = pace.ns_per_group.load(std::memory_order_relaxed);
    // The first launch runs on cold caches and tells little: the second replaces it.
    pace.ns_per_group.store(launches <= 1 ? sample : before + (sample - before) / 8, std::memory_order_relaxed);
}

}  // namespace

void execute(KernelCall& call) {
    Pool& pool = Pool::get();
    Pace& pace = call.pace != nullptr ? *call.pace : call.own_pace;
    const unsigned launches = pace.launches.load(std::memory_order_relaxed);
    const bool clock = timed(launches);
    const std::int64_t begin = clock ? now_ns() : 0;
    std::int64_t end = 0;
    std::uint64_t mine = 0;
    const double expected_ns =
        launches > 0 ? static_cast<double>(pace.ns_per_group.load(std::memory_order_relaxed)) * static_cast<double>(call.groups) : 1e9;
    bool shared = false;
    if (pool.size() > 1 && call.groups > 1 && expected_ns >= alone_ns) {
        const double most = pool.size();
        const auto participants = static_cast<unsigned>(std::clamp(expected_ns / participant_ns, 2.0, most));
        const auto chunks = static_cast<unsigned>(std::clamp(expected_ns / participants / chunk_ns, 1.0, 8.0));
        shared = pool.run(call, participants, chunks, expected_ns >= wake_ns, mine, clock ? &end : nullptr);
    }
    if (!shared) {
        call.thunk(call.arguments(), 0, call.groups, &call.launch);
        mine = call.groups;
        if (clock) end = now_ns();
    }
    if (clock) learn(pace, launches, end - begin, mine);
    pace.launches.store(launches + 1, std::memory_order_relaxed);
}

}  // namespace kp
