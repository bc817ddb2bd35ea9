#include "body_text.h"

namespace kp {
namespace {

class ThreadIndex : BodyText {
public:
    using BodyText::BodyText;

    BodyFacts read() {
        if (has_lambda_or_label()) return {};
        find_segmented();
        find_linear();
        find_limit();
        return std::move(facts_);
    }

private:
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
};

}  // namespace

BodyFacts read_index(const BodyPlace& place) { return ThreadIndex(place).read(); }

}  // namespace kp
