#include "launch.h"

#include <algorithm>

#include "pool.h"
#include "wait.h"

namespace kp {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

// Below this much work on one core, sharing costs more (cache lines travel between cores) than it saves.
constexpr double alone_ns = 2'500;
// Above this much, sharing pays without trying; above the other, a launch is not even tried alone.
constexpr double surely_shared_ns = 200'000, never_alone_ns = 20'000'000;
// Ringing for sleeping helpers costs a few microseconds each: worth it for so much work, in one launch or in several.
constexpr double wake_ns = 30'000;
// Least work of a participant and of a chunk.
constexpr double participant_ns = 1'250, chunk_ns = 750;
// After this many shared launches it is decided whether sharing pays; if not, it is tried again after so many more.
constexpr unsigned decided_after = 24, tried_again_after = 2'000;
constexpr double must_save = 0.95;
// A graph's nodes of less work than this run on one core even where the graph runs on several.
constexpr double node_alone_ns = 1'000;

// Early launches are timed, then one in eight: reading the clock costs about as much as an empty launch.
bool timed(unsigned launches) { return launches < 32 || launches % 8 == 0; }

// A moving mean in which one disturbed launch does not count for much.
void learn(std::atomic<float>& mean, double ns, std::uint64_t groups) {
    const auto sample = static_cast<float>(std::max(0.001, ns / static_cast<double>(groups)));
    const float before = mean.load(relaxed);
    mean.store(before == 0 ? sample : before + (std::min(sample, 2 * before) - before) / 8, relaxed);
}

// Work that helpers could have shared had they been awake, on this stream's thread.
thread_local double missed_ns = 0;

enum class Way { alone, shared, first };

// A kernel's first launch is spread out, as nothing is known of it. The next two run alone, unless it is long, to learn
// what sharing has to beat.
Way choose(const Pace& pace, const KernelCall& call, unsigned launches, unsigned cores) {
    if (cores == 1 || call.groups == 1) return Way::alone;
    if (launches == 0) return Way::first;
    const double expected = static_cast<double>(pace.alone.load(relaxed)) * static_cast<double>(call.groups);
    if (launches <= 2) return expected < never_alone_ns ? Way::alone : Way::shared;
    if (expected > surely_shared_ns) return Way::shared;
    return expected < alone_ns || launches < pace.alone_until.load(relaxed) ? Way::alone : Way::shared;
}

Pool::Plan plan_of(Way way, double expected_ns, unsigned cores) {
    if (way == Way::first) return {cores, 8, true};
    Pool::Plan plan;
    plan.participants = static_cast<unsigned>(std::clamp(expected_ns / participant_ns, 2.0, static_cast<double>(cores)));
    plan.chunks_each = static_cast<unsigned>(std::clamp(expected_ns / plan.participants / chunk_ns, 1.0, 8.0));
    plan.wake = expected_ns >= wake_ns || missed_ns >= wake_ns;
    return plan;
}

void judge_sharing(Pace& pace, unsigned launches) {
    if (launches % decided_after != 0 || pace.shared.load(relaxed) == 0) return;
    if (pace.shared.load(relaxed) > must_save * pace.alone.load(relaxed)) {
        pace.alone_until.store(launches + tried_again_after, relaxed);
        pace.shared.store(0, relaxed);
    }
}

}  // namespace

void execute(KernelCall& call) {
    Pool& pool = Pool::get();
    Pace& pace = *call.pace;
    if (pace.groups.load(relaxed) != call.groups) pace.forget(call.groups);
    const unsigned launches = pace.launches.load(relaxed);
    const bool clock = timed(launches);
    const Way way = choose(pace, call, launches, pool.size());
    const std::int64_t begin = clock ? now_ns() : 0;
    bool shared = false;
    if (way != Way::alone) {
        const double expected = static_cast<double>(pace.alone.load(relaxed)) * static_cast<double>(call.groups);
        const Pool::Plan plan = plan_of(way, expected, pool.size());
        shared = pool.run(call, plan);
        missed_ns = shared ? 0 : missed_ns + expected;
    }
    if (!shared) call.thunk(call.arguments(), 0, call.groups, &call.launch);
    if (clock) {
        const auto ns = static_cast<double>(now_ns() - begin);
        // Of a first, shared launch: as if all cores had worked through.
        if (way == Way::first) learn(pace.alone, shared ? ns * pool.size() : ns, call.groups);
        else if (launches == 1 && !shared) pace.alone.store(0, relaxed), learn(pace.alone, ns, call.groups);
        else learn(shared ? pace.shared : pace.alone, ns, call.groups);
    }
    if (shared && way == Way::shared && static_cast<double>(pace.alone.load(relaxed)) * static_cast<double>(call.groups) <= surely_shared_ns)
        judge_sharing(pace, launches);
    pace.launches.store(launches + 1, relaxed);
}

void execute(KernelCall& call, unsigned cores, std::atomic<float>& alone, bool learning) {
    if (cores > 1 && call.groups > 1) {
        const float known = alone.load(relaxed);
        const double expected = known == 0 ? 1e9 : static_cast<double>(known);
        const auto chunks = static_cast<unsigned>(std::clamp(expected / cores / chunk_ns, 1.0, 8.0));
        if (expected >= node_alone_ns && Pool::get().run(call, {cores, chunks, true})) return;
    }
    const std::int64_t begin = learning ? now_ns() : 0;
    call.thunk(call.arguments(), 0, call.groups, &call.launch);
    if (learning) learn(alone, static_cast<double>(now_ns() - begin), 1);
}

unsigned cores_for_launches() { return Pool::get().size(); }

}  // namespace kp
