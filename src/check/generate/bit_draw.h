/* Inputs of the cases bits/: values that may tell two implementations apart. */
#ifndef HC_CHECK_GENERATE_BIT_DRAW_H
#define HC_CHECK_GENERATE_BIT_DRAW_H

#include <stdbool.h>
#include <stdint.h>

#include "op/call.h"

enum { HC_BIT_DRAWS = 32 };

struct hc_bit_draw {
    const char *name; /* NULL: this one is not for the op and its formats */
    int64_t length;
    bool raw; /* outputs are copies: NaNs, too, must have the same bits */
};

/* A number that all elements share and all results depend on: the scale of an unscaling, the step
   count of an optimizer. */
struct hc_bit_scalar {
    int slot;
    int64_t element;
    int count;
    double values[16];
};

/* The distribution of that number, 0 .. HC_BIT_DRAWS - 1, for a call in these formats. */
struct hc_bit_draw hc_bit_draw(const struct hc_call *call, int number);

/* Fills all inputs that have memory. */
void hc_bit_draw_inputs(const struct hc_call *call, int number, uint64_t seed);

#endif
