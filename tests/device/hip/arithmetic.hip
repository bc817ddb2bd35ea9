#include <hip/hip_runtime.h>
#include <hip/hip_math_constants.h>
#include <math.h>
#include <cmath>
#include <cstdint>
// Everything per element, so that numpy can check each.
extern "C" __global__ void fast_math(const float* x, const float* y, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float a = x[i], b = y[i];  // both positive
    float* o = out + i;
    int k = 0;
    auto put = [&](float v) { o[n * k++] = v; };
    put(__expf(-a)); put(__logf(a)); put(__log2f(a)); put(__log10f(a)); put(__powf(a, b)); put(__sinf(a)); put(__cosf(a)); put(__tanf(a));
    put(__fdividef(a, b)); put(rsqrtf(a)); put(__frcp_rn(a)); put(__frsqrt_rn(a)); put(__fsqrt_rn(a)); put(fmaf(a, b, 1.f)); put(__saturatef(a - 1));
    put(__fmul_rn(a, b)); put(__fadd_rn(a, b)); put(__fsub_rn(a, b)); put(__fdiv_rn(a, b)); put(exp10f(a)); put(exp2f(a)); put(rcbrtf(a)); put(cbrtf(a));
    put(erff(a)); put(erfcf(a)); put(tanhf(a)); put(sinhf(a)); put(asinhf(a)); put(log1pf(a)); put(expm1f(a)); put(hypotf(a, b)); put(rhypotf(a, b));
    put(fmodf(a, b)); put(remainderf(a, b)); put(copysignf(a, -b)); put(truncf(a)); put(roundf(a)); put(rintf(a)); put(nearbyintf(a)); put(floorf(-a)); put(ceilf(-a));
    put(ldexpf(a, 3)); put(scalbnf(a, -2)); put(logbf(a)); put(fdimf(a, b)); put(atan2f(a, b)); put(lgammaf(a)); put(tgammaf(a)); put(sinpif(a)); put(cospif(a));
    put(normcdff(a)); put(erfinvf(0.5f)); put(j0f(a)); put(powif(a, 3)); put(__fmaf_rn(a, b, 2.f)); put(norm3df(a, b, 1.f)); put(rnorm3df(a, b, 1.f)); put(norm4df(a, b, 1.f, 2.f));
    float s, c; sincosf(a, &s, &c); put(s + c); __sincosf(b, &s, &c); put(s * c); sincospif(a, &s, &c); put(s - c);
    int e; put(frexpf(a, &e) + e); float whole; put(modff(a, &whole) + whole * 2);
    put(fminf(a, NAN)); put(fmaxf(NAN, b)); put(isnan(a) + isinf(a) + isfinite(a) * 2 + signbit(-a) * 4); put(std::max(a, b) - std::min(a, b)); put(fabsf(-a)); put(nextafterf(a, b));
    put(__fadd_rd(a, b)); put(__fmul_ru(a, b)); put(__fdiv_rz(a, b)); put(max(a, 1.5)); put(pow(a, 2)); put(powf(a, 0.5f)); put(sqrt(a) + exp(-a) + log(a) + sin(a) + tanh(a) + abs(-a) + floor(a));
}
extern "C" __global__ void doubles(const double* x, double* out, int n) {
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    const double a = x[i];
    int k = 0;
    auto put = [&](double v) { out[n * k++ + i] = v; };
    put(exp(-a)); put(log(a)); put(rsqrt(a)); put(sqrt(a)); put(fma(a, a, 1.0)); put(erf(a)); put(tanh(a)); put(pow(a, 1.5)); put(cbrt(a)); put(sinpi(a)); put(cospi(a));
    put(exp10(a)); put(__dadd_rn(a, 1.0)); put(__dmul_rn(a, a)); put(__ddiv_rn(a, 3.0)); put(__drcp_rn(a)); put(__dsqrt_rn(a)); put(__fma_rn(a, 2.0, 1.0)); put(min(a, 1.0)); put(max(1.0, a)); put(fmod(a, 0.7)); put(normcdf(a)); put(hypot(a, 2.0));
    double s, c; sincos(a, &s, &c); put(s + c); put(__longlong_as_double(__double_as_longlong(a))); put(__hiloint2double(__double2hiint(a), __double2loint(a)));
}
extern "C" __global__ void integers(const unsigned* x, const unsigned* y, unsigned* out, int n) {
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    const unsigned a = x[i], b = y[i];
    int k = 0;
    auto put = [&](unsigned v) { out[n * k++ + i] = v; };
    put(__popc(a)); put(__clz(a)); put(__ffs(a)); put(__brev(a)); put(__popcll((unsigned long long)a << 32 | b)); put(__clzll((unsigned long long)a << 20)); put(__ffsll((unsigned long long)b << 32)); put(unsigned(__brevll(a)>>32));
    put(__mulhi(int(a), int(b))); put(__umulhi(a, b)); put(__mul24(int(a), int(b))); put(__umul24(a, b)); put(unsigned(__mul64hi((long long)a << 30, (long long)b << 30))); put(unsigned(__umul64hi((unsigned long long)a << 32, b)));
    put(__byte_perm(a, b, 0x5140)); put(__funnelshift_l(a, b, 7)); put(__funnelshift_r(a, b, 39)); put(__funnelshift_lc(a, b, 40)); put(__funnelshift_rc(a, b, 3)); put(__sad(int(a & 0xffff), int(b & 0xffff), 5u)); put(__usad(a, b, 1u)); put(__hadd(int(a), int(b))); put(__rhadd(int(a), int(b))); put(__uhadd(a, b)); put(__urhadd(a, b));
    put(min(a, b)); put(max(int(a), int(b))); put(min(a, 77)); put(abs(int(a))); put(__float2int_rn(a * 1e-3f)); put(__float2uint_rz(a * 1.5f)); put(__float2int_rd(-(a * 1e-4f))); put(__float2int_ru(a * 1e-5f));
    put(__float_as_uint(__uint2float_rn(a))); put(__float_as_uint(__int2float_rn(int(a)))); put(__float_as_uint(__uint2float_rz(a))); put(__float_as_uint(__int2float_rd(int(a)))); put(unsigned(__double2ll_rn(a * 0.3))); put(__double2uint_rz(a * 0.7)); put(unsigned(__float2ll_rz(a * 3.0f))); put(__float_as_uint(__double2float_rz(a / 3.0)));
    put(__bitextract_u32(a, 4, 9)); put(__bitinsert_u32(a, b, 8, 8)); put(__lastbit_u32_u32(a)); put(__dp4a(int(a), int(b), 3)); put(__dp4a(a, b, 3u)); put(__mad24(int(a & 0xfff), int(b & 0xfff), 9)); put(llabs(-(long long)a) & 0xffffffffu);
}
