#include "body_text.h"

namespace kp {
namespace {

class StridedLoops : BodyText {
public:
    using BodyText::BodyText;

    BodyFacts read() {
        if (!has_lambda_or_label()) find_strided();
        return std::move(facts_);
    }

private:
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
};

}  // namespace

BodyFacts read_strided_loops(const BodyPlace& place) { return StridedLoops(place).read(); }

}  // namespace kp
