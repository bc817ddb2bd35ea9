#include "assembly.h"

#include <cctype>
#include <map>

namespace kp {
namespace {

// The symbol that `label: .quad symbol` holds; its line is blanked to `.quad 0`, so that no reference to the
// declared-only function is left.
std::string take_symbol(std::string& text, const std::string& label) {
    const std::size_t at = text.find("\n" + label + ":");
    if (at == std::string::npos) return "";
    std::size_t line = text.find('\n', at + 1);
    for (int i = 0; i < 4 && line != std::string::npos; ++i) {
        const std::size_t end = text.find('\n', line + 1);
        std::size_t word = text.find_first_not_of(" \t", line + 1);
        std::size_t space = text.find_first_of(" \t", word);
        if (space < end) {
            const std::string directive = text.substr(word, space - word);
            if (directive == ".quad" || directive == ".xword" || directive == ".8byte" || directive == ".dword") {
                const std::size_t begin = text.find_first_not_of(" \t", space);
                std::size_t stop = begin;
                while (stop < end && (std::isalnum(static_cast<unsigned char>(text[stop])) || text[stop] == '_' ||
                                      text[stop] == '.' || text[stop] == '$'))
                    ++stop;
                const std::string symbol = text.substr(begin, stop - begin);
                text.replace(begin, end - begin, "0");
                return symbol;
            }
        }
        line = end;
    }
    return "";
}

}  // namespace

Renamed name_kernels(std::string_view assembly, int kernels, int expressions) {
    Renamed result;
    std::string text(assembly);
    for (int i = 0; i < expressions; ++i)
        result.expressions.push_back(take_symbol(text, "kp_expression_KPE" + std::to_string(i) + "_"));
    std::map<std::string, std::size_t> seen;
    for (int i = 0; i < kernels; ++i) {
        std::string name = take_symbol(text, "kp_name_KP" + std::to_string(i) + "_");
        if (name.empty()) {
            result.error = "the cpu runtime does not understand this compiler's assembly: kernel " + std::to_string(i) + " has no name in it";
            return result;
        }
        // Two spellings of one name expression: the second copy is kept apart, its name finds the first.
        if (const auto [first, fresh] = seen.emplace(name, i); !fresh) {
            result.same.emplace_back(first->second, i);
            name += ".again." + std::to_string(i);
        }
        result.kernels.push_back(name);
    }
    static constexpr std::string_view prefixes[] = {"kernelperf_thunk_KP", "kernelperf_parameters_KP", "kernelperf_bounds_KP"};
    std::string& out = result.text;
    out.reserve(text.size() + 4096);
    for (std::size_t at = 0; at < text.size();) {
        std::size_t next = std::string::npos;
        std::size_t length = 0;
        for (std::string_view prefix : prefixes) {
            const std::size_t found = text.find(prefix, at);
            if (found < next) {
                next = found;
                length = prefix.size();
            }
        }
        if (next == std::string::npos) {
            out.append(text, at, std::string::npos);
            break;
        }
        std::size_t digits = next + length;
        std::size_t number = 0;
        while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])))
            number = number * 10 + static_cast<std::size_t>(text[digits++] - '0');
        out.append(text, at, next + length - 2 - at).append(result.kernels.at(number));
        at = digits + 1;
    }
    return result;
}

}  // namespace kp
