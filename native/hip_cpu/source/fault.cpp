#include "fault.h"

#include <cxxabi.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "hip_abi.h"
#include "memory.h"
#include "problem.h"

namespace kp {
namespace {

// A place to jump back to: what a compiler has built in costs 2 ns, where the C library's takes 10, and this is on the way
// of each launch.
#if defined(__x86_64__)
using Place = void* [5];
#define KP_RETURN_PLACE(place) __builtin_setjmp(place)
#define KP_RETURN_TO(place) __builtin_longjmp(place, 1)
#else
using Place = sigjmp_buf;
#define KP_RETURN_PLACE(place) sigsetjmp(place, 0)
#define KP_RETURN_TO(place) siglongjmp(place, 1)
#endif

constexpr int caught_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
struct sigaction before_us[64];

// What a thread's handler leaves for the place that it jumps to.
struct Caught {
    bool armed = false;
    Place place;
    int signal = 0;
    const void* address = nullptr;  // null: the processor does not say
    const char* stack = nullptr;    // stack pointer
    enum Access { touched, read, written } access = touched;
};

// Of this thread; null until it runs its first kernel.
thread_local Caught* caught = nullptr;

void note_context(const ucontext_t& context, Caught& fault) {
#if defined(__x86_64__)
    fault.stack = reinterpret_cast<const char*>(context.uc_mcontext.gregs[REG_RSP]);
    fault.access = (context.uc_mcontext.gregs[REG_ERR] & 2) != 0 ? Caught::written : Caught::read;
#elif defined(__aarch64__)
    fault.stack = reinterpret_cast<const char*>(context.uc_mcontext.sp);
    fault.access = Caught::touched;
#endif
}

void handle(int signal, siginfo_t* info, void* context) {
    const bool sent = info->si_code <= 0 && signal != SIGABRT;  // by another process; abort() sends itself its signal
    if (caught == nullptr || !caught->armed || sent) {
        // Not a kernel's: whoever was asked before us is asked again, by the same instruction.
        sigaction(signal, &before_us[signal], nullptr);
        if (info->si_code <= 0) raise(signal);
        return;
    }
    Caught& fault = *caught;
    fault.armed = false;
    fault.signal = signal;
    fault.address = signal == SIGSEGV && info->si_code == SI_KERNEL ? nullptr : info->si_addr;
    note_context(*static_cast<const ucontext_t*>(context), fault);
    KP_RETURN_TO(fault.place);
}

bool install() {
    struct sigaction action {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (const int signal : caught_signals) sigaction(signal, &action, &before_us[signal]);
    return true;
}

// A thread whose stack has run over needs another one to say so.
class HandlerStack {
public:
    HandlerStack() {
        stack_t present{};
        if (sigaltstack(nullptr, &present) == 0 && (present.ss_flags & SS_DISABLE) == 0) return;
        memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory_ == MAP_FAILED) return;
        stack_t own{};
        own.ss_sp = memory_;
        own.ss_size = bytes_;
        sigaltstack(&own, nullptr);
    }
    ~HandlerStack() {
        if (memory_ == MAP_FAILED) return;
        stack_t none{};
        none.ss_flags = SS_DISABLE;
        sigaltstack(&none, nullptr);
        munmap(memory_, bytes_);
    }
    HandlerStack(const HandlerStack&) = delete;
    HandlerStack& operator=(const HandlerStack&) = delete;

private:
    static constexpr std::size_t bytes_ = 65536;
    void* memory_ = MAP_FAILED;
};

std::string kernel_name(const std::string& symbol) {
    int status = 1;
    char* const readable = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
    const std::string name = status == 0 ? readable : symbol;
    std::free(readable);
    return name;
}

std::string hexadecimal(const void* address) {
    char text[32];
    std::snprintf(text, sizeof text, "%p", address);
    return text;
}

std::string access_sentence(const Caught& fault, unsigned shared_bytes) {
    static constexpr const char* words[] = {"touched", "read", "written"};
    const std::string something = std::string("something was ") + words[fault.access] + " ";
    if (fault.address == nullptr) return "an address was used that no memory can have";
    const auto* at = static_cast<const char*>(fault.address);
    if (std::string said = stack_run_over(at, fault.stack); !said.empty()) return said;
    if (const std::string where = beside_allocation(at); !where.empty()) return something + where;
    if (const std::string where = beside_shared_memory(at, shared_bytes); !where.empty()) return something + where;
    // A frame may begin well below the stack pointer of the moment.
    if (at < fault.stack + 4096 && at > fault.stack - (std::size_t{1} << 20)) return "a thread needs more stack than there is: is a function called without end?";
    return something + "at " + hexadecimal(at) + ", where there is no buffer";
}

std::string sentence(const Caught& fault, unsigned shared_bytes) {
    switch (fault.signal) {
        case SIGFPE: return "a whole number was divided by zero, or the quotient does not fit";
        case SIGABRT: return "it called abort, or threw what nobody catches";
        case SIGILL: return "it stopped itself: __builtin_trap, or a place that cannot be reached";
        default: return access_sentence(fault, shared_bytes);
    }
}

__attribute__((noinline)) Caught* prepare_thread() {
    struct Prepared {
        Caught caught;
        HandlerStack stack;
    };
    static const bool installed = install();
    static thread_local Prepared prepared;
    (void)installed;
    return caught = &prepared.caught;
}

__attribute__((noinline)) void report_fault(const KernelCall& call, const Caught& fault) {
    const bool of_memory = fault.signal == SIGSEGV || fault.signal == SIGBUS;
    report(of_memory ? illegal_address : launch_failure, "kernel " + kernel_name(call.kernel->name) + ": " + sentence(fault, call.launch.shared_bytes));
    abandon_groups();
}

}  // namespace

void run_caught(KernelCall& call, std::uint64_t first, std::uint64_t count) {
    Caught* const fault = caught != nullptr ? caught : prepare_thread();
    if (KP_RETURN_PLACE(fault->place) == 0) {
        fault->armed = true;
        call.thunk(call.arguments(), first, count, &call.launch);
        fault->armed = false;
        return;
    }
    report_fault(call, *caught);
}

}  // namespace kp
