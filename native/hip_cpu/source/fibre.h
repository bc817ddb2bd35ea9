// Fibres: threads of control on one OS thread, each with a stack, switched by hand.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace kp {

// Leave the running fibre, whose stack pointer goes to *from, for the one whose stack pointer is `to`. Whoever is resumed
// goes on behind its own call. `runner` is passed to a fibre's function when it begins.
//
// Only what the compiler keeps in registers here is saved, on the fibre's own stack, and the way back is a jump: fibres in
// lockstep then return from the same call of the same function, as the processor's return predictor expects.
__attribute__((always_inline)) inline void switch_fibre(void** from, void* to, void* runner) {
#if defined(__x86_64__)
    asm volatile(
        "leaq -128(%%rsp), %%rsp\n\t"  // the red zone
        "pushq %%rbp\n\t"
        "leaq 1f(%%rip), %%rax\n\t"
        "pushq %%rax\n\t"
        "movq %%rsp, (%[from])\n\t"
        "movq %[to], %%rsp\n\t"
        "popq %%rax\n\t"
        "popq %%rbp\n\t"
        "jmpq *%%rax\n"
        "1:\n\t"
        "leaq 128(%%rsp), %%rsp"
        : [from] "+S"(from), [to] "+d"(to), "+D"(runner)
        :
        : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
          "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
#elif defined(__aarch64__)
    register void** from_register asm("x1") = from;
    register void* to_register asm("x2") = to;
    register void* runner_register asm("x0") = runner;
    asm volatile(
        "adr x9, 1f\n\t"
        "stp x29, x30, [sp, #-32]!\n\t"
        "str x9, [sp, #16]\n\t"
        "mov x10, sp\n\t"
        "str x10, [x1]\n\t"
        "mov sp, x2\n\t"
        "ldr x9, [sp, #16]\n\t"
        "ldp x29, x30, [sp], #32\n\t"
        "br x9\n"
        "1:"
        : "+r"(from_register), "+r"(to_register), "+r"(runner_register)
        :
        : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x19", "x20", "x21", "x22",
          "x23", "x24", "x25", "x26", "x27", "x28", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",
          "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
          "v31", "memory", "cc");
#else
#error "fibres are written for x86-64 and aarch64"
#endif
}

constexpr std::size_t fibre_stack_bytes = std::size_t{128} << 10;

// Stacks of one OS thread, reused from launch to launch. A stack that runs over hits an unmapped page.
class Stacks {
public:
    Stacks() = default;
    ~Stacks();
    Stacks(const Stacks&) = delete;
    Stacks& operator=(const Stacks&) = delete;

    // At least `count` of them; false if there is no memory.
    bool provide(std::size_t count);

    // Whether a stack pointer is on stack `number`.
    bool is_on(std::size_t number, const void* stack_pointer) const;

    // Whether an address is on one of them, or in the page below one.
    bool has(const void* address) const;

    // The stack pointer to switch to for stack `number` to begin kp_fibre_main(runner).
    void* fresh(std::size_t number) const;

private:
    struct Mapping {
        char* begin;
        std::size_t bytes;
    };
    std::vector<Mapping> mappings_;
    std::vector<char*> ends_;  // of each stack
};

}  // namespace kp

// What every fibre runs: defined beside those that use fibres (group.cpp). Must not return.
extern "C" __attribute__((visibility("hidden"), noreturn)) void kp_fibre_main(void* runner);
