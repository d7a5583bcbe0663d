/* The arithmetic of a partial sum, a block of numbers at a time: each rank adds its own shards as
   the op all_reduce adds ranks (op/collective.h), with the same roundings.

   Blocks are in fp64, in which every sum, product and quotient of two fp32 numbers that is then
   rounded to fp32 is the one that fp32 gives: fp64 has more than 2 * 24 + 2 bits (Figueroa, When is
   double rounding innocuous?, 1995). */
#ifndef HC_TRAIN_PARALLEL_PARTIAL_H
#define HC_TRAIN_PARALLEL_PARTIAL_H

#include "num/format.h"
#include "op/collective.h"

/* `to` becomes what `from` contributes: rounded into how->sum, in which `to` is held, and divided
   by how->before. */
void hc_partial_begin(const struct hc_all_reduce *how, enum hc_format format, const void *from,
                      void *to, int64_t count);

/* `left` becomes left + right, both held in `sum`. */
void hc_partial_add(enum hc_format sum, void *left, const void *right, int64_t count);

/* Rounds what is held in `sum` into `format`. */
void hc_partial_end(enum hc_format sum, const void *from, enum hc_format format, void *to,
                    int64_t count);

#endif
