/* Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011).
   The generator is counter-based: element i of stream s is the same on host and device, in any
   order and on any number of threads. */
#ifndef HC_NUM_RNG_H
#define HC_NUM_RNG_H

#include <stdint.h>

#include "num/inline.h"

struct hc_philox {
    uint32_t word[4];
};

HC_INLINE struct hc_philox hc_philox(const uint32_t key[2], const uint32_t counter[4])
{
    uint32_t k0 = key[0];
    uint32_t k1 = key[1];
    struct hc_philox c = {{counter[0], counter[1], counter[2], counter[3]}};
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c.word[0];
        uint64_t p1 = (uint64_t)0xCD9E8D57u * c.word[2];
        struct hc_philox next = {{(uint32_t)(p1 >> 32) ^ c.word[1] ^ k0, (uint32_t)p1,
                                  (uint32_t)(p0 >> 32) ^ c.word[3] ^ k1, (uint32_t)p0}};
        c = next;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}

/* 64 random bits: element `index` of the stream under the seed. */
HC_INLINE uint64_t hc_random(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)stream,
                           (uint32_t)(stream >> 32)};
    struct hc_philox c = hc_philox(key, counter);
    return (uint64_t)c.word[1] << 32 | c.word[0];
}

/* A multiple of 2^-53, uniform in [0, 1). */
HC_INLINE double hc_random_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (double)(hc_random(seed, stream, index) >> 11) * 1.1102230246251565e-16;
}

/* Output j of splitmix64 from that seed (Steele, Lea, Flood: Fast splittable pseudorandom number
   generators; OOPSLA 2014). */
HC_INLINE uint64_t hc_splitmix(uint64_t seed, uint64_t j)
{
    uint64_t z = seed + (j + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* hc_random of elements first .. first + n - 1. */
void hc_random_row(uint64_t seed, uint64_t stream, uint64_t first, int n, uint64_t *to);

/* A standard normal number by Box and Muller's method. Its last bits depend on the host's libm. */
double hc_random_normal(uint64_t seed, uint64_t stream, uint64_t index);

#endif
