/* Stochastic rounding with few random bits.

   A number that lies the fraction f of an ulp above its lower neighbour goes up with probability f.
   With k random bits r = 0, 1, ... 2^k - 1 one tests f > r / 2^k: that holds for ceil(f 2^k) of the
   2^k draws, so that the probability is f rounded up to a multiple of 2^-k. Numbers grow by half of
   2^-k ulp on the average. To add r / 2^k and cut, floor(f + r / 2^k), rounds the probability down,
   and numbers shrink. Neither matters with 8 bits and more; with 2 an eighth of an ulp is lost or
   won at each step, in one direction.

   The rule of thumb: count over all fractions and all draws that the mean is the number itself. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/random-bits/sr-few-bits-biased",
           "Stochastic rounding with two random bits is off by a constant part of an ulp on the "
           "average.",
           "graphcore-research/gfloat PR 36, 'Add comparison to \"SRFast\"', "
           "https://github.com/graphcore-research/gfloat/pull/36",
           .formula = "r := 2^k; all := 64 * r       # draws; and 64 fractions of an ulp\n"
                      "away = sum(n: 64, sum(r, (n/64 > i/r) - n/64)) / all\n"
                      "toward = sum(n: 64, sum(r, floor(n/64 + i/r) - n/64)) / all\n"
                      "worst = sum(r, (1/64 > i/r) - 1/64) / r",
           .show = "away, toward, worst",
           .buggy = {.in = "fp32", .with = "k := 2", .prints = "0.12, -0.12, 0.23"},
           .fixed = {.in = "fp32", .with = "k := 8", .prints = "0, 0, 0"},
           .fault = "rounding-two-bits",
           .lesson = "Take as many random bits as are cut off, or 8: k bits are biased by up to "
                     "2^-k ulp."),
};

HC_CASES(field_sums_random_bits, cases);
