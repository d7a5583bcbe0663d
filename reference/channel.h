/* What all elements of a channel have in common, computed once.

   A reference computes one element, and every element of a channel of batch norm asks for the same
   two sums over that channel. To add them up each time takes as many steps as the square of the
   channel's length. */
#ifndef HC_REFERENCE_CHANNEL_H
#define HC_REFERENCE_CHANNEL_H

#include <mpfr.h>

#include "op/call.h"

/* Sets two numbers of channel c, in the precision that they have. */
typedef void hc_channel_sums(mpfr_t first, mpfr_t second, const struct hc_call *call, int64_t c);

/* Calls sums(first, second, call, c); or sets both as that has set them before in this thread, in
   this precision, if hc_reference_begin said that this call stays as it is. */
void hc_channel(mpfr_t first, mpfr_t second, const struct hc_call *call, int64_t c,
                hc_channel_sums *sums);

/* Frees what this thread keeps. */
void hc_channel_end(void);

#endif
