#include "cupti.h"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <vector>

#include "driver.h"
#include "nvrtc.h"
#include "search.h"

namespace kp {
namespace {

std::string real_path(const std::string& path) {
    char resolved[PATH_MAX];
    return realpath(path.c_str(), resolved) != nullptr ? resolved : path;
}

// The toolkit of the nvcc that a shell would start, or "".
std::string toolkit_of_nvcc() {
    for (const std::string& folder : folders_of("PATH")) {
        const std::string nvcc = folder + "/nvcc";
        if (access(nvcc.c_str(), X_OK) == 0) return parent(parent(real_path(nvcc)));
    }
    return "";
}

std::vector<std::string> folders() {
    std::vector<std::string> all;
    const auto add_toolkit = [&all](const std::string& root) {
        for (const char* folder : {"/extras/CUPTI/lib64", "/lib64", "/lib", "/targets/x86_64-linux/lib", "/targets/sbsa-linux/lib"})
            all.push_back(root + folder);
    };
    // What the kernels are compiled with first: CUPTI of the same CUDA lies beside it, in toolkits and in wheels.
    if (nvrtc().opened && nvrtc().file.find('/') != std::string::npos) {
        const std::string library_folder = parent(real_path(nvrtc().file)), root = parent(library_folder);
        all.push_back(library_folder);
        all.push_back(parent(root) + "/cuda_cupti/lib");  // the wheels of CUDA 12 have a folder each
        add_toolkit(root);
        add_toolkit(parent(root));  // <root>/targets/x86_64-linux/lib
        add_toolkit(parent(parent(root)));
    }
    for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
        if (const char* root = setting(name)) add_toolkit(root);
    const std::string beside_nvcc = toolkit_of_nvcc();
    if (!beside_nvcc.empty()) add_toolkit(beside_nvcc);
    for (const std::string& folder : folders_of("KERNELPERF_CUPTI_WHEELS")) all.push_back(folder);
    add_toolkit(default_toolkit);
    return all;
}

std::vector<std::string> candidates() {
    std::vector<std::string> paths;
    if (const char* chosen = setting("KERNELPERF_CUPTI")) {
        paths = libraries_in(chosen, "libcupti");
        if (paths.empty()) paths.emplace_back(chosen);
        return paths;
    }
    for (const std::string& folder : folders())
        for (std::string& path : libraries_in(folder, "libcupti")) paths.push_back(std::move(path));
    for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}) paths.emplace_back(name);
    return paths;
}

// Why a library cannot be used, or "".
std::string check(void* library, const std::string& path, OpenedCupti& result) {
#define KP_OPEN(member, symbol, parameters)                                            \
    result.calls.member = reinterpret_cast<int(*) parameters>(dlsym(library, symbol)); \
    if (result.calls.member == nullptr) return path + " has no " symbol;
    KP_CUPTI_CALLS(KP_OPEN)
#undef KP_OPEN
    Dl_info where{};
    const bool known = dladdr(reinterpret_cast<void*>(result.calls.version), &where) != 0 && where.dli_fname != nullptr;
    result.file = known ? where.dli_fname : path;
    // Only by its name do others see that this process is traced.
    const std::string file = real_path(result.file);
    if (file.substr(file.rfind('/') + 1).compare(0, 8, "libcupti") != 0) return file + " is not called libcupti.so";
    if (const int failed = result.calls.version(&result.version); failed != 0)
        return path + " does not say its version: result " + std::to_string(failed);
    result.record_bytes = kernel_record_bytes(result.version);
    if (result.record_bytes == 0)
        return path + " is CUPTI version " + std::to_string(result.version) + ", and the kernel records of CUDA 12 and 13 alone are known here";
    const int major = result.version < 100 ? 12 : static_cast<int>(result.version / 10000), most = driver_major();
    if (major > most) return path + " is of CUDA " + std::to_string(major) + ", newer than the driver's CUDA " + std::to_string(most);
    return "";
}

bool load(const std::string& path, OpenedCupti& result) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* reason = dlerror();
        result.problem = reason != nullptr ? reason : path + " cannot be opened";
        return false;
    }
    result.problem = check(library, path, result);
    result.opened = result.problem.empty();
    if (!result.opened) dlclose(library);
    return result.opened;
}

OpenedCupti open() {
    std::string reason;
    for (const std::string& path : candidates()) {
        OpenedCupti attempt;
        if (load(path, attempt)) return attempt;
        // What is wrong with a file that is there says more than that the loader knows no other.
        if (reason.empty() && path.find('/') != std::string::npos) reason = attempt.problem;
    }
    OpenedCupti none;
    const std::string install = driver_major() == 12 ? "nvidia-cuda-cupti-cu12" : "nvidia-cuda-cupti";
    if (setting("KERNELPERF_CUPTI") != nullptr) {
        none.problem = std::string("the CUPTI library that KERNELPERF_CUPTI names cannot be used (") + (reason.empty() ? "no such file" : reason) +
                       "): give the path of libcupti.so, or unset it";
    } else if (!reason.empty()) {
        none.problem = "no CUPTI library here can be used (" + reason + "): install one of the driver's CUDA version with 'pip install " +
                       install + "'";
    } else {
        none.problem = "CUPTI (libcupti.so) was found neither beside NVRTC nor in a CUDA toolkit ($CUDA_HOME, "
                       "$CUDA_PATH, nvcc's, /usr/local/cuda) nor as a wheel nor by the loader: install it with 'pip install " +
                       install + "', or set KERNELPERF_CUPTI to its path";
    }
    return none;
}

}  // namespace

std::size_t kernel_record_bytes(std::uint32_t version) {
    if (version >= 18 && version <= 28) return 208;            // CUpti_ActivityKernel9; CUDA 12.0 still says 18
    if (version >= 130000 && version < 140000) return 216;     // CUpti_ActivityKernel10, and longer ones since
    return 0;
}

const OpenedCupti& cupti() {
    static const auto* opened = new OpenedCupti(open());
    return *opened;
}

std::string cupti_refusal(const char* call, int result) {
    const char* name = nullptr;
    if (!cupti().opened || cupti().calls.result_name(result, &name) != 0 || name == nullptr) name = "an unknown result";
    const char* remedy = "NVIDIA's CUPTI documentation says what this driver or GPU does not allow; without a trace all else works";
    switch (result) {
        case cupti_not_compatible: case cupti_not_initialised:
            remedy = "use the CUPTI of the driver's CUDA version (KERNELPERF_CUPTI)";
            break;
        case cupti_no_privilege:
            remedy = "let this user profile: set the driver module's NVreg_RestrictProfilingToAdminUsers=0, or run as root";
            break;
        case cupti_other_subscriber:
            remedy = "another profiler traces this process already: record without it";
            break;
        default: break;
    }
    return std::string("CUPTI's ") + call + " failed with " + name + " (" + std::to_string(result) + "): " + remedy;
}

}  // namespace kp
