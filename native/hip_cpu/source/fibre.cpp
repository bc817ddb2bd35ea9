#include "fibre.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

// Where a fibre begins: the stack is empty and aligned, and its runner is in the first argument's register.
#if defined(__x86_64__)
asm(".text\n"
    ".hidden kp_fibre_begin\n"
    ".globl kp_fibre_begin\n"
    ".type kp_fibre_begin, @function\n"
    "kp_fibre_begin:\n"
    "xorl %ebp, %ebp\n"
    "call kp_fibre_main\n"
    "ud2\n");
#elif defined(__aarch64__)
asm(".text\n"
    ".hidden kp_fibre_begin\n"
    ".globl kp_fibre_begin\n"
    ".type kp_fibre_begin, %function\n"
    "kp_fibre_begin:\n"
    "mov x29, xzr\n"
    "mov x30, xzr\n"
    "bl kp_fibre_main\n"
    "brk #1\n");
#endif
extern "C" __attribute__((visibility("hidden"))) void kp_fibre_begin();

namespace kp {
namespace {

// Pages are real only once touched. Kernels keep small arrays on the stack, and printf needs some kilobytes.
constexpr std::size_t stack_bytes = fibre_stack_bytes;

}  // namespace

Stacks::~Stacks() {
    for (const Mapping& mapping : mappings_) munmap(mapping.begin, mapping.bytes);
}

bool Stacks::provide(std::size_t count) {
    if (ends_.size() >= count) return true;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t more = std::max<std::size_t>(count - ends_.size(), 32), each = stack_bytes + page;
    void* mapping = mmap(nullptr, more * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (mapping == MAP_FAILED) return false;
    auto* begin = static_cast<char*>(mapping);
    mappings_.push_back({begin, more * each});
    for (std::size_t i = 0; i < more; ++i) {
        // A system with few mappings left goes without the page in between.
        (void)mprotect(begin + i * each, page, PROT_NONE);
        // Stacks that begin at the same place of their pages would all want the same lines of the first-level cache.
        const std::size_t colour = (ends_.size() * 5) % 64 * 64;
        ends_.push_back(begin + (i + 1) * each - colour);
    }
    return true;
}

bool Stacks::is_on(std::size_t number, const void* stack_pointer) const {
    const auto* at = static_cast<const char*>(stack_pointer);
    return at <= ends_[number] && at >= ends_[number] - stack_bytes;
}

bool Stacks::has(const void* address) const {
    const auto* at = static_cast<const char*>(address);
    for (const Mapping& mapping : mappings_)
        if (at >= mapping.begin && at < mapping.begin + mapping.bytes) return true;
    return false;
}

void* Stacks::fresh(std::size_t number) const {
    void* const begin = reinterpret_cast<void*>(&kp_fibre_begin);
    char* at = ends_[number];
#if defined(__x86_64__)
    at -= 16;
    std::memcpy(at, &begin, sizeof begin);
    std::memset(at + 8, 0, 8);
#else
    at -= 32;
    std::memset(at, 0, 32);
    std::memcpy(at + 16, &begin, sizeof begin);
#endif
    return at;
}

}  // namespace kp
