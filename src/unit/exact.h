/* Exact sums, and their one rounding into a unit's result. */
#ifndef HC_UNIT_EXACT_H
#define HC_UNIT_EXACT_H

#include <stdbool.h>
#include <stdint.h>

#include "unit/unit.h"

/* (-1)^negative m 2^e. If `inexact`, the magnitude is larger, by less than 2^e; m then has 64 bits,
   so that what is missing lies below every bit that a result keeps. */
struct hc_unit_number {
    uint64_t m;
    int e;
    bool negative;
    bool inexact;
};

/* A sum of multiples of 2^HC_WIDE_LOWEST, in two's complement. It starts from all zeros. The
   smallest product is that of two subnormals of fp32, 2^-298; the largest are below 2^256, and the
   576 bits leave 18 above them for the sum and its sign. */
enum { HC_WIDE_WORDS = 9, HC_WIDE_LOWEST = -300 };

struct hc_unit_wide {
    uint64_t word[HC_WIDE_WORDS];
};

/* Adds (-1)^negative m 2^e. */
void hc_unit_wide_add(struct hc_unit_wide *sum, bool negative, uint64_t m, int e);
struct hc_unit_number hc_unit_wide_number(const struct hc_unit_wide *sum);

/* The bits of x below 2^quantum go, as `rounding` says: the multiple of 2^quantum, divided by it.
   It must fit. */
int64_t hc_unit_quantize(struct hc_unit_number x, int quantum, enum hc_unit_rounding rounding);

/* The position of the highest bit of m, which is not 0. */
int hc_unit_top(uint64_t m);

/* The code of x in u->d, rounded, limited and flushed as the unit does it. A zero keeps its sign.
   Beyond the largest finite number comes infinity, in every rounding. */
uint32_t hc_unit_round(const struct hc_unit *u, struct hc_unit_number x);

/* Infinity in u->d. */
uint32_t hc_unit_infinity(const struct hc_unit *u, bool negative);

#endif
