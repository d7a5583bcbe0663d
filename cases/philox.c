#include "cases/philox.h"

/* Upper and lower word of a product. */
static uint32_t upper(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}

static uint32_t lower(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b % 0x100000000u);
}

/* Ten rounds; the key of round r is the given one plus r times the Weyl constants, the golden ratio
   and the root of 3 less 1. */
void hc_case_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t word[4])
{
    for (int i = 0; i < 4; i++)
        word[i] = counter[i];
    for (uint32_t round = 0; round < 10; round++) {
        const uint32_t old[4] = {word[0], word[1], word[2], word[3]};
        word[0] = upper(0xCD9E8D57u, old[2]) ^ old[1] ^ (key[0] + round * 0x9E3779B9u);
        word[1] = lower(0xCD9E8D57u, old[2]);
        word[2] = upper(0xD2511F53u, old[0]) ^ old[3] ^ (key[1] + round * 0xBB67AE85u);
        word[3] = lower(0xD2511F53u, old[0]);
    }
}

/* The numbers lie in the counter and the key with their lower word first. */
static void block(uint64_t seed, uint64_t stream, uint64_t index, uint32_t word[4])
{
    const uint32_t counter[4] = {(uint32_t)(index % 0x100000000u), (uint32_t)(index >> 32),
                                 (uint32_t)(stream % 0x100000000u), (uint32_t)(stream >> 32)};
    const uint32_t key[2] = {(uint32_t)(seed % 0x100000000u), (uint32_t)(seed >> 32)};
    hc_case_philox(counter, key, word);
}

uint64_t hc_case_random(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t word[4];
    block(seed, stream, index, word);
    return ((uint64_t)word[1] << 32) + word[0];
}

/* Blocks of 64 weights have 16 counters; the word of a counter is a quarter of the block. */
uint32_t hc_case_round_bits(uint64_t seed, uint32_t t, uint64_t element)
{
    uint32_t word[4];
    uint64_t rest = element % 64;
    block(seed, ((uint64_t)0x524f554e << 32) + t, 16 * (element / 64) + rest % 16, word);
    return word[rest / 16] >> 16;
}
