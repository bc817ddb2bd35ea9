#include "group.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "device.h"
#include "fibre.h"
#include "hip_abi.h"
#include "launch.h"
#include "problem.h"

namespace kp {
namespace {

constexpr unsigned lanes = warp_size;
constexpr unsigned char fence_pattern = 0x5b;
enum ExchangeKind : unsigned { exchange_shuffle, exchange_ballot, exchange_match, exchange_push };
enum BarrierKind : unsigned { barrier_plain, barrier_count, barrier_and, barrier_or };

unsigned lowest(std::uint32_t mask) { return static_cast<unsigned>(__builtin_ctz(mask)); }

// Dynamic shared memory: its end is at an unmapped page.
class SharedMemory {
public:
    SharedMemory() {
        page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        // A page below, so that there are bytes before a launch that wants all.
        void* mapping = mmap(nullptr, max_shared_bytes + 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        begin_ = mapping == MAP_FAILED ? nullptr : static_cast<char*>(mapping) + page_;
        if (begin_ != nullptr) (void)mprotect(begin_ + max_shared_bytes, page_, PROT_NONE);
    }
    ~SharedMemory() {
        if (begin_ != nullptr) munmap(begin_ - page_, max_shared_bytes + 2 * page_);
    }
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    void* of(unsigned bytes) const { return begin_ == nullptr ? nullptr : begin_of(bytes); }

    // Bytes round what a launch was given hold a pattern, as with buffers (memory.h).
    void draw(unsigned bytes) const {
        std::memset(begin_of(bytes) - watched_, pattern_, watched_);
        std::memset(begin_of(bytes) + bytes, pattern_, (16 - bytes % 16) % 16);
    }
    // "past the end of", "before the beginning of", or null.
    const char* damage(unsigned bytes) const {
        const char* const begin = begin_of(bytes);
        for (const char* at = begin + bytes; at < begin_ + max_shared_bytes; ++at)
            if (*at != pattern_) return "past the end of";
        for (const char* at = begin - watched_; at < begin; ++at)
            if (*at != pattern_) return "before the beginning of";
        return nullptr;
    }
    // Of an address in the unmapped page: how far it is past the end of what was given; else 0.
    std::size_t past_end(const void* address, unsigned bytes) const {
        const auto* at = static_cast<const char*>(address);
        return at >= begin_ + max_shared_bytes && at < begin_ + max_shared_bytes + page_ ? static_cast<std::size_t>(at - begin_of(bytes) - bytes + 1) : 0;
    }

private:
    char* begin_of(unsigned bytes) const { return begin_ + max_shared_bytes - (bytes + 15) / 16 * 16; }

    static constexpr std::size_t watched_ = 64;
    static constexpr char pattern_ = fence_pattern;
    std::size_t page_;
    char* begin_;
};

// The workgroup that an OS thread is running.
class Runner : public Group {
public:
    Runner() {
        exchange = [](Group* group, unsigned kind, unsigned site, std::uint64_t value, unsigned source) {
            return static_cast<Runner*>(group)->wait_for_wave(kind, site, value, source);
        };
        barrier = [](Group* group, unsigned kind, unsigned site, int predicate) {
            return static_cast<Runner*>(group)->wait_for_all(kind, site, predicate);
        };
        fail = [](Group* group, const char* file, int line, const char* condition) {
            static_cast<Runner*>(group)->fail_condition(file, line, condition);
        };
        serial = 0;
        fence = [](Group* group, void* variable, unsigned bytes, const char* name) {
            static_cast<Runner*>(group)->put_fence(static_cast<unsigned char*>(variable), bytes, name);
        };
    }

    // What the next run of workgroups writes into the bytes round a variable is looked at when it is done.
    void put_fence(unsigned char* variable, unsigned bytes, const char* name) {
        fences_.push_back({variable, bytes, name});
        std::memset(variable - fence_bytes + sizeof serial, fence_pattern, fence_bytes - sizeof serial);
        std::memset(variable + bytes, fence_pattern, fence_bytes);
    }

    void run(const Launch& launch, std::uint64_t first, std::uint64_t count, GroupEntry entry, void* context, const char* kernel) {
        const unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
        launch_ = &launch;
        entry_ = entry;
        context_ = context;
        kernel_ = kernel;
        dynamic_shared = shared_.of(launch.shared_bytes);
        if (dynamic_shared == nullptr || !prepare(threads))
            return report(out_of_memory, std::string("kernel ") + kernel + ": there is no memory for the stacks of a workgroup of " + std::to_string(threads) + " threads");
        running_ = true;
        if (++serial == 0) ++serial;
        fences_.clear();
        if (launch.shared_bytes != 0) shared_.draw(launch.shared_bytes);
        for (std::uint64_t group = first; group < first + count; ++group) {
            block[0] = static_cast<unsigned>(group % launch.grid[0]);
            block[1] = static_cast<unsigned>(group / launch.grid[0] % launch.grid[1]);
            block[2] = static_cast<unsigned>(group / launch.grid[0] / launch.grid[1]);
            for (unsigned w = 0; w < waves_.size(); ++w) waves_[w] = Wave{waves_[w].all, waves_[w].all, 0, 0, 0};
            thread = 0;
            wave_ = 0;
            switch_fibre(&main_, threads_[0].stack, static_cast<Group*>(this));
            if (!failure_.empty()) {
                report(failure_code_, failure_);
                begin_anew();
                break;
            }
        }
        running_ = false;
        for (const Fence& fenced : fences_)
            if (const char* const where = fenced.damage())
                report(illegal_address, std::string("kernel ") + kernel + ": something was written just " + where + " the shared variable " + fenced.name + " of " + counted_bytes(fenced.bytes));
        if (launch.shared_bytes == 0) return;
        if (const char* const where = shared_.damage(launch.shared_bytes))
            report(illegal_address, std::string("kernel ") + kernel + ": something was written just " + where + " dynamic shared memory of " + std::to_string(launch.shared_bytes) + " bytes");
    }

    void abandon() {
        if (running_) begin_anew();
        running_ = false;
    }

    std::string beside_shared(const void* address, unsigned shared_bytes) const {
        if (const std::size_t past = shared_.past_end(address, shared_bytes); past != 0)
            return counted_bytes(past) + " past the end of dynamic shared memory of " + std::to_string(shared_bytes) + " bytes";
        return "";
    }

    std::string run_over(const void* address, const void* stack_pointer) const {
        // A large frame may lie past the unmapped page, in memory of others.
        if (!running_ || (stacks_.is_on(thread, stack_pointer) && !stacks_.has(address))) return "";
        return "thread " + std::to_string(thread) + " needs more stack than the " + std::to_string(fibre_stack_bytes >> 10) + " KiB there are: large arrays, or a function that calls itself?";
    }

    [[noreturn]] void live() {
        for (;;) {
            entry_(context_, this);
            Wave& wave = waves_[wave_];
            wave.ready &= ~bit();
            wave.ended |= bit();
            go_on();
        }
    }

private:
    struct Thread {
        void* stack = nullptr;  // stack pointer while it does not run
        std::uint64_t value = 0;
        std::uint32_t source = 0;
        std::uint32_t kind = 0;
        std::uint32_t site = 0;
    };
    struct Fence {
        const unsigned char* variable;
        unsigned bytes;
        const char* name;

        const char* damage() const {
            for (unsigned i = 0; i < fence_bytes; ++i)
                if (variable[bytes + i] != fence_pattern) return "past the end of";
            for (unsigned i = 1; i <= fence_bytes - sizeof(unsigned); ++i)
                if (*(variable - i) != fence_pattern) return "before the beginning of";
            return nullptr;
        }
    };
    // One bit a lane.
    struct Wave {
        std::uint32_t all, ready, exchanging, waiting, ended;
    };

    // Fibres that were left waiting, or in the middle of a fault.
    void begin_anew() {
        failure_.clear();
        for (std::size_t i = 0; i < threads_.size(); ++i) threads_[i].stack = stacks_.fresh(i);
    }

    bool prepare(unsigned threads) {
        if (!stacks_.provide(threads)) return false;
        for (std::size_t i = threads_.size(); i < threads; ++i) {
            threads_.emplace_back();
            threads_.back().stack = stacks_.fresh(i);
        }
        waves_.resize((threads + lanes - 1) / lanes);
        for (unsigned w = 0; w < waves_.size(); ++w) {
            const unsigned left = threads - w * lanes;
            waves_[w].all = left >= lanes ? 0xffffffffu : (1u << left) - 1;
        }
        return true;
    }

    std::uint32_t bit() const { return 1u << thread % lanes; }

    std::uint64_t wait_for_wave(unsigned kind, unsigned site, std::uint64_t value, unsigned source) {
        Thread& self = threads_[thread];
        self.value = value;
        self.source = source;
        self.kind = kind;
        self.site = site;
        Wave& wave = waves_[wave_];
        wave.ready &= ~bit();
        wave.exchanging |= bit();
        go_on();
        return self.value;
    }

    int wait_for_all(unsigned kind, unsigned site, int predicate) {
        Thread& self = threads_[thread];
        self.value = predicate != 0;
        self.kind = kind;
        self.site = site;
        Wave& wave = waves_[wave_];
        wave.ready &= ~bit();
        wave.waiting |= bit();
        go_on();
        return static_cast<int>(self.value);
    }

    // The running thread waits or has ended: on to the next one that can run. Returns when this one's turn has come.
    __attribute__((always_inline)) void go_on() {
        Thread& self = threads_[thread];
        if (waves_[wave_].ready == 0 && !find_wave()) {
            switch_fibre(&self.stack, main_, static_cast<Group*>(this));
            return;
        }
        const unsigned next = wave_ * lanes + lowest(waves_[wave_].ready);
        if (next == thread) return;
        thread = next;
        switch_fibre(&self.stack, threads_[next].stack, static_cast<Group*>(this));
    }

    // No lane of this wave can run: let it exchange, or go on to a wave with lanes that can. False: the workgroup is done.
    __attribute__((noinline)) bool find_wave() {
        for (;;) {
            Wave& wave = waves_[wave_];
            if (wave.ready != 0) return true;
            if (wave.exchanging != 0) exchange_in(wave);
            else if (wave_ + 1 < waves_.size()) ++wave_;
            else if (!open_barrier()) return false;
        }
    }

    void exchange_in(Wave& wave) {
        Thread* const first = &threads_[wave_ * lanes];
        std::uint32_t site = 0xffffffffu, here = 0;
        for (std::uint32_t left = wave.exchanging; left != 0; left &= left - 1) {
            const unsigned lane = lowest(left);
            if (first[lane].site < site) site = first[lane].site, here = 0;
            if (first[lane].site == site) here |= 1u << lane;
        }
        std::uint64_t values[lanes] = {};
        std::uint64_t ballot = 0;
        for (std::uint32_t left = here; left != 0; left &= left - 1) {
            const unsigned lane = lowest(left);
            values[lane] = first[lane].value;
            ballot |= std::uint64_t{first[lane].value != 0} << lane;
        }
        for (std::uint32_t left = here; left != 0; left &= left - 1) {
            const unsigned lane = lowest(left);
            Thread& t = first[lane];
            if (t.kind == exchange_shuffle) t.value = values[t.source % lanes];
            else if (t.kind == exchange_ballot) t.value = ballot;
            else if (t.kind == exchange_push) t.value = pushed_to(lane, first, here, values);
            else t.value = equal_lanes(values, here, values[lane]);
        }
        wave.exchanging &= ~here;
        wave.ready |= here;
    }

    // What the highest lane whose value goes to `lane` passed, or 0.
    static std::uint64_t pushed_to(unsigned lane, const Thread* first, std::uint32_t here, const std::uint64_t* values) {
        std::uint64_t found = 0;
        for (std::uint32_t left = here; left != 0; left &= left - 1)
            if (first[lowest(left)].source % lanes == lane) found = values[lowest(left)];
        return found;
    }

    static std::uint64_t equal_lanes(const std::uint64_t* values, std::uint32_t here, std::uint64_t value) {
        std::uint64_t found = 0;
        for (std::uint32_t left = here; left != 0; left &= left - 1)
            if (values[lowest(left)] == value) found |= std::uint64_t{1} << lowest(left);
        return found;
    }

    // All threads wait at a barrier or have ended. False: all have ended, or it can never open.
    bool open_barrier() {
        unsigned waiting = 0, holding = 0;
        for (unsigned w = 0; w < waves_.size(); ++w) {
            const Wave& wave = waves_[w];
            if (wave.waiting == 0) continue;
            const Thread* const first = &threads_[w * lanes];
            const std::uint32_t site = first[lowest(wave.waiting)].site;
            for (std::uint32_t left = wave.waiting; left != 0; left &= left - 1) {
                const Thread& t = first[lowest(left)];
                if (t.site != site) return half_reached(w, "the others wait at another one");
                waiting += 1;
                holding += t.value != 0;
            }
            if (wave.ended != 0) return half_reached(w, "the others have ended");
        }
        if (waiting == 0) return false;
        for (unsigned w = 0; w < waves_.size(); ++w) {
            Wave& wave = waves_[w];
            for (std::uint32_t left = wave.waiting; left != 0; left &= left - 1) {
                Thread& t = threads_[w * lanes + lowest(left)];
                t.value = t.kind == barrier_count ? holding : t.kind == barrier_and ? holding == waiting : holding != 0;
            }
            wave.ready = wave.waiting;
            wave.waiting = 0;
        }
        wave_ = 0;
        return true;
    }

    bool half_reached(unsigned w, const char* others) {
        const Thread* const first = &threads_[w * lanes];
        const std::uint32_t waiting = waves_[w].waiting;
        unsigned here = 0;
        for (std::uint32_t left = waiting; left != 0; left &= left - 1) here += first[lowest(left)].site == first[lowest(waiting)].site;
        return failed(launch_failure, "a barrier was reached by " + std::to_string(here) + " threads of wave " + std::to_string(w) + " only, and " + others +
                                          ": all threads that have not ended must reach the same __syncthreads");
    }

    bool failed(int error, const std::string& what) {
        failure_code_ = error;
        failure_ = std::string("kernel ") + kernel_ + ", workgroup (" + std::to_string(block[0]) + ", " + std::to_string(block[1]) + ", " +
                   std::to_string(block[2]) + "): " + what;
        return false;
    }

    void fail_condition(const char* file, int line, const char* condition) {
        failed(assertion_failed, std::string("assert(") + condition + ") does not hold in thread " + std::to_string(thread) + ", " + file + ":" + std::to_string(line));
        switch_fibre(&threads_[thread].stack, main_, static_cast<Group*>(this));
    }

    const Launch* launch_ = nullptr;
    GroupEntry entry_ = nullptr;
    void* context_ = nullptr;
    const char* kernel_ = "";
    void* main_ = nullptr;
    unsigned wave_ = 0;
    std::vector<Thread> threads_;
    std::vector<Wave> waves_;
    std::vector<Fence> fences_;
    bool running_ = false;
    std::string failure_;
    int failure_code_ = success;
    Stacks stacks_;
    SharedMemory shared_;
};

Runner& this_runner() {
    static thread_local std::unique_ptr<Runner> runner = std::make_unique<Runner>();
    return *runner;
}

}  // namespace

void run_groups(const Launch* launch, std::uint64_t first, std::uint64_t count, GroupEntry entry, void* context, const char* kernel) {
    this_runner().run(*launch, first, count, entry, context, kernel);
}

void abandon_groups() { this_runner().abandon(); }
std::string stack_run_over(const void* address, const void* stack_pointer) { return this_runner().run_over(address, stack_pointer); }
std::string beside_shared_memory(const void* address, unsigned shared_bytes) { return this_runner().beside_shared(address, shared_bytes); }

}  // namespace kp

extern "C" void kp_fibre_main(void* runner) { static_cast<kp::Runner*>(static_cast<kp::Group*>(runner))->live(); }
