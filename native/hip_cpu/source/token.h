// C++ tokens of preprocessed text: just enough to find declarations, brackets and names.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kp {

enum class TokenKind { name, number, text, punctuation };

struct Token {
    TokenKind kind;
    std::string_view text;
    std::size_t begin;  // byte offset in the preprocessed text
    std::size_t end;
    int line;  // in the user's file, by the preprocessor's line markers
    int file;  // index into Tokens::files

    bool is(std::string_view other) const { return text == other; }
    bool is_name() const { return kind == TokenKind::name; }
};

struct Tokens {
    std::vector<Token> list;
    std::vector<std::string> files;  // as they stand between the marker's quotes, escapes kept
    std::vector<bool> system;        // of each file: whether the preprocessor marks it as a system header
    std::string error;               // a sentence, or empty
};

// Split preprocessed text into tokens. `text` must outlive the result.
Tokens split(std::string_view text);

// Tokens [begin, end) with a space between them, but for the parts of an operator: >> and the like are split above.
std::string on_one_line(const std::vector<Token>& tokens, std::size_t begin, std::size_t end);

// Index of the < that the > at `close` closes, looked for down to `least`, which is returned if there is none. What stands in
// other brackets does not count: there a > may be an operator.
std::size_t opening_angle(const std::vector<Token>& tokens, std::size_t least, std::size_t close);

// Index of the bracket that closes the one at `open`, or tokens.size() if none does.
std::size_t closing(const std::vector<Token>& tokens, std::size_t open);

}  // namespace kp
