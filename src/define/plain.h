/* A definition computed plainly: its equations in their order, element by element, sums from their
   first term to the last, and each operation rounded to the format in which is computed; in pairs
   where an order of sums is stated, which suits each of these. That is one right order of many, in
   which nothing is fused, rescaled or shifted otherwise. */
#ifndef HC_DEFINE_PLAIN_H
#define HC_DEFINE_PLAIN_H

#include "define/value.h"

/* What happened on the way. */
struct hc_plain_notes {
    bool beside; /* an element of an equation's tensor was read beside its places, where zeros are:
                    these extents hardly are what the text is about */
};

/* Computes the results, in the order of `return`, into tensors in host memory of their shapes
   and formats. `notes` may be NULL. HC_NO_MEMORY, or HC_INVALID with a line. */
enum hc_status hc_define_plain(const struct hc_instance *instance, const struct hc_tensor *out,
                               struct hc_plain_notes *notes);

/* A function of numbers of a format, before its result is rounded. */
double hc_plain_function(enum hc_format compute, enum hc_function f, const double *x);

#endif
