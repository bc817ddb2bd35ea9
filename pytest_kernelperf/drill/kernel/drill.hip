// The drill's own kernel: it takes as long as it is told to, and gives the same results with any grid.
extern "C" __global__ void drill_spin(int n, int turns, float* y) {
    const int threads = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        float value = (float)i;
        // Each turn waits for the one before. Halving is exact, so that a fused multiply-add rounds the same.
        for (int turn = 0; turn < turns; ++turn) value = value * 0.5f + 1.0f;
        y[i] = value;
    }
}
