// Recording of kernels (hip_common/trace.h) through CUPTI's activity records.
//
// CUPTI hands out one record per kernel, in buffers, from a thread of its own and in any order; kernels of graphs come
// one by one. Its times are brought to the clock registered here, the system's boot-time clock.
#include "trace.h"

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <tuple>
#include <vector>

#include "context.h"
#include "cupti.h"
#include "export.h"

namespace kp {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;
constexpr std::size_t most_buffers = 128;  // in CUPTI's hands at a time
constexpr std::uint32_t flush_incomplete_too = 1;

// Name, registers, static shared and local bytes: what tells kernels of one name in two code objects apart.
using Kernel = std::tuple<std::string, std::uint32_t, std::uint32_t, std::uint32_t>;

struct Recording {
    std::mutex mutex;
    bool running = false;
    std::size_t most_dispatches = 0;
    std::vector<kernelperf_dispatch> dispatches;
    std::size_t taken = 0;
    std::uint64_t lost = 0;
    std::size_t buffers = 0;
    std::string reading;  // why records could not be read, or empty
    std::map<Kernel, std::uint64_t> kernels;
    std::deque<const char*> names;  // by kernel - 1; the map's own texts, never freed
};

thread_local std::string problem;  // of this thread's last call; empty: none

Recording& recording() {
    static auto* only = new Recording;  // never destroyed: CUPTI hands out buffers while the process ends, too
    return *only;
}

std::uint64_t boot_time_ns() {
    timespec now{};
    if (clock_gettime(CLOCK_BOOTTIME, &now) != 0) clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t kernel_of(Recording& all, const char* name, const kernelperf_dispatch& needs) {
    Kernel kernel{name != nullptr ? name : "", needs.registers, needs.static_shared_bytes, needs.scratch_bytes};
    const auto [entry, added] = all.kernels.emplace(std::move(kernel), all.names.size() + 1);
    if (added) all.names.push_back(std::get<0>(entry->first).c_str());
    return entry->second;
}

void keep(Recording& all, const CuptiKernel& record) {
    // No time could be had (0), or the kernel had not ended when the records were flushed.
    const bool timed = record.start != 0 && record.end >= record.start;
    if (!timed || all.dispatches.size() >= all.most_dispatches) {
        all.lost += 1;
        return;
    }
    kernelperf_dispatch dispatch{};
    dispatch.start_ns = record.start;
    dispatch.end_ns = record.end;
    dispatch.stream = record.stream;
    dispatch.queue = record.channel;
    dispatch.correlation = record.correlation;
    // dispatch.thread stays 0: CUPTI's records of kernels do not say who launched.
    dispatch.graph_exec = record.graph;
    dispatch.graph_node = record.graph_node;
    for (int axis = 0; axis < 3; ++axis) {
        dispatch.workgroups[axis] = static_cast<std::uint32_t>(record.grid[axis]);
        dispatch.block[axis] = static_cast<std::uint32_t>(record.block[axis]);
    }
    dispatch.static_shared_bytes = static_cast<std::uint32_t>(record.static_shared_bytes);
    dispatch.dynamic_shared_bytes = static_cast<std::uint32_t>(record.dynamic_shared_bytes);
    dispatch.registers = record.registers_per_thread;
    dispatch.scratch_bytes = record.local_bytes_per_thread;
    dispatch.kernel = kernel_of(all, record.name, dispatch);
    all.dispatches.push_back(dispatch);
}

// Where the next record begins, or where the valid bytes end, is where this one may end at the latest.
bool holds_record(const Recording& all, const std::uint8_t* record, const std::uint8_t* next) {
    return all.reading.empty() && next > record && static_cast<std::size_t>(next - record) >= cupti().record_bytes;
}

// CUPTI counts them since it was last asked.
void count_dropped(Recording& all) {
    std::size_t dropped = 0;
    if (cupti().calls.dropped(nullptr, 0, &dropped) == 0) all.lost += dropped;
}

void read(Recording& all, std::uint8_t* buffer, std::size_t valid_bytes) {
    void* record = nullptr;
    int result = cupti().calls.next_record(buffer, valid_bytes, &record);
    while (result == 0) {
        const auto* here = static_cast<const std::uint8_t*>(record);
        result = cupti().calls.next_record(buffer, valid_bytes, &record);
        const std::uint8_t* next = result == 0 ? static_cast<const std::uint8_t*>(record) : buffer + valid_bytes;
        const auto* kernel = reinterpret_cast<const CuptiKernel*>(here);
        if (kernel->kind != cupti_concurrent_kernel) continue;
        if (holds_record(all, here, next)) {
            keep(all, *kernel);
        } else if (all.reading.empty()) {
            all.reading = "CUPTI's record of a kernel has " + std::to_string(next - here) + " bytes, not the " +
                          std::to_string(cupti().record_bytes) + " or more of its version " + std::to_string(cupti().version) + " (" +
                          cupti().file + "): set KERNELPERF_CUPTI to a CUPTI of the driver's CUDA version";
        }
    }
    if (result == cupti_incomplete_record) all.lost += 1;  // at least: what lies behind it cannot be found
    else if (result != cupti_end_of_buffer && all.reading.empty()) all.reading = cupti_refusal("cuptiActivityGetNextRecord", result);
}

void give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
    Recording& all = recording();
    const std::lock_guard<std::mutex> lock(all.mutex);
    *most_records = 0;  // as many as fit
    // Aligned to 16 bytes by malloc; CUPTI asks for 8.
    *buffer = all.buffers < most_buffers ? static_cast<std::uint8_t*>(std::malloc(buffer_bytes)) : nullptr;
    *bytes = *buffer != nullptr ? buffer_bytes : 0;  // without one CUPTI drops records, and counts them
    if (*buffer != nullptr) all.buffers += 1;
}

void take_buffer(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid_bytes) {
    Recording& all = recording();
    const std::lock_guard<std::mutex> lock(all.mutex);
    try {
        if (buffer != nullptr && valid_bytes > 0) read(all, buffer, valid_bytes);
    } catch (const std::bad_alloc&) {
        all.reading = "there is no memory left for the records of kernels: trace fewer rounds";
    }
    std::free(buffer);
    if (all.buffers > 0) all.buffers -= 1;
}

// The first failure, as a sentence; "" if all went well.
std::string begin() {
    if (const int error = enter(); error != success) {
        const std::string& why = driver().problem;
        return why.empty() ? std::string("the device cannot be used (") + hip_error_name(error) + ")" : why;
    }
    if (!cupti().opened) return cupti().problem;
    const Cupti& calls = cupti().calls;
    if (const int failed = calls.register_callbacks(give_buffer, take_buffer))
        return cupti_refusal("cuptiActivityRegisterCallbacks", failed);
    if (const int failed = calls.register_clock(boot_time_ns)) return cupti_refusal("cuptiActivityRegisterTimestampCallback", failed);
    if (const int failed = calls.enable(cupti_concurrent_kernel)) return cupti_refusal("cuptiActivityEnable", failed);
    return "";
}

// Wait, switch off, collect: each is done whatever became of the one before. The first failure, or "".
//
// Without cuptiFinalize: it is safe only within a callback of a driver's call (cupti_activity.h) and would leave graphs
// that were instantiated under CUPTI behind. The library stays mapped, and so the process stays recognisable as traced.
std::string end() {
    const int waited = wait_for_all();
    const int disabled = cupti().calls.disable(cupti_concurrent_kernel);
    const int flushed = cupti().calls.flush_all(flush_incomplete_too);
    if (waited != cuda_success) return "the kernels that were recorded did not end well: " + cuda_error_name(waited);
    if (disabled != 0) return cupti_refusal("cuptiActivityDisable", disabled);
    if (flushed != 0) return cupti_refusal("cuptiActivityFlushAll", flushed);
    return "";
}

int answer(std::string said) {
    problem = std::move(said);
    return problem.empty() ? 0 : 1;
}

}  // namespace
}  // namespace kp

using namespace kp;

KP_EXPORT int kernelperfTraceStart(std::size_t capacity) {
    Recording& all = recording();
    {
        const std::lock_guard<std::mutex> lock(all.mutex);
        if (all.running) return answer("kernels are recorded already: end that recording first (kernelperfTraceStop)");
        all.running = true;
        all.most_dispatches = capacity != 0 ? capacity : KERNELPERF_TRACE_CAPACITY;
        all.dispatches.clear();
        all.taken = 0;
        all.lost = 0;
        all.reading.clear();
    }
    std::string refused = begin();  // without the lock: CUPTI may ask for a buffer from here
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.running = refused.empty();
    return answer(std::move(refused));
}

KP_EXPORT int kernelperfTraceStop() {
    Recording& all = recording();
    {
        const std::lock_guard<std::mutex> lock(all.mutex);
        if (!all.running) return answer("no kernels are recorded: begin a recording first (kernelperfTraceStart)");
    }
    std::string failed = end();  // without the lock: CUPTI hands out buffers from here
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.running = false;
    count_dropped(all);
    if (!all.reading.empty()) {  // none of the records can be relied on
        all.dispatches.clear();
        if (failed.empty()) failed = all.reading;
    }
    std::stable_sort(all.dispatches.begin(), all.dispatches.end(),
                     [](const auto& one, const auto& other) { return one.start_ns < other.start_ns; });
    return answer(std::move(failed));
}

KP_EXPORT const char* kernelperfTraceProblem() { return problem.c_str(); }

KP_EXPORT std::size_t kernelperfTraceTake(kernelperf_dispatch* out, std::size_t capacity) {
    Recording& all = recording();
    const std::lock_guard<std::mutex> lock(all.mutex);
    answer(all.running ? "kernels are still recorded: end the recording first (kernelperfTraceStop)" : "");
    if (all.running || out == nullptr) return 0;
    const std::size_t count = std::min(capacity, all.dispatches.size() - all.taken);
    std::copy_n(all.dispatches.begin() + static_cast<std::ptrdiff_t>(all.taken), count, out);
    all.taken += count;
    return count;
}

KP_EXPORT std::uint64_t kernelperfTraceLost() {
    Recording& all = recording();
    const std::lock_guard<std::mutex> lock(all.mutex);
    return all.lost;
}

KP_EXPORT const char* kernelperfTraceKernelName(std::uint64_t kernel) {
    Recording& all = recording();
    const std::lock_guard<std::mutex> lock(all.mutex);
    return kernel >= 1 && kernel <= all.names.size() ? all.names[kernel - 1] : nullptr;
}
