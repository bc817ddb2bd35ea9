#include "sha256.h"

#include <array>
#include <cmath>
#include <cstdint>

namespace kp {
namespace {

using Words = std::array<std::uint32_t, 8>;

std::uint32_t rotate(std::uint32_t x, int n) { return (x >> n) | (x << (32 - n)); }

// The first 32 bits of the fractional parts of the cube roots (constants) and square roots (start) of the first primes.
struct Constants {
    std::array<std::uint32_t, 64> k;
    Words start;
    Constants() {
        int found = 0;
        for (int n = 2; found < 64; ++n) {
            bool prime = true;
            for (int d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
            if (!prime) continue;
            const long double cube = std::cbrt(static_cast<long double>(n)), square = std::sqrt(static_cast<long double>(n));
            k[static_cast<std::size_t>(found)] = static_cast<std::uint32_t>((cube - std::floor(cube)) * 4294967296.0L);
            if (found < 8)
                start[static_cast<std::size_t>(found)] = static_cast<std::uint32_t>((square - std::floor(square)) * 4294967296.0L);
            ++found;
        }
    }
};

void mix(Words& state, const unsigned char* block, const Constants& c) {
    std::array<std::uint32_t, 64> w;
    for (std::size_t i = 0; i < 16; ++i)
        w[i] = std::uint32_t{block[4 * i]} << 24 | std::uint32_t{block[4 * i + 1]} << 16 | std::uint32_t{block[4 * i + 2]} << 8 | block[4 * i + 3];
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ (a >> 3)) + w[i - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ (b >> 10));
    }
    Words v = state;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]), majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        const std::uint32_t t1 = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) + choice + c.k[i] + w[i];
        const std::uint32_t t2 = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) + majority;
        v = {t1 + t2, v[0], v[1], v[2], v[3] + t1, v[4], v[5], v[6]};
    }
    for (std::size_t i = 0; i < 8; ++i) state[i] += v[i];
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
    static const Constants constants;
    Words state = constants.start;
    std::string padded;
    const std::size_t whole = bytes.size() / 64 * 64;
    for (std::size_t at = 0; at < whole; at += 64) mix(state, reinterpret_cast<const unsigned char*>(bytes.data()) + at, constants);
    padded.assign(bytes.substr(whole));
    padded.push_back(static_cast<char>(0x80));
    while (padded.size() % 64 != 56) padded.push_back('\0');
    const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
    for (int shift = 56; shift >= 0; shift -= 8) padded.push_back(static_cast<char>(bits >> shift));
    for (std::size_t at = 0; at < padded.size(); at += 64) mix(state, reinterpret_cast<const unsigned char*>(padded.data()) + at, constants);
    std::string hex;
    for (std::uint32_t word : state)
        for (int shift = 28; shift >= 0; shift -= 4) hex.push_back("0123456789abcdef"[(word >> shift) & 15]);
    return hex;
}

}  // namespace kp
