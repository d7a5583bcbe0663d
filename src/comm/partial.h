/* Partial sums of an all-reduce: the roundings of op/collective.h on vectors in host memory. */
#ifndef HC_COMM_PARTIAL_H
#define HC_COMM_PARTIAL_H

#include <stdint.h>

#include "op/collective.h"

/* `sums` are n numbers of how->sum, which become what a rank contributes: its numbers in `format`,
   rounded, and divided by `before`. */
void hc_partial_begin(const struct hc_all_reduce *how, enum hc_format format, const void *data,
                      int64_t n, void *sums);

/* to[i] = to[i] + from[i], rounded into `sum`. */
void hc_partial_add(enum hc_format sum, void *to, const void *from, int64_t n);

/* The sums, divided by `after`, become numbers of `format`. */
void hc_partial_end(const struct hc_all_reduce *how, enum hc_format format, const void *sums,
                    int64_t n, void *data);

#endif
