#include "driver.h"

#include <dlfcn.h>

namespace kp {
namespace {

// Calls that came with later drivers than the oldest one that works (11.4): their absence refuses that call alone.
bool dispensable(const std::string& symbol) { return symbol == "cuModuleGetFunctionCount" || symbol == "cuFuncGetName"; }

OpenedDriver open() {
    OpenedDriver result;
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* reason = dlerror();
        result.problem = std::string("the NVIDIA driver's libcuda.so.1 cannot be opened (") + (reason ? reason : "no reason given") +
                         "): install the NVIDIA driver, or give this container the GPU";
        return result;
    }
    std::string missing;
#define KP_OPEN(member, symbol, parameters)                                                     \
    result.calls.member = reinterpret_cast<int(*) parameters>(dlsym(library, symbol));          \
    if (result.calls.member == nullptr && missing.empty() && !dispensable(symbol)) missing = symbol;
    KP_DRIVER_CALLS(KP_OPEN)
#undef KP_OPEN
    if (!missing.empty()) {
        result.problem = "the NVIDIA driver has no " + missing + ": install a newer driver (CUDA 11.4 or later)";
        return result;
    }
    result.opened = true;
    return result;
}

OpenedDriver start() {
    OpenedDriver result = open();
    if (!result.opened) return result;
    const char* call = "cuInit";
    result.start = result.calls.init(0);
    if (result.start == cuda_success) {
        call = "cuDeviceGetCount";
        result.start = result.calls.device_count(&result.devices);
    }
    if (result.start != cuda_success) {
        const char* name = nullptr;
        result.calls.error_name(result.start, &name);
        result.problem = std::string("the NVIDIA driver offers no device (") + call + ": " + (name ? name : "unknown error") +
                         "): check nvidia-smi, and that this user may open /dev/nvidia*";
        result.devices = 0;
    } else if (result.devices <= 0) {
        result.problem = "the NVIDIA driver has no device for this process: check nvidia-smi and CUDA_VISIBLE_DEVICES";
        result.devices = 0;
    }
    return result;
}

}  // namespace

const OpenedDriver& driver() {
    static const auto* opened = new OpenedDriver(start());  // never destroyed: calls may come while the process ends
    return *opened;
}

int driver_major() {
    int version = 0;
    if (!driver().opened || driver().calls.driver_version(&version) != cuda_success) return 0;
    return version / 1000;
}

std::string cuda_error_name(int code) {
    const char* name = nullptr;
    if (driver().opened && driver().calls.error_name(code, &name) == cuda_success && name != nullptr) return name;
    return "CUDA error " + std::to_string(code);
}

}  // namespace kp
