// The lesson's kernels in a CUDA program as one writes it by hand, timed in the guard's three ways.
//
// As a program (by_hand BYTES...) it takes one request a line:
//   check  VARIANT TOKENS FILE                     one round on fresh buffers; x is written to FILE
//   MODE   VARIANT TOKENS ROUNDS SAMPLES WARM_US   MODE: queued, loop (by cuLaunchKernel, as the
//                                                  guard launches), graph, or runtime (loop, by <<<>>>)
// An answer is one line: us per round of every sample, or "ok", or "error WHAT".
//
// Buffers are restored before each sample and the device warmed up for WARM_US before the first, as the guard does.
//
// BYTES are left free before each of the buffers moe, shared, weights, x and y.
//
// As a shared library (by_hand_... below) the same code times a round on buffers that somebody else owns and restores,
// in whose process and context it then runs.
#include <cuda.h>  // types alone: the driver's one function is asked of the runtime, so nothing more is linked
#include <cuda_runtime.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

constexpr int kColumns = 2560;
constexpr int kStreams = 4;
constexpr int kThreads = 256;
constexpr long kQueueDepth = 496;  // launches behind the gate; the driver's queue takes about a thousand
constexpr unsigned long long kGateLimitNs = 250'000'000;

extern "C" __global__ void add_kernel(int tokens, const float* moe, const float* shared, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < tokens * kColumns) y[i] = moe[i] + shared[i];
}

extern "C" __global__ void inject_kernel(int tokens, const float* y, const float* weights, float* x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= tokens * kStreams * kColumns) return;
    const int row = i / kColumns;
    x[i] = fmaf(weights[row], y[row / kStreams * kColumns + i % kColumns], x[i]);
}

extern "C" __global__ void fused_one_block_per_token(const float* moe, const float* shared, const float* weights,
                                                     float* x) {
    const int token = blockIdx.x;
    for (int column = threadIdx.x; column < kColumns; column += blockDim.x) {
        const float y = moe[token * kColumns + column] + shared[token * kColumns + column];
        for (int stream = 0; stream < kStreams; ++stream) {
            const int row = token * kStreams + stream;
            x[row * kColumns + column] = fmaf(weights[row], y, x[row * kColumns + column]);
        }
    }
}

__device__ inline void update_tile(const float* moe, const float* shared, const float* weights, float* x) {
    const int token = blockIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const float y = moe[token * kColumns + column] + shared[token * kColumns + column];
    for (int stream = 0; stream < kStreams; ++stream) {
        const int row = token * kStreams + stream;
        x[row * kColumns + column] = fmaf(weights[row], y, x[row * kColumns + column]);
    }
}

extern "C" __global__ void fused_column_tiles(const float* moe, const float* shared, const float* weights, float* x) {
    update_tile(moe, shared, weights, x);
}

extern "C" __global__ void __launch_bounds__(64)
    fused_column_tiles_64(const float* moe, const float* shared, const float* weights, float* x) {
    update_tile(moe, shared, weights, x);
}

// Holds the queue back until the host opens the door; leaves by itself after a quarter of a second.
__global__ void gate(const volatile unsigned* door, volatile unsigned* expired) {
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    while (*door == 0) {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        if (now - start > kGateLimitNs) {
            *expired = 1;
            return;
        }
        asm volatile("nanosleep.u32 200;");
    }
}

static void must(cudaError_t code) {
    if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

// The driver's launch function.
static decltype(&cuLaunchKernel) driver_launch() {
    static void* function = nullptr;
    cudaDriverEntryPointQueryResult found;
    if (function == nullptr)
        must(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &function, 12000, cudaEnableDefault, &found));
    return reinterpret_cast<decltype(&cuLaunchKernel)>(function);
}

// The lesson's generator: float32 values from -1 to 1.
static std::vector<float> uniform(uint32_t seed, size_t count) {
    std::vector<float> values(count);
    for (float& value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<float>((seed >> 8) & 0xffff) / 32768.0f - 1.0f;
    }
    return values;
}

// Bytes that are left free before each of five buffers: where they lie beside each other decides up to 2 % of a small
// kernel's time, so that whoever compares must lay them out alike.
static size_t padding[5];

static float* allocate(const std::vector<float>& values) {
    float* memory = nullptr;
    must(cudaMalloc(&memory, values.size() * sizeof(float)));
    must(cudaMemcpy(memory, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
    return memory;
}

// The buffers of a size, and copies to restore from what is written.
struct Memory {
    explicit Memory(int count) : tokens(count) {
        const size_t n = tokens;
        const std::vector<float> contents[] = {uniform(1, n * kColumns), uniform(2, n * kColumns),
                                               uniform(3, n * kStreams), uniform(4, n * kStreams * kColumns),
                                               std::vector<float>(n * kColumns)};
        for (int i = 0; i < 5; ++i) {
            if (padding[i] > 0) must(cudaMalloc(&free_before[i], padding[i]));
            buffers[i] = allocate(contents[i]);
        }
        pristine_x = allocate(contents[3]);
        pristine_y = allocate(contents[4]);
    }
    ~Memory() {
        for (float* memory : buffers) cudaFree(memory);
        for (void* memory : free_before) cudaFree(memory);
        cudaFree(pristine_x);
        cudaFree(pristine_y);
    }
    Memory(const Memory&) = delete;

    int tokens;
    float* buffers[5];  // moe, shared, weights, x, y
    float *pristine_x, *pristine_y;
    void* free_before[5] = {};
};

enum class Variant { separate, one_block_per_token, column_tiles, column_tiles_64 };

static Variant variant_named(const std::string& name) {
    if (name == "separate") return Variant::separate;
    if (name == "fused_one_block_per_token") return Variant::one_block_per_token;
    if (name == "fused_column_tiles") return Variant::column_tiles;
    if (name == "fused_column_tiles_64") return Variant::column_tiles_64;
    throw std::runtime_error("no variant " + name);
}

using Clock = std::chrono::steady_clock;

static double microseconds(Clock::duration duration) {
    return std::chrono::duration<double, std::micro>(duration).count();
}

// One variant at one size on some buffers, and a round of it in each of two ways.
struct Case {
    Case(const std::string& name, int count, float* const (&buffers)[5])
        : variant(variant_named(name)), tokens(count), x_bytes(sizeof(float) * count * kStreams * kColumns),
          moe(buffers[0]), shared(buffers[1]), weights(buffers[2]), x(buffers[3]), y(buffers[4]) {
        prepare();
    }

    int launches() const { return variant == Variant::separate ? 2 : 1; }

    void restore(const Memory& memory, cudaStream_t stream) {
        must(cudaMemcpyAsync(x, memory.pristine_x, x_bytes, cudaMemcpyDeviceToDevice, stream));
        if (variant == Variant::separate)
            must(cudaMemcpyAsync(y, memory.pristine_y, x_bytes / kStreams, cudaMemcpyDeviceToDevice, stream));
        must(cudaStreamSynchronize(stream));
    }

    std::vector<char> download() const {
        std::vector<char> result(x_bytes);
        must(cudaMemcpy(result.data(), x, x_bytes, cudaMemcpyDeviceToHost));
        return result;
    }

    void launch(cudaStream_t stream) {
        const int values = tokens * kColumns;
        switch (variant) {
            case Variant::separate:
                add_kernel<<<values / kThreads, kThreads, 0, stream>>>(tokens, moe, shared, y);
                inject_kernel<<<values * kStreams / kThreads, kThreads, 0, stream>>>(tokens, y, weights, x);
                break;
            case Variant::one_block_per_token:
                fused_one_block_per_token<<<tokens, kThreads, 0, stream>>>(moe, shared, weights, x);
                break;
            case Variant::column_tiles:
                fused_column_tiles<<<dim3(kColumns / kThreads, tokens), kThreads, 0, stream>>>(moe, shared, weights, x);
                break;
            case Variant::column_tiles_64:
                fused_column_tiles_64<<<dim3(kColumns / 64, tokens), 64, 0, stream>>>(moe, shared, weights, x);
                break;
        }
    }

    void launch_by_driver(cudaStream_t stream) {
        static const auto launch_kernel = driver_launch();
        for (Prepared& step : prepared) {
            size_t bytes = sizeof step.arguments;
            void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &step.arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                             CU_LAUNCH_PARAM_END};
            if (launch_kernel(step.function, step.grid_x, step.grid_y, 1, step.threads, 1, 1, 0, stream, nullptr,
                              extra) != CUDA_SUCCESS)
                throw std::runtime_error("cuLaunchKernel failed");
        }
    }

    Variant variant;
    int tokens;
    size_t x_bytes;
    float *moe, *shared, *weights, *x, *y;

private:
    // A launch made ready once: every kernel here takes four arguments of 8 bytes, the first of them perhaps an int.
    struct Prepared {
        CUfunction function;
        unsigned grid_x, grid_y, threads;
        const void* arguments[4];
    };

    void prepare() {
        const unsigned values = tokens * kColumns;
        const void* const count = reinterpret_cast<const void*>(static_cast<uintptr_t>(tokens));
        switch (variant) {
            case Variant::separate:
                prepared = {{function(add_kernel), values / kThreads, 1, kThreads, {count, moe, shared, y}},
                            {function(inject_kernel), values * kStreams / kThreads, 1, kThreads,
                             {count, y, weights, x}}};
                break;
            case Variant::one_block_per_token:
                prepared = {{function(fused_one_block_per_token), unsigned(tokens), 1, kThreads,
                             {moe, shared, weights, x}}};
                break;
            case Variant::column_tiles:
                prepared = {{function(fused_column_tiles), kColumns / kThreads, unsigned(tokens), kThreads,
                             {moe, shared, weights, x}}};
                break;
            case Variant::column_tiles_64:
                prepared = {{function(fused_column_tiles_64), kColumns / 64, unsigned(tokens), 64,
                             {moe, shared, weights, x}}};
                break;
        }
    }

    template <class Kernel>
    static CUfunction function(Kernel* kernel) {
        cudaFunction_t found;
        must(cudaGetFuncBySymbol(&found, reinterpret_cast<const void*>(kernel)));
        return reinterpret_cast<CUfunction>(found);
    }

    std::vector<Prepared> prepared;
};

struct Bench {
    explicit Bench(cudaStream_t others = nullptr) : stream(others) {
        if (stream == nullptr) must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        must(cudaEventCreate(&start));
        must(cudaEventCreate(&stop));
        must(cudaHostAlloc(&door, 2 * sizeof(unsigned), cudaHostAllocMapped));
        must(cudaHostGetDevicePointer(&device_door, door, 0));
        door[0] = 1;
        gate<<<1, 1, 0, stream>>>(device_door, device_door + 1);  // loads its code while the door is open
        must(cudaStreamSynchronize(stream));
    }

    double loop(Case& work, long rounds, bool driver) {
        must(cudaStreamSynchronize(stream));
        const auto begin = Clock::now();
        if (driver)
            for (long i = 0; i < rounds; ++i) work.launch_by_driver(stream);
        else
            for (long i = 0; i < rounds; ++i) work.launch(stream);
        must(cudaStreamSynchronize(stream));
        const double total = microseconds(Clock::now() - begin);
        must(cudaGetLastError());
        return total / static_cast<double>(rounds);
    }

    // Events round what is queued while the gate is shut.
    template <class Queue>
    double gated(long rounds, bool use_gate, Queue queue) {
        must(cudaStreamSynchronize(stream));
        if (use_gate) {
            write(&door[1], 0);
            write(&door[0], 0);
            gate<<<1, 1, 0, stream>>>(device_door, device_door + 1);
        }
        must(cudaEventRecord(start, stream));
        queue();
        must(cudaEventRecord(stop, stream));
        write(&door[0], 1);
        must(cudaStreamSynchronize(stream));
        must(cudaGetLastError());
        if (use_gate && *const_cast<volatile unsigned*>(&door[1])) throw std::runtime_error("the gate timed out");
        float milliseconds = 0;
        must(cudaEventElapsedTime(&milliseconds, start, stop));
        return milliseconds * 1000.0 / static_cast<double>(rounds);
    }

    cudaGraphExec_t capture(Case& work, long rounds) {
        cudaGraph_t graph;
        cudaGraphExec_t executable;
        must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        for (long i = 0; i < rounds; ++i) work.launch(stream);
        must(cudaStreamEndCapture(stream, &graph));
        must(cudaGraphInstantiate(&executable, graph, 0));
        must(cudaGraphDestroy(graph));
        must(cudaGraphLaunch(executable, stream));  // a first launch uploads the graph
        must(cudaStreamSynchronize(stream));
        return executable;
    }

    // One sample in a mode, in us per round; the graph must have been captured for these rounds.
    double sample(const std::string& mode, Case& work, long rounds, cudaGraphExec_t graph) {
        const bool fits = rounds * work.launches() <= kQueueDepth;
        if (mode == "graph") return gated(rounds, fits, [&] { must(cudaGraphLaunch(graph, stream)); });
        if (mode != "queued") return loop(work, rounds, mode == "loop");
        if (!fits) throw std::runtime_error("so many rounds do not fit the queue");
        return gated(rounds, true, [&] {
            for (long round = 0; round < rounds; ++round) work.launch(stream);
        });
    }

    std::vector<double> measure(const std::string& mode, Case& work, const Memory& memory, long rounds, int samples,
                                double warm_us) {
        const auto begin = Clock::now();
        do {
            work.restore(memory, stream);
            loop(work, rounds, false);
        } while (microseconds(Clock::now() - begin) < warm_us);
        cudaGraphExec_t graph = mode == "graph" ? capture(work, rounds) : nullptr;
        std::vector<double> times;
        for (int i = -1; i < samples; ++i) {  // one before the first, thrown away, as the guard does
            work.restore(memory, stream);
            const double time = sample(mode, work, rounds, graph);
            if (i >= 0) times.push_back(time);
        }
        if (graph) must(cudaGraphExecDestroy(graph));
        return times;
    }

    static void write(unsigned* word, unsigned value) { __atomic_store_n(word, value, __ATOMIC_SEQ_CST); }

    cudaStream_t stream;
    cudaEvent_t start, stop;
    unsigned* door;
    unsigned* device_door;
};

// The library: a case on others' buffers and stream, with kernels, events, gate and graph of its own.
struct Guest {
    Case work;
    Bench* bench;
    long rounds = 0;
    cudaGraphExec_t graph = nullptr;
};

static thread_local std::string guest_error;

template <class Work>
static bool succeeds(Work work) {
    try {
        work();
        return true;
    } catch (const std::exception& error) {
        guest_error = error.what();
        return false;
    }
}

extern "C" const char* by_hand_error() { return guest_error.c_str(); }

// Stream null: one of its own. Returns null: by_hand_error says why, as with all of these.
extern "C" void* by_hand_open(void* stream, const char* variant, int tokens, float* moe, float* shared, float* weights,
                              float* x, float* y) {
    static Bench* bench = nullptr;
    Guest* guest = nullptr;
    succeeds([&] {
        if (bench == nullptr) bench = new Bench(static_cast<cudaStream_t>(stream));
        guest = new Guest{{variant, tokens, {moe, shared, weights, x, y}}, bench};
    });
    return guest;
}

extern "C" bool by_hand_run(void* handle, long rounds) {
    auto* guest = static_cast<Guest*>(handle);
    return succeeds([&] { guest->bench->loop(guest->work, rounds, false); });
}

extern "C" bool by_hand_capture(void* handle, long rounds) {
    auto* guest = static_cast<Guest*>(handle);
    return succeeds([&] {
        if (guest->graph && guest->rounds == rounds) return;
        if (guest->graph) must(cudaGraphExecDestroy(guest->graph));
        guest->graph = guest->bench->capture(guest->work, guest->rounds = rounds);
    });
}

// Us per round, or a negative number.
extern "C" double by_hand_time(void* handle, const char* mode, long rounds) {
    auto* guest = static_cast<Guest*>(handle);
    double time = -1.0;
    succeeds([&] { time = guest->bench->sample(mode, guest->work, rounds, guest->graph); });
    return time;
}

extern "C" void by_hand_close(void* handle) {
    auto* guest = static_cast<Guest*>(handle);
    if (guest->graph) cudaGraphExecDestroy(guest->graph);
    delete guest;
}

static std::string answer(Bench& bench, const std::string& line) {
    std::istringstream words(line);
    std::string mode, variant, file;
    int tokens = 0, samples = 0;
    long rounds = 0;
    double warm_us = 0;
    words >> mode >> variant >> tokens;
    if (mode == "check") {
        words >> file;
    } else if (mode == "queued" || mode == "loop" || mode == "graph" || mode == "runtime") {
        words >> rounds >> samples >> warm_us;
    } else {
        throw std::runtime_error("no mode " + mode);
    }
    if (!words) throw std::runtime_error("cannot read: " + line);
    static std::unique_ptr<Memory> memory;
    if (!memory || memory->tokens != tokens) {
        memory.reset();
        memory = std::make_unique<Memory>(tokens);
    }
    Case work(variant, tokens, memory->buffers);
    work.restore(*memory, bench.stream);
    work.launch(bench.stream);
    must(cudaStreamSynchronize(bench.stream));
    if (mode == "check") {
        const std::vector<char> result = work.download();
        work.restore(*memory, bench.stream);
        work.launch_by_driver(bench.stream);
        must(cudaStreamSynchronize(bench.stream));
        if (work.download() != result) throw std::runtime_error("cuLaunchKernel and <<<>>> compute different things");
        std::ofstream(file, std::ios::binary).write(result.data(), static_cast<std::streamsize>(result.size()));
        return "ok";
    }
    std::ostringstream text;
    text.precision(9);
    for (const double time : bench.measure(mode, work, *memory, rounds, samples, warm_us)) text << time << ' ';
    return text.str();
}

int main(int count, char** arguments) {
    try {
        for (int i = 1; i < count && i <= 5; ++i) padding[i - 1] = std::stoul(arguments[i]);
        Bench bench;
        int runtime = 0, driver = 0;
        must(cudaRuntimeGetVersion(&runtime));
        must(cudaDriverGetVersion(&driver));
        std::cout << "ready, CUDA runtime " << runtime << ", driver for " << driver << std::endl;
        for (std::string line; std::getline(std::cin, line);) {
            try {
                std::cout << answer(bench, line) << std::endl;
            } catch (const std::exception& error) {
                std::cout << "error " << error.what() << std::endl;
            }
        }
    } catch (const std::exception& error) {
        std::cout << "error " << error.what() << std::endl;
        return 1;
    }
    return 0;
}
