// hipModule* and kernel launches.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

#include "device.h"
#include "error.h"
#include "export.h"
#include "module.h"
#include "problem.h"
#include "process.h"
#include "stream.h"

namespace kp {
namespace {

constexpr std::uintptr_t buffer_pointer = 1, buffer_size = 2, buffer_end = 3;

int load(void** handle, const void* image) {
    if (handle == nullptr) return invalid_value;
    *handle = nullptr;
    if (image == nullptr) return invalid_value;
    int error = success;
    auto module = Module::load(image, error);
    if (!module) return error;
    know_module(module.get(), true);
    *handle = module.release();
    return success;
}

int unload(void* handle) {
    if (!known_module(handle)) return invalid_handle;
    finish_all();
    know_module(handle, false);
    delete static_cast<Module*>(handle);
    return success;
}

// Arguments from a packed buffer: HIP_LAUNCH_PARAM_BUFFER_POINTER, its address, HIP_LAUNCH_PARAM_BUFFER_SIZE, address of
// its size, HIP_LAUNCH_PARAM_END. Too few bytes would have the kernel read past them: refused.
int take_buffer(const Function& function, void** extra, KernelCall& call) {
    const void* buffer = nullptr;
    std::size_t bytes = 0;
    for (int i = 0;; i += 2) {
        const auto key = reinterpret_cast<std::uintptr_t>(extra[i]);
        if (key == buffer_end || key == 0) break;
        if (i > 2) return invalid_value;
        if (key == buffer_pointer) buffer = extra[i + 1];
        else if (key == buffer_size && extra[i + 1] != nullptr) bytes = *static_cast<const std::size_t*>(extra[i + 1]);
        else return invalid_value;
    }
    if (bytes < function.argument_bytes || bytes > 65536 || (bytes > 0 && buffer == nullptr)) return invalid_value;
    call.set_arguments(function.argument_bytes);
    if (function.argument_bytes > 0) std::memcpy(call.arguments(), buffer, function.argument_bytes);
    return success;
}

int take_parameters(const Function& function, void** parameters, KernelCall& call) {
    call.set_arguments(function.argument_bytes);
    for (std::size_t i = 0; i < function.parameters.size(); ++i) {
        if (parameters == nullptr || parameters[i] == nullptr) return invalid_value;
        std::memcpy(call.arguments() + function.offsets[i], parameters[i], function.parameters[i].size);
    }
    return success;
}

int launch(void* handle, Dim3 grid, Dim3 block, unsigned shared_bytes, void* stream_handle, void** parameters, void** extra) {
    if (handle == nullptr || !known_function(handle)) return handle == nullptr ? invalid_image : invalid_handle;
    const auto stream = stream_of(stream_handle);
    if (!stream) return invalid_handle;
    if (parameters != nullptr && extra != nullptr) return invalid_value;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0) return invalid_configuration;
    if (shared_bytes > max_shared_bytes) return invalid_value;
    if (block.x > max_block[0] || block.y > max_block[1] || block.z > max_block[2] || std::uint64_t{block.x} * block.y * block.z > max_threads_per_block)
        return invalid_configuration;
    // Threads of a dimension are counted in 31 bits; HIP allows 32.
    if (grid.x > max_grid[0] || grid.y > max_grid[1] || grid.z > max_grid[2] || std::uint64_t{grid.x} * block.x > 0x7fffffff)
        return invalid_configuration;
    auto* function = static_cast<Function*>(handle);
    if (const unsigned threads = block.x * block.y * block.z; threads > function->max_threads)
        return said_of(launch_failure, "kernel " + function->name + ": a workgroup of " + std::to_string(threads) + " threads is more than the " +
                                           std::to_string(function->max_threads) + " of its __launch_bounds__");
    if (function->shared_bytes + shared_bytes > max_shared_bytes)
        return said_of(launch_failure, "kernel " + function->name + ": " + std::to_string(shared_bytes) + " bytes of dynamic shared memory and " +
                                           std::to_string(function->shared_bytes) + " of static are more than the " + std::to_string(max_shared_bytes) + " that a workgroup can have");
    KernelCall call;
    call.thunk = function->thunk;
    call.kernel = function->known;
    call.launcher = launcher();
    call.pace = &function->pace;
    call.groups = std::uint64_t{grid.x} * grid.y * grid.z;
    call.launch = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes, 0, run_groups};
    const int error = extra != nullptr ? take_buffer(*function, extra, call) : take_parameters(*function, parameters, call);
    return error != success ? error : submit(stream, std::move(call));
}

}  // namespace
}  // namespace kp

using namespace kp;

KP_EXPORT int hipModuleLoadData(void** module, const void* image) { return kept(load(module, image)); }
KP_EXPORT int hipModuleLoadDataEx(void** module, const void* image, unsigned, void*, void**) { return kept(load(module, image)); }
KP_EXPORT int hipModuleUnload(void* module) { return kept(unload(module)); }

KP_EXPORT int hipModuleLoad(void** module, const char* path) {
    if (module == nullptr || path == nullptr) return kept(invalid_value);
    std::string bytes;
    if (!read_file(path, bytes)) return kept(file_not_found);
    bytes.resize(std::max<std::size_t>(bytes.size(), 64), '\0');
    std::uint64_t total = 0;
    std::memcpy(&total, bytes.data() + 16, sizeof total);
    return kept(total <= bytes.size() ? load(module, bytes.data()) : invalid_image);
}

KP_EXPORT int hipModuleGetFunction(void** function, void* module, const char* name) {
    if (function == nullptr || name == nullptr) return kept(invalid_value);
    *function = nullptr;
    if (!known_module(module)) return kept(invalid_handle);
    *function = static_cast<Module*>(module)->function(name);
    return kept(*function != nullptr ? success : not_found);
}

KP_EXPORT int hipModuleGetFunctionCount(unsigned* count, void* module) {
    if (count == nullptr) return kept(invalid_value);
    if (!known_module(module)) return kept(invalid_handle);
    *count = static_cast<Module*>(module)->function_count();
    return success;
}

KP_EXPORT int hipModuleGetGlobal(void** address, std::size_t* bytes, void* module, const char* name) {
    if (name == nullptr) return kept(invalid_value);
    if (!known_module(module)) return kept(invalid_handle);
    return kept(static_cast<Module*>(module)->global(name, address, bytes) ? success : not_found);
}

KP_EXPORT int hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                                    unsigned block_z, unsigned shared_bytes, void* stream, void** parameters, void** extra) {
    return kept(launch(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream, parameters, extra));
}

KP_EXPORT int hipFuncGetAttribute(int* value, int attribute, void* function) {
    if (value == nullptr || attribute < 0 || attribute > 9) return kept(invalid_value);
    if (!known_function(function)) return kept(invalid_device_function);
    // There are no registers to count, no constant memory apart, no stages of compilation: nothing, rather than 0.
    const auto* known = static_cast<const Function*>(function);
    switch (attribute) {
        case 0: *value = static_cast<int>(known->max_threads); return success;
        case 1: *value = static_cast<int>(known->shared_bytes); return success;
        case 8: *value = static_cast<int>(max_shared_bytes - known->shared_bytes); return success;
        default: *value = 0; return kept(not_supported);
    }
}

KP_EXPORT int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int block_size, std::size_t shared_bytes) {
    if (blocks == nullptr || block_size <= 0) return kept(invalid_value);
    if (!known_function(function)) return kept(invalid_device_function);
    *blocks = block_size <= max_threads_per_block && shared_bytes <= max_shared_bytes ? 1 : 0;  // a core runs one at a time
    return success;
}

KP_EXPORT int hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, void* function, int block_size, std::size_t shared_bytes,
                                                                          unsigned) {
    return hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, shared_bytes);
}

KP_EXPORT const char* hipKernelNameRef(void* function) {
    return known_function(function) ? static_cast<Function*>(function)->name.c_str() : nullptr;
}
