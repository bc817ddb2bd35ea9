#include "gate.h"

kernelperf_gate::kernelperf_gate(kernelperf_door* door, kernelperf_step gate_step, int64_t limit_ns)
    : step(gate_step), door_(door), limit_(limit_ns), watcher_([this] { watch(); }) {}

kernelperf_gate::~kernelperf_gate() {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        stopping_ = true;
        write_open(1);
    }
    changed_.notify_one();
    watcher_.join();
}

void kernelperf_gate::close() {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        __atomic_store_n(&door_->expired, 0u, __ATOMIC_RELAXED);
        write_open(0);
        released_late_ = false;
        armed_ = true;
        deadline_ = std::chrono::steady_clock::now() + limit_;
    }
    changed_.notify_one();
}

void kernelperf_gate::open() {
    std::lock_guard<std::mutex> lock(mutex_);
    armed_ = false;  // the watcher sees it when its old deadline passes: no wake-up next to a measurement
    write_open(1);
}

bool kernelperf_gate::timed_out() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return released_late_ || __atomic_load_n(&door_->expired, __ATOMIC_ACQUIRE) != 0;
}

void kernelperf_gate::write_open(uint32_t value) { __atomic_store_n(&door_->open, value, __ATOMIC_SEQ_CST); }

void kernelperf_gate::watch() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stopping_) {
        if (!armed_) {
            changed_.wait(lock, [this] { return armed_ || stopping_; });
            continue;
        }
        if (std::chrono::steady_clock::now() >= deadline_) {
            write_open(1);
            released_late_ = true;
            armed_ = false;
            continue;
        }
        const auto until = deadline_;
        changed_.wait_until(lock, until);
    }
}

// Returns null if no thread can be started.
KERNELPERF_API kernelperf_gate* kernelperf_gate_create(void* door, const kernelperf_step* step, int64_t limit_ns) {
    try {
        return new kernelperf_gate(static_cast<kernelperf_door*>(door), *step, limit_ns);
    } catch (...) {
        return nullptr;
    }
}

KERNELPERF_API void kernelperf_gate_destroy(kernelperf_gate* gate) { delete gate; }

// For tests: shut, open and ask without a device.
KERNELPERF_API void kernelperf_gate_close(kernelperf_gate* gate) { gate->close(); }
KERNELPERF_API void kernelperf_gate_open(kernelperf_gate* gate) { gate->open(); }
KERNELPERF_API int32_t kernelperf_gate_timed_out(const kernelperf_gate* gate) { return gate->timed_out() ? 1 : 0; }
