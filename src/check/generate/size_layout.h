/* Which extents of a large call are made of smaller ones (check/repeats.h). */
#ifndef HC_CHECK_GENERATE_SIZE_LAYOUT_H
#define HC_CHECK_GENERATE_SIZE_LAYOUT_H

#include "check/generate/op_space.h"
#include "check/repeats.h"

enum { HC_SIZE_ALONE = 4 }; /* classes of a loss that labels name */

/* The shape of the small call from which the inputs of one of shape `large` are repeated. */
struct hc_op_shape hc_size_small(enum hc_op op, const struct hc_variant *variant,
                                 const struct hc_op_shape *large);

/* The axes of all tensors of the two calls. */
void hc_size_layout(const struct hc_call *small, const struct hc_call *large,
                    struct hc_repeats *repeats);

#endif
