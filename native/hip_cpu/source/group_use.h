// Which functions of a source make their threads wait for each other, and where.
//
// A kernel runs as fibres if it mentions, anywhere in its body, one of
//   - the barriers and wave operations (__syncthreads, __shfl_xor, __ballot, ...), __shared__, or an assert that is on;
//   - a function that mentions one of these, directly or through others; names are enough, overloads are not told apart.
// A class's member functions count by their own names. An operator, lambda or alias that mentions one makes all kernels of
// the source run as fibres, since they could use it without naming it; so does a template argument of a kernel that names
// one. So a kernel may run as fibres that need not, but never the other way round.
//
// A wave that splits inside a loop has to come together before the next iteration. So a loop that may split one, and has
// wave operations in it, gets a Site of its own at the head of its body, whose number is above those of all in the body: it
// is passed when no lane is left inside. (Lanes that have left the loop wait at higher numbers still.)
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "text_edit.h"
#include "token.h"

namespace kp {

class GroupUse {
public:
    // `fences`: put bytes round __shared__ variables that tell of writes beside them.
    GroupUse(const Tokens& tokens, bool fences) : t_(tokens.list), fences_(fences) {}

    // A function or other piece of namespace scope, as tokens of its declaration and body; "" if it has no name.
    // A member function has its class's name too, which tells it from others without a name.
    void note(std::string_view name, std::string_view of_class, std::size_t begin, std::size_t end);
    // A variable of namespace scope in shared memory; false if the statement declares none.
    bool note_shared(std::size_t begin, std::size_t end);
    // After all were noted.
    void spread();
    // A name that stands for something in a kernel's template arguments.
    void note_argument(std::string_view name);

    bool in(std::size_t begin, std::size_t end) const;  // whether a kernel's body is to run as fibres

    // Edits that put a Site before each call of a barrier or wave operation, and make __shared__ what it is here.
    // Tokens of a kernel's body between { and }.
    void edit_kernel(std::string_view name, std::size_t open, std::size_t close, std::vector<Edit>& edits) const;
    void edit_noted(std::vector<Edit>& edits) const;

private:
    struct Piece {
        std::string_view name, of_class;
        std::size_t begin, end;
        bool is_shared;  // declares shared memory
        unsigned level = 0;
    };
    bool waits(std::size_t token) const;
    bool is_call(std::size_t token) const;
    bool uses(std::size_t token) const;
    bool exchanges(std::size_t token) const;
    std::size_t loop_body(std::size_t token) const;
    bool may_split(std::size_t open, std::size_t close) const;
    bool at_namespace_scope(std::size_t begin) const;
    unsigned level_of(const Piece& piece) const;
    void edit_body(unsigned base, std::size_t open, std::size_t close, std::vector<Edit>& edits) const;
    void edit_shared(std::size_t token, std::vector<Edit>& edits) const;
    bool edit_fenced(std::size_t begin, std::size_t end, std::vector<Edit>& edits) const;
    std::size_t declared_name(std::size_t begin, std::size_t end) const;

    const std::vector<Token>& t_;
    bool fences_;
    std::vector<Piece> pieces_;
    std::map<std::string_view, unsigned> levels_;  // of functions that wait: more than that of those they call
    std::set<std::string_view> exchanging_;          // those of them with wave operations
    std::set<std::string_view> dynamic_;  // names of dynamic shared memory at namespace scope
    bool everywhere_ = false;
};

}  // namespace kp
