/* A weight with a compensation (kernels/element/kahan.h): w + c moves by the update, decay included. */
#ifndef HC_REFERENCE_COMPENSATE_H
#define HC_REFERENCE_COMPENSATE_H

#include "num/format.h"
#include "reference/split.h"

/* sum becomes what w does not hold of it: sum - round_F(sum). */
static inline void hc_left_over(mpfr_t sum, enum hc_format format)
{
    struct hc_exact want;
    hc_split(sum, &want);
    uint64_t held = hc_encode(format, want.hi, want.lo, HC_NEAREST);
    mpfr_sub_d(sum, sum, hc_decode(format, held), MPFR_RNDN);
}

#endif
