/* What the generated cases put into the tensors of a call. */
#ifndef HC_CHECK_OPFILL_H
#define HC_CHECK_OPFILL_H

#include <stdbool.h>

#include "op/call.h"

enum hc_fill {
    HC_FILL_NORMAL,       /* standard normal */
    HC_FILL_LOGNORMAL,    /* over the whole exponent range, as far as the op's products allow */
    HC_FILL_SUBNORMALS,   /* below the smallest normal number of the output's format */
    HC_FILL_BOUNDARIES,   /* powers of two, midpoints, limits, and their neighbours */
    HC_FILL_CANCELLATION, /* terms that leave little of each other */
    HC_FILL_SPECIALS,     /* infinities, NaN, -0 and limits among normal ones */
    HC_FILL_POSITIVE,     /* random ones of one sign */
    HC_FILL_STAGNATION,   /* one large term, then many that are each too small to change the sum */
    HC_FILL_CUT,          /* the same, where each is rounded up and not down */
    HC_FILL_WHOLE,        /* integers whose sums are exact and fill the accumulator */
    HC_FILL_FOUND,        /* the flag that an infinity was found is set */
    HC_FILL_COUNT
};

extern const char *const hc_fill_names[HC_FILL_COUNT];

/* Whether it is there for sums alone. */
bool hc_fill_of_sums(enum hc_fill fill);

/* Whether the fill means something for that call. */
bool hc_fill_applies(const struct hc_call *call, enum hc_fill fill);

/* Fills all inputs; the same seed gives the same values. */
void hc_fill_call(const struct hc_call *call, enum hc_fill fill, uint64_t seed);

/* Whether the inputs reached what the fill's name says. */
bool hc_fill_reached(const struct hc_call *call, enum hc_fill fill);

#endif
