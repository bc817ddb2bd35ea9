// The end of a mixture-of-experts layer: two results are added and mixed into the model's four streams.
//
//   y[token][c]         = moe[token][c] + shared[token][c]
//   x[token][stream][c] = fma(weights[token][stream], y[token][c], x[token][stream][c])
//
// Four ways of doing it, from a lesson on how a correct fusion made a GPU starve.
#include <hip/hip_runtime.h>

constexpr int kColumns = 2560;
constexpr int kStreams = 4;

// One thread a value of y.
extern "C" __global__ void add_kernel(int tokens, const float* moe, const float* shared, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < tokens * kColumns) y[i] = moe[i] + shared[i];
}

// One thread a value of x.
extern "C" __global__ void inject_kernel(int tokens, const float* y, const float* weights, float* x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= tokens * kStreams * kColumns) return;
    const int column = i % kColumns;
    const int row = i / kColumns;  // token * kStreams + stream
    x[i] = fmaf(weights[row], y[row / kStreams * kColumns + column], x[i]);
}

// One workgroup a token: right, and at one token it leaves all compute units but one idle.
extern "C" __global__ void fused_one_block_per_token(const float* moe, const float* shared, const float* weights,
                                                     float* x) {
    const int token = blockIdx.x;
    for (int column = threadIdx.x; column < kColumns; column += blockDim.x) {
        const float y = moe[token * kColumns + column] + shared[token * kColumns + column];
        for (int stream = 0; stream < kStreams; ++stream) {
            const int row = token * kStreams + stream;
#ifdef MUTATION_STREAM_ZERO_WEIGHT
            const float weight = weights[token * kStreams];
#else
            const float weight = weights[row];
#endif
            x[row * kColumns + column] = fmaf(weight, y, x[row * kColumns + column]);
        }
    }
}

// One workgroup a tile of columns and token: the grid must cover kColumns exactly.
extern "C" __global__ void fused_column_tiles(const float* moe, const float* shared, const float* weights, float* x) {
    const int token = blockIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const float y = moe[token * kColumns + column] + shared[token * kColumns + column];
    for (int stream = 0; stream < kStreams; ++stream) {
        const int row = token * kStreams + stream;
        x[row * kColumns + column] = fmaf(weights[row], y, x[row * kColumns + column]);
    }
}

// The same with workgroups of 64, forty a token; a kernel of its own, compiled for its own workgroup size.
extern "C" __global__ void __launch_bounds__(64)
    fused_column_tiles_64(const float* moe, const float* shared, const float* weights, float* x) {
    const int token = blockIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const float y = moe[token * kColumns + column] + shared[token * kColumns + column];
    for (int stream = 0; stream < kStreams; ++stream) {
        const int row = token * kStreams + stream;
        x[row * kColumns + column] = fmaf(weights[row], y, x[row * kColumns + column]);
    }
}
