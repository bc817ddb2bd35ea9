#include "declaration.h"

#include <algorithm>

namespace kp {
namespace {

std::size_t closing_angle(const std::vector<Token>& tokens, std::size_t open, std::size_t end) {
    int depth = 0;
    for (std::size_t i = open; i < end; ++i) {
        if (tokens[i].is("(") || tokens[i].is("{") || tokens[i].is("[")) i = closing(tokens, i);
        else if (tokens[i].is("<")) ++depth;
        else if (tokens[i].is(">") && --depth == 0) return i;
    }
    return end;
}

// template <...> as often as it comes: the token after it.
std::size_t skip_templates(const std::vector<Token>& tokens, std::size_t begin, std::size_t end, Declaration& d) {
    std::size_t i = begin;
    while (i < end && tokens[i].is("template")) {
        if (!tokens[i + 1].is("<")) {
            d.is_instantiation = true;
            return i + 1;
        }
        const std::size_t close = closing_angle(tokens, i + 1, end);
        (close == i + 2 ? d.is_specialisation : d.is_template) = true;
        i = close + 1;
    }
    return i;
}

// The first token of the declarator that ends before `open`: a name, or name<arguments>; `least` if there is none.
std::size_t declarator(const std::vector<Token>& tokens, std::size_t least, std::size_t open) {
    std::size_t name = open - 1;
    if (!tokens[name].is(">")) return name;
    name = opening_angle(tokens, least, name);
    return name > least ? name - 1 : least;
}

// What is left of the specifiers without those that are no type: void, or std::enable_if_t<...> and the like, which the
// compiler decides on; "" for what cannot be void.
std::string result_type(const std::vector<Token>& tokens, std::size_t begin, std::size_t name) {
    static constexpr std::string_view no_type[] = {"__global__", "static", "inline", "__inline", "__inline__", "constexpr", "extern", "noexcept", "__noinline__"};
    std::string type;
    bool may_be_void = false;
    for (std::size_t i = begin; i < name; ++i) {
        if (tokens[i].is("[")) {
            i = closing(tokens, i);
            continue;
        }
        if (takes_parentheses(tokens[i].text) && !tokens[i].is("decltype")) {
            if (tokens[i + 1].is("(")) i = closing(tokens, i + 1);
            continue;
        }
        if (tokens[i].kind == TokenKind::text || std::find(std::begin(no_type), std::end(no_type), tokens[i].text) != std::end(no_type)) continue;
        may_be_void = may_be_void || tokens[i].is("void") || tokens[i].is("<") || tokens[i].is("::") || tokens[i].is("decltype");
        type.append(type.empty() ? "" : " ").append(tokens[i].text);
    }
    return may_be_void ? type : "";
}

}  // namespace

bool takes_parentheses(std::string_view word) {
    static constexpr std::string_view words[] = {"__launch_bounds__", "__attribute__", "__attribute", "alignas",
                                                 "noexcept", "decltype", "__declspec", "explicit"};
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

std::size_t read_declaration(const std::vector<Token>& tokens, std::size_t begin, std::size_t end, Declaration& d, std::string& sentence) {
    d.begin = begin;
    d.specifiers = skip_templates(tokens, begin, end, d);
    std::size_t i = d.specifiers;
    for (; i < end; ++i) {
        if (tokens[i].is("extern") && tokens[i + 1].is("\"C\"")) d.extern_c = true;
        if (tokens[i].is("__launch_bounds__") && tokens[i + 1].is("(")) d.bounds = i + 1;
        if (tokens[i].is("[")) i = closing(tokens, i);
        if (i >= end || !tokens[i].is("(")) continue;
        if (i > begin && (tokens[i - 1].is(">") || (tokens[i - 1].is_name() && !takes_parentheses(tokens[i - 1].text)))) break;
        i = closing(tokens, i);
    }
    if (i >= end) {
        sentence = "this __global__ declaration is not understood: it has no parameter list";
        return begin;
    }
    d.open = i;
    d.close = closing(tokens, i);
    d.name = declarator(tokens, d.specifiers, d.open);
    if (!tokens[d.name].is_name()) sentence = "this kernel's name is not understood";
    else if (d.result = result_type(tokens, d.specifiers, d.name); d.result.empty()) sentence = "a kernel must return void";
    else if (d.name > 0 && tokens[d.name - 1].is("::"))
        sentence = "the cpu runtime needs a kernel to be defined inside its namespace, not with a qualified name";
    return d.name;
}

}  // namespace kp
