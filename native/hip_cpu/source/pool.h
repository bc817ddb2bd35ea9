// The helper threads that share a launch's workgroups with the stream's own thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "launch.h"

namespace kp {

// A launch's workgroups are split into chunks, and the chunks among its participants: each has a share, which it claims
// chunk by chunk from the front, so that a repeated launch finds its data in the same core's cache. Whoever is through
// with its own share takes from the back of the others'. Nobody waits for a helper that has not claimed anything: busy
// cores cost nothing but their help.
class Pool {
public:
    static Pool& get();

    // What to do with one launch.
    struct Plan {
        unsigned participants = 0;  // at most, the calling thread among them
        unsigned chunks_each = 1;
        bool wake = false;          // ring for helpers that sleep; else only those awake take part
    };

    unsigned size() const { return size_; }  // participants there can be

    // False, with nothing done: another stream's launch has the pool, or no helper is awake.
    bool run(KernelCall& call, const Plan& plan);

private:
    // One cache line that holds all a helper needs to begin. The other fields are written before the ticket and read
    // before a claim; they belong to the claimed launch if the claim succeeds, since its epoch is part of the ticket
    // and a launch does not end with chunks unclaimed.
    struct alignas(64) Share {
        std::atomic<std::uint64_t> ticket{0};  // epoch (32 bits), end (16), next (16); nothing is left when next == end
        std::atomic<KernelCall*> call{nullptr};
        std::atomic<std::uint64_t> groups{0};
        std::atomic<std::uint32_t> chunks{0};       // of the whole launch
        std::atomic<std::uint32_t> first_chunk{0};  // of this share
        std::atomic<std::uint32_t> take_others{0};
        std::atomic<std::uint32_t> asleep{0};
        std::atomic<std::uint32_t> bell{0};  // what the helper sleeps on
    };

    Pool();
    void help(unsigned self);
    unsigned claim_all(Share& share, bool from_back, std::uint32_t epoch, std::uint32_t leave);

    unsigned size_;
    std::vector<Share> shares_;
    std::mutex owner_;
    std::uint32_t epoch_ = 0;       // guarded by owner_
    std::vector<unsigned> taking_;  // helpers that take part in the launch; guarded by owner_

    alignas(64) std::atomic<std::uint32_t> done_{0};  // chunks finished
    std::atomic<std::uint32_t> total_{0};
    std::atomic<std::uint32_t> owner_sleeps_{0};
};

}  // namespace kp
