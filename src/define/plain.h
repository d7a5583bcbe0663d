/* Computes a definition plainly: its equations in their order, element by element, with each
   operation rounded to the computing format and sums from their first term to the last. If an order
   of sums is stated, sums are in pairs, which every such order allows. This is one right order of
   many: nothing is fused, rescaled or shifted otherwise. */
#ifndef HC_DEFINE_PLAIN_H
#define HC_DEFINE_PLAIN_H

#include "define/value.h"

/* What happened on the way. */
struct hc_plain_notes {
    bool beside; /* an element outside of an equation's tensor was read, where zeros are; the
                    text is hardly meant for these extents */
};

/* Computes the results, in the order of `return`, into tensors in host memory of their shapes
   and formats. `notes` may be NULL. HC_NO_MEMORY, or HC_INVALID with a line. */
enum hc_status hc_define_plain(const struct hc_instance *instance, const struct hc_tensor *out,
                               struct hc_plain_notes *notes);

/* A function of numbers of a format, before its result is rounded. */
double hc_plain_function(enum hc_format compute, enum hc_function f, const double *x);

#endif
