// Why this runtime cannot be used here, before anybody tries.
#include "driver.h"
#include "export.h"
#include "nvrtc.h"

// One sentence, or null when there is a driver, a device and NVRTC.
KP_EXPORT const char* kernelperf_cuda_problem() {
    if (!kp::driver().problem.empty()) return kp::driver().problem.c_str();
    return kp::nvrtc().opened ? nullptr : kp::nvrtc().problem.c_str();
}

// NVRTC's path, or null; its version as major * 1,000 + minor.
KP_EXPORT const char* kernelperf_cuda_nvrtc(int* version) {
    const kp::OpenedNvrtc& opened = kp::nvrtc();
    if (version != nullptr) *version = opened.major * 1000 + opened.minor;
    return opened.opened ? opened.file.c_str() : nullptr;
}
