#include "body_text.h"

namespace kp {

bool one_of(std::string_view text, std::initializer_list<std::string_view> list) {
    for (std::string_view item : list)
        if (text == item) return true;
    return false;
}

bool assigns(std::string_view t) { return one_of(t, {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<="}); }
bool steps(std::string_view t) { return t == "++" || t == "--"; }
bool is_integer_type(std::string_view t) {
    return one_of(t, {"int", "unsigned", "long", "signed", "auto", "size_t", "std", "::", "int32_t", "uint32_t", "int64_t", "uint64_t",
                      "ptrdiff_t", "const", "constexpr"});
}
bool is_keyword_before_expression(std::string_view t) { return one_of(t, {"return", "else", "case", "do", "throw"}); }

BodyText::BodyText(const BodyPlace& place)
    : text_(place.text), all_(place.tokens), t_(place.tokens.list), pragma_(place.pragma), parameters_open_(place.parameters_open),
      parameters_close_(place.parameters_close), open_(place.open), close_(place.close) {
    read_parameters(parameters_open_, parameters_close_);
}

bool BodyText::is(std::size_t i, std::string_view text) const { return i < close_ && t_[i].text == text; }

void BodyText::read_parameters(std::size_t open, std::size_t close) {
    std::size_t begin = open + 1;
    for (std::size_t i = begin; i <= close; ++i) {
        if (i != close && !t_[i].is(",")) continue;
        bool pointer = false;
        for (std::size_t k = begin; k < i; ++k) pointer = pointer || t_[k].is("*") || t_[k].is("[");
        for (std::size_t k = i; k-- > begin;)
            if (t_[k].is_name()) {
                locals_[t_[k].text] = Local{pointer, false, true};
                break;
            }
        begin = i + 1;
    }
}

bool BodyText::has_lambda_or_label() const {
    for (std::size_t i = open_ + 1; i < close_; ++i) {
        if (t_[i].is("[") && !t_[i - 1].is_name() && !one_of(t_[i - 1].text, {")", "]"})) return true;
        if (one_of(t_[i].text, {"goto", "asm", "__asm__", "__asm", "switch", "try", "static"})) return true;
    }
    return false;
}

std::size_t BodyText::index_at(std::size_t i, std::string_view field, std::string_view axis) const {
    return is(i, "(") && is(i + 1, "kp_index") && is(i + 2, ".") && is(i + 3, field) && is(i + 4, ")") && is(i + 5, ".") && is(i + 6, axis) ? i + 7 : 0;
}

std::size_t BodyText::product_at(std::size_t i, std::string_view a, std::string_view b) const {
    for (int order = 0; order < 2; ++order) {
        const std::size_t star = index_at(i, order == 0 ? a : b);
        if (star != 0 && is(star, "*"))
            if (const std::size_t end = index_at(star + 1, order == 0 ? b : a)) return end;
    }
    return 0;
}

std::size_t BodyText::linear_at(std::size_t i) const {
    if (const std::size_t plus = product_at(i, "block", "block_size"); plus != 0 && is(plus, "+")) return index_at(plus + 1, "thread");
    if (const std::size_t plus = index_at(i, "thread"); plus != 0 && is(plus, "+")) return product_at(plus + 1, "block", "block_size");
    return 0;
}

bool BodyText::mentions_thread_x(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i)
        if (t_[i].is("kp_index") && (is(i + 2, "thread") && !(is(i + 4, ".") && (is(i + 5, "y") || is(i + 5, "z"))))) return true;
    return false;
}

bool BodyText::is_call(std::size_t i) const {
    if (t_[i - 1].is_name()) return !one_of(t_[i - 1].text, {"if", "while", "for", "return", "sizeof", "alignof"});
    if (!t_[i - 1].is(">")) return false;
    int depth = 0;
    for (std::size_t k = i - 1; k > open_; --k) {
        if (t_[k].is(">")) ++depth;
        if (t_[k].is("<") && --depth == 0) return !one_of(t_[k - 1].text, {"static_cast", "reinterpret_cast", "const_cast"});
    }
    return true;
}

bool BodyText::mentions(std::size_t begin, std::size_t end, std::string_view name) const {
    for (std::size_t i = begin; i < end; ++i)
        if (t_[i].is_name() && t_[i].is(name) && !one_of(t_[i - 1].text, {".", "->", "::"})) return true;
    return false;
}

bool BodyText::mentions_non_uniform(std::size_t begin, std::size_t end) const {
    if (mentions_thread_x(begin, end)) return true;
    for (const auto& [name, local] : locals_)
        if (!local.uniform && mentions(begin, end, name)) return true;
    return false;
}

bool BodyText::is_simple(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) {
        const Token& t = t_[i];
        if (t.is_name() || t.kind == TokenKind::number) continue;
        if (t.is("(") && i > begin && t_[i - 1].is_name()) return false;
        if (t.is("*") && (i == begin || !(t_[i - 1].is_name() || t_[i - 1].kind == TokenKind::number || t_[i - 1].is(")")))) return false;
        if (!one_of(t.text, {"(", ")", "+", "-", "*", "/", "%", ".", "::"})) return false;
    }
    return begin < end;
}

bool BodyText::never_changed(std::string_view name, std::size_t declared) const {
    for (std::size_t i = open_ + 1; i < close_; ++i) {
        if (i == declared || !t_[i].is(name) || one_of(t_[i - 1].text, {".", "->", "::"})) continue;
        if (assigns(t_[i + 1].text) || steps(t_[i + 1].text) || steps(t_[i - 1].text) || t_[i - 1].is("&")) return false;
        if ((t_[i + 1].is(">") || t_[i + 1].is("<<")) && t_[i + 2].is(">=")) return false;
        // Declared again, hiding the outer one.
        if (t_[i - 1].is_name() && !is_keyword_before_expression(t_[i - 1].text)) return false;
    }
    return true;
}

bool BodyText::is_whole_argument(std::size_t begin, std::size_t end, std::string_view name) const {
    for (std::size_t i = begin; i < end; ++i)
        if (t_[i].is(name) && one_of(t_[i - 1].text, {"(", ","}) && one_of(t_[i + 1].text, {")", ","})) return true;
    return false;
}

std::size_t BodyText::declared_name(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin + 1; i < end; ++i) {
        if (t_[i].is("=")) return i > begin + 1 && t_[i - 1].is_name() ? i - 1 : 0;
        if (!t_[i - 1].is_name() && !one_of(t_[i - 1].text, {"*", "::", "<", ">"})) return 0;
    }
    return 0;
}

bool BodyText::has_top_level_comma(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) {
        if (one_of(t_[i].text, {"(", "[", "{"})) i = closing(t_, i);
        else if (t_[i].is(",")) return true;
    }
    return false;
}

bool BodyText::note_declaration(std::size_t begin, std::size_t end) {
    const std::size_t name = declared_name(begin, end);
    if (name == 0 || has_top_level_comma(name, end)) return false;
    for (std::size_t i = name + 2; i < end; ++i) {
        if (assigns(t_[i].text) || steps(t_[i].text) || t_[i].is("{")) return false;
        if (t_[i].is("(") && is_call(i)) return false;
    }
    Local local;
    for (std::size_t i = begin; i < name; ++i) {
        local.is_pointer = local.is_pointer || t_[i].is("*");
        local.is_const = local.is_const || t_[i].is("const") || t_[i].is("constexpr");
    }
    local.uniform = !mentions_non_uniform(name + 2, end);
    if (local.is_pointer) local.is_const = false;  // says nothing of the pointer itself
    if (!local.is_const && !never_changed(t_[name].text, name)) local.uniform = false;
    local.name = name;
    local.end = end;
    locals_[t_[name].text] = local;
    return true;
}

bool BodyText::all_integer(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i)
        if (!is_integer_type(t_[i].text)) return false;
    return true;
}

std::size_t BodyText::statement_end(std::size_t begin) const {  // of a simple statement: its semicolon
    for (std::size_t i = begin; i < close_; ++i) {
        if (one_of(t_[i].text, {"(", "[", "{"})) i = closing(t_, i);
        else if (t_[i].is(";")) return i;
    }
    return close_;
}

std::string BodyText::marker(std::size_t token) const {
    return "\n# " + std::to_string(t_[token].line) + " \"" + all_.files[static_cast<std::size_t>(t_[token].file)] + "\"\n";
}

std::string BodyText::words(std::size_t begin, std::size_t end) const {
    std::string out;
    for (std::size_t i = begin; i < end; ++i)
        if (!one_of(t_[i].text, {"const", "constexpr"})) out.append(out.empty() ? "" : " ").append(t_[i].text);
    return out;
}

bool BodyText::lives_outside(std::string_view name) const {
    for (std::size_t i = open_ + 1; i < close_; ++i)
        if (t_[i].is(name) && t_[i - 1].is_name() && !is_keyword_before_expression(t_[i - 1].text)) return false;
    return never_changed(name, close_);
}

}  // namespace kp
