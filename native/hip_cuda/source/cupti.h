// CUPTI's activity interface, opened at run time: where it is looked for, its calls, and the record of a kernel.
// Own declarations of the documented binary interface; no CUDA header is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace kp {

constexpr int cupti_end_of_buffer = 12;      // CUPTI_ERROR_MAX_LIMIT_REACHED
constexpr int cupti_not_compatible = 14, cupti_not_initialised = 15;
constexpr int cupti_incomplete_record = 21;  // CUPTI_ERROR_INVALID_KIND, of cuptiActivityGetNextRecord
constexpr int cupti_no_privilege = 35, cupti_other_subscriber = 39;

// CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: kernels as they overlap. (KIND_KERNEL would let them run one after another.)
constexpr std::uint32_t cupti_concurrent_kernel = 10;

// What CUpti_ActivityKernel9 (CUDA 12.0 to 12.9), 10 (13.0), 11, 12 and 13 (13.5) have in common: each added its own
// fields behind these. Packed in CUPTI's headers, which changes nothing: each field lies on its own alignment.
struct CuptiKernel {
    std::uint32_t kind;
    std::uint8_t cache, shared_memory_mode;
    std::uint16_t registers_per_thread;
    std::uint32_t cache_requested, cache_executed;
    std::uint64_t start, end, completed;  // ns of the clock that was registered; 0: no time could be had
    std::uint32_t device, context, stream;
    std::int32_t grid[3], block[3];
    std::int32_t static_shared_bytes, dynamic_shared_bytes;
    std::uint32_t local_bytes_per_thread, local_bytes, correlation;
    std::int64_t grid_id;
    const char* name;  // the mangled symbol; CUPTI's own, as long as the recording lasts
    void* reserved;
    std::uint64_t queued, submitted;
    std::uint8_t launch_type, carveout_requested, carveout, padding;
    std::uint32_t shared_bytes_executed;
    std::uint64_t graph_node;  // 0: not of a graph
    std::uint32_t shared_limit, graph;
    void* access_policy;
    std::uint32_t channel, channel_type;
};
static_assert(offsetof(CuptiKernel, registers_per_thread) == 6 && offsetof(CuptiKernel, start) == 16);
static_assert(offsetof(CuptiKernel, device) == 40 && offsetof(CuptiKernel, grid) == 52 && offsetof(CuptiKernel, block) == 64);
static_assert(offsetof(CuptiKernel, static_shared_bytes) == 76 && offsetof(CuptiKernel, local_bytes_per_thread) == 84);
static_assert(offsetof(CuptiKernel, correlation) == 92 && offsetof(CuptiKernel, name) == 104);
static_assert(offsetof(CuptiKernel, graph_node) == 144 && offsetof(CuptiKernel, graph) == 156 && offsetof(CuptiKernel, channel) == 168);
static_assert(sizeof(CuptiKernel) == 176);

// How many bytes the kernel records of a CUPTI version have at least, 0 for a version that is not known here. Versions
// count up to 28 in CUDA 12; from CUDA 13 on they are major * 10,000 + minor * 100 + patch.
std::size_t kernel_record_bytes(std::uint32_t version);

using CuptiRequest = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using CuptiComplete = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);
using CuptiClock = std::uint64_t (*)();

// X(member, exported name, parameters).
#define KP_CUPTI_CALLS(X)                                                                   \
    X(version, "cuptiGetVersion", (std::uint32_t*))                                         \
    X(result_name, "cuptiGetResultString", (int, const char**))                             \
    X(register_callbacks, "cuptiActivityRegisterCallbacks", (CuptiRequest, CuptiComplete))  \
    X(register_clock, "cuptiActivityRegisterTimestampCallback", (CuptiClock))               \
    X(enable, "cuptiActivityEnable", (std::uint32_t))                                       \
    X(disable, "cuptiActivityDisable", (std::uint32_t))                                     \
    X(flush_all, "cuptiActivityFlushAll", (std::uint32_t))                                  \
    X(next_record, "cuptiActivityGetNextRecord", (std::uint8_t*, std::size_t, void**))      \
    X(dropped, "cuptiActivityGetNumDroppedRecords", (void*, std::uint32_t, std::size_t*))

struct Cupti {
#define KP_MEMBER(member, symbol, parameters) int(*member) parameters;
    KP_CUPTI_CALLS(KP_MEMBER)
#undef KP_MEMBER
};

struct OpenedCupti {
    Cupti calls{};
    bool opened = false;
    std::string file;               // the library's path
    std::uint32_t version = 0;      // as cuptiGetVersion says it
    std::size_t record_bytes = 0;   // how many bytes a kernel's record has at least
    std::string problem;            // one sentence when there is none to use
};

// CUPTI, opened once, and only when a recording is asked for: a process in which it is mapped is no longer timed
// (measure/untraced.py). $KERNELPERF_CUPTI (a file, or a folder) alone if it is set; else beside NVRTC, the CUDA toolkits
// that $CUDA_HOME, $CUDA_PATH and nvcc on $PATH point to, the folders in $KERNELPERF_CUPTI_WHEELS, /usr/local/cuda, and
// the loader's own places. One newer than the driver's CUDA is passed over. Never throws. Needs an opened driver: CUPTI of CUDA 13.2
// crashes without one.
const OpenedCupti& cupti();

// One sentence about a call that failed: CUPTI's name of the result, and what can be done.
std::string cupti_refusal(const char* call, int result);

}  // namespace kp
