// AMD's own: wave built-ins, DPP, LDS hints, dot products, clocks.
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_cooperative_groups.h>
#include <hip/amd_detail/amd_device_functions.h>
#include <cstdint>

namespace cg = cooperative_groups;

#if __AMDGCN_WAVEFRONT_SIZE__ != 32
#error "wave size"
#endif
#if defined(__gfx1151__) || defined(__GFX11__)
#error "not that device"
#endif

template <int dpp_ctrl, int row_mask = 0xf, int bank_mask = 0xf, bool bound_ctrl = false>
__device__ __forceinline__ float dpp(float x) {
    return __int_as_float(__builtin_amdgcn_update_dpp(0, __float_as_int(x), dpp_ctrl, row_mask, bank_mask, bound_ctrl));
}
extern "C" __global__ void dpp_sum(const float* x, float* y) {
    float v = x[threadIdx.x];
    v += dpp<0x128>(v);  // row_ror:8
    v += dpp<0x124>(v);  // row_ror:4
    v += dpp<0x122>(v);  // row_ror:2
    v += dpp<0x121>(v);  // row_ror:1
    v += __int_as_float(__builtin_amdgcn_ds_swizzle(__float_as_int(v), 0x401f));  // swap the two rows of sixteen
    y[threadIdx.x] = v;
}
extern "C" __global__ void dpp_zoo(const int* x, int* y) {
    const int v = x[threadIdx.x], t = threadIdx.x;
    y[t] = __builtin_amdgcn_mov_dpp(v, 0xb1, 0xf, 0xf, true);            // quad_perm [1,0,3,2]
    y[32 + t] = __builtin_amdgcn_update_dpp(-1, v, 0x111, 0xf, 0xf, false);  // row_shr:1
    y[64 + t] = __builtin_amdgcn_update_dpp(-1, v, 0x104, 0xf, 0xf, true);   // row_shl:4, bound_ctrl: 0
    y[96 + t] = __builtin_amdgcn_update_dpp(-1, v, 0x140, 0xf, 0xf, false);  // row_mirror
    y[128 + t] = __builtin_amdgcn_update_dpp(-1, v, 0x141, 0xf, 0xf, false); // row_half_mirror
    y[160 + t] = __builtin_amdgcn_update_dpp(-1, v, 0x1b, 0x1, 0x5, false);  // quad_perm reversed, masked
    y[192 + t] = __builtin_amdgcn_ds_swizzle(v, 0x041f);  // xor 1
    y[224 + t] = __builtin_amdgcn_ds_swizzle(v, 0x8000 | 0x1b); // quad mode reversed
    y[256 + t] = __builtin_amdgcn_permlanex16(v, v, 0x76543210u, 0xfedcba98u, false, false);
    y[288 + t] = __builtin_amdgcn_permlane16(v, v, 0x01234567u, 0x89abcdefu, false, false);
    y[320 + t] = __builtin_amdgcn_ds_permute(((t + 5) % 32) * 4, v);
    y[352 + t] = __builtin_amdgcn_ds_bpermute(((t + 5) % 32) * 4, v);
    y[384 + t] = __builtin_amdgcn_update_dpp(-7, v, 0x153, 0xf, 0xf, false);  // row_share:3
    y[416 + t] = __builtin_amdgcn_update_dpp(-7, v, 0x165, 0xf, 0xf, false);  // row_xmask:5
    y[448 + t] = __builtin_amdgcn_readlane(v, 9) + __builtin_amdgcn_readfirstlane(v);
    y[480 + t] = __builtin_amdgcn_writelane(1234, 7, v);
    y[512 + t] = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
    y[544 + t] = __builtin_amdgcn_mbcnt_lo(0x5555u, 0u);
}
extern "C" __global__ void wave_misc(int* out) {
    const int t = threadIdx.x;
    const unsigned mask = __builtin_amdgcn_ballot_w32(t % 3 == 0);
    out[t] = mask;
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_sched_barrier(0);
    __builtin_amdgcn_sched_group_barrier(0x8, 1, 0);
    __builtin_amdgcn_s_waitcnt(0);
    __builtin_amdgcn_s_setprio(1);
    __builtin_amdgcn_iglp_opt(0);
    out[32 + t] = __builtin_amdgcn_workitem_id_x() + 100 * __builtin_amdgcn_workgroup_id_x();
    out[64 + t] = __builtin_amdgcn_ubfe(0xabcd1234u, 8, 8) + __builtin_amdgcn_sbfe(int(0xabcd1234), 28, 4);
    out[96 + t] = __builtin_amdgcn_perm(0x03020100, 0x07060504, 0x05010400);
    out[128 + t] = __builtin_amdgcn_alignbit(0x12345678u, 0x9abcdef0u, 8);
    out[160 + t] = __builtin_amdgcn_sad_u8(0x01020304u, 0x04030201u, 10u);
    out[192 + t] = __builtin_amdgcn_wavefrontsize();
    out[224 + t] = __all(t < 32) + 2 * __any(t == 31) + 4 * (__activemask() == 0xffffffffull);
}
extern "C" __global__ void dots(const int* a, const int* b, int* out) {
    const int t = threadIdx.x;
    out[t] = __builtin_amdgcn_sdot4(a[t], b[t], 7, false);
    out[32 + t] = __builtin_amdgcn_sdot4(a[t], b[t], 0x7fffffff, true);
    out[64 + t] = __builtin_amdgcn_udot4(a[t], b[t], 7u, false);
    out[96 + t] = __builtin_amdgcn_sudot4(true, a[t], false, b[t], 0, false);
    out[128 + t] = __builtin_amdgcn_sdot8(a[t], b[t], 3, false);
    out[160 + t] = amd_mixed_dot(char4{1, -2, 3, -4}, char4{(signed char)t, 2, 3, 4}, 5, false);
}
extern "C" __global__ void groups(const int* x, int* y, int n) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    auto warp = cg::tiled_partition<32>(block);
    int v = block.thread_rank() < n ? x[block.group_index().x * block.size() + block.thread_rank()] : 0;
    for (int o = tile.size() / 2; o > 0; o /= 2) v += tile.shfl_down(v, o);
    v = tile.shfl(v, 0);
    block.sync();
    const unsigned ball = warp.ballot(v & 1);
    tile.sync();
    cg::sync(block);
    y[blockIdx.x * blockDim.x + threadIdx.x] = v * 100 + __popc(ball) + tile.thread_rank() + tile.meta_group_rank() * 10000 + warp.any(v > 3) + cg::this_grid().thread_rank() * 0;
}
extern "C" __global__ void clocks(long long* out) {
    const long long a = clock64(), b = wall_clock64();
    const auto c = __builtin_readcyclecounter();
    const auto d = __builtin_amdgcn_s_memtime(), e = __builtin_amdgcn_s_memrealtime();
    __threadfence(); __threadfence_block(); __threadfence_system();
    out[threadIdx.x] = (a > 0) + (b > 0) + (c > 0) + (d > 0) + (e > 0) + (clock() >= 0) + (clock64() >= a);
}
