/* Distributions: what the generated cases fill the inputs of a call with. */
#ifndef HC_CHECK_GENERATE_DISTRIBUTION_H
#define HC_CHECK_GENERATE_DISTRIBUTION_H

#include <stdbool.h>

#include "op/call.h"

enum hc_distribution {
    HC_DRAW_NORMAL,       /* standard normal */
    HC_DRAW_LOGNORMAL,    /* over the whole exponent range, as far as the op's products allow */
    HC_DRAW_SUBNORMALS,   /* below the smallest normal number of the output's format */
    HC_DRAW_BOUNDARIES,   /* powers of two, midpoints, limits, and their neighbours */
    HC_DRAW_CANCELLATION, /* terms that leave little of each other */
    HC_DRAW_SPECIALS,     /* infinities, NaN, -0 and limits among normal ones */
    HC_DRAW_POSITIVE,     /* random numbers of one sign */
    HC_DRAW_STAGNATION,   /* one large term, then many that are each too small to change the sum */
    HC_DRAW_CUT,          /* the same, with terms that are rounded up and not down */
    HC_DRAW_WHOLE,        /* integers whose sums are exact and fill the accumulator */
    HC_DRAW_FOUND,        /* the flag says that an infinity was found */
    HC_DISTRIBUTION_COUNT
};

extern const char *const hc_distribution_names[HC_DISTRIBUTION_COUNT];

/* Whether the distribution is only for sums. */
bool hc_distribution_of_sums(enum hc_distribution distribution);

/* Whether the distribution makes sense for that call. */
bool hc_distribution_applies(const struct hc_call *call, enum hc_distribution distribution);

/* Fills all inputs, or that one; the same seed gives the same values. */
void hc_draw_inputs(const struct hc_call *call, enum hc_distribution distribution, uint64_t seed);
void hc_draw_input(const struct hc_call *call, int slot, enum hc_distribution distribution,
                   uint64_t seed);

/* Whether the inputs are what the distribution's name says. */
bool hc_distribution_reached(const struct hc_call *call, enum hc_distribution distribution);

#endif
