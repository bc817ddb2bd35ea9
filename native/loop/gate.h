// The gate's host side: a door that a waiting kernel watches, and a thread that opens it if nobody else does.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "loop.h"

// Two words of coherent mapped memory, shared with the gate kernel.
struct kernelperf_door {
    uint32_t open;     // written by the host: 0 = closed
    uint32_t expired;  // written by the kernel: 1 = it left by itself
};

// While the host fills the queue, the driver may itself block (a full queue waits for the gate, the gate waits for
// the host): only another thread can end that. It is started once, sleeps, and is armed for each batch.
struct kernelperf_gate {
    kernelperf_gate(kernelperf_door* door, kernelperf_step step, int64_t limit_ns);
    ~kernelperf_gate();

    // Shut the door and start the time limit. The queue must be empty: an earlier gate kernel would read this too.
    void close();
    // Open the door and stop the time limit.
    void open();
    // Whether the kernel or the second releaser ran out of patience since the last close.
    bool timed_out() const;

    kernelperf_step step;

private:
    void watch();
    void write_open(uint32_t value);

    kernelperf_door* door_;
    std::chrono::nanoseconds limit_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::chrono::steady_clock::time_point deadline_{};
    bool armed_ = false;
    bool released_late_ = false;
    bool stopping_ = false;
    std::thread watcher_;
};
