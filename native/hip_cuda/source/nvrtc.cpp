#include "nvrtc.h"

#include <dlfcn.h>

#include "driver.h"
#include "search.h"

namespace kp {
namespace {

std::vector<std::string> candidates() {
    std::vector<std::string> paths;
    const auto add = [&paths](const std::string& folder) {
        for (std::string& path : libraries_in(folder, "libnvrtc")) paths.push_back(std::move(path));
    };
    if (const char* chosen = setting("KERNELPERF_NVRTC")) {
        add(chosen);
        if (paths.empty()) paths.emplace_back(chosen);
        return paths;
    }
    for (const std::string& root : toolkits())
        for (const char* folder : {"/lib64", "/lib", "/targets/x86_64-linux/lib", "/targets/sbsa-linux/lib"}) add(root + folder);
    for (const std::string& folder : folders_of("KERNELPERF_NVRTC_WHEELS")) add(folder);
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}) paths.emplace_back(name);
    return paths;
}

// CUDA's headers beside the library (toolkit, wheels of CUDA 12 and 13), else a toolkit's.
std::vector<std::string> headers_for(const std::string& library) {
    const std::string root = parent(parent(library));
    std::vector<std::string> folders = {root + "/include", parent(root) + "/include", parent(root) + "/cuda_runtime/include"};
    for (const std::string& toolkit : toolkits()) folders.push_back(toolkit + "/include");
    for (std::string& folder : folders)
        if (readable(folder + "/cuda_fp16.h")) return {std::move(folder)};
    return {};
}

bool load(const std::string& path, OpenedNvrtc& result) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* reason = dlerror();
        result.problem = reason != nullptr ? reason : path + " cannot be opened";
        return false;
    }
#define KP_OPEN(name, answer, parameters)                                                             \
    result.calls.name = reinterpret_cast<answer(*) parameters>(dlsym(library, "nvrtc" #name));        \
    if (result.calls.name == nullptr) {                                                               \
        result.problem = path + " has no nvrtc" #name ": it is older than CUDA 11.2";                 \
        return false;                                                                                 \
    }
    KP_NVRTC_CALLS(KP_OPEN)
#undef KP_OPEN
    result.calls.Version(&result.major, &result.minor);
    const int most = driver_major();
    if (most > 0 && result.major > most) {
        result.problem = path + " is of CUDA " + std::to_string(result.major) + ", newer than the driver's CUDA " + std::to_string(most);
        return false;
    }
    Dl_info where{};
    result.file = dladdr(reinterpret_cast<void*>(result.calls.Version), &where) != 0 && where.dli_fname != nullptr ? where.dli_fname : path;
    // The wheel of CUDA 13 does not find its other half by itself; once it is loaded, its name alone is enough.
    const std::string builtins = "/libnvrtc-builtins.so." + std::to_string(result.major) + "." + std::to_string(result.minor);
    dlopen((parent(result.file) + builtins).c_str(), RTLD_NOW | RTLD_LOCAL);
    result.headers = headers_for(result.file);
    result.opened = true;
    return true;
}

OpenedNvrtc open() {
    std::string reason;
    for (const std::string& path : candidates()) {
        OpenedNvrtc attempt;
        if (load(path, attempt)) return attempt;
        // What is wrong with a file that is there says more than that the loader knows no other.
        if (reason.empty() && path.find('/') != std::string::npos) reason = attempt.problem;
    }
    OpenedNvrtc none;
    if (setting("KERNELPERF_NVRTC") != nullptr) {
        none.problem = std::string("the NVRTC library that KERNELPERF_NVRTC names cannot be used (") +
                       (reason.empty() ? "no such file" : reason) + "): give the path of libnvrtc.so, or unset it";
    } else if (!reason.empty()) {
        none.problem = "no NVRTC library here can be used (" + reason + "): install the nvidia-cuda-nvrtc wheel of the driver's CUDA version";
    } else {
        none.problem = "NVRTC (libnvrtc.so) was found neither in a CUDA toolkit ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda) nor as a wheel nor "
                       "by the loader: install it with 'pip install nvidia-cuda-nvrtc', or set KERNELPERF_NVRTC to its path";
    }
    return none;
}

}  // namespace

const OpenedNvrtc& nvrtc() {
    static const auto* opened = new OpenedNvrtc(open());
    return *opened;
}

}  // namespace kp
