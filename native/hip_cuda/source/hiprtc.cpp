// HIP source in, machine code (a cubin) out, by NVRTC.
#include <dlfcn.h>

#include <string>
#include <vector>

#include "apart.h"
#include "driver.h"
#include "hiprtc.h"
#include "nvrtc.h"
#include "option.h"

namespace kp {
namespace {

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
    std::vector<const char*> result;
    for (const std::string& text : texts) result.push_back(text.c_str());
    return result;
}

// NVRTC's program while it compiles.
class Made {
public:
    explicit Made(const Program& program) {
        const auto headers = pointers(program.headers), names = pointers(program.header_names);
        result = calls.CreateProgram(&program_, program.source.c_str(), program.name.c_str(), static_cast<int>(headers.size()), headers.data(), names.data());
        for (const std::string& expression : program.expressions)
            if (result == rtc_success) result = calls.AddNameExpression(program_, expression.c_str());
    }
    ~Made() {
        if (program_ != nullptr) calls.DestroyProgram(&program_);
    }
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;

    // NVRTC numbers its results as hiprtc does, up to rtc_internal_error.
    int compile(const std::vector<const char*>& options) { return calls.CompileProgram(program_, static_cast<int>(options.size()), options.data()); }

    std::string log() const {
        std::size_t size = 0;
        if (calls.GetProgramLogSize(program_, &size) != rtc_success || size == 0) return "";
        std::string text(size, '\0');
        return calls.GetProgramLog(program_, text.data()) == rtc_success ? text.c_str() : "";
    }
    std::string code() const {
        std::size_t size = 0;
        if (calls.GetCUBINSize(program_, &size) != rtc_success || size == 0) return "";
        std::string bytes(size, '\0');
        return calls.GetCUBIN(program_, bytes.data()) == rtc_success ? bytes : "";
    }
    std::string lowered(const std::string& expression) const {
        const char* name = nullptr;
        return calls.GetLoweredName(program_, expression.c_str(), &name) == rtc_success && name != nullptr ? name : "";
    }

    int result = rtc_success;  // of making it

private:
    const Nvrtc& calls = nvrtc().calls;
    void* program_ = nullptr;
};

// Where our headers lie: include/ beside the lib/ that holds this library.
std::string own_headers() {
    Dl_info where{};
    if (dladdr(reinterpret_cast<void*>(&own_headers), &where) == 0 || where.dli_fname == nullptr) return "";
    const std::string file = where.dli_fname;
    auto folder = file.rfind('/');
    if (folder != std::string::npos && folder > 0) folder = file.rfind('/', folder - 1);
    return folder == std::string::npos ? "../include" : file.substr(0, folder) + "/include";
}

// The device that this thread uses, or the first one.
std::string device_architecture() {
    const OpenedDriver& opened = driver();
    if (opened.devices <= 0) return "";
    int device = 0, major = 0, minor = 0;
    if (opened.calls.context_device(&device) != cuda_success && opened.calls.device_get(&device, 0) != cuda_success) return "";
    if (opened.calls.device_attribute(&major, 75, device) != cuda_success) return "";
    if (opened.calls.device_attribute(&minor, 76, device) != cuda_success) return "";
    return "sm_" + std::to_string(major) + std::to_string(minor);
}

int refuse(Program& program, RtcResult result, const std::string& sentence) {
    program.log += sentence + "\n";
    return result;
}

int compile_with(Program& program, const std::vector<std::string>& options) {
    const Nvrtc& calls = nvrtc().calls;
    Made made(program);
    if (made.result != rtc_success) return refuse(program, rtc_internal_error, std::string("error: ") + calls.GetErrorString(made.result));
    const int result = made.compile(pointers(options));
    program.log += made.log();
    if (result != rtc_success) {
        if (program.log.empty()) program.log = std::string("error: ") + calls.GetErrorString(result) + "\n";
        return result <= rtc_internal_error ? result : rtc_internal_error;
    }
    program.code = made.code();
    if (program.code.empty()) return refuse(program, rtc_internal_error, "error: NVRTC made no machine code (" + options.front() + ")");
    for (const std::string& expression : program.expressions) program.lowered.push_back(made.lowered(expression));
    return rtc_success;
}

}  // namespace

int compile_program(Program& program, const std::vector<std::string>& given) {
    if (!nvrtc().opened) return refuse(program, rtc_compilation, "error: " + nvrtc().problem);
    Translation translated = translate_options(given);
    if (!translated.refusal.empty()) return refuse(program, rtc_invalid_option, "error: " + translated.refusal);
    for (const std::string& note : translated.notes) program.log += "note: " + note + "\n";
    if (translated.architecture.empty()) translated.architecture = device_architecture();
    if (translated.architecture.empty())
        return refuse(program, rtc_compilation, "error: no architecture to compile for: there is no CUDA device (" + driver().problem +
                                                "), and no --gpu-architecture=sm_… is given");
    std::vector<std::string> options = {"--gpu-architecture=" + translated.architecture, "--device-as-default-execution-space",
                                        "--include-path=" + own_headers()};
    bool apart = false;
    for (std::string& option : translated.options) {
        apart = apart || stays_behind(option);
        options.push_back(std::move(option));
    }
    for (const std::string& folder : nvrtc().headers) options.push_back("--include-path=" + folder);
    options.emplace_back("--pre-include=kernelperf_cuda/device.h");

    if (!apart) return compile_with(program, options);
    if (nvrtc().major > 12 || (nvrtc().major == 12 && nvrtc().minor >= 9)) options.emplace_back("--no-cache");
    return compile_apart(program, [&options](Program& own) { return compile_with(own, options); });
}

// NVRTC's own version, since it is what compiles.
void compiler_version(int& major, int& minor) {
    major = nvrtc().major;
    minor = nvrtc().minor;
}

}  // namespace kp
