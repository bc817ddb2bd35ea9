#include "kernel_body.h"

#include <initializer_list>
#include <map>
#include <set>

namespace kp {
namespace {

using Names = std::set<std::string_view>;

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

// A variable declared at the top of the body, before a loop that is looked at.
struct Local {
    bool is_pointer = false;
    bool is_const = false;
    bool uniform = false;  // the same for all threads of a row
    std::size_t name = 0;  // where it is declared: NAME = ... END;   0: a parameter
    std::size_t end = 0;
};

class Body {
public:
    Body(std::string_view text, const Tokens& all, const std::string& pragma, std::size_t parameters_open, std::size_t parameters_close, std::size_t open, std::size_t close)
        : text_(text), all_(all), t_(all.list), pragma_(pragma), parameters_open_(parameters_open), parameters_close_(parameters_close), open_(open), close_(close) {
        read_parameters(parameters_open, parameters_close);
    }

    BodyFacts read() {
        if (has_lambda_or_label()) return {};
        find_strided();
        if (!facts_.strided) {
            find_segmented();
            find_linear();
            find_limit();
        }
        return std::move(facts_);
    }

private:
    bool is(std::size_t i, std::string_view text) const { return i < close_ && t_[i].text == text; }

    void read_parameters(std::size_t open, std::size_t close) {
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

    // Lambdas shadow and capture, labels jump: too much to follow here.
    bool has_lambda_or_label() const {
        for (std::size_t i = open_ + 1; i < close_; ++i) {
            if (t_[i].is("[") && !t_[i - 1].is_name() && !one_of(t_[i - 1].text, {")", "]"})) return true;
            if (one_of(t_[i].text, {"goto", "asm", "__asm__", "__asm", "switch", "try", "static"})) return true;
        }
        return false;
    }

    // --- pieces of expressions -----------------------------------------------------------------

    // (kp_index.FIELD).x, as the macros leave it: the token after it, or 0.
    std::size_t index_at(std::size_t i, std::string_view field, std::string_view axis = "x") const {
        return is(i, "(") && is(i + 1, "kp_index") && is(i + 2, ".") && is(i + 3, field) && is(i + 4, ")") && is(i + 5, ".") && is(i + 6, axis) ? i + 7 : 0;
    }

    std::size_t product_at(std::size_t i, std::string_view a, std::string_view b) const {
        for (int order = 0; order < 2; ++order) {
            const std::size_t star = index_at(i, order == 0 ? a : b);
            if (star != 0 && is(star, "*"))
                if (const std::size_t end = index_at(star + 1, order == 0 ? b : a)) return end;
        }
        return 0;
    }

    // blockIdx.x * blockDim.x + threadIdx.x in any order: the token after it, or 0.
    std::size_t linear_at(std::size_t i) const {
        if (const std::size_t plus = product_at(i, "block", "block_size"); plus != 0 && is(plus, "+")) return index_at(plus + 1, "thread");
        if (const std::size_t plus = index_at(i, "thread"); plus != 0 && is(plus, "+")) return product_at(plus + 1, "block", "block_size");
        return 0;
    }

    bool mentions_thread_x(std::size_t begin, std::size_t end) const {
        for (std::size_t i = begin; i < end; ++i)
            if (t_[i].is("kp_index") && (is(i + 2, "thread") && !(is(i + 4, ".") && (is(i + 5, "y") || is(i + 5, "z"))))) return true;
        return false;
    }

    // Whether the parenthesis at `i` holds a call's arguments; casts are none.
    bool is_call(std::size_t i) const {
        if (t_[i - 1].is_name()) return !one_of(t_[i - 1].text, {"if", "while", "for", "return", "sizeof", "alignof"});
        if (!t_[i - 1].is(">")) return false;
        int depth = 0;
        for (std::size_t k = i - 1; k > open_; --k) {
            if (t_[k].is(">")) ++depth;
            if (t_[k].is("<") && --depth == 0) return !one_of(t_[k - 1].text, {"static_cast", "reinterpret_cast", "const_cast"});
        }
        return true;
    }

    bool mentions(std::size_t begin, std::size_t end, std::string_view name) const {
        for (std::size_t i = begin; i < end; ++i)
            if (t_[i].is_name() && t_[i].is(name) && !one_of(t_[i - 1].text, {".", "->", "::"})) return true;
        return false;
    }

    bool mentions_non_uniform(std::size_t begin, std::size_t end) const {
        if (mentions_thread_x(begin, end)) return true;
        for (const auto& [name, local] : locals_)
            if (!local.uniform && mentions(begin, end, name)) return true;
        return false;
    }

    // No calls, assignments, subscripts or dereferences: may be evaluated any number of times.
    bool is_simple(std::size_t begin, std::size_t end) const {
        for (std::size_t i = begin; i < end; ++i) {
            const Token& t = t_[i];
            if (t.is_name() || t.kind == TokenKind::number) continue;
            if (t.is("(") && i > begin && t_[i - 1].is_name()) return false;
            if (t.is("*") && (i == begin || !(t_[i - 1].is_name() || t_[i - 1].kind == TokenKind::number || t_[i - 1].is(")")))) return false;
            if (!one_of(t.text, {"(", ")", "+", "-", "*", "/", "%", ".", "::"})) return false;
        }
        return begin < end;
    }

    // A name is never given another value: not assigned, stepped, or had its address taken, anywhere in the body.
    bool never_changed(std::string_view name, std::size_t declared) const {
        for (std::size_t i = open_ + 1; i < close_; ++i) {
            if (i == declared || !t_[i].is(name) || one_of(t_[i - 1].text, {".", "->", "::"})) continue;
            if (assigns(t_[i + 1].text) || steps(t_[i + 1].text) || steps(t_[i - 1].text) || t_[i - 1].is("&")) return false;
            if ((t_[i + 1].is(">") || t_[i + 1].is("<<")) && t_[i + 2].is(">=")) return false;
            // Declared again, hiding the outer one.
            if (t_[i - 1].is_name() && !is_keyword_before_expression(t_[i - 1].text)) return false;
        }
        return true;
    }

    // A whole argument of a call may be taken by reference.
    bool is_whole_argument(std::size_t begin, std::size_t end, std::string_view name) const {
        for (std::size_t i = begin; i < end; ++i)
            if (t_[i].is(name) && one_of(t_[i - 1].text, {"(", ","}) && one_of(t_[i + 1].text, {")", ","})) return true;
        return false;
    }

    // --- declarations at the top of the body ---------------------------------------------------

    // TYPE NAME = EXPRESSION ; with one declarator: the position of NAME, or 0.
    std::size_t declared_name(std::size_t begin, std::size_t end) const {
        for (std::size_t i = begin + 1; i < end; ++i) {
            if (t_[i].is("=")) return i > begin + 1 && t_[i - 1].is_name() ? i - 1 : 0;
            if (!t_[i - 1].is_name() && !one_of(t_[i - 1].text, {"*", "::", "<", ">"})) return 0;
        }
        return 0;
    }

    bool has_top_level_comma(std::size_t begin, std::size_t end) const {
        for (std::size_t i = begin; i < end; ++i) {
            if (one_of(t_[i].text, {"(", "[", "{"})) i = closing(t_, i);
            else if (t_[i].is(",")) return true;
        }
        return false;
    }

    // Take note of a declaration; false if the statement is anything else or does something besides.
    bool note_declaration(std::size_t begin, std::size_t end) {
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

    bool all_integer(std::size_t begin, std::size_t end) const {
        for (std::size_t i = begin; i < end; ++i)
            if (!is_integer_type(t_[i].text)) return false;
        return true;
    }

    // --- strided loops -------------------------------------------------------------------------

    std::size_t statement_end(std::size_t begin) const {  // of a simple statement: its semicolon
        for (std::size_t i = begin; i < close_; ++i) {
            if (one_of(t_[i].text, {"(", "[", "{"})) i = closing(t_, i);
            else if (t_[i].is(";")) return i;
        }
        return close_;
    }

    void find_strided() {
        for (std::size_t i = open_ + 1; i < close_;) {
            if (t_[i].is("for")) {
                const std::size_t end = take_loop(i);
                if (end == 0) return;
                i = end;
            } else if (t_[i].is("if") && is(i + 1, "(")) {  // a way out that all threads take together
                const std::size_t condition = closing(t_, i + 1);
                if (!is(condition + 1, "return") || !is(condition + 2, ";") || !is_pure_condition(i + 2, condition)) return;
                i = condition + 3;
            } else {
                const std::size_t end = statement_end(i);
                if (end == close_ || !note_declaration(i, end)) return;
                i = end + 1;
            }
        }
    }

    bool is_pure_condition(std::size_t begin, std::size_t end) const {
        for (std::size_t i = begin; i < end; ++i)
            if (assigns(t_[i].text) || steps(t_[i].text) || (t_[i].is("(") && i > begin && is_call(i))) return false;
        return !mentions_non_uniform(begin, end);
    }

    // A strided loop at token `at`: noted, and the token after it returned; 0 if it is none or must stay as written.
    std::size_t take_loop(std::size_t at) {
        if (!is(at + 1, "(")) return 0;
        const std::size_t head_end = closing(t_, at + 1);
        const std::size_t first = statement_end(at + 2), second = statement_end(first + 1);
        if (second >= head_end) return 0;
        const std::size_t name = declared_name(at + 2, first);
        if (name == 0 || !all_integer(at + 2, name) || one_of(t_[at + 2].text, {"const"})) return 0;
        const std::string_view counter = t_[name].text;
        // threadIdx.x, to be stepped by blockDim.x
        if (index_at(name + 2, "thread") != first) return 0;
        if (!is(first + 1, counter) || !is(first + 2, "<") || !is_simple(first + 3, second)) return 0;
        if (mentions_non_uniform(first + 3, second) || mentions(first + 3, second, counter)) return 0;
        if (!is(second + 1, counter) || !is(second + 2, "+=") || index_at(second + 3, "block_size") != head_end) return 0;
        std::size_t body_end;
        if (is(head_end + 1, "{")) body_end = closing(t_, head_end + 1) + 1;
        else if (one_of(t_[head_end + 1].text, {"for", "if", "while", "do"})) return 0;
        else body_end = statement_end(head_end + 1) + 1;
        if (body_end > close_ || !is_iteration(head_end + 1, body_end, counter)) return 0;

        const std::string type(text_.substr(t_[at + 2].begin, t_[name].begin - t_[at + 2].begin));
        const std::string limit(text_.substr(t_[first + 3].begin, t_[second].begin - t_[first + 3].begin));
        const std::string body(text_.substr(t_[head_end + 1].begin, t_[body_end - 1].end - t_[head_end + 1].begin));
        const std::string v(counter);
        const std::string leader = "if (kp_index.stride == ::kp::stride_leader) {\n" + pragma_ + marker(at) + "for (" + type + " " + v +
                                   " = 0; " + v + " < " + limit + "; ++" + v + ") " + marker(head_end + 1) + body +
                                   "} else if (kp_index.stride == ::kp::stride_each) " + marker(at);
        facts_.edits.push_back({t_[at].begin, t_[at].begin, leader});
        facts_.strided = true;
        return body_end;
    }

    std::string marker(std::size_t token) const {
        return "\n# " + std::to_string(t_[token].line) + " \"" + all_.files[static_cast<std::size_t>(t_[token].file)] + "\"\n";
    }

    // Whether the loop's body depends on its thread by the counter alone, and leaves nothing behind but memory.
    bool is_iteration(std::size_t begin, std::size_t end, std::string_view counter) const {
        if (mentions_non_uniform(begin, end)) return false;
        Names inside;
        for (std::size_t i = begin; i < end; ++i) {
            if (one_of(t_[i].text, {"return", "break"})) return false;
            // declared here: a name after a type, before = ; { or [
            if (t_[i].is_name() && i > begin && (t_[i - 1].is_name() || one_of(t_[i - 1].text, {"*", "&", ">"})) &&
                !is_keyword_before_expression(t_[i - 1].text) && one_of(t_[i + 1].text, {"=", ";", "{", "[", ":"}) && starts_declaration(begin, i))
                inside.insert(t_[i].text);
        }
        if (inside.count(counter) != 0) return false;
        for (const auto& [name, local] : locals_) {
            if (inside.count(name) != 0) return false;  // hides an outer one: not followed
            if (!local.is_pointer && !local.is_const && is_whole_argument(begin, end, name)) return false;
        }
        for (std::size_t i = begin; i < end; ++i) {
            if (t_[i].is("&") && t_[i + 1].is_name() && t_[i + 2].is("=") && locals_.count(t_[i + 3].text) != 0 && !is(i + 4, "[")) return false;
            if (steps(t_[i].text) && !steps_inside(i, inside)) return false;
            if (assigns(t_[i].text) && !assigns_inside(begin, i, inside)) return false;
            if (t_[i].is(">") && t_[i + 1].is(">=")) return false;
        }
        return true;
    }

    // Whether the words before a name, back to the statement's start, are a type.
    bool starts_declaration(std::size_t begin, std::size_t name) const {
        for (std::size_t i = name; i-- > begin;) {
            if (one_of(t_[i].text, {";", "{", "}", "(", ")"})) return i + 1 < name && t_[i + 1].is_name();
            if (!t_[i].is_name() && !one_of(t_[i].text, {"*", "&", "::", "<", ">"})) return false;
        }
        return false;
    }

    bool steps_inside(std::size_t i, const Names& inside) const {
        return inside.count(t_[i + 1].text) != 0 || (inside.count(t_[i - 1].text) != 0 && !t_[i - 2].is("."));
    }

    // Whether the target of the assignment at `i` is a variable of the iteration, or memory behind a pointer.
    bool assigns_inside(std::size_t begin, std::size_t i, const Names& inside) const {
        std::size_t k = i;
        bool through_pointer = false;
        while (k > begin) {
            --k;
            if (t_[k].is("]")) {
                int depth = 0;
                for (;; --k) {
                    if (t_[k].is("]")) ++depth;
                    if (t_[k].is("[") && --depth == 0) break;
                    if (k == begin) return false;
                }
                through_pointer = true;
                continue;
            }
            if (!t_[k].is_name()) return false;
            if (!one_of(t_[k - 1].text, {".", "->"})) break;
            through_pointer = through_pointer || t_[k - 1].is("->");
            --k;
        }
        if (inside.count(t_[k].text) != 0) return true;
        if (t_[k - 1].is("*") && one_of(t_[k - 2].text, {";", "{", "}", ")"})) through_pointer = true;
        const auto local = locals_.find(t_[k].text);
        return through_pointer && local != locals_.end() && local->second.is_pointer;
    }

    // --- segments ------------------------------------------------------------------------------

    void find_segmented() {
        // The index is declared at the top of the body; what comes before does not matter here.
        linear_ = {};
        for (std::size_t i = open_ + 1; i < close_ && linear_.empty(); ++i) {
            if (one_of(t_[i].text, {"{", "("})) i = closing(t_, i);
            else if (i > open_ + 1 && !one_of(t_[i - 1].text, {";", "}"})) continue;
            else {
                const std::size_t end = statement_end(i), name = declared_name(i, end);
                if (name != 0 && linear_at(name + 2) == end && all_integer(i, name) && never_changed(t_[name].text, name)) {
                    linear_ = t_[name].text;
                    linear_type_ = words(i, name);
                }
            }
        }
        if (linear_.empty()) return;
        for (std::size_t i = open_ + 1; i + 2 < close_; ++i) {
            if (!t_[i].is(linear_) || !(is(i + 1, "/") || is(i + 1, "%"))) continue;
            if (t_[i - 1].is_name() ? !t_[i - 1].is("return") : one_of(t_[i - 1].text, {"*", "/", "%", ".", "->", "::", ")", "]", "~", "!"})) continue;
            const Token& divisor = t_[i + 2];
            if (one_of(t_[i + 3].text, {".", "->", "::", "(", "[", "++", "--"})) continue;
            if (!(divisor.kind == TokenKind::number && divisor.text.find('.') == std::string_view::npos) && !(divisor.is_name() && lives_outside(divisor.text))) continue;
            if (!facts_.divisor.empty() && facts_.divisor != divisor.text) continue;
            facts_.divisor = divisor.text;
            const std::string call = std::string(is(i + 1, "/") ? "::kp::quotient" : "::kp::remainder") + "(kp_index, " +
                                     std::string(linear_) + ", " + facts_.divisor + ")";
            facts_.edits.push_back({t_[i].begin, t_[i + 2].end, call});
        }
    }

    // --- linear --------------------------------------------------------------------------------

    void find_linear() {
        std::vector<BodyEdit> edits;
        for (std::size_t i = open_ + 1; i < close_; ++i) {
            if (const std::size_t end = linear_at(i); end != 0) {
                // Part of a larger product or cast, the sum would be taken apart.
                if (one_of(t_[i - 1].text, {"*", "/", "%", "-", ")", ">"}) || one_of(t_[end].text, {"*", "/", "%"})) return;
                edits.push_back({t_[i].begin, t_[end - 1].end, "(kp_index.place())"});
                i = end - 1;
            } else if (t_[i].is("kp_index")) {
                if (!is(i + 1, ".") || one_of(t_[i + 2].text, {"grid_size"})) continue;
                if (!one_of(t_[i + 2].text, {"thread", "block", "block_size"}) || !is(i + 4, ".") || !one_of(t_[i + 5].text, {"y", "z"})) return;
            }
        }
        facts_.linear = true;
        facts_.edits.insert(facts_.edits.end(), edits.begin(), edits.end());
    }

    // --- limits --------------------------------------------------------------------------------

    void find_limit() {
        if (linear_.empty()) return;
        locals_.clear();
        read_parameters(parameters_open_, parameters_close_);
        for (std::size_t i = open_ + 1; i < close_;) {
            if (t_[i].is("if")) return take_limit(i);
            const std::size_t end = statement_end(i);
            if (end == close_ || !note_declaration(i, end)) return;
            i = end + 1;
        }
    }

    // if (i >= n) return;   or the body's last statement:   if (i < n) ...
    void take_limit(std::size_t at) {
        const std::size_t close = closing(t_, at + 1);
        if (close >= close_ || !is(at + 2, linear_)) return;
        const bool leaves = is(at + 3, ">=") && is(close + 1, "return") && is(close + 2, ";");
        const bool surrounds = is(at + 3, "<") && last_statement(close + 1);
        if (!leaves && !surrounds) return;
        std::size_t begin = at + 4, end = close;
        if (end == begin + 1) {  // a variable made for the purpose
            const auto local = locals_.find(t_[begin].text);
            if (local != locals_.end() && local->second.name != 0 && all_integer_but_auto(local->second)) {
                begin = local->second.name + 2;
                end = local->second.end;
                if (!never_changed(t_[begin - 2].text, begin - 2)) return;
                facts_.limit_type = words(type_begin(local->second), begin - 2);
            }
        }
        if (!is_simple(begin, end)) return;
        for (std::size_t i = begin; i < end; ++i) {
            if (!t_[i].is_name() || one_of(t_[i - 1].text, {".", "::"})) continue;
            const auto local = locals_.find(t_[i].text);
            if (t_[i].is("kp_index") || !lives_outside(t_[i].text) || (local != locals_.end() && local->second.name != 0)) return;
        }
        facts_.limit = words(begin, end);
        facts_.limited_type = linear_type_;
        facts_.edits.push_back({t_[at + 1].end, t_[at + 1].end, leaves ? "!kp_index.within && (" : "kp_index.within || ("});
        facts_.edits.push_back({t_[close].begin, t_[close].begin, ")"});
    }

    bool last_statement(std::size_t begin) const {
        if (one_of(t_[begin].text, {"for", "if", "while", "do"})) return false;
        const std::size_t end = t_[begin].is("{") ? closing(t_, begin) : statement_end(begin);
        return end + 1 == close_;
    }

    std::size_t type_begin(const Local& local) const {
        std::size_t begin = local.name;
        while (begin > open_ + 1 && !one_of(t_[begin - 1].text, {";", "{", "}"})) --begin;
        return begin;
    }

    bool all_integer_but_auto(const Local& local) const {
        for (std::size_t i = type_begin(local); i < local.name; ++i)
            if (!is_integer_type(t_[i].text)) return false;
        return true;
    }

    // Tokens on one line, without const.
    std::string words(std::size_t begin, std::size_t end) const {
        std::string out;
        for (std::size_t i = begin; i < end; ++i)
            if (!one_of(t_[i].text, {"const", "constexpr"})) out.append(out.empty() ? "" : " ").append(t_[i].text);
        return out;
    }

    // A parameter that is never changed, or a name that the body does not declare.
    bool lives_outside(std::string_view name) const {
        for (std::size_t i = open_ + 1; i < close_; ++i)
            if (t_[i].is(name) && t_[i - 1].is_name() && !is_keyword_before_expression(t_[i - 1].text)) return false;
        return never_changed(name, close_);
    }

    std::string_view text_;
    const Tokens& all_;
    const std::vector<Token>& t_;
    const std::string& pragma_;
    std::size_t parameters_open_, parameters_close_, open_, close_;
    std::map<std::string_view, Local> locals_;  // parameters too
    std::string linear_type_;
    std::string_view linear_;                   // the variable that is blockIdx.x * blockDim.x + threadIdx.x
    BodyFacts facts_;
};

}  // namespace

BodyFacts read_body(std::string_view text, const Tokens& tokens, const std::string& pragma, std::size_t parameters_open,
                    std::size_t parameters_close, std::size_t open, std::size_t close) {
    return Body(text, tokens, pragma, parameters_open, parameters_close, open, close).read();
}

}  // namespace kp
