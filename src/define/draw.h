/* Inputs of a definition: numbers of the families that generated cases have, too. */
#ifndef HC_DEFINE_DRAW_H
#define HC_DEFINE_DRAW_H

#include "define/definition.h"

enum hc_family {
    HC_FAMILY_NORMAL,
    HC_FAMILY_LOGNORMAL,  /* over many powers of two */
    HC_FAMILY_BOUNDARIES, /* powers of two, limits, and their neighbours */
    HC_FAMILY_SUBNORMALS,
    HC_FAMILY_SPECIALS,   /* infinities, NaN and zeros of both signs among normal ones */
    HC_FAMILY_CANCELLING, /* along the last axis each number has one that nearly takes it away */
    HC_FAMILY_STAGNATING, /* a large one, and then many that are half an ulp of it, or less */
    HC_FAMILY_CONSTANT,   /* the same number everywhere */
    HC_FAMILY_ONE_HOT,    /* one number in each row, and zeros */
    HC_FAMILY_WHOLE,      /* small whole numbers: sums of their products are exact in any order */
    HC_FAMILY_OFFSET,     /* a large mean beside a small deviation */
    HC_FAMILY_MIXED,      /* zeros, ones, large and subnormal numbers side by side */
    HC_FAMILY_SCALED,     /* each row by a power of two of its own, down to what eps is */
    HC_FAMILIES
};

extern const char *const hc_family_names[HC_FAMILIES];

/* Fills a tensor, in its format. `stream` tells tensors of one call apart. A tensor of indices gets
   places from 0 to `places` - 1, whatever the family. */
void hc_family_draw(const struct hc_tensor *t, enum hc_family family, int64_t places, uint64_t seed,
                    uint64_t stream);

#endif
