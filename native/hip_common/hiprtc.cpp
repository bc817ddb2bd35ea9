#include "hiprtc.h"

#include <cstring>
#include <memory>

#include "export.h"

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

KP_EXPORT int hiprtcVersion(int* major, int* minor) {
    if (major == nullptr || minor == nullptr) return rtc_invalid_input;
    compiler_version(*major, *minor);
    return rtc_success;
}

KP_EXPORT int hiprtcCreateProgram(hiprtcProgram* program, const char* source, const char* name, int count,
                                  const char* const* headers, const char* const* include_names) {
    if (program == nullptr || source == nullptr) return rtc_invalid_input;
    if (count < 0 || (count > 0 && (headers == nullptr || include_names == nullptr))) return rtc_invalid_input;
    auto made = std::make_unique<Program>();
    made->source = source;
    made->name = name != nullptr && *name != '\0' ? name : "kernel.hip";
    for (int i = 0; i < count; ++i) {
        if (headers[i] == nullptr || include_names[i] == nullptr) return rtc_invalid_input;
        made->headers.emplace_back(headers[i]);
        made->header_names.emplace_back(include_names[i]);
    }
    *program = made.release();
    return rtc_success;
}

KP_EXPORT int hiprtcDestroyProgram(hiprtcProgram* program) {
    if (program == nullptr || *program == nullptr) return rtc_invalid_program;
    delete *program;
    *program = nullptr;
    return rtc_success;
}

KP_EXPORT int hiprtcAddNameExpression(hiprtcProgram program, const char* expression) {
    if (program == nullptr) return rtc_invalid_program;
    if (expression == nullptr || *expression == '\0') return rtc_invalid_input;
    if (program->done) return rtc_no_name_expressions_after_compilation;
    program->expressions.emplace_back(expression);
    return rtc_success;
}

KP_EXPORT int hiprtcCompileProgram(hiprtcProgram program, int count, const char* const* options) {
    if (program == nullptr) return rtc_invalid_program;
    if (count < 0 || (count > 0 && options == nullptr)) return rtc_invalid_input;
    std::vector<std::string> given;
    for (int i = 0; i < count; ++i) {
        if (options[i] == nullptr) return rtc_invalid_input;
        given.emplace_back(options[i]);
    }
    program->done = false;
    program->log.clear();
    program->code.clear();
    program->lowered.clear();
    const int result = compile_program(*program, given);
    program->done = result == rtc_success;
    return result;
}

KP_EXPORT int hiprtcGetLoweredName(hiprtcProgram program, const char* expression, const char** name) {
    if (program == nullptr) return rtc_invalid_program;
    if (expression == nullptr || name == nullptr) return rtc_invalid_input;
    if (!program->done) return rtc_no_lowered_names_before_compilation;
    for (std::size_t i = 0; i < program->expressions.size() && i < program->lowered.size(); ++i)
        if (program->expressions[i] == expression && !program->lowered[i].empty()) {
            *name = program->lowered[i].c_str();
            return rtc_success;
        }
    return rtc_name_expression_not_valid;
}

KP_EXPORT int hiprtcGetProgramLogSize(hiprtcProgram program, std::size_t* size) {
    if (program == nullptr) return rtc_invalid_program;
    if (size == nullptr) return rtc_invalid_input;
    *size = program->log.size() + 1;
    return rtc_success;
}

KP_EXPORT int hiprtcGetProgramLog(hiprtcProgram program, char* log) {
    if (program == nullptr) return rtc_invalid_program;
    if (log == nullptr) return rtc_invalid_input;
    std::memcpy(log, program->log.c_str(), program->log.size() + 1);
    return rtc_success;
}

KP_EXPORT int hiprtcGetCodeSize(hiprtcProgram program, std::size_t* size) {
    if (program == nullptr || !program->done) return rtc_invalid_program;
    if (size == nullptr) return rtc_invalid_input;
    *size = program->code.size();
    return rtc_success;
}

KP_EXPORT int hiprtcGetCode(hiprtcProgram program, char* code) {
    if (program == nullptr || !program->done) return rtc_invalid_program;
    if (code == nullptr) return rtc_invalid_input;
    std::memcpy(code, program->code.data(), program->code.size());
    return rtc_success;
}

// There is no bitcode to hand out.
KP_EXPORT int hiprtcGetBitcodeSize(hiprtcProgram, std::size_t*) { return rtc_invalid_program; }
KP_EXPORT int hiprtcGetBitcode(hiprtcProgram, char*) { return rtc_invalid_program; }
