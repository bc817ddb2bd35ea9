#include "problem.h"

#include <atomic>
#include <cstdio>
#include <mutex>

#include "export.h"
#include "hip_abi.h"
#include "memory.h"

namespace kp {
namespace {

std::mutex mutex;
std::atomic<int> pending{success};
std::string pending_sentence;  // guarded by mutex

std::string& said() {
    static thread_local std::string sentence;
    return sentence;
}

}  // namespace

void report(int error, const std::string& sentence) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (pending.load(std::memory_order_relaxed) != success) return;
    pending_sentence = sentence;
    pending.store(error, std::memory_order_release);
}

int take_problem() {
    if (pending.load(std::memory_order_acquire) == success) return success;
    const std::lock_guard<std::mutex> lock(mutex);
    const int error = pending.exchange(success, std::memory_order_relaxed);
    if (error != success) said() = pending_sentence;
    return error;
}

int after_waiting() {
    std::fflush(stdout);
    examine_all();
    return take_problem();
}

int said_of(int error, const std::string& sentence) {
    said() = sentence;
    return error;
}

void forget_sentence() {
    if (!said().empty()) said().clear();
}

}  // namespace kp

// What the last error that this thread was returned means, or an empty text.
KP_EXPORT const char* kernelperf_cpu_last_problem() { return kp::said().c_str(); }
