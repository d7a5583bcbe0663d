/* The generated cases size/: calls as large as models make them. */
#ifndef HC_CHECK_GENERATE_SIZE_CASES_H
#define HC_CHECK_GENERATE_SIZE_CASES_H

#include "check/generate/op_space.h"
#include "check/repeats.h"
#include "check/check.h"

/* The same table each time. */
const struct hc_case_table *hc_size_cases(void);

/* The shape of the small call from which the inputs of one of shape `large` are repeated. */
struct hc_op_shape hc_size_small(enum hc_op op, const struct hc_variant *variant,
                                 const struct hc_op_shape *large);

/* The axes of all tensors of the two calls. */
void hc_size_layout(const struct hc_call *small, const struct hc_call *large,
                    struct hc_repeats *repeats);

#endif
