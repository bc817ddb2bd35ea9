// The parts of a kernel's declaration.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "token.h"

namespace kp {

// A kernel's declaration, as token indices into the whole text.
struct Declaration {
    std::size_t begin = 0;         // first token
    std::size_t specifiers = 0;    // first token after template headers
    std::size_t name = 0;          // first token of the declarator: name, or name<arguments>
    std::size_t open = 0;          // ( of the parameters
    std::size_t close = 0;         // ) of the parameters
    std::string result;            // void, or a type that must turn out to be void
    std::size_t bounds = 0;        // ( of __launch_bounds__; 0 if there is none
    bool is_template = false;      // template <class T>
    bool is_specialisation = false;  // template <>
    bool is_instantiation = false;   // template void scale<float>(float*);
    bool extern_c = false;
};

// Read tokens [begin, end), which hold __global__. What is not understood is said in `sentence`; the token it is about is
// returned.
std::size_t read_declaration(const std::vector<Token>& tokens, std::size_t begin, std::size_t end, Declaration& declaration,
                             std::string& sentence);

// Whether a word before a parenthesis is an attribute of some kind, not a function's name.
bool takes_parentheses(std::string_view word);

}  // namespace kp
