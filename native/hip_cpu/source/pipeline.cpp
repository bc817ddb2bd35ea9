#include "pipeline.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "assembly.h"
#include "compiler.h"
#include "container.h"
#include "cpu.h"
#include "device.h"
#include "footprint.h"
#include "process.h"
#include "rewrite.h"
#include "sha256.h"
#include "token.h"

namespace kp {
namespace {

std::string own_path() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&own_path), &info) == 0 || info.dli_fname == nullptr) return "";
    return info.dli_fname;
}

std::string include_folder() {
    const std::string path = own_path();
    return path.substr(0, path.rfind('/') + 1) + "../include";
}

// This library's own bytes stand for how it rewrites sources: what another build made is not taken from the cache.
const std::string& own_version() {
    static const std::string value = [] {
        std::string bytes;
        read_file(own_path(), bytes);
        return sha256_hex(bytes);
    }();
    return value;
}

struct Options {
    std::vector<std::string> preprocess;
    std::string standard = "-std=gnu++17";
    std::string refused;
};

// hiprtc options we know: macros, include folders, the standard. What only a GPU compiler needs is taken and ignored.
Options read_options(const std::vector<std::string>& given) {
    Options result;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const std::string& option = given[i];
        auto starts = [&](const char* prefix) { return option.compare(0, std::strlen(prefix), prefix) == 0; };
        if (option == "-D" || option == "-I" || option == "-U") {
            if (i + 1 == given.size()) return result.refused = option + " needs a value", result;
            result.preprocess.push_back(option + given[++i]);
        } else if (starts("-D") || starts("-I") || starts("-U")) {
            result.preprocess.push_back(option);
        } else if (starts("--define-macro=")) {
            result.preprocess.push_back("-D" + option.substr(15));
        } else if (starts("--include-path=")) {
            result.preprocess.push_back("-I" + option.substr(15));
        } else if (starts("-std=") || starts("--std=")) {
            const std::string name = option.substr(option.find('=') + 1);
            result.standard = "-std=" + (name.compare(0, 3, "c++") == 0 ? "gnu" + name.substr(1) : name);
        } else if (starts("--gpu-architecture=") || starts("--offload-arch=") || starts("-O") || starts("-f") || starts("-m") ||
                   starts("-W") || starts("-g") || option == "-w" || option == "--fgpu-rdc") {
            continue;
        } else {
            return result.refused = "the cpu runtime does not know the option '" + option + "': it knows -D, -U, -I and -std=", result;
        }
    }
    return result;
}

bool inside(const std::string& name) {
    if (name.empty() || name.front() == '/') return false;
    for (std::size_t at = 0; at <= name.size();) {
        std::size_t end = name.find('/', at);
        if (end == std::string::npos) end = name.size();
        if (name.substr(at, end - at) == "..") return false;
        at = end + 1;
    }
    return name.find('\n') == std::string::npos && name.find('\0') == std::string::npos;
}

bool put_file(const std::string& folder, const std::string& name, const std::string& text) {
    const std::size_t slash = name.rfind('/');
    if (slash != std::string::npos && !make_folders(folder + "/" + name.substr(0, slash))) return false;
    return write_file(folder + "/" + name, text);
}

std::string pack(const std::string& shared, const std::string& relocatable) {
    ContainerHeader head{};
    std::memcpy(head.magic, container_magic, 8);
    head.version = container_version;
    head.shared_offset = sizeof head;
    head.shared_bytes = shared.size();
    head.relocatable_offset = (sizeof head + shared.size() + 15) / 16 * 16;
    head.relocatable_bytes = relocatable.size();
    head.total_bytes = head.relocatable_offset + relocatable.size();
    std::string out(reinterpret_cast<const char*>(&head), sizeof head);
    out += shared;
    out.resize(head.relocatable_offset, '\0');
    return out + relocatable;
}

// g++ finds it strange that a kernel without linkage is declared only (rewrite.h), and cannot be told not to say so.
std::string without_known_warnings(const std::string& words) {
    std::string out;
    for (std::size_t at = 0; at < words.size();) {
        const std::size_t end = std::min(words.find('\n', at), words.size() - 1) + 1;
        const std::string line = words.substr(at, end - at);
        if (line.find("used but never defined") == std::string::npos) out += line;
        at = end;
    }
    return out;
}

// Each "file:line", a newline, and the kernel's name.
std::string defined_twice(const std::string& first, const std::string& second) {
    const std::size_t end = second.find('\n');
    return second.substr(0, end) + ": error: redefinition of the kernel " + second.substr(end + 1) + ", which has the same parameters at " +
           first.substr(0, first.find('\n'));
}

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

class Job {
public:
    Job(const Source& source, Compiled& compiled, const Compiler& cxx) : source_(source), compiled_(compiled), cxx_(cxx) {}

    Outcome run_all() {
        options_ = read_options(source_.options);
        if (!options_.refused.empty()) return say(Outcome::bad_option, options_.refused);
        if (folder_.path().empty()) return say(Outcome::failed, "no temporary folder could be made for compiling: check TMPDIR");
        main_ = inside(source_.name) ? source_.name : "kernel.hip";
        for (const auto& [name, text] : source_.headers)
            if (!inside(name)) return say(Outcome::bad_input, "the header name '" + name + "' leads out of the source's folder");
            else if (!put_file(folder_.path(), name, text)) return say(Outcome::failed, "the header '" + name + "' could not be written for compiling");
        if (!put_file(folder_.path(), main_, source_.text + expressions_marked())) return say(Outcome::failed, "the source could not be written for compiling");

        const Finished preprocessed = step({"-E", "-x", "c++", "-include", "hip/hip_runtime.h", main_}, true);
        if (!preprocessed.ok()) return say(Outcome::refused, preprocessed.error);
        std::vector<std::string> expressions;
        const std::string_view text = take_expressions(preprocessed.output, expressions);
        if (expressions.size() != source_.name_expressions.size())
            return say(Outcome::refused, main_ + ": error: a comment or a condition of the preprocessor does not end");
        const std::string key = key_of(preprocessed.output);
        if (cache_read(key, compiled_)) return Outcome::compiled;
        compiled_ = {};

        const std::string pragma = cxx_.is_clang ? "#pragma clang loop vectorize(assume_safety) interleave(enable)" : "#pragma GCC ivdep";
        Outcome outcome = Outcome::refused;
        // Fences round shared variables are put in by name, which code may be too clever for: what does not compile with
        // them is tried without, and then is what is said of it.
        for (const bool fences : {true, false}) {
            const Rewritten rewritten = rewrite(text, expressions, pragma, fences);
            if (!rewritten.error.empty()) return say(Outcome::refused, rewritten.error);
            outcome = build(rewritten, preprocessed.error);
            if (outcome != Outcome::refused || rewritten.text.find("kp_fenced_") == std::string::npos) break;
        }
        if (outcome == Outcome::compiled) cache_write(key, compiled_);
        return outcome;
    }

private:
    Outcome say(Outcome outcome, const std::string& words) {
        compiled_.log = words;
        return outcome;
    }

    // Name expressions go through the preprocessor behind the source, as with hiprtc: they may use its macros.
    static constexpr const char* mark_ = "kp_name_expression_follows";
    std::string expressions_marked() const {
        std::string text;
        for (const std::string& expression : source_.name_expressions) text.append("\n").append(mark_).append(" ").append(expression);
        return text + "\n";
    }

    // What stands before them; the expressions as the preprocessor left them.
    std::string_view take_expressions(std::string_view preprocessed, std::vector<std::string>& expressions) const {
        std::size_t at = source_.name_expressions.empty() ? std::string_view::npos : preprocessed.find(mark_);
        const std::string_view before = preprocessed.substr(0, at);
        while (at != std::string_view::npos) {
            const std::size_t begin = at + std::strlen(mark_);
            at = preprocessed.find(mark_, begin);
            const Tokens parts = split(preprocessed.substr(begin, at - begin));
            expressions.push_back(on_one_line(parts.list, 0, parts.list.size()));
        }
        return before;
    }

    Finished step(const std::vector<std::string>& arguments, bool preprocessing) const {
        std::vector<std::string> argv{cxx_.path, options_.standard};
        argv = joined(argv, code_flags(cxx_));
        if (preprocessing) argv = joined(joined(argv, options_.preprocess), {"-I.", "-I" + include_folder()});
        return run(joined(argv, arguments), folder_.path());
    }

    std::string key_of(const std::string& preprocessed) const {
        std::string all = own_version() + '\0' + cxx_.path + '\0' + cxx_.version + '\0' + cpu().model + '\0' + cpu().flags + '\0' + options_.standard;
        for (const std::string& flag : code_flags(cxx_)) all.append(1, '\0').append(flag);
        for (const std::string& name : source_.name_expressions) all.append(1, '\0').append(name);
        return sha256_hex(all + '\0' + preprocessed);
    }

    Outcome build(const Rewritten& rewritten, const std::string& warnings) {
        const std::string folder = folder_.path() + "/";
        std::string assembly, shared, relocatable;
        if (!write_file(folder + "kernel.ii", rewritten.text)) return say(Outcome::failed, "the preprocessed source could not be written");
        std::vector<std::string> quiet{"-fno-show-column", "-fno-diagnostics-show-option"};
        quiet.push_back(cxx_.is_clang ? "-fno-caret-diagnostics" : "-fno-diagnostics-show-caret");
        if (cxx_.is_clang) quiet = joined(quiet, {"-fno-addrsig", "-Wno-pass-failed", "-Wno-undefined-internal"});
        const Finished compiled = step(joined(quiet, {"-S", "kernel.ii", "-o", "kernel.s"}), false);
        if (!compiled.ok()) return say(Outcome::refused, warnings + without_known_warnings(compiled.error));
        if (!read_file(folder + "kernel.s", assembly)) return say(Outcome::failed, "the compiler left no assembly");
        const Renamed renamed = name_kernels(assembly, rewritten.kernels, rewritten.expressions);
        if (!renamed.error.empty()) return say(Outcome::failed, renamed.error);
        for (const auto& [first, second] : renamed.same)
            if (!rewritten.defined[first].empty() && !rewritten.defined[second].empty())
                return say(Outcome::refused, defined_twice(rewritten.defined[first], rewritten.defined[second]));
        if (!write_file(folder + "kernel.s", renamed.text)) return say(Outcome::failed, "the assembly could not be written");
        const Finished assembled = step({"-c", "kernel.s", "-o", "kernel.o"}, false);
        if (!assembled.ok()) return say(Outcome::failed, assembled.error);
        if (!read_file(folder + "kernel.o", relocatable)) return say(Outcome::failed, "the assembler left no object");
        for (const auto& [name, bytes] : shared_bytes_of(relocatable))
            if (bytes > max_shared_bytes)
                return say(Outcome::refused, main_ + ": error: the kernel " + name + " has " + std::to_string(bytes) +
                                                 " bytes of static shared memory, and a workgroup can have " + std::to_string(max_shared_bytes));
        const Finished linked = step({"-shared", "-Wl,-Bsymbolic", "-Wl,--build-id=none", "-Wl,--as-needed", "-Wl,-z,defs", "kernel.o", "-o", "kernel.so"}, false);
        if (!linked.ok()) return say(Outcome::refused, linked.error);
        if (!read_file(folder + "kernel.so", shared))
            return say(Outcome::failed, "the linker left no object");
        compiled_.object = pack(shared, relocatable);
        compiled_.log = warnings + without_known_warnings(compiled.error);
        compiled_.lowered = renamed.expressions;
        return Outcome::compiled;
    }

    const Source& source_;
    Compiled& compiled_;
    const Compiler& cxx_;
    TemporaryFolder folder_;
    Options options_;
    std::string main_;
};

}  // namespace

Outcome compile(const Source& source, Compiled& compiled) {
    const Compiler& cxx = compiler();
    if (cxx.path.empty()) {
        compiled.log = cxx.problem;
        return Outcome::no_compiler;
    }
    return Job(source, compiled, cxx).run_all();
}

}  // namespace kp
