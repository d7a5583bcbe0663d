/* The largest magnitudes of what quantize quantises, each looked for once.

   A reference computes one element, and every element of a block, or of a tensor with one scale,
   asks for the same amax. To look for it each time takes as many steps as the square of the number
   of elements. */
#ifndef HC_REFERENCE_AMAX_H
#define HC_REFERENCE_AMAX_H

#include "op/call.h"

/* Rows top .. bottom - 1 and columns left .. right - 1 of what is quantised. */
struct hc_amax_part {
    int64_t top, bottom, left, right;
};

typedef double hc_amax_search(const struct hc_call *call, const struct hc_amax_part *part);

/* What search(call, part) returns; or what it has returned before in this thread, if
   hc_reference_begin said that this call stays as it is. */
double hc_amax(const struct hc_call *call, const struct hc_amax_part *part, hc_amax_search *search);

#endif
