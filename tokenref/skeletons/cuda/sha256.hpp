// SHA-256 (FIPS 180-4), which tells whether a row was made from its recipe without a mistake.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

// Returns the digest of some bytes, in lower-case hexadecimal digits.
inline std::string sha256(std::string bytes) {
    // The constants are the fractions of the square and cube roots of the first primes, in 32 bits.
    std::uint32_t k[64], state[8], w[64];
    for (int found = 0, candidate = 2; found < 64; candidate++) {
        bool prime = true;
        for (int divisor = 2; divisor * divisor <= candidate; divisor++) prime = prime && candidate % divisor != 0;
        if (!prime) continue;
        const double square = std::sqrt(candidate), cube = std::cbrt(candidate);
        if (found < 8) state[found] = static_cast<std::uint32_t>((square - std::floor(square)) * 4294967296.0);
        k[found++] = static_cast<std::uint32_t>((cube - std::floor(cube)) * 4294967296.0);
    }
    const std::uint64_t length = bytes.size() * std::uint64_t{8};
    bytes += '\x80';
    while (bytes.size() % 64 != 56) bytes += '\0';
    for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(length >> shift);
    auto turned = [](std::uint32_t word, int count) { return word >> count | word << (32 - count); };
    for (std::size_t block = 0; block < bytes.size(); block += 64) {
        for (std::size_t i = 0; i < 64; i++) {
            w[i] = 0;
            if (i < 16)
                for (std::size_t j = 0; j < 4; j++) w[i] = w[i] << 8 | static_cast<unsigned char>(bytes[block + 4 * i + j]);
            else
                w[i] = w[i - 16] + (turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
                       (turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10);
        }
        std::uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
        for (int i = 0; i < 64; i++) {
            const std::uint32_t one = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i];
            const std::uint32_t two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
            h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
        }
        state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e, state[5] += f, state[6] += g, state[7] += h;
    }
    std::string digits;
    for (std::uint32_t word : state)
        for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[word >> shift & 15];
    return digits;
}
