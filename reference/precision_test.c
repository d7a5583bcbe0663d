/* The references, by twice their precision. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "check/bound.h"
#include "check/opfill.h"
#include "check/opspace.h"
#include "reference.h"

/* value + rest of a and b, apart by at most 2^-100 of the magnitude; where only the right bits will
   do, rounded to the same bits in a direction that sees the smallest rest. */
static bool agree(const struct hc_call *call, const struct hc_want *a, const struct hc_want *b)
{
    uint64_t bits;
    if (isnan(a->value) || isinf(a->value))
        return isnan(a->value) ? isnan(b->value) : a->value == b->value;
    double apart = fabs((a->value - b->value) + (a->rest - b->rest));
    if (hc_bound_bits(call, 0, a, &bits) && hc_encode(HC_FP64, a->value, a->rest, HC_UPWARD) !=
                                                hc_encode(HC_FP64, b->value, b->rest, HC_UPWARD))
        return false;
    return apart <= 0x1p-100 * fmax(a->magnitude, b->magnitude);
}

static void double_the_precision(struct hc_call *call, enum hc_fill fill)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    for (int i = 0; i < op->inputs; i++) {
        size_t bytes = hc_tensor_bytes(&call->in[i]);
        call->in[i].data = bytes ? calloc(1, bytes) : NULL; /* NULL: an absent input */
    }
    hc_fill_call(call, fill, 7);
    for (int out = 0; out < op->outputs; out++)
        for (int64_t i = 0; i < hc_tensor_count(&call->out[out]) && i < 9; i += 4) {
            struct hc_want once;
            struct hc_want twice;
            hc_references[call->op](call, out, i, HC_REFERENCE_PRECISION, &once);
            hc_references[call->op](call, out, i, 2 * HC_REFERENCE_PRECISION, &twice);
            cr_assert(agree(call, &once, &twice), "%s out%d[%d], %s: %.17g + %g, %.17g + %g",
                      op->name, out, (int)i, hc_fill_names[fill], once.value, once.rest,
                      twice.value, twice.rest);
        }
    for (int i = 0; i < op->inputs; i++)
        free(call->in[i].data);
}

Test(reference, twice_the_precision_changes_nothing_in_any_op_format_and_fill)
{
    for (int op = 0; op < HC_OP_COUNT; op++) {
        struct hc_opspace space = hc_opspace((enum hc_op)op);
        for (const struct hc_mix *mix = space.mixes; mix->name; mix++)
            for (const struct hc_variant *v = space.variants; v->name; v++)
                for (int fill = 0; fill < HC_FILL_COUNT; fill++) {
                    struct hc_call call = hc_op_call((enum hc_op)op, mix, &space.shapes[0], v);
                    if (hc_mix_allowed((enum hc_op)op, mix, v) &&
                        hc_fill_applies(&call, (enum hc_fill)fill))
                        double_the_precision(&call, (enum hc_fill)fill);
                }
    }
}
