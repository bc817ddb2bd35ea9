// The timed loop: prepared steps, called back to back. A Python loop costs 6 to 21 us a launch with hip-python,
// where the kernels that this package guards take 1 to 4 us; this one costs what HIP itself costs.

#include "loop.h"

#include <chrono>

#include "gate.h"

namespace {

using steady = std::chrono::steady_clock;

constexpr int kSuccess = 0;
constexpr int kCopyDeviceToDevice = 3;

// HIP_LAUNCH_PARAM_BUFFER_POINTER, …_BUFFER_SIZE, …_END of the HIP API.
void* const kBufferPointer = reinterpret_cast<void*>(uintptr_t{1});
void* const kBufferSize = reinterpret_cast<void*>(uintptr_t{2});
void* const kEnd = reinterpret_cast<void*>(uintptr_t{3});

int64_t nanoseconds(steady::duration duration) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

bool failed(kernelperf_result* result, int error, kernelperf_call call, int32_t step = -1) {
    if (error == kSuccess) return false;
    if (result->error == kSuccess) {  // the first failure is the cause, later ones are its echo
        result->error = error;
        result->failed_call = call;
        result->failed_step = step;
    }
    return true;
}

int issue(const kernelperf_calls* calls, void* stream, const kernelperf_step& step) {
    switch (step.kind) {
        case KERNELPERF_FILL:
            return calls->fill(step.target, step.byte, step.bytes, stream);
        case KERNELPERF_COPY:
            return calls->copy(step.target, step.source, step.bytes, kCopyDeviceToDevice, stream);
        default: {
            size_t argument_bytes = step.argument_bytes;
            void* extra[] = {kBufferPointer, step.arguments, kBufferSize, &argument_bytes, kEnd};
            return calls->launch(step.function, step.grid[0], step.grid[1], step.grid[2], step.block[0],
                                 step.block[1], step.block[2], step.shared_bytes, stream, nullptr, extra);
        }
    }
}

kernelperf_call call_of(const kernelperf_step& step) {
    if (step.kind == KERNELPERF_FILL) return KERNELPERF_CALL_FILL;
    return step.kind == KERNELPERF_COPY ? KERNELPERF_CALL_COPY : KERNELPERF_CALL_LAUNCH;
}

bool enqueue(const kernelperf_calls* calls, void* stream, const kernelperf_step* steps, int32_t count,
             int64_t rounds, kernelperf_result* result) {
    for (int64_t round = 0; round < rounds; ++round) {
        for (int32_t i = 0; i < count; ++i) {
            const int error = issue(calls, stream, steps[i]);
            if (error != kSuccess) return !failed(result, error, call_of(steps[i]), i);
        }
    }
    return true;
}

bool record(const kernelperf_calls* calls, void* event, void* stream, kernelperf_result* result) {
    return !failed(result, calls->record(event, stream), KERNELPERF_CALL_RECORD);
}

bool synchronise(const kernelperf_calls* calls, void* stream, kernelperf_result* result) {
    return !failed(result, calls->synchronise(stream), KERNELPERF_CALL_SYNCHRONISE);
}

// Events of the device round some queued work, the queue held back by the gate (if any) while it is filled.
template <class Work>
void time_by_events(const kernelperf_calls* calls, void* stream, void* start, void* stop, kernelperf_gate* gate,
                    kernelperf_result* result, Work queue_work) {
    *result = {};
    if (!synchronise(calls, stream, result)) return;
    const auto begin = steady::now();
    bool good = true;
    if (gate != nullptr) {
        gate->close();
        good = !failed(result, issue(calls, stream, gate->step), KERNELPERF_CALL_LAUNCH);
    }
    good = good && record(calls, start, stream, result);
    const auto first = steady::now();
    good = good && queue_work();
    const auto queued = steady::now();
    good = good && record(calls, stop, stream, result);
    if (gate != nullptr) gate->open();  // also after a failure: the kernel must not wait for its time limit
    const bool synchronised = synchronise(calls, stream, result);
    const auto end = steady::now();
    if (gate != nullptr) result->timed_out = gate->timed_out() ? 1 : 0;
    if (!good || !synchronised) return;
    failed(result, calls->elapsed(&result->device_ms, start, stop), KERNELPERF_CALL_ELAPSED);
    result->enqueue_ns = nanoseconds(queued - first);
    result->total_ns = nanoseconds(end - begin);
}

}  // namespace

// Queue rounds of the steps; nothing is timed and nothing waited for (capture, warm-up, restoring buffers).
KERNELPERF_API void kernelperf_enqueue(const kernelperf_calls* calls, void* stream, const kernelperf_step* steps,
                                       int32_t count, int64_t rounds, kernelperf_result* result) {
    *result = {};
    const auto begin = steady::now();
    enqueue(calls, stream, steps, count, rounds, result);
    result->enqueue_ns = nanoseconds(steady::now() - begin);
}

// `loop`: the wall clock round back-to-back rounds and one wait at the end, as a program sees it.
KERNELPERF_API void kernelperf_time_loop(const kernelperf_calls* calls, void* stream, const kernelperf_step* steps,
                                         int32_t count, int64_t rounds, kernelperf_result* result) {
    *result = {};
    if (!synchronise(calls, stream, result)) return;
    const auto begin = steady::now();
    const bool queued = enqueue(calls, stream, steps, count, rounds, result);
    const auto enqueued = steady::now();
    synchronise(calls, stream, result);
    const auto end = steady::now();
    if (!queued) return;
    result->enqueue_ns = nanoseconds(enqueued - begin);
    result->total_ns = nanoseconds(end - begin);
}

// `queued`: the queue is filled behind the gate, then released. Without a gate the device may wait for the host:
// only for environments in which a gate must not be used.
KERNELPERF_API void kernelperf_time_queued(const kernelperf_calls* calls, void* stream, void* start, void* stop,
                                           const kernelperf_step* steps, int32_t count, int64_t rounds,
                                           kernelperf_gate* gate, kernelperf_result* result) {
    time_by_events(calls, stream, start, stop, gate, result,
                   [&] { return enqueue(calls, stream, steps, count, rounds, result); });
}

// `graph`: one launch of a graph that holds all rounds.
KERNELPERF_API void kernelperf_time_graph(const kernelperf_calls* calls, void* stream, void* start, void* stop,
                                          void* graph, kernelperf_gate* gate, kernelperf_result* result) {
    time_by_events(calls, stream, start, stop, gate, result, [&] {
        return !failed(result, calls->launch_graph(graph, stream), KERNELPERF_CALL_LAUNCH_GRAPH);
    });
}
