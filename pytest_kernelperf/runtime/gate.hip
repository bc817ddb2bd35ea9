// The gate: one thread that holds the queue back until the host opens the door, so that the launches behind it run
// without waiting for the host. It leaves by itself when its time is up: an unbounded spin has frozen machines.

#if defined(__CUDACC__)
static __device__ unsigned int read_door(unsigned int* door) {
    unsigned int value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(door) : "memory");
    return value;
}
static __device__ unsigned long long read_clock() {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}
static __device__ void rest() { asm volatile("nanosleep.u32 200;"); }
#else  // AMD's names, which the cpu runtime has too
static __device__ unsigned int read_door(unsigned int* door) {
    return __hip_atomic_load(door, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
static __device__ unsigned long long read_clock() { return (unsigned long long)wall_clock64(); }
static __device__ void rest() { __builtin_amdgcn_s_sleep(8); }  // a busy poll would take memory and power from others
#endif

// door: 0 = closed. expired: set to 1 when the gate leaves by itself. limit_ticks: of read_clock().
extern "C" __global__ void kernelperf_gate(unsigned int* door, unsigned int* expired,
                                           unsigned long long limit_ticks) {
    if (threadIdx.x != 0 || blockIdx.x != 0) return;
    const unsigned long long start = read_clock();
    while (read_door(door) == 0u) {
        if (read_clock() - start > limit_ticks) {
            *(volatile unsigned int*)expired = 1u;
            return;
        }
        rest();
    }
}
