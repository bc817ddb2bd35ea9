#include "recording.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>

#include "export.h"
#include "launch.h"
#include "trace.h"
#include "wait.h"

namespace kp {

std::atomic<bool> recording_is_on{false};

namespace {

// Records are kept in chunks, since growing one array would stop a stream to copy all of it.
constexpr std::size_t chunk_records = 4096;

struct Recording {
    std::mutex mutex;
    bool on = false;
    std::uint64_t epoch = 0;  // of this recording: a launch that began in an earlier one does not belong to it
    std::size_t capacity = 0;
    std::size_t kept = 0;   // of this recording, taken ones too
    std::size_t taken = 0;  // of the first chunk
    std::size_t filled = 0;  // of the last chunk
    std::uint64_t lost = 0;
    std::deque<std::unique_ptr<kernelperf_dispatch[]>> chunks;
};

// Never destroyed: stream threads may be running when the process ends.
Recording& state() {
    static auto* all = new Recording;
    return *all;
}

std::atomic<std::uint64_t> epoch_now{0};
std::atomic<std::uint64_t> calls{0};

thread_local std::string problem;

int refused(const char* sentence) {
    problem = sentence;
    return 1;
}

struct Kernels {
    std::mutex mutex;
    std::deque<KnownKernel> all;
    std::unordered_map<std::string, const KnownKernel*> by_identity;
};
Kernels& kernels() {
    static auto* all = new Kernels;
    return *all;
}

// Nanoseconds since the machine was started, as AMD's profiler has them; where that clock is not to be had, those of the
// clock that all else here uses.
std::uint64_t record_ns() {
    static const bool boot_time = [] {
        timespec t;
        return clock_gettime(CLOCK_BOOTTIME, &t) == 0;
    }();
    if (!boot_time) return static_cast<std::uint64_t>(now_ns());
    timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000000 + static_cast<std::uint64_t>(t.tv_nsec);
}

void keep(const kernelperf_dispatch& record, std::uint64_t epoch) {
    Recording& all = state();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (all.epoch != epoch) return;
    if (!all.on || all.kept >= all.capacity) {
        ++all.lost;
        return;
    }
    if (all.chunks.empty() || all.filled == chunk_records) {
        std::unique_ptr<kernelperf_dispatch[]> chunk(new (std::nothrow) kernelperf_dispatch[chunk_records]);
        if (!chunk) {
            ++all.lost;
            return;
        }
        all.chunks.push_back(std::move(chunk));
        all.filled = 0;
    }
    all.chunks.back()[all.filled++] = record;
    ++all.kept;
}

}  // namespace

const KnownKernel* know_kernel(const std::string& identity, const std::string& name, std::size_t shared_bytes) {
    Kernels& known = kernels();
    const std::lock_guard<std::mutex> lock(known.mutex);
    const KnownKernel*& found = known.by_identity[identity];
    if (found == nullptr) {
        known.all.push_back({known.all.size() + 1, name, identity, shared_bytes});
        found = &known.all.back();
    }
    return found;
}

Launcher make_launcher() {
    static thread_local const auto thread = static_cast<std::uint64_t>(syscall(SYS_gettid));
    return {calls.fetch_add(1, std::memory_order_relaxed) + 1, thread};
}

void execute_recorded(KernelCall& call, const Launcher& launcher, const Place& place) {
    const std::uint64_t epoch = epoch_now.load(std::memory_order_acquire);
    kernelperf_dispatch record{};
    record.kernel = call.kernel->number;
    record.stream = record.queue = place.stream;
    record.correlation = launcher.call;
    record.thread = launcher.thread;
    record.graph_exec = place.graph;
    record.graph_node = place.node;
    std::copy_n(call.launch.grid, 3, record.workgroups);
    std::copy_n(call.launch.block, 3, record.block);
    record.static_shared_bytes = static_cast<std::uint32_t>(call.kernel->shared_bytes);
    record.dynamic_shared_bytes = call.launch.shared_bytes;
    record.start_ns = record_ns();
    execute(call);
    record.end_ns = record_ns();
    keep(record, epoch);
}

}  // namespace kp

using namespace kp;

KP_EXPORT int kernelperfTraceStart(std::size_t capacity) {
    Recording& all = state();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (all.on) return refused("launches are being recorded already: stop that first");
    all.chunks.clear();
    all.kept = all.taken = all.filled = 0;
    all.lost = 0;
    all.capacity = capacity != 0 ? capacity : KERNELPERF_TRACE_CAPACITY;
    all.on = true;
    epoch_now.store(++all.epoch, std::memory_order_release);
    recording_is_on.store(true, std::memory_order_release);
    problem.clear();
    return 0;
}

KP_EXPORT int kernelperfTraceStop(void) {
    Recording& all = state();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (!all.on) return refused("launches are not being recorded: start that first");
    recording_is_on.store(false, std::memory_order_release);
    all.on = false;
    problem.clear();
    return 0;
}

KP_EXPORT const char* kernelperfTraceProblem(void) { return problem.c_str(); }

KP_EXPORT std::size_t kernelperfTraceTake(kernelperf_dispatch* out, std::size_t capacity) {
    problem.clear();
    Recording& all = state();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (all.on) return refused("launches are still being recorded: stop that first"), 0;
    if (out == nullptr) return capacity != 0 ? (refused("there is no place to copy dispatches to"), 0) : 0;
    std::size_t done = 0;
    while (done < capacity && !all.chunks.empty()) {
        const std::size_t end = all.chunks.size() == 1 ? all.filled : chunk_records;
        const std::size_t count = std::min(end - all.taken, capacity - done);
        std::copy_n(all.chunks.front().get() + all.taken, count, out + done);
        done += count;
        all.taken += count;
        if (all.taken < end) break;
        all.chunks.pop_front();
        all.taken = 0;
    }
    return done;
}

KP_EXPORT std::uint64_t kernelperfTraceLost(void) {
    Recording& all = state();
    const std::lock_guard<std::mutex> lock(all.mutex);
    return all.lost;
}

KP_EXPORT const char* kernelperfTraceKernelName(std::uint64_t kernel) {
    Kernels& known = kernels();
    const std::lock_guard<std::mutex> lock(known.mutex);
    return kernel >= 1 && kernel <= known.all.size() ? known.all[kernel - 1].name.c_str() : nullptr;
}
