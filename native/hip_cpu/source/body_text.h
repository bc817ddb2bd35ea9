// The tokens of a kernel's body, and questions about them that the readers of its shapes ask (kernel_body.h).
#pragma once

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "kernel_body.h"
#include "token.h"

namespace kp {

using Names = std::set<std::string_view>;

bool one_of(std::string_view text, std::initializer_list<std::string_view> list);
bool assigns(std::string_view token);  // = += ...
bool steps(std::string_view token);    // ++ --
bool is_integer_type(std::string_view token);
bool is_keyword_before_expression(std::string_view token);

// A variable declared at the top of the body, before a loop that is looked at.
struct Local {
    bool is_pointer = false;
    bool is_const = false;
    bool uniform = false;  // the same for all threads of a row
    std::size_t name = 0;  // where it is declared: NAME = ... END;   0: a parameter
    std::size_t end = 0;
};

// Where a kernel stands among the tokens of its source.
struct BodyPlace {
    std::string_view text;
    const Tokens& tokens;
    const std::string& pragma;
    std::size_t parameters_open, parameters_close, open, close;
};

class BodyText {
public:
    explicit BodyText(const BodyPlace& place);

protected:
    bool is(std::size_t i, std::string_view text) const;
    void read_parameters(std::size_t open, std::size_t close);
    // Lambdas shadow and capture, labels jump: too much to follow here.
    bool has_lambda_or_label() const;
    // (kp_index.FIELD).x, as the macros leave it: the token after it, or 0.
    std::size_t index_at(std::size_t i, std::string_view field, std::string_view axis = "x") const;
    std::size_t product_at(std::size_t i, std::string_view a, std::string_view b) const;
    // blockIdx.x * blockDim.x + threadIdx.x in any order: the token after it, or 0.
    std::size_t linear_at(std::size_t i) const;
    bool mentions_thread_x(std::size_t begin, std::size_t end) const;
    // Whether the parenthesis at `i` holds a call's arguments; casts are none.
    bool is_call(std::size_t i) const;
    bool mentions(std::size_t begin, std::size_t end, std::string_view name) const;
    bool mentions_non_uniform(std::size_t begin, std::size_t end) const;
    // No calls, assignments, subscripts or dereferences: may be evaluated any number of times.
    bool is_simple(std::size_t begin, std::size_t end) const;
    // A name is never given another value: not assigned, stepped, or had its address taken, anywhere in the body.
    bool never_changed(std::string_view name, std::size_t declared) const;
    // A whole argument of a call may be taken by reference.
    bool is_whole_argument(std::size_t begin, std::size_t end, std::string_view name) const;
    // TYPE NAME = EXPRESSION ; with one declarator: the position of NAME, or 0.
    std::size_t declared_name(std::size_t begin, std::size_t end) const;
    bool has_top_level_comma(std::size_t begin, std::size_t end) const;
    // Take note of a declaration; false if the statement is anything else or does something besides.
    bool note_declaration(std::size_t begin, std::size_t end);
    bool all_integer(std::size_t begin, std::size_t end) const;
    std::size_t statement_end(std::size_t begin) const;
    std::string marker(std::size_t token) const;
    // Tokens on one line, without const.
    std::string words(std::size_t begin, std::size_t end) const;
    // A parameter that is never changed, or a name that the body does not declare.
    bool lives_outside(std::string_view name) const;

    std::string_view text_;
    const Tokens& all_;
    const std::vector<Token>& t_;
    const std::string& pragma_;
    std::size_t parameters_open_, parameters_close_, open_, close_;
    std::map<std::string_view, Local> locals_;  // parameters too
    std::string linear_type_;
    std::string_view linear_;  // the variable that is blockIdx.x * blockDim.x + threadIdx.x
    BodyFacts facts_;
};

// The readers of shapes.
BodyFacts read_strided_loops(const BodyPlace& place);
BodyFacts read_index(const BodyPlace& place);


}  // namespace kp
