/* What the generated cases of quantize, dequantize and delayed_scale cross. */
#ifndef HC_CHECK_GENERATE_OP_QUANT_H
#define HC_CHECK_GENERATE_OP_QUANT_H

#include "check/generate/draw.h"
#include "check/generate/op_space.h"

/* Whether the op is one of these; then these functions are for it. */
bool hc_is_op_quant(enum hc_op op);

/* Sets of formats and shapes: d is the codes' rows and columns; of delayed_scale steps and tensors.
   An extent that a Hadamard matrix multiplies along is rounded up to 16. */
struct hc_opspace hc_opspace_quant(enum hc_op op);

const struct hc_variant *hc_op_variants_quant(enum hc_op op);

/* Rules have one set of formats or two, and all other variants each. */
bool hc_format_set_allowed_quant(enum hc_op op, const struct hc_format_set *set,
                                 const struct hc_variant *variant);

/* Gives the call its shapes, and the scales their format: the rule's, or `scales`. */
void hc_op_call_quant(struct hc_call *call, const int64_t *d, enum hc_format scales);

/* Whether a distribution leaves anything to say. */
bool hc_distribution_applies_quant(const struct hc_call *call, enum hc_distribution distribution);

/* A value of an input (draw_quant.c). */
double hc_draw_quant(const struct hc_draw_site *p, enum hc_values values,
                     enum hc_distribution distribution);

#endif
