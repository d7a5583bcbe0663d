#include "reference.h"

#include <mpfr.h>

hc_reference hc_reference_add, hc_reference_sub, hc_reference_mul, hc_reference_div;

/* Grows to the whole of ops.def. */
hc_reference *const hc_references[HC_OP_COUNT] = {
    [HC_OP_add] = hc_reference_add,
    [HC_OP_sub] = hc_reference_sub,
    [HC_OP_mul] = hc_reference_mul,
    [HC_OP_div] = hc_reference_div,
};

void hc_reference_end(void)
{
    mpfr_free_cache();
}
