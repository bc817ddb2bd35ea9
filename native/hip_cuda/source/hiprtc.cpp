// The hiprtc C interface over NVRTC: HIP source in, machine code (a cubin) out.
#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "driver.h"
#include "export.h"
#include "nvrtc.h"
#include "option.h"

namespace kp {
namespace {

// hiprtcResult; NVRTC numbers its own up to here alike.
enum Result : int {
    success = 0,
    invalid_input = 3,
    invalid_program = 4,
    invalid_option = 5,
    compilation = 6,
    no_name_expressions_after_compilation = 8,
    no_lowered_names_before_compilation = 9,
    name_expression_not_valid = 10,
    internal_error = 11,
};

struct Program {
    std::string source, name;
    std::vector<std::string> headers, header_names, expressions;
    void* made = nullptr;  // NVRTC's program, from compilation on: it owns the lowered names
    std::string log;
    std::vector<char> code;
    bool done = false;

    void drop() {
        if (made != nullptr) nvrtc().calls.DestroyProgram(&made);
        made = nullptr;
    }
    ~Program() { drop(); }
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

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
    std::vector<const char*> result;
    for (const std::string& text : texts) result.push_back(text.c_str());
    return result;
}

int refuse(Program& program, Result result, const std::string& sentence) {
    program.log += sentence + "\n";
    return result;
}

void read_log(Program& program) {
    std::size_t size = 0;
    if (nvrtc().calls.GetProgramLogSize(program.made, &size) != success || size == 0) return;
    std::string text(size, '\0');
    if (nvrtc().calls.GetProgramLog(program.made, text.data()) == success) program.log += text.c_str();
}

int compile(Program& program, const std::vector<std::string>& given) {
    program.drop();
    program.log.clear();
    program.code.clear();
    program.done = false;
    if (!nvrtc().opened) return refuse(program, compilation, "error: " + nvrtc().problem);
    Translation translated = translate_options(given);
    if (!translated.refusal.empty()) return refuse(program, invalid_option, "error: " + translated.refusal);
    for (const std::string& note : translated.notes) program.log += "note: " + note + "\n";
    if (translated.architecture.empty()) translated.architecture = device_architecture();
    if (translated.architecture.empty())
        return refuse(program, compilation, "error: no architecture to compile for: there is no CUDA device (" + driver().problem +
                                                "), and no --gpu-architecture=sm_… is given");
    std::vector<std::string> options = {"--gpu-architecture=" + translated.architecture, "--device-as-default-execution-space",
                                        "--include-path=" + own_headers()};
    for (std::string& option : translated.options) options.push_back(std::move(option));
    for (const std::string& folder : nvrtc().headers) options.push_back("--include-path=" + folder);
    options.emplace_back("--pre-include=kernelperf_cuda/device.h");

    const auto headers = pointers(program.headers), names = pointers(program.header_names), arguments = pointers(options);
    const Nvrtc& calls = nvrtc().calls;
    int result = calls.CreateProgram(&program.made, program.source.c_str(), program.name.c_str(), static_cast<int>(headers.size()),
                                     headers.data(), names.data());
    for (const std::string& expression : program.expressions)
        if (result == success) result = calls.AddNameExpression(program.made, expression.c_str());
    if (result != success) return refuse(program, internal_error, std::string("error: ") + calls.GetErrorString(result));
    result = calls.CompileProgram(program.made, static_cast<int>(arguments.size()), arguments.data());
    read_log(program);
    if (result != success) {
        if (program.log.empty()) program.log = std::string("error: ") + calls.GetErrorString(result) + "\n";
        return result <= internal_error ? result : internal_error;
    }
    std::size_t size = 0;
    result = calls.GetCUBINSize(program.made, &size);
    if (result != success || size == 0) return refuse(program, internal_error, "error: NVRTC made no machine code for " + translated.architecture);
    program.code.resize(size);
    result = calls.GetCUBIN(program.made, program.code.data());
    program.done = result == success;
    return program.done ? success : internal_error;
}

}  // namespace
}  // namespace kp

using namespace kp;
using hiprtcProgram = Program*;

KP_EXPORT const char* hiprtcGetErrorString(int result) {
    static constexpr const char* names[] = {
        "HIPRTC_SUCCESS", "HIPRTC_ERROR_OUT_OF_MEMORY", "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE", "HIPRTC_ERROR_INVALID_INPUT",
        "HIPRTC_ERROR_INVALID_PROGRAM", "HIPRTC_ERROR_INVALID_OPTION", "HIPRTC_ERROR_COMPILATION",
        "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE", "HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
        "HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION", "HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
        "HIPRTC_ERROR_INTERNAL_ERROR"};
    if (result >= 0 && result < static_cast<int>(sizeof names / sizeof *names)) return names[result];
    return result == 100 ? "HIPRTC_ERROR_LINKING" : "HIPRTC_ERROR_UNKNOWN";
}

// NVRTC's own version, since it is what compiles; 0.0 where there is none.
KP_EXPORT int hiprtcVersion(int* major, int* minor) {
    if (major == nullptr || minor == nullptr) return invalid_input;
    *major = nvrtc().major;
    *minor = nvrtc().minor;
    return success;
}

KP_EXPORT int hiprtcCreateProgram(hiprtcProgram* program, const char* source, const char* name, int count,
                                  const char* const* headers, const char* const* include_names) {
    if (program == nullptr || source == nullptr) return invalid_input;
    if (count < 0 || (count > 0 && (headers == nullptr || include_names == nullptr))) return invalid_input;
    auto made = std::make_unique<Program>();
    made->source = source;
    made->name = name != nullptr && *name != '\0' ? name : "kernel.hip";
    for (int i = 0; i < count; ++i) {
        if (headers[i] == nullptr || include_names[i] == nullptr) return invalid_input;
        made->headers.emplace_back(headers[i]);
        made->header_names.emplace_back(include_names[i]);
    }
    *program = made.release();
    return success;
}

KP_EXPORT int hiprtcDestroyProgram(hiprtcProgram* program) {
    if (program == nullptr || *program == nullptr) return invalid_program;
    delete *program;
    *program = nullptr;
    return success;
}

KP_EXPORT int hiprtcAddNameExpression(hiprtcProgram program, const char* expression) {
    if (program == nullptr) return invalid_program;
    if (expression == nullptr || *expression == '\0') return invalid_input;
    if (program->done) return no_name_expressions_after_compilation;
    program->expressions.emplace_back(expression);
    return success;
}

KP_EXPORT int hiprtcCompileProgram(hiprtcProgram program, int count, const char* const* options) {
    if (program == nullptr) return invalid_program;
    if (count < 0 || (count > 0 && options == nullptr)) return invalid_input;
    std::vector<std::string> given;
    for (int i = 0; i < count; ++i) {
        if (options[i] == nullptr) return invalid_input;
        given.emplace_back(options[i]);
    }
    return compile(*program, given);
}

KP_EXPORT int hiprtcGetLoweredName(hiprtcProgram program, const char* expression, const char** name) {
    if (program == nullptr) return invalid_program;
    if (expression == nullptr || name == nullptr) return invalid_input;
    if (!program->done) return no_lowered_names_before_compilation;
    return nvrtc().calls.GetLoweredName(program->made, expression, name) == success ? success : name_expression_not_valid;
}

KP_EXPORT int hiprtcGetProgramLogSize(hiprtcProgram program, std::size_t* size) {
    if (program == nullptr) return invalid_program;
    if (size == nullptr) return invalid_input;
    *size = program->log.size() + 1;
    return success;
}

KP_EXPORT int hiprtcGetProgramLog(hiprtcProgram program, char* log) {
    if (program == nullptr) return invalid_program;
    if (log == nullptr) return invalid_input;
    std::memcpy(log, program->log.c_str(), program->log.size() + 1);
    return success;
}

KP_EXPORT int hiprtcGetCodeSize(hiprtcProgram program, std::size_t* size) {
    if (program == nullptr || !program->done) return invalid_program;
    if (size == nullptr) return invalid_input;
    *size = program->code.size();
    return success;
}

KP_EXPORT int hiprtcGetCode(hiprtcProgram program, char* code) {
    if (program == nullptr || !program->done) return invalid_program;
    if (code == nullptr) return invalid_input;
    std::memcpy(code, program->code.data(), program->code.size());
    return success;
}

// There is no bitcode to hand out.
KP_EXPORT int hiprtcGetBitcodeSize(hiprtcProgram, std::size_t*) { return invalid_program; }
KP_EXPORT int hiprtcGetBitcode(hiprtcProgram, char*) { return invalid_program; }
