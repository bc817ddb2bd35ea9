#include "option.h"

#include <cstring>

namespace kp {
namespace {

bool starts(const std::string& text, const char* prefix) { return text.compare(0, std::strlen(prefix), prefix) == 0; }

// The value of `--name=value`, `-name=value` or (`value` taken from the next option) `--name value`.
bool valued(const std::vector<std::string>& given, std::size_t& i, const char* name, std::string& value) {
    const std::string& option = given[i];
    const std::size_t dashes = starts(option, "--") ? 2 : starts(option, "-") ? 1 : 0;
    const std::size_t length = std::strlen(name);
    if (dashes == 0 || option.compare(dashes, length, name) != 0) return false;
    const std::string rest = option.substr(dashes + length);
    if (rest.empty() && i + 1 < given.size()) {
        value = given[++i];
        return true;
    }
    if (rest.empty() || rest[0] != '=') return false;
    value = rest.substr(1);
    return true;
}

// `-Xvalue` or `-X value`.
bool lettered(const std::vector<std::string>& given, std::size_t& i, const char* letter, std::string& value) {
    if (!starts(given[i], letter)) return false;
    value = given[i].substr(std::strlen(letter));
    if (value.empty() && i + 1 < given.size()) value = given[++i];
    return true;
}

struct Exact {
    const char* given;
    const char* option;  // NVRTC's, or null: nothing to say
};

constexpr Exact exact[] = {
    {"-ffast-math", "--use_fast_math"},
    {"-Ofast", "--use_fast_math"},
    {"-ffp-contract=off", "--fmad=false"},
    {"-ffp-contract=on", "--fmad=true"},
    {"-ffp-contract=fast", "--fmad=true"},
    {"-ffp-contract=fast-honor-pragmas", "--fmad=true"},
    {"-fgpu-flush-denormals-to-zero", "--ftz=true"},
    {"-fcuda-flush-denormals-to-zero", "--ftz=true"},
    {"-fno-gpu-flush-denormals-to-zero", "--ftz=false"},
    {"-fno-hip-fp32-correctly-rounded-divide-sqrt", "--prec-div=false"},
    {"-fhip-fp32-correctly-rounded-divide-sqrt", "--prec-div=true"},
    {"-gline-tables-only", "--generate-line-info"},
    {"-g", "--generate-line-info"},
    {"-O1", "--ptxas-options=-O1"},
    {"-O2", "--ptxas-options=-O2"},
    {"-O0", "--ptxas-options=-O0"},
    {"-O3", nullptr},
    {"-O", nullptr},
    {"-Os", nullptr},
    {"-w", "--disable-warnings"},
    {"-c", nullptr},
    {"-v", nullptr},
    {"-fPIC", nullptr},
    {"-pipe", nullptr},
    {"--cuda-device-only", nullptr},
    {"--offload-device-only", nullptr},
    {"-xhip", nullptr},
    {"-fno-gpu-rdc", nullptr},
};

// AMD's ways of making code, which change nothing of what a program means.
constexpr const char* amd_only[] = {"-munsafe-fp-atomics", "-mno-unsafe-fp-atomics", "-mcumode", "-mno-cumode", "-mtgsplit", "-mno-tgsplit",
                                    "-mwavefrontsize32", "-mno-wavefrontsize64", "-mcode-object-version", "-mamdgpu", "-mprintf-kind",
                                    "-amdgpu", "--rocm-path", "--hip-path", "--hip-version", "--rocm-device-lib-path", "--hip-device-lib",
                                    "-nogpulib", "-nogpuinc", "--save-temps", "-save-temps"};

bool architecture_option(const std::vector<std::string>& given, std::size_t& i, std::string& value) {
    for (const char* name : {"gpu-architecture", "offload-arch", "arch"})
        if (valued(given, i, name, value)) return true;
    return false;
}

void take_architecture(const std::string& value, Translation& result) {
    if (starts(value, "gfx")) {
        result.notes.push_back("the architecture " + value + " is AMD's: compiled for the CUDA device");
    } else if (starts(value, "compute_")) {
        result.architecture = "sm_" + value.substr(std::strlen("compute_"));  // machine code is what is wanted
    } else {
        result.architecture = value;
    }
}

bool take_exact(const std::string& option, Translation& result) {
    for (const Exact& entry : exact) {
        if (option != entry.given) continue;
        if (entry.option != nullptr) result.options.emplace_back(entry.option);
        return true;
    }
    return false;
}

}  // namespace

Translation translate_options(const std::vector<std::string>& given) {
    Translation result;
    bool standard = false;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const std::string& option = given[i];
        std::string value;
        if (architecture_option(given, i, value)) {
            take_architecture(value, result);
        } else if (valued(given, i, "std", value)) {
            if (starts(value, "gnu++")) value = "c++" + value.substr(std::strlen("gnu++"));
            result.options.push_back("--std=" + value);
            standard = true;
        } else if (option == "-mwavefrontsize64" || option == "-mno-wavefrontsize32") {
            result.refusal = "the option " + option + " cannot be honoured: a CUDA warp has 32 threads";
        } else if (option == "-fgpu-rdc" || option == "-rdc=true" || option == "-dc") {
            result.refusal = "the option " + option + " cannot be honoured: each code object is compiled and linked by itself";
        } else if (take_exact(option, result)) {
            continue;
        } else if (option == "-mllvm" || option == "-x" || option == "-Xclang" || option == "-MF" || option == "-o") {
            ++i;  // with its value
        } else if (lettered(given, i, "-include", value)) {
            result.options.push_back("--pre-include=" + value);
        } else if (lettered(given, i, "-isystem", value) || lettered(given, i, "-I", value)) {
            result.options.push_back("--include-path=" + value);
        } else if (lettered(given, i, "-D", value)) {
            result.options.push_back("--define-macro=" + value);
        } else if (lettered(given, i, "-U", value)) {
            result.options.push_back("--undefine-macro=" + value);
        } else if (starts(option, "-W") || starts(option, "-fno-") || starts(option, "-fvisibility") || starts(option, "-fdiagnostics")) {
            continue;  // warnings, and what concerns host code
        } else {
            bool amd = false;
            for (const char* prefix : amd_only) amd = amd || starts(option, prefix);
            if (amd) result.notes.push_back("the option " + option + " is for AMD's compiler: left out");
            else result.options.push_back(option);
        }
    }
    if (!standard) result.options.emplace_back("--std=c++17");
    return result;
}

}  // namespace kp
