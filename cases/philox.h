/* Philox4x32-10 and what hangs on it, written again from its definition (Salmon, Moraes, Dror,
   Shaw: Parallel random numbers, as easy as 1, 2, 3; SC 2011) and the contracts of op/call.h;
   num/rng.h is not used. */
#ifndef HC_CASES_PHILOX_H
#define HC_CASES_PHILOX_H

#include <stdint.h>

/* The block of a counter and a key, the words of each from the lowest on. */
void hc_case_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t word[4]);

/* The 64 bits of crops: element `index` of stream `stream` under the seed. */
uint64_t hc_case_random(uint64_t seed, uint64_t stream, uint64_t index);

/* The 16 bits with which weight `element` is rounded stochastically in step t under the seed. */
uint32_t hc_case_round_bits(uint64_t seed, uint32_t t, uint64_t element);

#endif
