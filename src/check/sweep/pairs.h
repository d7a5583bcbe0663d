/* The results of one operation for one x and all 65,536 y, by exact arithmetic: the expected side
   of the sweeps over pairs of 16-bit values. */
#ifndef HC_CHECK_SWEEP_PAIRS_H
#define HC_CHECK_SWEEP_PAIRS_H

#include <stdint.h>

#include "num/format.h"
#include "op/op.h"

/* want[y] is the code of x op y, correctly rounded to nearest; NaN is `nan`. */
struct hc_pairs {
    enum hc_op op; /* add, sub, mul, div */
    enum hc_format format;
    uint16_t nan;
    uint16_t infinity;
    uint32_t binade; /* codes that share an exponent: 1024 in fp16, 128 in bf16 */
    uint16_t x;
    float value[65536]; /* of each code */
    uint16_t want[65536];
};

void hc_pairs_init(struct hc_pairs *pairs, enum hc_op op, enum hc_format format);

/* Sets x, and want[] from the definition. */
void hc_pairs_at(struct hc_pairs *pairs, uint16_t x);

/* The codes of x op y for y = from .. from + n - 1, from the definition. */
void hc_pairs_define(const struct hc_pairs *pairs, uint16_t x, uint32_t from, uint32_t n,
                     uint16_t *want);

/* One result by the same arithmetic: sqrt x, and x y + z rounded once. */
uint16_t hc_exact_sqrt_code(enum hc_format format, uint16_t x);
uint16_t hc_exact_fma_code(enum hc_format format, uint16_t x, uint16_t y, uint16_t z);

#endif
