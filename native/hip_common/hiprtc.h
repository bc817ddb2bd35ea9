// hiprtc's C interface, the same over any compiler (hiprtc.cpp), and what a library with a compiler of its own defines.
#pragma once

#include <string>
#include <vector>

namespace kp {

// hiprtcResult, as HIP numbers it.
enum RtcResult : int {
    rtc_success = 0,
    rtc_invalid_input = 3,
    rtc_invalid_program = 4,
    rtc_invalid_option = 5,
    rtc_compilation = 6,
    rtc_no_name_expressions_after_compilation = 8,
    rtc_no_lowered_names_before_compilation = 9,
    rtc_name_expression_not_valid = 10,
    rtc_internal_error = 11,
};

struct Program {
    std::string source, name;
    std::vector<std::string> headers, header_names, expressions;

    // What compiling leaves.
    bool done = false;
    std::string log, code;
    std::vector<std::string> lowered;  // of each expression; "" for one that names nothing
};

// --- defined by each library -------------------------------------------------------------------

// Fill in the log and, on success, code and lowered names; an RtcResult.
int compile_program(Program& program, const std::vector<std::string>& options);
// Of the compiler, as hiprtcVersion returns it; 0.0 where there is none.
void compiler_version(int& major, int& minor);

}  // namespace kp
