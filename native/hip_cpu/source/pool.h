// The helper threads that share a launch's workgroups with the stream's own thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "launch.h"

namespace kp {

// Workgroups are split into one range per participant, each range into chunks that are claimed one by one: first from
// the participant's own range, from its front, so that a repeated launch finds its data in the same core's cache; then
// from the others', from their back. Nobody waits for a helper that has not claimed anything, so busy cores cost
// nothing but their help.
class Pool {
public:
    static Pool& get();

    unsigned size() const { return size_; }  // participants, the calling thread among them

    // Share `call` among `participants`. False, with nothing done, if another stream's launch has the pool.
    // `mine` is set to the workgroups this thread ran itself, `ready_ns` to when it was through with them (0: do not ask).
    bool run(KernelCall& call, unsigned participants, unsigned chunks_each, bool wake, std::uint64_t& mine,
             std::int64_t* ready_ns);

private:
    struct alignas(64) Range {
        // epoch (32 bits), end (16), next (16): claimed by compare-and-swap, so that a claim belongs to the launch
        // whose fields were read. Nothing is left when next == end.
        std::atomic<std::uint64_t> ticket{0};
    };

    Pool();
    void help(unsigned self);
    std::uint64_t work(unsigned self, unsigned participants);
    bool claim(unsigned range, bool from_back, std::uint64_t& first, std::uint64_t& count, std::uint32_t& total);
    void finished(std::uint32_t total);

    unsigned size_;
    std::vector<Range> ranges_;
    std::mutex owner_;

    // The launch in progress; read before a claim, valid if the claim succeeds.
    alignas(64) std::atomic<KernelCall*> call_{nullptr};
    std::atomic<std::uint64_t> groups_{0};
    std::atomic<std::uint32_t> chunks_{0};
    std::atomic<std::uint32_t> participants_{0};

    alignas(64) std::atomic<std::uint32_t> epoch_{0};  // helpers watch this
    alignas(64) std::atomic<std::uint32_t> done_{0};   // chunks finished
    std::atomic<std::uint32_t> owner_sleeps_{0};
    alignas(64) std::atomic<std::uint32_t> bell_{0};   // futex helpers sleep on
    std::atomic<std::uint32_t> sleepers_{0};
};

}  // namespace kp
