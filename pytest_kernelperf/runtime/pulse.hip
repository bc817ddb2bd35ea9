// The pulse: one thread that counts the device's cycles against its wall clock for a few microseconds, which gives the
// clock's rate. Both ends lie on a tick of the wall clock, so that its coarseness (32 ns to 1 us) does not count.

#if defined(__CUDACC__)
static __device__ unsigned long long read_wall() {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}
#else
static __device__ unsigned long long read_wall() { return (unsigned long long)wall_clock64(); }
#endif

// RDNA 3's cycle counter has 20 bits: what is added between two looks must fit them, and does (0.3 ms).
static __device__ unsigned long long since(unsigned long long earlier, unsigned long long now) {
    return (now - earlier) & 0xfffffull;
}

// counted[0]: cycles, counted[1]: ticks of the wall clock, 0 when the time limit came first. At least ticks_wanted.
extern "C" __global__ void kernelperf_pulse(unsigned long long* counted, unsigned long long ticks_wanted,
                                            unsigned long long most_looks) {
    if (threadIdx.x != 0 || blockIdx.x != 0) return;
    unsigned long long looks = 0, cycles = 0, wall = read_wall(), begin = wall;
    while (wall == begin && looks++ < most_looks) wall = read_wall();
    unsigned long long last = (unsigned long long)clock64();
    begin = wall;
    unsigned long long end = wall;
    while (looks++ < most_looks) {
        const unsigned long long now_wall = read_wall();
        const unsigned long long now = (unsigned long long)clock64();
        cycles += since(last, now);
        last = now;
        if (now_wall != end && now_wall - begin >= ticks_wanted) {
            counted[0] = cycles;
            counted[1] = now_wall - begin;
            return;
        }
        end = now_wall;
    }
    counted[0] = 0;
    counted[1] = 0;
}
