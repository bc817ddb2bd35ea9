#include "token.h"

#include <cctype>
#include <cstdlib>

namespace kp {
namespace {

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || (c & 0x80); }
bool continues_name(char c) { return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)); }

class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {
        tokens_.files.emplace_back("");
        tokens_.system.push_back(false);
    }

    Tokens read() {
        while (at_ < text_.size() && tokens_.error.empty()) step();
        return std::move(tokens_);
    }

private:
    char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

    void step() {
        const char c = peek();
        if (c == '\n') {
            ++line_;
            ++at_;
            line_start_ = true;
        } else if (std::isspace(static_cast<unsigned char>(c))) {
            ++at_;
        } else if (c == '#' && line_start_) {
            directive();
        } else {
            line_start_ = false;
            if (starts_name(c)) name();
            else if (std::isdigit(static_cast<unsigned char>(c)) || (c == '.' && std::isdigit(static_cast<unsigned char>(peek(1))))) number();
            else if (c == '"') quoted(at_, '"');
            else if (c == '\'') quoted(at_, '\'');
            else punctuation();
        }
    }

    void add(TokenKind kind, std::size_t begin, int line) {
        tokens_.list.push_back({kind, text_.substr(begin, at_ - begin), begin, at_, line, file_});
    }

    // A line marker (# 12 "file" flags, or #line 12 "file") moves the position; other directives are pragmas.
    void directive() {
        std::size_t end = text_.find('\n', at_);
        if (end == std::string_view::npos) end = text_.size();
        std::string_view rest = text_.substr(at_ + 1, end - at_ - 1);
        at_ = end;
        auto skip = [&] { while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1); };
        skip();
        if (rest.substr(0, 4) == "line") rest.remove_prefix(4);
        skip();
        if (rest.empty() || !std::isdigit(static_cast<unsigned char>(rest.front()))) return;
        line_ = std::atoi(std::string(rest.substr(0, 12)).c_str()) - 1;  // the newline that follows adds one
        const std::size_t open = rest.find('"'), close = rest.rfind('"');
        if (open == std::string_view::npos || close <= open) return;
        const std::string file(rest.substr(open + 1, close - open - 1));
        const bool system = rest.substr(close).find(" 3") != std::string_view::npos;
        std::size_t i = 0;
        while (i < tokens_.files.size() && tokens_.files[i] != file) ++i;
        if (i == tokens_.files.size()) {
            tokens_.files.push_back(file);
            tokens_.system.push_back(system);
        }
        file_ = static_cast<int>(i);
    }

    void name() {
        const std::size_t begin = at_;
        const int line = line_;
        while (continues_name(peek())) ++at_;
        const std::string_view word = text_.substr(begin, at_ - begin);
        const bool raw = word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R";
        const bool prefix = word == "L" || word == "u" || word == "U" || word == "u8";
        if (peek() == '"' && raw) return raw_text(begin, line);
        if ((peek() == '"' || peek() == '\'') && prefix) return quoted(begin, peek());
        add(TokenKind::name, begin, line);
    }

    void number() {
        const std::size_t begin = at_;
        while (continues_name(peek()) || peek() == '.' || (peek() == '\'' && continues_name(peek(1))) ||
               ((peek() == '+' || peek() == '-') && is_exponent(text_[at_ - 1])))
            ++at_;
        add(TokenKind::number, begin, line_);
    }

    // In 0x1e+2 the e is a digit, but then a + inside a token only misleads us about an operator, not about brackets.
    static bool is_exponent(char c) { return c == 'e' || c == 'E' || c == 'p' || c == 'P'; }

    void quoted(std::size_t begin, char quote) {
        const int line = line_;
        ++at_;
        while (at_ < text_.size() && peek() != quote) {
            if (peek() == '\\') ++at_;
            if (peek() == '\n') ++line_;
            ++at_;
        }
        if (at_ >= text_.size()) return fail(line, "a string or character constant does not end");
        ++at_;
        add(TokenKind::text, begin, line);
    }

    void raw_text(std::size_t begin, int line) {
        const std::size_t open = text_.find('(', at_);
        if (open == std::string_view::npos) return fail(line, "a raw string does not begin properly");
        const std::string end = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
        const std::size_t close = text_.find(end, open);
        if (close == std::string_view::npos) return fail(line, "a raw string does not end");
        for (std::size_t i = at_; i < close; ++i)
            if (text_[i] == '\n') ++line_;
        at_ = close + end.size();
        add(TokenKind::text, begin, line);
    }

    void punctuation() {
        static constexpr std::string_view pairs[] = {"::", "->", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
                                                     "^=", "==", "!=", "<=", ">=", "&&", "||", "<<"};
        const std::size_t begin = at_;
        const std::string_view two = text_.substr(at_, 2);
        at_ += 1;
        for (std::string_view pair : pairs)
            if (two == pair) at_ = begin + 2;
        if (two == "<<" && peek() == '=') ++at_;
        if (text_.substr(begin, 3) == "...") at_ = begin + 3;
        add(TokenKind::punctuation, begin, line_);
    }

    void fail(int line, const char* what) {
        at_ = text_.size();
        tokens_.error = tokens_.files[static_cast<std::size_t>(file_)] + ":" + std::to_string(line) + ": error: " + what;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int line_ = 1;
    int file_ = 0;
    bool line_start_ = true;
    Tokens tokens_;
};

}  // namespace

Tokens split(std::string_view text) { return Reader(text).read(); }

std::size_t opening_angle(const std::vector<Token>& tokens, std::size_t least, std::size_t close) {
    int angles = 0, others = 0;
    for (std::size_t i = close;; --i) {
        const Token& t = tokens[i];
        if (t.is(")") || t.is("]") || t.is("}")) ++others;
        if (t.is("(") || t.is("[") || t.is("{")) --others;
        if (others == 0 && t.is(">")) ++angles;
        if (others == 0 && t.is("<") && --angles == 0) return i;
        if (i == least) return least;
    }
}

std::string on_one_line(const std::vector<Token>& tokens, std::size_t begin, std::size_t end) {
    std::string out;
    for (std::size_t i = begin; i < end; ++i) {
        const bool joined = i > begin && tokens[i].kind == TokenKind::punctuation && tokens[i - 1].kind == TokenKind::punctuation && tokens[i].begin == tokens[i - 1].end;
        if (i > begin && !joined) out += ' ';
        out += tokens[i].text;
    }
    return out;
}

std::size_t closing(const std::vector<Token>& tokens, std::size_t open) {
    int depth = 0;
    for (std::size_t i = open; i < tokens.size(); ++i) {
        const std::string_view t = tokens[i].text;
        if (tokens[i].kind != TokenKind::punctuation) continue;
        if (t == "(" || t == "[" || t == "{") ++depth;
        if (t == ")" || t == "]" || t == "}")
            if (--depth == 0) return i;
    }
    return tokens.size();
}

}  // namespace kp
