// The lesson's kernels as loops written by hand, for benchmarks/cpu_runtime.py; compiled with the cpu runtime's flags.
//
// Two forms of each: a plain loop on the calling thread, and the same loop shared with threads that wait for work by
// spinning (the quickest way there is to wake a thread). The benchmark compares with the quicker of the two.
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

namespace {

constexpr int columns = 2560;
constexpr int streams = 4;
constexpr int tile = 256;

struct Buffers {
    const float* moe;
    const float* shared;
    const float* weights;
    float* x;
    float* y;
};

// --- the loops, over parts [first, last) of the work ---------------------------------------------

void add(const Buffers& b, long first, long last) {  // parts: tiles of y
    const float* __restrict moe = b.moe;
    const float* __restrict shared = b.shared;
    float* __restrict y = b.y;
    for (long i = first * tile; i < last * tile; ++i) y[i] = moe[i] + shared[i];
}

void inject(const Buffers& b, long first, long last) {  // parts: rows of x
    for (long row = first; row < last; ++row) {
        const float* __restrict y = b.y + row / streams * columns;
        float* __restrict x = b.x + row * columns;
        const float weight = b.weights[row];
        for (int c = 0; c < columns; ++c) x[c] = std::fma(weight, y[c], x[c]);
    }
}

void fused(const Buffers& b, long token, int first, int last) {
    const float* __restrict moe = b.moe + token * columns;
    const float* __restrict shared = b.shared + token * columns;
    const float* __restrict weights = b.weights + token * streams;
    float* __restrict x = b.x + token * streams * columns;
    for (int c = first; c < last; ++c) {
        const float y = moe[c] + shared[c];
        for (int s = 0; s < streams; ++s) x[s * columns + c] = std::fma(weights[s], y, x[s * columns + c]);
    }
}

void fused_tokens(const Buffers& b, long first, long last) {  // parts: tokens
    for (long token = first; token < last; ++token) fused(b, token, 0, columns);
}

void fused_tiles(const Buffers& b, long first, long last) {  // parts: tiles of a token's columns
    constexpr int tiles = columns / tile;
    for (long part = first; part < last; ++part) fused(b, part / tiles, static_cast<int>(part % tiles) * tile, static_cast<int>(part % tiles + 1) * tile);
}

using Loop = void (*)(const Buffers&, long, long);

// --- threads -------------------------------------------------------------------------------------

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Each thread has a fixed share of the parts, so that its data stays in its core's cache from round to round.
class Team {
public:
    explicit Team(int size) : size_(size) {
        for (int self = 1; self < size; ++self) threads_.emplace_back([this, self] { follow(self); });
    }
    ~Team() {
        stop_ = true;
        generation_.fetch_add(1, std::memory_order_release);
        for (std::thread& thread : threads_) thread.join();
    }
    void run(Loop loop, const Buffers& buffers, long parts) {
        loop_ = loop;
        buffers_ = &buffers;
        parts_ = parts;
        left_.store(size_ - 1, std::memory_order_relaxed);
        generation_.fetch_add(1, std::memory_order_release);
        loop(buffers, 0, parts / size_);
        while (left_.load(std::memory_order_acquire) != 0) pause();
    }

private:
    void follow(int self) {
        for (unsigned seen = 0;;) {
            unsigned now;
            while ((now = generation_.load(std::memory_order_acquire)) == seen) pause();
            seen = now;
            if (stop_) return;
            loop_(*buffers_, parts_ * self / size_, parts_ * (self + 1) / size_);
            left_.fetch_sub(1, std::memory_order_release);
        }
    }

    int size_;
    Loop loop_ = nullptr;
    const Buffers* buffers_ = nullptr;
    long parts_ = 0;
    bool stop_ = false;
    alignas(64) std::atomic<unsigned> generation_{0};
    alignas(64) std::atomic<int> left_{0};
    std::vector<std::thread> threads_;
};

}  // namespace

// Run a variant `rounds` times with `threads` threads (1: a plain loop). 0 separate, 1 one block per token, 2 column tiles.
extern "C" void by_hand(int variant, int tokens, const float* moe, const float* shared, const float* weights, float* x, float* y,
                        int threads, long rounds) {
    const Buffers buffers{moe, shared, weights, x, y};
    const long tiles = long{tokens} * (columns / tile), rows = long{tokens} * streams;
    if (threads <= 1) {
        for (long i = 0; i < rounds; ++i) {
            if (variant == 0) add(buffers, 0, tiles), inject(buffers, 0, rows);
            else fused_tokens(buffers, 0, tokens);
        }
        return;
    }
    Team team(threads);
    for (long i = 0; i < rounds; ++i) {
        if (variant == 0) team.run(add, buffers, tiles), team.run(inject, buffers, rows);
        else if (variant == 1) team.run(fused_tokens, buffers, tokens);
        else team.run(fused_tiles, buffers, tiles);
    }
}
