// hipModule*, kernel launches, and what a kernel needs.
#include <map>
#include <mutex>

#include "context.h"
#include "export.h"
#include "property.h"

namespace kp {
namespace {

// The launch buffer's markers: pointer and size are the same in both, the end is 3 in HIP and 0 in CUDA.
constexpr std::uintptr_t buffer_pointer = 1, buffer_size = 2, hip_end = 3;
constexpr int most_markers = 2;

// Function attributes are numbered alike in both.
constexpr int attributes_known = 10;
constexpr int max_threads = 0, static_shared = 1, constant = 2, local = 3, registers = 4, ptx_version = 5, binary_version = 6,
              cache_mode = 7, max_dynamic_shared = 8, carveout = 9;

// Beyond this much shared memory CUDA wants to be asked first; HIP does not.
constexpr unsigned freely_shared_bytes = 48 * 1024;

bool translate(void** extra, void* (&markers)[2 * most_markers + 1]) {
    for (int used = 0;; used += 2) {
        const auto key = reinterpret_cast<std::uintptr_t>(extra[used]);
        if (key == hip_end || key == 0) {
            markers[used] = nullptr;
            return true;
        }
        if (used == 2 * most_markers || (key != buffer_pointer && key != buffer_size)) return false;
        markers[used] = extra[used];
        markers[used + 1] = extra[used + 1];
    }
}

// Ask once per function and amount. Returns CUDA's error.
int allow_shared(void* function, unsigned bytes) {
    static std::mutex mutex;
    static auto* allowed = new std::map<void*, unsigned>;
    const std::lock_guard<std::mutex> lock(mutex);
    unsigned& most = (*allowed)[function];
    if (bytes <= most) return cuda_success;
    const int error = calls->set_function_attribute(function, max_dynamic_shared, static_cast<int>(bytes));
    if (error == cuda_success) most = bytes;
    return error;
}

// CUDA says "invalid value" of impossible dimensions, HIP "invalid configuration".
int explained(int cuda, std::uint64_t groups, std::uint64_t threads) {
    const bool dimensions = groups == 0 || threads == 0 || threads > 1024;
    return cuda == cuda_invalid_value && dimensions ? kept(invalid_configuration, cuda) : answered(cuda);
}

int attribute(void* function, int which) {
    int value = 0;
    return calls->function_attribute(&value, which, function) == cuda_success ? value : 0;
}

}  // namespace
}  // namespace kp

using namespace kp;

KP_EXPORT int hipModuleLoadData(void** module, const void* image) {
    if (module == nullptr || image == nullptr) return kept(invalid_value);
    *module = nullptr;
    return forward(&Driver::module_load, module, image);
}
KP_EXPORT int hipModuleLoadDataEx(void** module, const void* image, unsigned, void*, void**) { return hipModuleLoadData(module, image); }
KP_EXPORT int hipModuleUnload(void* module) { return forward(&Driver::module_unload, module); }
KP_EXPORT int hipModuleGetFunction(void** function, void* module, const char* name) {
    if (function == nullptr || name == nullptr) return kept(invalid_value);
    *function = nullptr;
    return forward(&Driver::module_function, function, module, name);
}
KP_EXPORT int hipModuleGetFunctionCount(unsigned* count, void* module) { return forward(&Driver::module_count, count, module); }
KP_EXPORT int hipModuleGetGlobal(void** address, std::size_t* bytes, void* module, const char* name) {
    if (name == nullptr) return kept(invalid_value);
    return forward(&Driver::module_global, reinterpret_cast<Address*>(address), bytes, module, name);
}

KP_EXPORT int hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                                    unsigned block_z, unsigned shared_bytes, void* stream, void** parameters, void** extra) {
    const int error = enter();
    if (error != success) return kept(error);
    void* markers[2 * most_markers + 1];
    if (extra != nullptr && (parameters != nullptr || !translate(extra, markers))) return kept(invalid_value);
    if (shared_bytes > freely_shared_bytes) {
        const int refused = allow_shared(function, shared_bytes);
        if (refused != cuda_success) return answered(refused);
    }
    const int cuda = calls->launch(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters,
                                   extra != nullptr ? markers : nullptr);
    if (cuda == cuda_success) return success;
    return explained(cuda, std::uint64_t{grid_x} * grid_y * grid_z, std::uint64_t{block_x} * block_y * block_z);
}

KP_EXPORT int hipFuncGetAttribute(int* value, int which, void* function) {
    if (value == nullptr || which < 0 || which >= attributes_known) return kept(invalid_value);
    return forward(&Driver::function_attribute, value, which, function);
}

// HIP takes a host function here; without host code there is none, so this takes a module's function.
KP_EXPORT int hipFuncGetAttributes(FunctionAttributes* found, const void* handle) {
    void* function = const_cast<void*>(handle);
    int first = 0;
    const int error = found == nullptr ? kept(invalid_value) : forward(&Driver::function_attribute, &first, max_threads, function);
    if (error != success) return error;
    *found = {};
    found->max_threads_per_block = first;
    found->binary_version = attribute(function, binary_version);
    found->cache_mode = attribute(function, cache_mode);
    found->constant_bytes = static_cast<std::size_t>(attribute(function, constant));
    found->local_bytes = static_cast<std::size_t>(attribute(function, local));
    found->max_dynamic_shared_bytes = attribute(function, max_dynamic_shared);
    found->registers = attribute(function, registers);
    found->shared_memory_carveout = attribute(function, carveout);
    found->ptx_version = attribute(function, ptx_version);
    found->shared_bytes = static_cast<std::size_t>(attribute(function, static_shared));
    return success;
}
KP_EXPORT int hipFuncSetAttribute(const void* function, int which, int value) {
    if (which != max_dynamic_shared && which != carveout) return kept(invalid_value);
    return forward(&Driver::set_function_attribute, const_cast<void*>(function), which, value);
}

KP_EXPORT int hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, void* function, int block_size,
                                                                          std::size_t shared_bytes, unsigned flags) {
    if (blocks == nullptr) return kept(invalid_value);
    return forward(&Driver::occupancy, blocks, function, block_size, shared_bytes, flags);
}
KP_EXPORT int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int block_size, std::size_t shared_bytes) {
    return hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, shared_bytes, 0);
}
KP_EXPORT int hipModuleOccupancyMaxPotentialBlockSize(int* grid_size, int* block_size, void* function, std::size_t shared_bytes,
                                                      int limit) {
    if (grid_size == nullptr || block_size == nullptr) return kept(invalid_value);
    return forward(&Driver::best_block, grid_size, block_size, function, nullptr, shared_bytes, limit);
}

KP_EXPORT const char* hipKernelNameRef(void* function) {
    const char* name = nullptr;
    return forward(&Driver::function_name, &name, function) == success ? name : nullptr;
}
