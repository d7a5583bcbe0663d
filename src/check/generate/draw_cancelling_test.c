/* Terms that cancel leave little of each other under every seed, whatever the number of terms. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "check/generate/distribution.h"
#include "check/generate/op_space.h"

enum { SEEDS = 120 };

static void give_memory(struct hc_call *call)
{
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        if (!hc_op_absent(call, i))
            call->in[i].data = calloc(1, hc_tensor_bytes(&call->in[i]) + 1);
}

static void take_memory(const struct hc_call *call)
{
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        free(call->in[i].data);
}

static void every_seed_leaves_little(enum hc_op op, const struct hc_op_shape *shape,
                                     const struct hc_variant *variant)
{
    const struct hc_format_set *set = hc_opspace(op).sets;
    struct hc_call call = hc_op_call(op, set, shape, variant);
    if (!hc_format_set_allowed(op, set, variant) ||
        !hc_distribution_applies(&call, HC_DRAW_CANCELLATION))
        return;
    give_memory(&call);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        hc_draw_inputs(&call, HC_DRAW_CANCELLATION, seed);
        cr_assert(hc_distribution_reached(&call, HC_DRAW_CANCELLATION), "%s %s%s, seed %d",
                  hc_ops[op].name, shape->name, variant->name, (int)seed);
    }
    take_memory(&call);
}

Test(opcancel, terms_leave_little_of_each_other_under_every_seed)
{
    for (int op = 0; op < HC_OP_COUNT; op++) {
        struct hc_opspace space = hc_opspace((enum hc_op)op);
        for (const struct hc_op_shape *shape = space.shapes; space.sets->name && shape->name;
             shape++)
            for (const struct hc_variant *variant = space.variants; variant->name; variant++)
                if (shape->every_distribution && shape->level < HC_EXHAUSTIVE)
                    every_seed_leaves_little((enum hc_op)op, shape, variant);
    }
}
