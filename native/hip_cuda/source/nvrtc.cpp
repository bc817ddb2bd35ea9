#include "nvrtc.h"

#include <dirent.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "driver.h"

namespace kp {
namespace {

const char* setting(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
}

std::string parent(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

bool readable(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

// libnvrtc.so and libnvrtc.so.<number> of a folder, the highest number first. (Not libnvrtc.alt.so.<number>.)
std::vector<std::string> libraries_in(const std::string& folder) {
    const std::string stem = "libnvrtc.so";
    std::vector<std::pair<long, std::string>> found;
    if (DIR* entries = opendir(folder.c_str())) {
        while (const dirent* entry = readdir(entries)) {
            const std::string name = entry->d_name;
            if (name.compare(0, stem.size(), stem) != 0) continue;
            const std::string rest = name.substr(stem.size());
            if (!rest.empty() && rest[0] != '.') continue;
            found.emplace_back(rest.empty() ? 0 : std::strtol(rest.c_str() + 1, nullptr, 10), folder + "/" + name);
        }
        closedir(entries);
    }
    std::sort(found.rbegin(), found.rend());
    std::vector<std::string> paths;
    for (auto& [number, path] : found) paths.push_back(std::move(path));
    return paths;
}

std::vector<std::string> toolkits() {
    std::vector<std::string> roots;
    for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
        if (const char* value = setting(name)) roots.emplace_back(value);
    roots.emplace_back("/usr/local/cuda");
    return roots;
}

std::vector<std::string> candidates() {
    std::vector<std::string> paths;
    const auto add = [&paths](const std::string& folder) {
        for (std::string& path : libraries_in(folder)) paths.push_back(std::move(path));
    };
    if (const char* chosen = setting("KERNELPERF_NVRTC")) {
        add(chosen);
        if (paths.empty()) paths.emplace_back(chosen);
        return paths;
    }
    for (const std::string& root : toolkits())
        for (const char* folder : {"/lib64", "/lib", "/targets/x86_64-linux/lib", "/targets/sbsa-linux/lib"}) add(root + folder);
    if (const char* wheels = setting("KERNELPERF_NVRTC_WHEELS")) {
        const std::string text = wheels;
        for (std::size_t begin = 0; begin <= text.size();) {
            const std::size_t end = std::min(text.find(':', begin), text.size());
            if (end > begin) add(text.substr(begin, end - begin));
            begin = end + 1;
        }
    }
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

// The CUDA version whose machine code the driver is sure to load; 0 where there is no driver.
int driver_major() {
    int version = 0;
    if (!driver().opened || driver().calls.driver_version(&version) != cuda_success) return 0;
    return version / 1000;
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
