/* Conversions from fp32 as tables of breakpoints: the expected side of the sweeps over all
   inputs. */
#ifndef HC_CHECK_SWEEP_BREAKPOINTS_H
#define HC_CHECK_SWEEP_BREAKPOINTS_H

#include <stdint.h>

#include "num/format.h"

/* A correctly rounded conversion is monotone. So over the positive half of fp32, in the order of
   its bit patterns, each code of the target is the result of one run of patterns: code c is the
   result of first[c] up to first[c + 1] - 1, c = 0 .. infinity. first[infinity + 1] is the first
   NaN. No run is empty. */
struct hc_breakpoints {
    uint16_t infinity;
    uint32_t first[0x8000 + 1];
};

/* The breakpoints of the magnitudes for inputs of that sign (0 or 1) into fp16 or bf16. They are
   computed from the values of the codes and the exact middles between them.
   check/sweep/breakpoints_test.c holds both sides of every breakpoint against MPFR, and with that,
   by monotony, all inputs. */
void hc_breakpoints_build(struct hc_breakpoints *breakpoints, enum hc_format to,
                          enum hc_direction direction, int negative);

/* The code of a magnitude, without its sign; infinity + 1 for NaN. */
uint16_t hc_breakpoints_code(const struct hc_breakpoints *breakpoints, uint32_t magnitude);

#endif
