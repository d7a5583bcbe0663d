/* Stochastic rounding of fp32 into bf16.

   The 16 bits that bf16 lacks are the distance to the neighbour towards zero, in units of 2^-16 of
   the distance between the neighbours, subnormals included. A random number from 0 to 2^16 - 1 is
   added to them. As many of its 2^16 values carry into bf16's bits, away from zero, as the distance
   has units. The mean of the result is therefore the fp32 number. */
#ifndef HC_NUM_STOCHASTIC_H
#define HC_NUM_STOCHASTIC_H

#include <stdint.h>

#include "num/bits.h"
#include "num/rng.h"

/* A block of elements shares HC_ROUND_LANES random counters of four words each. Lane i has a word
   for each of the elements i, i + LANES, i + 2 LANES and i + 3 LANES of the block, so that the
   lanes of a vector, or the threads of a warp, take neighbouring elements. */
enum { HC_ROUND_LANES = 16, HC_ROUND_BLOCK = 4 * HC_ROUND_LANES };

#define HC_ROUND_STREAM 0x524f554e00000000u /* "ROUN" 2^32 */

/* The random words of step t for the four elements of a lane; lanes are counted from the start of
   block 0. The upper 16 bits of a word are the random number. Element n has word n / 16 % 4 of lane
   n / 64 * 16 + n % 16. */
HC_INLINE struct hc_philox hc_round_lane(uint64_t seed, uint32_t t, uint64_t lane)
{
    uint64_t stream = HC_ROUND_STREAM + t;
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t counter[4] = {(uint32_t)lane, (uint32_t)(lane >> 32), (uint32_t)stream,
                           (uint32_t)(stream >> 32)};
    return hc_philox(key, counter);
}

HC_INLINE uint32_t hc_round_random(uint64_t seed, uint32_t t, uint64_t element)
{
    uint64_t lane = element / HC_ROUND_BLOCK * HC_ROUND_LANES + element % HC_ROUND_LANES;
    return hc_round_lane(seed, t, lane).word[element / HC_ROUND_LANES % 4] >> 16;
}

/* x rounded with `random`, 0 to 2^16 - 1. Above the largest finite number the neighbour is
   infinity. Infinities stay, and NaNs become quiet. torchao's _fp32_to_bf16_sr rounds in the same
   way, except that there a NaN whose bits are 0x7fffxxxx can carry into the sign. */
HC_INLINE uint16_t hc_bf16_stochastic(float x, uint32_t random)
{
    uint32_t bits = hc_fp32_bits(x);
    uint32_t rounded = (bits + random) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x40u : rounded);
}

#endif
