// HIP source in, a code object for this host's processor out (pipeline.h).
#include "hiprtc.h"

#include "pipeline.h"

namespace kp {

int compile_program(Program& program, const std::vector<std::string>& options) {
    Source source{program.source, program.name, {}, options, program.expressions};
    for (std::size_t i = 0; i < program.headers.size(); ++i) source.headers.emplace_back(program.header_names[i], program.headers[i]);
    Compiled compiled;
    const Outcome outcome = compile(source, compiled);
    program.log = compiled.log;
    switch (outcome) {
        case Outcome::compiled:
            program.code = compiled.object;
            program.lowered = compiled.lowered;
            return rtc_success;
        case Outcome::bad_option: return rtc_invalid_option;
        case Outcome::bad_input: return rtc_invalid_input;
        case Outcome::failed: return rtc_internal_error;
        case Outcome::no_compiler:
        case Outcome::refused: break;
    }
    return rtc_compilation;
}

void compiler_version(int& major, int& minor) {
    major = 7;
    minor = 0;
}

}  // namespace kp
