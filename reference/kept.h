/* What many elements have in common, computed once.

   A reference computes one element. Every element of a block, or of a tensor with one scale, asks
   for the same largest magnitude, and every element of a channel of batch norm for the same two
   sums over that channel. To compute them each time takes as many steps as the square of the number
   of elements. */
#ifndef HC_REFERENCE_KEPT_H
#define HC_REFERENCE_KEPT_H

#include <mpfr.h>

#include "op/call.h"

/* Rows top .. bottom - 1 and columns left .. right - 1 of what is quantised. */
struct hc_amax_part {
    int64_t top, bottom, left, right;
};

typedef double hc_amax_search(const struct hc_call *call, const struct hc_amax_part *part);

/* What search(call, part) returns; or what it has returned before in this thread, if
   hc_reference_begin said that this call stays as it is. */
double hc_amax(const struct hc_call *call, const struct hc_amax_part *part, hc_amax_search *search);

/* Sets two numbers of channel c, in the precision that they have. */
typedef void hc_channel_sums(mpfr_t first, mpfr_t second, const struct hc_call *call, int64_t c);

/* Calls sums(first, second, call, c); or sets both as that has set them before in this thread, in
   this precision, if hc_reference_begin said that this call stays as it is. */
void hc_channel(mpfr_t first, mpfr_t second, const struct hc_call *call, int64_t c,
                hc_channel_sums *sums);

/* Frees what this thread keeps. */
void hc_channel_end(void);

#endif
