#include "compiler.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "export.h"
#include "process.h"

namespace kp {
namespace {

constexpr char quiet_about_features[] = "-Wno-invalid-feature-combination";

// The first "1.2.3" after the vendor's words.
std::string version_number(const std::string& line) {
    for (std::size_t at = 0; at < line.size(); ++at) {
        if (!std::isdigit(static_cast<unsigned char>(line[at]))) continue;
        if (at > 0 && (std::isalnum(static_cast<unsigned char>(line[at - 1])) || line[at - 1] == '-' || line[at - 1] == '.')) continue;
        std::size_t end = at;
        while (end < line.size() && (std::isdigit(static_cast<unsigned char>(line[end])) || line[end] == '.')) ++end;
        if (line.substr(at, end - at).find('.') != std::string::npos) return line.substr(at, end - at);
        at = end;
    }
    return "";
}

// Whether it compiles, links and finds its standard library: a clang++ without libstdc++ beside it does not.
// What it says of a program that has nothing to warn of goes into `words`.
bool works(const std::string& path, const std::vector<std::string>& flags, std::string* words = nullptr) {
    TemporaryFolder folder;
    if (folder.path().empty() ||
        !write_file(folder.path() + "/probe.cpp", "#include <cmath>\nextern \"C\" float probe(float x) { return std::sqrt(x); }\n"))
        return false;
    std::vector<std::string> argv{path, "-march=native", "-fPIC", "-shared", "probe.cpp", "-o", "probe.so"};
    argv.insert(argv.begin() + 1, flags.begin(), flags.end());
    std::string built;
    const Finished compiled = run(argv, folder.path());
    if (words != nullptr) *words = compiled.output + compiled.error;
    return compiled.ok() && read_file(folder.path() + "/probe.so", built) && !built.empty();
}

// clang++ 19 finds what -march=native gives on a CPU with AVX10.1 a strange combination, and says so of each kernel.
bool can_be_quieted(const std::string& path) {
    std::string words;
    return works(path, {quiet_about_features}, &words) && words.empty();
}

bool describe(const std::string& path, Compiler& found) {
    const Finished version = run({path, "--version"}, "");
    if (!version.ok()) return false;
    found.path = path;
    found.version = version.output.substr(0, version.output.find('\n'));
    found.is_clang = version.output.find("clang") != std::string::npos;
    const bool is_gcc = version.output.find("Free Software Foundation") != std::string::npos;
    found.name = (found.is_clang ? "clang++ " : is_gcc ? "g++ " : "c++ ") + version_number(found.version);
    return true;
}

// Without a file to compile no compiler works, and it would get the blame.
std::string folder_problem() {
    TemporaryFolder folder;
    if (!folder.path().empty() && write_file(folder.path() + "/probe", std::string(4096, ' '))) return "";
    const char* base = std::getenv("TMPDIR");
    return std::string("no file can be written below ") + (base != nullptr && *base != '\0' ? base : "/tmp") +
           ", where kernels are compiled: free space on its disk, or set TMPDIR to a folder that can be written";
}

Compiler find() {
    Compiler found;
    std::string words;
    found.problem = folder_problem();
    if (!found.problem.empty()) return found;
    const char* chosen = std::getenv("KERNELPERF_CXX");
    if (chosen != nullptr && *chosen != '\0') {
        const std::string path = find_program(chosen);
        if (path.empty() || !describe(path, found) || !works(path, {}, &words)) {
            found = {};
            found.problem = std::string("KERNELPERF_CXX names '") + chosen +
                            "', which is not a working C++ compiler here: set it to one, or unset it to have one looked for";
            return found;
        }
    } else {
        for (const char* name : {"clang++", "g++", "c++"}) {
            const std::string path = find_program(name);
            if (!path.empty() && describe(path, found) && works(path, {}, &words)) break;
            found = {};
        }
        if (found.path.empty()) {
            found.problem = "no working C++ compiler was found (clang++, g++ or c++ in PATH), and the cpu runtime compiles "
                            "kernels with one: install g++ or clang++, or set KERNELPERF_CXX";
            return found;
        }
    }
    found.keeps_endless_loops = works(found.path, {"-fno-finite-loops"});
    found.warns_of_its_own_flags = !words.empty() && can_be_quieted(found.path);
    return found;
}

}  // namespace

const Compiler& compiler() {
    static const Compiler value = find();
    return value;
}

std::vector<std::string> code_flags(const Compiler& compiler) {
    std::vector<std::string> flags{
        "-O3", "-march=native", "-fPIC", "-g0",
        // As on a GPU: a * b + c may round once; nobody reads errno or floating-point traps.
        "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math",
        // Kernels reinterpret memory freely (float4 over float).
        "-fno-strict-aliasing",
        // Each kernel in its own section, so that its instructions can be told from its neighbours'.
        "-ffunction-sections", "-fdata-sections", "-fno-ident", "-fno-asynchronous-unwind-tables", "-fno-semantic-interposition",
        "-fno-stack-protector", "-fcf-protection=none", "-fdiagnostics-color=never"};
    if (compiler.keeps_endless_loops) flags.push_back("-fno-finite-loops");
    if (compiler.warns_of_its_own_flags) flags.push_back(quiet_about_features);
    // g++ folds kernels of equal instructions into one symbol; each must keep its own name, section and digest.
    // It also moves what it thinks unlikely (a throw, an abort) into functions of their own.
    // And it would make an inline function's shared memory one for all modules in the process, whatever size each gives it.
    if (!compiler.is_clang) flags.insert(flags.end(), {"-fno-ipa-icf", "-fno-reorder-blocks-and-partition", "-fno-gnu-unique"});
#if defined(__x86_64__)
    // A large frame touches each of its pages in order, so that one that is too large meets the page below its stack.
    flags.push_back("-fstack-clash-protection");
#else
    flags.erase(std::find(flags.begin(), flags.end(), "-fcf-protection=none"));
#endif
    return flags;
}

}  // namespace kp

// For reports and benchmarks: which compiler, where it is, and the flags every kernel gets (separated by spaces).
KP_EXPORT const char* kernelperf_cpu_compiler() { return kp::compiler().name.c_str(); }
KP_EXPORT const char* kernelperf_cpu_compiler_path() { return kp::compiler().path.c_str(); }
KP_EXPORT const char* kernelperf_cpu_flags() {
    static const std::string joined = [] {
        std::string all;
        for (const std::string& flag : kp::code_flags(kp::compiler())) all += (all.empty() ? "" : " ") + flag;
        return all;
    }();
    return joined.c_str();
}
