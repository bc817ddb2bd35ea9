#include "launch.h"

#include <algorithm>

#include "fault.h"
#include "pool.h"
#include "wait.h"

namespace kp {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

// Below this much work on one core, sharing costs about as much (cache lines travel between cores) as it saves.
constexpr double alone_ns = 2'500;
// A launch that takes this long on all cores is shared without a try on one.
constexpr double surely_shared_ns = 20'000'000;
// A launch is first spread out, as nothing is known of it; so many more then run on one core, and the quickest counts,
// since a launch that was disturbed says nothing of the kernel.
constexpr unsigned decided_after = 4;
// Ringing for sleeping helpers costs a few microseconds each: worth it for so much work, in one launch or in several.
constexpr double wake_ns = 30'000;
// Least work of a participant and of a chunk.
constexpr double participant_ns = 1'250, chunk_ns = 750;

// Work that helpers could have shared had they been awake, on this stream's thread.
thread_local double missed_ns = 0;

Pool::Plan plan_of(double expected_ns, unsigned cores) {
    Pool::Plan plan;
    plan.participants = static_cast<unsigned>(std::clamp(expected_ns / participant_ns, 2.0, static_cast<double>(cores)));
    plan.chunks_each = static_cast<unsigned>(std::clamp(expected_ns / plan.participants / chunk_ns, 1.0, 8.0));
    plan.wake = expected_ns >= wake_ns || missed_ns >= wake_ns;
    return plan;
}

void run_alone(KernelCall& call) { run_caught(call, 0, call.groups); }

// One of the launches that are learned from.
void learn(KernelCall& call, Pace& pace, unsigned launches) {
    Pool& pool = Pool::get();
    const std::int64_t begin = now_ns();
    const bool shared = launches == 0 && pool.run(call, {pool.size(), 8, true});
    if (!shared) run_alone(call);
    const auto ns = static_cast<float>(now_ns() - begin);
    if (shared) {
        if (ns < surely_shared_ns) return pace.launches.store(1, relaxed);
        pace.alone_ns.store(ns * static_cast<float>(pool.size()), relaxed);
        return pace.launches.store(decided_after, relaxed);
    }
    const float before = pace.alone_ns.load(relaxed);
    pace.alone_ns.store(before == 0 ? ns : std::min(before, ns), relaxed);
    pace.launches.store(launches + 1, relaxed);
}

}  // namespace

void execute(KernelCall& call) {
    Pool& pool = Pool::get();
    if (pool.size() == 1 || call.groups == 1) return run_alone(call);
    Pace& pace = *call.pace;
    if (pace.groups.load(relaxed) != call.groups) pace.forget(call.groups);
    const unsigned launches = pace.launches.load(relaxed);
    if (launches < decided_after) return learn(call, pace, launches);
    const double expected_ns = pace.alone_ns.load(relaxed);
    if (expected_ns < alone_ns) return run_alone(call);
    if (pool.run(call, plan_of(expected_ns, pool.size()))) {
        missed_ns = 0;
        return;
    }
    missed_ns += expected_ns;
    run_alone(call);
}

}  // namespace kp
