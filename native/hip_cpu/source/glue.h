// The C++ text that makes a kernel launchable.
#pragma once

#include <string>

#include "kernel_body.h"

namespace kp {

// How the launch code may run a kernel: a type of launch.h, and the function that tells segments and limits.
struct Traits {
    std::string type, run;
    std::string bounds = {};  // the expression for the most threads a workgroup may have; "" for no such limit

    static std::string group() { return "group"; }  // as fibres: see group_use.h
    static std::string plain() { return "Traits<false, false, false, false, false>"; }
    static std::string outside() { return "Traits<true, false, false, false, false>"; }
    static std::string of(const BodyFacts& facts) {
        auto flag = [](bool value) { return value ? ", true" : ", false"; };
        return std::string("Traits<false") + flag(facts.strided) + flag(!facts.divisor.empty()) + flag(facts.linear) + flag(!facts.limit.empty()) + ">";
    }
};

// The expression, of type kp::Run, for what one launch's arguments say of a kernel.
std::string run_facts(const BodyFacts& facts);

// Thunk, parameter table and name pointer of kernel `number`, on one line. `body`: the function that holds the kernel's
// body; `stub_address`: an expression for the address of the function declared with the kernel's own name; `name`: what
// messages call the kernel.
std::string glue(int number, const std::string& body, const std::string& stub_address, const Traits& traits, const std::string& name);

}  // namespace kp
