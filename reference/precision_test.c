/* The references, held to themselves at twice their precision. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "check/bound/bound.h"
#include "check/generate/distribution.h"
#include "check/generate/op_space.h"
#include "op/descriptor.h"
#include "reference.h"

/* Whether hi + lo of a and of b differ by at most 2^-100 of the magnitude. Where only the right
   bits will do they must also round to the same fp64 number upward, which sees the smallest lo. */
static bool agree(const struct hc_call *call, const struct hc_exact *a, const struct hc_exact *b)
{
    uint64_t bits;
    if (isnan(a->hi) || isinf(a->hi))
        return isnan(a->hi) ? isnan(b->hi) : a->hi == b->hi;
    double apart = fabs((a->hi - b->hi) + (a->lo - b->lo));
    if (hc_bound_bits(&(struct hc_element){call, 0, 0}, a, &bits) &&
        hc_encode(HC_FP64, a->hi, a->lo, HC_UPWARD) != hc_encode(HC_FP64, b->hi, b->lo, HC_UPWARD))
        return false;
    return apart <= 0x1p-100 * fmax(a->magnitude, b->magnitude);
}

static void double_the_precision(struct hc_call *call, enum hc_distribution distribution)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    for (int i = 0; i < op->inputs; i++) {
        size_t bytes = hc_tensor_bytes(&call->in[i]);
        call->in[i].data = bytes ? calloc(1, bytes) : NULL; /* NULL: an absent input */
    }
    hc_draw_inputs(call, distribution, 7);
    for (int out = 0; out < op->outputs; out++)
        for (int64_t i = 0; i < hc_tensor_count(&call->out[out]) && i < 9; i += 4) {
            struct hc_exact twice;
            struct hc_exact once = hc_reference_value(call, out, i);
            hc_references[call->op](&(struct hc_element){call, out, i}, 2 * HC_REFERENCE_PRECISION,
                                    &twice);
            cr_assert(agree(call, &once, &twice), "%s %s[%d], %s: %.17g + %g, %.17g + %g", op->name,
                      hc_slot(call->op, op->inputs + out)->name, (int)i,
                      hc_distribution_names[distribution], once.hi, once.lo, twice.hi, twice.lo);
        }
    for (int i = 0; i < op->inputs; i++)
        free(call->in[i].data);
}

Test(reference, twice_the_precision_changes_nothing_in_any_op_format_and_fill)
{
    for (int op = 0; op < HC_OP_COUNT; op++) {
        struct hc_opspace space = hc_opspace((enum hc_op)op);
        for (const struct hc_format_set *set = space.sets; set->name; set++)
            for (const struct hc_variant *v = space.variants; v->name; v++)
                for (int distribution = 0; distribution < HC_DISTRIBUTION_COUNT; distribution++) {
                    struct hc_call call = hc_op_call((enum hc_op)op, set, &space.shapes[0], v);
                    if (hc_format_set_allowed((enum hc_op)op, set, v) &&
                        hc_distribution_applies(&call, (enum hc_distribution)distribution))
                        double_the_precision(&call, (enum hc_distribution)distribution);
                }
    }
}
