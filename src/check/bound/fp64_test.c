/* Bounds in fp64, which are computed in fp64 themselves: what is too small for fp64 is 0 there. A
   result that is no number of fp64 is rounded by every kernel, so that a bound of 0 fails them
   all. And a bound is no excuse for arithmetic in fp32. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/bound/bound.h"
#include "check/generate/distribution.h"
#include "check/generate/op_space.h"
#include "op/descriptor.h"
#include "op/later.h"

/* A call with memory of its own. */
static void allocate(struct hc_call *call)
{
    for (int s = 0; s < hc_slot_count(call->op); s++) {
        struct hc_tensor *t = hc_slot_tensor(call, s);
        if (!hc_op_absent(call, s))
            t->data = calloc(hc_tensor_bytes(t) + 8, 1);
    }
}

static void release(struct hc_call *call)
{
    for (int s = 0; s < hc_slot_count(call->op); s++)
        free(hc_slot_tensor(call, s)->data);
}

/* What elements of an output are: those that are no numbers of fp64, and those of them that fp32's
   rounding of the right result would fail. */
struct seen {
    int64_t rounded;
    int64_t held;
};

/* An average that is multiplied by fp32's reciprocal may be divided instead, which differs by
   fp32's rounding. */
static bool is_coarse(const struct hc_call *call)
{
    return call->op == HC_OP_all_reduce && call->params.all_reduce.multiplies;
}

static void look_at(const struct hc_call *call, int out, const char *what, struct seen *seen)
{
    const struct hc_accumulator plain = {.precision = 53, .block = 1};
    int64_t total = hc_tensor_count(&call->out[out]);
    for (int64_t i = 0; i < total; i += 1 + total / 100) {
        struct hc_element e = {.call = call, .out = out, .index = i};
        struct hc_exact want = hc_reference_value(call, out, i);
        if (!isfinite(want.hi) || want.lo == 0 || call->out[out].format != HC_FP64)
            continue;
        double any = hc_bound_any_order(&e, &plain, &want);
        double in_fp32 = hc_bound_error(HC_FP64, &want, hc_round(HC_FP32, want.hi));
        cr_expect_gt(hc_bound(&e, &plain, &want), 0, "%s: element %lld, %a", what, (long long)i,
                     want.hi);
        cr_expect_gt(any, 0, "%s in any order: element %lld, %a", what, (long long)i, want.hi);
        seen->rounded++;
        seen->held += in_fp32 > any;
    }
}

/* The outputs of the call with inputs of one kind. */
static void look(enum hc_distribution d, struct hc_call call, const char *variant,
                 struct seen *seen)
{
    char what[160];
    (void)snprintf(what, sizeof what, "%s%s, %s", hc_ops[call.op].name, variant,
                   hc_distribution_names[d]);
    allocate(&call);
    hc_draw_inputs(&call, d, 1);
    for (int o = 0; o < hc_ops[call.op].outputs; o++) {
        struct seen here = {0};
        if (call.out[o].data)
            look_at(&call, o, what, &here);
        seen->rounded += here.rounded;
        bool asked = d == HC_DRAW_NORMAL && here.rounded > 0 && !is_coarse(&call);
        cr_expect(!asked || 2 * here.held > here.rounded, "%s of %s may be rounded to fp32",
                  hc_descriptor(call.op)->out[o].name, what);
    }
    release(&call);
}

Test(fp64, what_is_no_number_of_fp64_has_a_bound_above_0_and_below_a_rounding_to_fp32)
{
    for (enum hc_op op = 0; (int)op < HC_OP_COUNT; op++) {
        struct hc_opspace space = hc_opspace(op);
        struct seen seen = {0};
        int calls = 0;
        for (const struct hc_format_set *set = space.sets; set->name; set++)
            for (const struct hc_variant *v = space.variants; v->name; v++)
                for (int d = 0; d < HC_DISTRIBUTION_COUNT; d++) {
                    struct hc_call call = hc_op_call(op, set, space.shapes, v);
                    if (set->in != HC_FP64 || !hc_format_set_allowed(op, set, v) ||
                        !hc_distribution_applies(&call, (enum hc_distribution)d))
                        continue;
                    look((enum hc_distribution)d, call, v->name, &seen);
                    calls++;
                }
        bool rounds = op != HC_OP_cast && op != HC_OP_im2col && op != HC_OP_embedding &&
                      op != HC_OP_swap_axes;
        cr_expect(calls == 0 || !rounds || seen.rounded > 0, "%s rounds nothing", hc_ops[op].name);
    }
}
