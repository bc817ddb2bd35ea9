// What Python hands to the timed loop. Every struct here is mirrored field by field in runtime/loop_native.py.
#pragma once

#include <cstddef>
#include <cstdint>

#define KERNELPERF_API extern "C" __attribute__((visibility("default")))

// Addresses of HIP functions, from the handle that hip-python itself uses.
struct kernelperf_calls {
    int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                  unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream, void** parameters,
                  void** extra);
    int (*fill)(void* target, int byte, size_t bytes, void* stream);
    int (*copy)(void* target, const void* source, size_t bytes, int kind, void* stream);
    int (*synchronise)(void* stream);
    int (*record)(void* event, void* stream);
    int (*elapsed)(float* milliseconds, void* start, void* stop);
    int (*launch_graph)(void* graph, void* stream);
};

enum kernelperf_kind : int32_t { KERNELPERF_LAUNCH = 0, KERNELPERF_FILL = 1, KERNELPERF_COPY = 2 };

// One prepared step: a launch (function, dimensions, packed arguments), a fill or a copy (addresses, bytes).
struct kernelperf_step {
    int32_t kind;
    int32_t byte;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared_bytes;
    uint32_t reserved;
    void* function;
    void* arguments;
    size_t argument_bytes;
    void* target;
    void* source;
    size_t bytes;
};

// Which call failed, so that the sentence can name it.
enum kernelperf_call : int32_t {
    KERNELPERF_CALL_NONE = 0,
    KERNELPERF_CALL_LAUNCH = 1,
    KERNELPERF_CALL_FILL = 2,
    KERNELPERF_CALL_COPY = 3,
    KERNELPERF_CALL_SYNCHRONISE = 4,
    KERNELPERF_CALL_RECORD = 5,
    KERNELPERF_CALL_ELAPSED = 6,
    KERNELPERF_CALL_LAUNCH_GRAPH = 7,
};

// What one batch gave: nanoseconds of the steady clock, milliseconds of the device's events, or an error.
struct kernelperf_result {
    int64_t total_ns;
    int64_t enqueue_ns;
    float device_ms;
    int32_t timed_out;
    int32_t error;
    int32_t failed_call;
    int32_t failed_step;
    int32_t reserved;
};

struct kernelperf_gate;
