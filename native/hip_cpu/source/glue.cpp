#include "glue.h"

namespace kp {

std::string run_facts(const BodyFacts& facts) {
    std::string limit = "::kp::no_limit";
    if (!facts.limit.empty()) {
        const bool converted = !facts.limit_type.empty() && facts.limit_type != "auto";
        limit = "::kp::limit_of<" + (facts.limited_type == "auto" ? "unsigned" : facts.limited_type) + ">(" +
                (converted ? "static_cast<" + facts.limit_type + ">(" : "(") + facts.limit + "))";
    }
    return "::kp::Run{" + (facts.divisor.empty() ? "0" : "(long long)(" + facts.divisor + ")") + ", " + limit + "}";
}

std::string glue(int number, const std::string& body, const std::string& stub_address, const Traits& traits, const std::string& name) {
    const std::string key = "KP" + std::to_string(number) + "_";
    const std::string type = "decltype(&" + body + ")", inlined = " __attribute__((always_inline)) { ";
    const std::string facts = traits.run.empty() ? "[](auto...)" + inlined + "return ::kp::Run{}; }"
                                                 : "[](auto... kp_a)" + inlined + "return " + traits.run + "(kp_a...); }";
    const std::string call = "[](auto... kp_a)" + inlined + body + "(kp_a...); }";
    const std::string run = traits.type == Traits::group()
                                ? "run_group<" + type + ">(" + call + ", kp_arguments, kp_first, kp_count, kp_launch, \"" + name + "\")"
                                : "run<::kp::" + traits.type + ", " + type + ">(" + call + ", " + facts + ", kp_arguments, kp_first, kp_count, kp_launch)";
    return " extern \"C\" __attribute__((used, visibility(\"default\"))) void kernelperf_thunk_" + key +
           "(const void* kp_arguments, ::kp::u64 kp_first, ::kp::u64 kp_count, const ::kp::Launch* kp_launch) noexcept { ::kp::" + run + "; }"
           " extern \"C\" { extern const ::kp::Signature<" + type + ">::Parameters kernelperf_parameters_" + key +
           " __attribute__((visibility(\"default\"))); const ::kp::Signature<" + type +
           ">::Parameters kernelperf_parameters_" + key + " __attribute__((used)) = ::kp::Signature<" + type + ">::table();"
           " extern const void* const kp_name_" + key + ";"
           + (traits.bounds.empty() ? "" : " extern const unsigned kernelperf_bounds_" + key +
                                               " __attribute__((visibility(\"default\"))); const unsigned kernelperf_bounds_" + key +
                                               " __attribute__((used)) = static_cast<unsigned>(" + traits.bounds + ");") +
           " const void* const kp_name_" + key + " __attribute__((used)) = (const void*)(" + stub_address + "); }";
}

}  // namespace kp
