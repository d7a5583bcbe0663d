#include "check/sweep/strays.h"

#include <string.h>

#include "num/clones.h"

/* The compiler's own choice of vectors is 32 bytes, also where the processor has longer ones. */
enum { BYTES = 64, CODES = BYTES / 2, WORDS = BYTES / 4 };

typedef uint8_t bytes __attribute__((vector_size(BYTES), aligned(1), may_alias));
typedef uint16_t codes __attribute__((vector_size(BYTES), aligned(2), may_alias));
typedef uint32_t words __attribute__((vector_size(BYTES), aligned(4), may_alias));

HC_CLONED bool any(const codes *bits)
{
    uint64_t word[BYTES / 8];
    memcpy(word, bits, sizeof word);
    uint64_t all = 0;
    for (int i = 0; i < BYTES / 8; i++)
        all |= word[i];
    return all != 0;
}

HC_CLONES bool hc_strays(uint16_t want, const uint16_t *got, uint32_t n)
{
    codes bits = {0};
    uint16_t rest = 0;
    uint32_t i = 0;
    for (; i + CODES <= n; i += CODES)
        bits |= *(const codes *)(got + i) ^ want;
    for (; i < n; i++)
        rest |= (uint16_t)(got[i] ^ want);
    return any(&bits) || rest;
}

HC_CLONES bool hc_strays_from(const uint16_t *want, uint16_t shift, const uint16_t *got, uint32_t n)
{
    codes bits = {0};
    uint16_t rest = 0;
    uint32_t i = 0;
    for (; i + CODES <= n; i += CODES)
        bits |= (*(const codes *)(want + i) + shift) ^ *(const codes *)(got + i);
    for (; i < n; i++)
        rest |= (uint16_t)((uint16_t)(want[i] + shift) ^ got[i]);
    return any(&bits) || rest;
}

HC_CLONES bool hc_strays8(uint8_t want, uint8_t mask, const uint8_t *got, uint32_t n)
{
    bytes bits = {0};
    uint8_t rest = 0;
    uint32_t i = 0;
    for (; i + BYTES <= n; i += BYTES)
        bits |= *(const bytes *)(got + i) ^ want;
    for (; i < n; i++)
        rest |= (uint8_t)(got[i] ^ want);
    bits &= mask;
    return any((const codes *)&bits) || rest & mask;
}

/* A comparison of vectors gives all ones where it holds. */
HC_CLONES bool hc_strays_nan(const uint16_t *want, uint16_t shift, const uint16_t *got, uint32_t n,
                             uint16_t infinity)
{
    codes others = {0};
    bool rest = false;
    uint32_t i = 0;
    for (; i + CODES <= n; i += CODES) {
        codes a = *(const codes *)(want + i) + shift;
        codes b = *(const codes *)(got + i);
        others |= (codes)(a != b) &
                  ~((codes)((a & 0x7fff) > infinity) & (codes)((b & 0x7fff) > infinity));
    }
    for (; i < n; i++) {
        uint16_t a = (uint16_t)(want[i] + shift);
        bool nans = (a & 0x7fff) > infinity && (got[i] & 0x7fff) > infinity;
        rest |= a != got[i] && !nans;
    }
    return any(&others) || rest;
}

HC_CLONES void hc_count_up(uint32_t *to, uint32_t first, uint32_t n)
{
    words next;
    for (uint32_t i = 0; i < WORDS; i++)
        next[i] = first + i;
    for (uint32_t i = 0; i < n; i += WORDS, next += WORDS)
        *(words *)(to + i) = next;
}

HC_CLONES void hc_repeat(uint16_t *to, uint16_t code, uint32_t n)
{
    codes all = {0};
    all += code;
    for (uint32_t i = 0; i < n; i += CODES)
        *(codes *)(to + i) = all;
}
