// The hiprtc C interface over the pipeline.
#include <cstring>
#include <string>
#include <vector>

#include "export.h"
#include "pipeline.h"

namespace {

// hiprtcResult, as HIP numbers it.
enum Result : int {
    success = 0,
    program_creation_failure = 2,
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
    kp::Source source;
    kp::Compiled compiled;
    bool done = false;
};

}  // namespace

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
    if (major == nullptr || minor == nullptr) return invalid_input;
    *major = 7;
    *minor = 0;
    return success;
}

KP_EXPORT int hiprtcCreateProgram(hiprtcProgram* program, const char* source, const char* name, int count,
                                  const char* const* headers, const char* const* include_names) {
    if (program == nullptr || source == nullptr) return invalid_input;
    if (count < 0 || (count > 0 && (headers == nullptr || include_names == nullptr))) return invalid_input;
    auto made = new Program;
    made->source.text = source;
    made->source.name = name != nullptr && *name != '\0' ? name : "kernel.hip";
    for (int i = 0; i < count; ++i) {
        if (headers[i] == nullptr || include_names[i] == nullptr) {
            delete made;
            return invalid_input;
        }
        made->source.headers.emplace_back(include_names[i], headers[i]);
    }
    *program = made;
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
    program->source.name_expressions.emplace_back(expression);
    return success;
}

KP_EXPORT int hiprtcCompileProgram(hiprtcProgram program, int count, const char* const* options) {
    if (program == nullptr) return invalid_program;
    if (count < 0 || (count > 0 && options == nullptr)) return invalid_input;
    program->source.options.clear();
    for (int i = 0; i < count; ++i) {
        if (options[i] == nullptr) return invalid_input;
        program->source.options.emplace_back(options[i]);
    }
    program->compiled = {};
    switch (kp::compile(program->source, program->compiled)) {
        case kp::Outcome::compiled: program->done = true; return success;
        case kp::Outcome::bad_option: return invalid_option;
        case kp::Outcome::bad_input: return invalid_input;
        case kp::Outcome::failed: return internal_error;
        case kp::Outcome::no_compiler:
        case kp::Outcome::refused: break;
    }
    return compilation;
}

KP_EXPORT int hiprtcGetLoweredName(hiprtcProgram program, const char* expression, const char** name) {
    if (program == nullptr) return invalid_program;
    if (expression == nullptr || name == nullptr) return invalid_input;
    if (!program->done) return no_lowered_names_before_compilation;
    for (std::size_t i = 0; i < program->source.name_expressions.size(); ++i)
        if (program->source.name_expressions[i] == expression && i < program->compiled.lowered.size()) {
            *name = program->compiled.lowered[i].c_str();
            return success;
        }
    return name_expression_not_valid;
}

KP_EXPORT int hiprtcGetProgramLogSize(hiprtcProgram program, std::size_t* size) {
    if (program == nullptr) return invalid_program;
    if (size == nullptr) return invalid_input;
    *size = program->compiled.log.size() + 1;
    return success;
}

KP_EXPORT int hiprtcGetProgramLog(hiprtcProgram program, char* log) {
    if (program == nullptr) return invalid_program;
    if (log == nullptr) return invalid_input;
    std::memcpy(log, program->compiled.log.c_str(), program->compiled.log.size() + 1);
    return success;
}

KP_EXPORT int hiprtcGetCodeSize(hiprtcProgram program, std::size_t* size) {
    if (program == nullptr || !program->done) return invalid_program;
    if (size == nullptr) return invalid_input;
    *size = program->compiled.object.size();
    return success;
}

KP_EXPORT int hiprtcGetCode(hiprtcProgram program, char* code) {
    if (program == nullptr || !program->done) return invalid_program;
    if (code == nullptr) return invalid_input;
    std::memcpy(code, program->compiled.object.data(), program->compiled.object.size());
    return success;
}

// There is no intermediate code to hand out.
KP_EXPORT int hiprtcGetBitcodeSize(hiprtcProgram, std::size_t*) { return invalid_program; }
KP_EXPORT int hiprtcGetBitcode(hiprtcProgram, char*) { return invalid_program; }
