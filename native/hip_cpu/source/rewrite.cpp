#include "rewrite.h"

#include <algorithm>
#include <map>
#include <set>

#include "declaration.h"
#include "glue.h"
#include "group_use.h"
#include "kernel_body.h"
#include "refusal.h"
#include "text_edit.h"
#include "token.h"

namespace kp {
namespace {

struct Function {
    std::string_view name;
    std::size_t begin, end;  // tokens of declaration and body
};

class Rewriter {
public:
    Rewriter(std::string_view text, const std::vector<std::string>& expressions, const std::string& pragma, bool fences)
        : text_(text), expressions_(expressions), pragma_(pragma), split_(split(text)), tokens_(split_.list), group_(split_, fences) {}

    Rewritten run() {
        result_.error = split_.error;
        for (const std::string& file : split_.files) ours_.push_back(file.find("/../include/") != std::string::npos);
        if (result_.error.empty()) refuse();
        if (result_.error.empty()) walk(false);
        if (result_.error.empty()) {
            spread_outside_use();
            group_.spread();
            note_template_arguments();
            mark_noinline();
            group_.edit_noted(edits_);
            walk(true);
        }
        if (result_.error.empty()) instantiate();
        if (result_.error.empty()) result_.text = edited();
        return std::move(result_);
    }

private:
    // --- reading ---------------------------------------------------------------------------

    void fail(std::size_t token, const std::string& sentence) {
        if (result_.error.empty()) result_.error = place(std::min(token, tokens_.size() - 1)) + ": error: " + sentence;
    }

    std::string place(std::size_t token) const {
        const Token& t = tokens_[token];
        return split_.files[static_cast<std::size_t>(t.file)] + ":" + std::to_string(t.line);
    }

    int next_kernel(const std::string& defined) {
        result_.defined.push_back(defined);
        return result_.kernels++;
    }

    bool in_device_header(std::size_t token) const {
        return split_.files[static_cast<std::size_t>(tokens_[token].file)].find("/kernelperf_cpu/") != std::string::npos;
    }

    void refuse() {
        std::string sentence;
        const std::size_t at = find_refused(split_, ours_, sentence);
        if (!sentence.empty()) fail(at, sentence);
    }

    // __noinline__ is an attribute of its own in device code, and the standard library's word inside of one.
    void mark_noinline() {
        for (std::size_t i = 1; i < tokens_.size(); ++i)
            if (tokens_[i].is("__noinline__") && !tokens_[i - 1].is("(") && !tokens_[i - 1].is(","))
                edit(tokens_[i].begin, tokens_[i].end, "__attribute__((noinline))");
    }

    // Visit all declarations at namespace scope. First time: note which functions use the thread's index;
    // second time: rewrite kernels.
    void walk(bool rewriting) {
        std::size_t begin = 0;
        for (std::size_t i = 0; i < tokens_.size() && result_.error.empty(); ++i) {
            const Token& t = tokens_[i];
            if (t.kind != TokenKind::punctuation) continue;
            if (t.is("(") || t.is("[")) {
                i = closing(tokens_, i);
            } else if (t.is("{")) {
                if (opens_scope(begin, i)) {
                    begin = i + 1;
                    continue;
                }
                const std::size_t close = closing(tokens_, i);
                if (close == tokens_.size()) return fail(i, "this { has no }");
                if (!rewriting) note(begin, i, close);
                else if (is_kernel(begin, i)) define(begin, i, close);
                else drop_markers(begin, close);
                i = close;
                begin = close + 1;
            } else if (t.is(";") || t.is("}")) {
                if (!rewriting && t.is(";")) note_statement(begin, i);
                if (rewriting && t.is(";")) {
                    if (is_kernel(begin, i)) declare(begin, i);
                    else drop_markers(begin, i);
                }
                begin = i + 1;
            }
        }
    }

    bool opens_scope(std::size_t begin, std::size_t open) const {
        if (begin == open) return false;
        if (tokens_[begin].is("namespace")) return true;
        if (tokens_[begin].is("inline") && tokens_[begin + 1].is("namespace")) return true;
        return open - begin == 2 && tokens_[begin].is("extern") && tokens_[begin + 1].kind == TokenKind::text;
    }

    bool is_kernel(std::size_t begin, std::size_t end) const {
        for (std::size_t i = begin; i < end; ++i)
            if (tokens_[i].is("__global__")) return true;
        return false;
    }

    // Outside kernels, __launch_bounds__(...) means nothing; __global__ inside a class or a parameter is a mistake.
    void drop_markers(std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            if (tokens_[i].is("__global__"))
                return fail(i, "__global__ is only understood on functions at namespace scope by the cpu runtime");
            if (tokens_[i].is("__launch_bounds__") && i + 1 < end && tokens_[i + 1].is("(")) {
                const std::size_t close = closing(tokens_, i + 1);
                if (close < end) edit(tokens_[i].begin, tokens_[close].end, "");
            }
        }
    }

    // The name before the first parenthesis.
    std::string_view name_of(std::size_t begin, std::size_t end) const {
        for (std::size_t i = begin + 1; i < end; ++i)
            if (tokens_[i].is("(") && tokens_[i - 1].is_name()) {
                if (!takes_parentheses(tokens_[i - 1].text)) return tokens_[i - 1].text;
                i = closing(tokens_, i);
            }
        return {};
    }

    void note(std::size_t begin, std::size_t open, std::size_t close) {
        if (in_device_header(open) || is_kernel(begin, open)) return;
        if (const std::string_view name = class_name(begin, open); !name.empty()) return note_class(name, begin, open, close);
        note_piece(name_of(begin, open), {}, begin, close);
    }

    void note_piece(std::string_view name, std::string_view of_class, std::size_t begin, std::size_t end) {
        functions_.push_back({name, begin, end});
        group_.note(name, of_class, begin, end);
    }

    void note_statement(std::size_t begin, std::size_t end) {
        if (begin == end || in_device_header(begin)) return;
        if (is_kernel(begin, end)) return arguments_.emplace_back(begin, end), void();
        if (!group_.note_shared(begin, end)) group_.note(name_of(begin, end), {}, begin, end);
    }

    // Of a class, struct or union whose { is at `open`: its name; "" for anything else.
    std::string_view class_name(std::size_t begin, std::size_t open) const {
        std::string_view name;
        bool is_class = false;
        for (std::size_t i = begin; i < open; ++i) {
            const Token& t = tokens_[i];
            if (t.is("template") && tokens_[i + 1].is("<")) {
                int depth = 0;
                for (++i; i < open; ++i) {
                    if (tokens_[i].is("<")) ++depth;
                    if (tokens_[i].is(">") && --depth == 0) break;
                }
            } else if (t.is("enum")) {
                return {};
            } else if (t.is("(")) {
                if (!is_class || !takes_parentheses(tokens_[i - 1].text)) return {};
                i = closing(tokens_, i);
            } else if (t.is(":") || t.is("<")) {
                break;
            } else if (t.is("struct") || t.is("class") || t.is("union")) {
                is_class = true;
            } else if (is_class && t.is_name() && !takes_parentheses(t.text) && !t.is("final")) {
                name = t.text;
            }
        }
        return is_class ? name : std::string_view{};
    }

    // Member functions under their own names; what goes by no name (operators) and all else in a class under the class's,
    // since it may run wherever an object of the class is named.
    void note_class(std::string_view name, std::size_t begin, std::size_t open, std::size_t close) {
        note_piece(name, {}, begin, open);
        std::size_t start = open + 1;
        std::string_view last;
        for (std::size_t i = open + 1; i < close; ++i) {
            if (tokens_[i].is("(") || tokens_[i].is("[")) {
                i = closing(tokens_, i);
            } else if (tokens_[i].is("{")) {
                const std::size_t end = closing(tokens_, i);
                if (const std::string_view inner = class_name(start, i); !inner.empty()) {
                    note_class(inner, start, i, end);
                } else {
                    // a constructor's initialisers in braces, and its body behind them
                    const bool goes_on = start == i || tokens_[start].is(",");
                    if (!goes_on) last = member_name(name, start, i);
                    note_piece(last, name, start, end);
                }
                i = end;
                start = end + 1;
            } else if (tokens_[i].is(";")) {
                if (start != i) note_piece(name, {}, start, i);
                start = i + 1;
            }
        }
    }

    std::string_view member_name(std::string_view of_class, std::size_t begin, std::size_t end) const {
        for (std::size_t i = begin; i < end; ++i)
            if (tokens_[i].is("operator")) return {};
        const std::string_view name = name_of(begin, end);
        return name.empty() ? of_class : name;
    }

    // A function or class that is named as a template argument, in a name expression or an explicit instantiation, is used
    // where its name does not stand.
    void note_template_arguments() {
        for (const std::string& expression : expressions_) {
            const Tokens parts = split(expression);
            note_arguments(parts.list, 0, parts.list.size());
        }
        for (const auto& [begin, end] : arguments_) note_arguments(tokens_, begin, end);
    }

    void note_arguments(const std::vector<Token>& tokens, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            if (!tokens[i].is_name()) continue;
            group_.note_argument(tokens[i].text);
            outside_everywhere_ = outside_everywhere_ || outside_.count(tokens[i].text) != 0;
        }
    }

    bool mentions(std::size_t begin, std::size_t end, const std::set<std::string_view>& names) const {
        for (std::size_t i = begin; i < end; ++i)
            if (tokens_[i].is_name() && names.count(tokens_[i].text) != 0) return true;
        return false;
    }

    // Functions that use the index, and those that mention such a function, by name; a class that uses it has no
    // name here and then makes all kernels set the index.
    void spread_outside_use() {
        outside_.insert("kp_index");
        for (bool grown = true; grown;) {
            grown = false;
            for (const Function& f : functions_)
                if (outside_.count(f.name) == 0 && mentions(f.begin, f.end, outside_)) {
                    outside_.insert(f.name);
                    if (f.name.empty()) outside_everywhere_ = true;
                    grown = true;
                }
        }
        outside_.erase("kp_index");
    }

    bool parse(std::size_t begin, std::size_t end, Declaration& d) {
        std::string sentence;
        const std::size_t at = read_declaration(tokens_, begin, end, d, sentence);
        if (!sentence.empty()) fail(at, sentence);
        return sentence.empty();
    }

    // --- writing ---------------------------------------------------------------------------

    void edit(std::size_t begin, std::size_t end, std::string text) { edits_.push_back({begin, end, std::move(text)}); }

    // Tokens [begin, end) on one line.
    std::string flat(std::size_t begin, std::size_t end) const { return on_one_line(tokens_, begin, end); }

    // The first argument of __launch_bounds__.
    std::string launch_bounds(const Declaration& d) const {
        if (d.bounds == 0) return "";
        const std::size_t close = closing(tokens_, d.bounds);
        int depth = 0;
        std::size_t end = d.bounds + 1;
        for (; end < close; ++end) {
            if (tokens_[end].is("(") || tokens_[end].is("[") || tokens_[end].is("{")) end = closing(tokens_, end);
            else if (tokens_[end].is("<")) ++depth;
            else if (tokens_[end].is(">") && depth > 0) --depth;
            else if (tokens_[end].is(",") && depth == 0) break;
        }
        return flat(d.bounds + 1, end);
    }

    // Parameters without default arguments: those belong to one declaration only, and nobody calls the stub.
    std::string parameters(const Declaration& d) const {
        std::string out;
        bool in_default = false;
        for (std::size_t i = d.open + 1; i < d.close; ++i) {
            if (tokens_[i].is("=")) in_default = true;
            if (tokens_[i].is(",")) in_default = false;
            if (tokens_[i].is("(") || tokens_[i].is("[") || tokens_[i].is("{")) {
                const std::size_t close = closing(tokens_, i);
                if (!in_default) out += " " + flat(i, close + 1);
                i = close;
                continue;
            }
            if (!in_default) out.append(" ").append(tokens_[i].text);
        }
        return out;
    }

    bool has_parameters(const Declaration& d) const {
        return d.close != d.open + 1 && !(d.close == d.open + 2 && tokens_[d.open + 1].is("void"));
    }

    std::string marker(std::size_t token) const {
        const Token& t = tokens_[token];
        return "\n# " + std::to_string(t.line) + " \"" + split_.files[static_cast<std::size_t>(t.file)] + "\"\n";
    }

    std::string stub(const Declaration& d) const {
        return flat(d.begin, d.specifiers) + (d.extern_c ? " extern \"C\" " : " ") + d.result + " " + flat(d.name, d.open) +
               "(" + parameters(d) + ");";
    }

    // The function that holds the body. Overloads of templates keep overloading each other; a plain kernel's has its
    // number for a name, so that its type can be asked for without choosing between overloads.
    std::string body_head(const Declaration& d, int number) const {
        const bool keyed = d.is_template || d.is_specialisation;
        std::string name = keyed ? "kp_kernel_" + flat(d.name, d.open) : "kp_kernel_" + std::to_string(number);
        return flat(d.begin, d.specifiers) + (d.is_specialisation ? "" : " static") +
               " inline __attribute__((always_inline)) " + d.result + " " + name + "(const ::kp::Index kp_index" +
               (has_parameters(d) ? ", " : "");
    }

    void declare(std::size_t begin, std::size_t end) {
        Declaration d;
        if (!parse(begin, end, d)) return;
        if (d.is_instantiation) return instantiate_here(d, end);
        std::string text = stub(d);
        if (d.is_template) {
            template_kernels_.insert(std::string(tokens_[d.name].text));
            text += " " + body_head(d, 0) + parameters(d) + ");";
        }
        replace(begin, end, text);
    }

    // Replace tokens [begin, end) by one line, then go on at the line where they ended.
    void replace(std::size_t begin, std::size_t end, const std::string& text) {
        edit(tokens_[begin].begin, tokens_[end].begin, text + marker(end));
    }

    void define(std::size_t begin, std::size_t open, std::size_t close) {
        Declaration d;
        if (!parse(begin, open, d)) return;
        const bool keyed = d.is_template || d.is_specialisation;
        const int number = keyed ? 0 : next_kernel(place(d.name) + "\n" + std::string(tokens_[d.name].text));
        const std::string name(tokens_[d.name].text);
        const bool group = group_.in(begin, close);
        if (group) group_.edit_kernel(name, open, close, edits_);
        const BodyFacts facts = group ? BodyFacts{} : read_body(text_, split_, pragma_, d.open, d.close, open, close);
        for (const BodyEdit& e : facts.edits) edit(e.begin, e.end, e.text);
        const bool outside = outside_everywhere_ || mentions(begin, close, outside_);
        Traits traits{group ? Traits::group() : outside ? Traits::outside() : Traits::of(facts), ""};
        std::string run;
        if (const std::string bounds = launch_bounds(d); !bounds.empty() && !d.is_specialisation) {
            traits.bounds = bounds;
            if (keyed && template_traits_.count(name) == 0) {
                traits.bounds = "kp_bounds_" + name;
                run = " " + flat(d.begin, d.specifiers) + " constexpr unsigned " + traits.bounds + "() { return static_cast<unsigned>(" + bounds + "); }";
            }
        }
        if (!group && !outside && !d.is_specialisation && (!keyed || template_traits_.count(name) == 0)) {
            traits.run = "kp_run_" + (keyed ? name : std::to_string(number));
            run += " " + flat(d.begin, d.specifiers) + " static inline __attribute__((always_inline)) ::kp::Run " + traits.run + "(" + parameters(d) +
                  ") { return " + run_facts(facts) + "; }";
        }
        if (keyed) {
            template_kernels_.insert(name);
            // Overloads share what is known by name: what holds for one of them only is dropped. Any kernel runs as Plain.
            const auto [known, first] = template_traits_.emplace(name, traits);
            const auto either = [&](const std::string& type) { return traits.type == type || known->second.type == type; };
            if (!first)
                known->second = {either(Traits::group()) ? Traits::group() : either(Traits::outside()) ? Traits::outside() : Traits::plain(), "", ""};
        }
        const bool drop_void = !has_parameters(d) && d.close == d.open + 2;
        edit(tokens_[begin].begin, tokens_[d.open].end, stub(d) + run + marker(d.open) + body_head(d, number));
        if (drop_void) edit(tokens_[d.open + 1].begin, tokens_[d.open + 1].end, "");
        edit(tokens_[d.close].end, tokens_[open].begin, marker(open));
        if (keyed) return;
        const std::string body = "kp_kernel_" + std::to_string(number);
        const std::string stub_address = "static_cast<::kp::Signature<decltype(&" + body + ")>::Declared*>(&" + name + ")";
        edit(tokens_[close].end, tokens_[close].end, glue(number, body, stub_address, traits, name));
    }

    // template __global__ void scale<float>(float*, int);
    void instantiate_here(const Declaration& d, std::size_t end) {
        if (!tokens_[d.open - 1].is(">"))
            return fail(d.name, "write the template arguments of this kernel's explicit instantiation, as in scale<float>");
        const std::string name = flat(d.name, d.open);
        std::string text = template_glue("kp_kernel_" + name, name, std::string(tokens_[d.name].text));
        replace(d.begin, end, text);
    }

    // `body` and `stub` are spelled with template arguments, and with a qualified name where need be.
    std::string template_glue(const std::string& body, const std::string& stub, const std::string& name) {
        Traits traits = template_traits_[name];
        if (outside_everywhere_ && traits.type != Traits::group()) traits = {Traits::outside(), "", traits.bounds};
        if (traits.type.empty()) traits.type = Traits::plain();
        if (!traits.run.empty()) traits.run = std::string(body).replace(body.rfind("kp_kernel_" + name), 10, "kp_run_");
        if (!traits.bounds.empty()) traits.bounds = std::string(body).replace(body.rfind("kp_kernel_" + name), 10, "kp_bounds_") + "()";
        return glue(next_kernel(""), body, "&" + stub, traits, stub);
    }

    // Kernels and variables asked for by name expression.
    void instantiate() {
        std::string out = "\n";
        std::set<std::string> seen;
        for (const std::string& written : expressions_) {
            const int number = result_.expressions++;
            const Tokens parts = split(written);
            std::size_t first = 0, last = parts.list.size();
            if (last != 0 && parts.list[0].is("&")) first = 1;
            std::string whole;
            whole = on_one_line(parts.list, first, last);
            std::size_t name = last;
            if (last != 0 && parts.list[last - 1].is(">")) {
                name = opening_angle(parts.list, first, last - 1);
                name = name > first ? name - 1 : last;
            }
            if (name < last && template_kernels_.count(std::string(parts.list[name].text)) != 0 && seen.insert(whole).second) {
                const std::string body = on_one_line(parts.list, first, name) + " kp_kernel_" + on_one_line(parts.list, name, last);
                out += "# 1 \"name expression\"\n" + template_glue(body, whole, std::string(parts.list[name].text)) + "\n";
            }
            const std::string key = "kp_expression_KPE" + std::to_string(number) + "_";
            out += "# 1 \"name expression\"\nextern \"C\" { extern const void* const " + key + "; const void* const " +
                   key + " __attribute__((used)) = (const void*)(&" + whole + "); }\n";
        }
        tail_ = out;
    }

    std::string edited() {
        std::stable_sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
        std::string out;
        std::size_t at = 0;
        for (const Edit& e : edits_) {
            if (e.begin < at) continue;  // inside of what was replaced as a whole
            out.append(text_.substr(at, e.begin - at)).append(e.text);
            at = e.end;
        }
        return out.append(text_.substr(at)).append(tail_);
    }

    std::string_view text_;
    const std::vector<std::string>& expressions_;
    const std::string& pragma_;
    Tokens split_;
    const std::vector<Token>& tokens_;
    std::vector<Edit> edits_;
    std::vector<Function> functions_;
    std::vector<bool> ours_;  // of each file: whether it is a device header
    std::vector<std::pair<std::size_t, std::size_t>> arguments_;  // kernels' declarations and explicit instantiations
    GroupUse group_;
    std::set<std::string_view> outside_;
    bool outside_everywhere_ = false;
    std::set<std::string> template_kernels_;
    std::map<std::string, Traits> template_traits_;
    std::string tail_;
    Rewritten result_;
};

}  // namespace

Rewritten rewrite(std::string_view preprocessed, const std::vector<std::string>& name_expressions, const std::string& pragma, bool fences) {
    return Rewriter(preprocessed, name_expressions, pragma, fences).run();
}

}  // namespace kp
