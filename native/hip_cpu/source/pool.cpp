#include "pool.h"

#include <pthread.h>

#include <algorithm>
#include <string>

#include "cpu.h"
#include "wait.h"

namespace kp {
namespace {

// How long a helper watches for the next launch before it sleeps: launches of a graph or a full queue follow each other
// within a few microseconds, and a wake-up costs tens.
constexpr std::int64_t helper_spin_ns = 50'000;
constexpr std::int64_t owner_spin_ns = 50'000;

std::uint64_t ticket(std::uint32_t epoch, std::uint32_t end, std::uint32_t next) {
    return std::uint64_t{epoch} << 32 | end << 16 | next;
}

}  // namespace

Pool& Pool::get() {
    static Pool* pool = new Pool;  // never destroyed: helpers may be running when the process ends
    return *pool;
}

Pool::Pool() : size_(static_cast<unsigned>(std::max<std::size_t>(1, cpu().cores.size()))), ranges_(size_) {
    for (unsigned self = 1; self < size_; ++self) {
        std::thread helper([this, self] { help(self); });
        pthread_setname_np(helper.native_handle(), ("kp-help-" + std::to_string(self)).c_str());
        helper.detach();
    }
}

bool Pool::run(KernelCall& call, unsigned participants, unsigned chunks_each, bool wake, std::uint64_t& mine,
               std::int64_t* ready_ns) {
    std::unique_lock<std::mutex> lock(owner_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    participants = static_cast<unsigned>(std::min<std::uint64_t>(participants, call.groups));
    const std::uint64_t most = std::min<std::uint64_t>(call.groups, std::uint64_t{participants} * chunks_each);
    const std::uint32_t chunks = static_cast<std::uint32_t>(most);
    call_.store(&call, std::memory_order_release);
    groups_.store(call.groups, std::memory_order_release);
    chunks_.store(chunks, std::memory_order_release);
    participants_.store(participants, std::memory_order_release);
    done_.store(0, std::memory_order_relaxed);
    const std::uint32_t epoch = epoch_.load(std::memory_order_relaxed) + 1;
    for (unsigned i = participants; i-- > 0;) {
        const std::uint32_t here = chunks * (i + 1) / participants - chunks * i / participants;
        ranges_[i].ticket.store(ticket(epoch, here, 0), std::memory_order_release);
    }
    epoch_.store(epoch, std::memory_order_seq_cst);
    if (wake && sleepers_.load(std::memory_order_seq_cst) != 0) {
        bell_.fetch_add(1, std::memory_order_seq_cst);
        futex_wake(bell_, static_cast<int>(participants) - 1);
    }
    mine = work(0, participants);
    if (ready_ns != nullptr) *ready_ns = now_ns();
    auto all_done = [&] { return done_.load(std::memory_order_acquire) == chunks; };
    while (!spin(owner_spin_ns, all_done)) {
        owner_sleeps_.store(1, std::memory_order_seq_cst);
        const std::uint32_t seen = done_.load(std::memory_order_seq_cst);
        if (seen != chunks) futex_wait(done_, seen);
        owner_sleeps_.store(0, std::memory_order_relaxed);
    }
    return true;
}

bool Pool::claim(unsigned range, bool from_back, std::uint64_t& first, std::uint64_t& count, std::uint32_t& total) {
    std::atomic<std::uint64_t>& word = ranges_[range].ticket;
    std::uint64_t seen = word.load(std::memory_order_acquire);
    for (;;) {
        const std::uint32_t next = seen & 0xffff, end = (seen >> 16) & 0xffff;
        if (next == end) return false;
        const std::uint64_t groups = groups_.load(std::memory_order_acquire);
        const std::uint32_t chunks = chunks_.load(std::memory_order_acquire);
        const std::uint32_t participants = participants_.load(std::memory_order_acquire);
        const std::uint32_t epoch = static_cast<std::uint32_t>(seen >> 32);
        const std::uint64_t taken = from_back ? ticket(epoch, end - 1, next) : ticket(epoch, end, next + 1);
        if (!word.compare_exchange_weak(seen, taken, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
        const std::uint64_t chunk = std::uint64_t{chunks} * range / participants + (from_back ? end - 1 : next);
        first = groups * chunk / chunks;
        count = groups * (chunk + 1) / chunks - first;
        total = chunks;
        return true;
    }
}

std::uint64_t Pool::work(unsigned self, unsigned participants) {
    std::uint64_t mine = 0, first = 0, count = 0;
    std::uint32_t total = 0;
    for (unsigned step = 0; step < participants; ++step) {
        const unsigned range = (self + step) % participants;
        while (claim(range, step != 0, first, count, total)) {
            KernelCall* call = call_.load(std::memory_order_acquire);
            call->thunk(call->arguments(), first, count, &call->launch);
            mine += count;
            finished(total);
        }
    }
    return mine;
}

void Pool::finished(std::uint32_t total) {
    if (done_.fetch_add(1, std::memory_order_seq_cst) + 1 == total && owner_sleeps_.load(std::memory_order_seq_cst) != 0)
        futex_wake(done_, 1);
}

void Pool::help(unsigned self) {
    std::uint32_t seen = 0;
    for (;;) {
        auto news = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
        if (!spin(helper_spin_ns, news)) {
            sleepers_.fetch_add(1, std::memory_order_seq_cst);
            const std::uint32_t bell = bell_.load(std::memory_order_seq_cst);
            if (!news()) futex_wait(bell_, bell);
            sleepers_.fetch_sub(1, std::memory_order_seq_cst);
            // Woken, or news that nobody rang for: look.
        }
        seen = epoch_.load(std::memory_order_acquire);
        const unsigned participants = participants_.load(std::memory_order_acquire);
        if (participants > 0) work(self % participants == self ? self : self % participants, participants);
    }
}

}  // namespace kp
