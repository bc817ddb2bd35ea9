#include "pool.h"

#include <pthread.h>

#include <algorithm>
#include <string>
#include <thread>

#include "cpu.h"
#include "fault.h"
#include "wait.h"

namespace kp {
namespace {

// How long a helper watches for the next launch before it sleeps: launches of a graph or a full queue follow each other
// within a few microseconds, and a wake-up costs tens.
constexpr std::int64_t helper_spin_ns = 50'000;
// How long the calling thread gives helpers to begin before it takes over their shares, and spins for the last chunks.
constexpr std::int64_t patience_ns = 1'000, owner_spin_ns = 50'000;

std::uint64_t make_ticket(std::uint32_t epoch, std::uint32_t end, std::uint32_t next) {
    return std::uint64_t{epoch} << 32 | end << 16 | next;
}
std::uint32_t epoch_of(std::uint64_t ticket) { return static_cast<std::uint32_t>(ticket >> 32); }
std::uint32_t end_of(std::uint64_t ticket) { return (ticket >> 16) & 0xffff; }
std::uint32_t next_of(std::uint64_t ticket) { return ticket & 0xffff; }

}  // namespace

Pool& Pool::get() {
    static Pool* pool = new Pool;  // never destroyed: helpers may be running when the process ends
    return *pool;
}

Pool::Pool() : size_(static_cast<unsigned>(std::max<std::size_t>(1, cpu().cores.size()))), shares_(size_) {
    for (unsigned self = 1; self < size_; ++self) {
        std::thread helper([this, self] { help(self); });
        pthread_setname_np(helper.native_handle(), ("kp-help-" + std::to_string(self)).c_str());
        helper.detach();
    }
}

bool Pool::run(KernelCall& call, const Plan& plan) {
    std::unique_lock<std::mutex> lock(owner_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    const auto wanted = static_cast<unsigned>(std::min<std::uint64_t>(plan.participants, call.groups));
    taking_.clear();
    for (unsigned i = 1; i < size_ && taking_.size() + 1 < wanted; ++i)
        if (plan.wake || shares_[i].asleep.load(std::memory_order_relaxed) == 0) taking_.push_back(i);
    if (taking_.empty()) return false;

    const auto participants = static_cast<std::uint32_t>(taking_.size() + 1);
    const auto chunks = static_cast<std::uint32_t>(std::min<std::uint64_t>(call.groups, std::uint64_t{participants} * plan.chunks_each));
    const std::uint32_t epoch = ++epoch_;
    done_.store(0, std::memory_order_relaxed);
    total_.store(chunks, std::memory_order_relaxed);
    auto publish = [&](Share& share, std::uint32_t place) {
        const std::uint32_t first = chunks * place / participants, end = chunks * (place + 1) / participants;
        share.call.store(&call, std::memory_order_release);
        share.groups.store(call.groups, std::memory_order_release);
        share.chunks.store(chunks, std::memory_order_release);
        share.first_chunk.store(first, std::memory_order_release);
        share.take_others.store(plan.chunks_each >= 4, std::memory_order_release);
        share.ticket.store(make_ticket(epoch, end - first, 0), std::memory_order_seq_cst);
    };
    for (std::uint32_t i = 0; i < taking_.size(); ++i) {
        Share& share = shares_[taking_[i]];
        publish(share, i + 1);
        if (share.asleep.load(std::memory_order_seq_cst) != 0) {
            share.bell.fetch_add(1, std::memory_order_seq_cst);
            futex_wake(share.bell, 1);
        }
    }
    publish(shares_[0], 0);
    unsigned mine = claim_all(shares_[0], false, epoch, 0);
    for (unsigned helper : taking_) {
        Share& share = shares_[helper];
        // Its helper is about to begin, or to take the last chunk: moving the data to this core would cost more.
        spin(patience_ns, [&] { return next_of(share.ticket.load(std::memory_order_acquire)) != 0; });
        const bool begun = next_of(share.ticket.load(std::memory_order_acquire)) != 0;
        mine += claim_all(share, true, epoch, begun ? 1 : 0);
    }
    done_.fetch_add(mine, std::memory_order_seq_cst);
    auto all_done = [&] { return done_.load(std::memory_order_acquire) == chunks; };
    while (!spin(owner_spin_ns, all_done)) {
        owner_sleeps_.store(1, std::memory_order_seq_cst);
        const std::uint32_t seen = done_.load(std::memory_order_seq_cst);
        if (seen != chunks) futex_wait(done_, seen);
        owner_sleeps_.store(0, std::memory_order_relaxed);
    }
    return true;
}

// Claim and run chunks of a share until no more than `leave` are left; returns how many.
unsigned Pool::claim_all(Share& share, bool from_back, std::uint32_t epoch, std::uint32_t leave) {
    unsigned claimed = 0;
    std::uint64_t seen = share.ticket.load(std::memory_order_acquire);
    while (epoch_of(seen) == epoch && end_of(seen) - next_of(seen) > leave) {
        const std::uint32_t next = next_of(seen), end = end_of(seen);
        KernelCall* call = share.call.load(std::memory_order_acquire);
        const std::uint64_t groups = share.groups.load(std::memory_order_acquire);
        const std::uint64_t chunks = share.chunks.load(std::memory_order_acquire);
        const std::uint64_t first_chunk = share.first_chunk.load(std::memory_order_acquire);
        const std::uint64_t taken = from_back ? make_ticket(epoch, end - 1, next) : make_ticket(epoch, end, next + 1);
        if (!share.ticket.compare_exchange_weak(seen, taken, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
        const std::uint64_t chunk = first_chunk + (from_back ? end - 1 : next);
        const std::uint64_t first = groups * chunk / chunks, after = groups * (chunk + 1) / chunks;
        run_caught(*call, first, after - first);
        ++claimed;
        seen = share.ticket.load(std::memory_order_acquire);
    }
    return claimed;
}

void Pool::help(unsigned self) {
    Share& mine = shares_[self];
    std::uint32_t seen = 0;
    for (;;) {
        auto news = [&] { return epoch_of(mine.ticket.load(std::memory_order_seq_cst)) != seen; };
        if (!spin(helper_spin_ns, news)) {
            const std::uint32_t bell = mine.bell.load(std::memory_order_seq_cst);
            mine.asleep.store(1, std::memory_order_seq_cst);
            if (!news()) futex_wait(mine.bell, bell);
            mine.asleep.store(0, std::memory_order_seq_cst);
            continue;
        }
        seen = epoch_of(mine.ticket.load(std::memory_order_acquire));
        const bool take_others = mine.take_others.load(std::memory_order_acquire) != 0;
        unsigned claimed = claim_all(mine, false, seen, 0);
        if (take_others)
            for (unsigned step = 1; step < size_; ++step) claimed += claim_all(shares_[(self + step) % size_], true, seen, 1);
        if (claimed == 0) continue;
        const std::uint32_t total = total_.load(std::memory_order_relaxed);
        if (done_.fetch_add(claimed, std::memory_order_seq_cst) + claimed == total && owner_sleeps_.load(std::memory_order_seq_cst) != 0)
            futex_wake(done_, 1);
    }
}

}  // namespace kp
