/* One witness for every rule of a bound (cases/fixture/witness.h). A bound that has grown is seen
   here, though every kernel keeps it: a right implementation comes less near to it than it did. */
#include "case.h"
#include "cases/fixture/witness.h"
#include "check/generate/op_space.h"
#include "op/descriptor.h"

const struct hc_witness hc_witnesses[] = {
#include "cases/witness/witnesses.inc"
    {.op = NULL},
};
const int hc_witness_count = (int)(sizeof hc_witnesses / sizeof hc_witnesses[0]) - 1;

const struct hc_witness hc_subnormal_witnesses[] = {
#include "cases/witness/subnormal.inc"
    {.op = NULL},
};
const int hc_subnormal_witness_count =
    (int)(sizeof hc_subnormal_witnesses / sizeof hc_subnormal_witnesses[0]) - 1;

/* Libraries' exponentials and roots differ by an ulp, which moves error/bound by less. */
#define KEPT 0.9

static int number_of(const char *by)
{
    int i = 0;
    while (i < HC_RIGHTS && strcmp(hc_right_names[i], by) != 0)
        i++;
    return i;
}

static int output_of(const struct hc_call *call, const char *name)
{
    int out = 0;
    while (out < hc_ops[call->op].outputs &&
           strcmp(hc_descriptor(call->op)->out[out].name, name) != 0)
        out++;
    return out;
}

/* The witness's error/bound; below 0 where it is no witness of anything. */
static double ratio_of(struct hc_check *check, const struct hc_witness *w)
{
    struct hc_call call;
    if (!hc_witness_call(w, &call))
        return -1;
    for (int i = 0; i < hc_slot_count(call.op); i++) {
        struct hc_tensor *t = hc_slot_tensor(&call, i);
        if (!hc_op_absent(&call, i))
            t->data = hc_check_memory(check, hc_tensor_bytes(t));
    }
    int by = number_of(w->by);
    int out = output_of(&call, w->output);
    void *scratch = hc_check_memory(check, hc_right_scratch(&call));
    if (!hc_witness_values(w, &call) || by == HC_RIGHTS || out == hc_ops[call.op].outputs ||
        hc_right_run(by, &call, scratch) != HC_OK)
        return -1;
    return hc_witness_ratio(&call, out, w->index, w->contract);
}

static void compare_with(struct hc_check *check, const struct hc_witness *witnesses, int count,
                         const char *kind, struct hc_comparisons *all)
{
    const char *op = hc_check_case(check)->name + strlen("witness/");
    for (int i = 0; i < count; i++) {
        const struct hc_witness *w = &witnesses[i];
        if (strcmp(w->op, op) != 0)
            continue;
        double ratio = ratio_of(check, w);
        all->checked++;
        if (!(ratio >= KEPT * w->reached && ratio <= 1))
            hc_comparisons_wrong(all,
                                 "%s%s of %s %s, in %s order: error/bound of '%s' is %.3f, and "
                                 "was %.3f",
                                 kind, w->output, w->set, w->variant,
                                 w->contract == HC_STATED ? "the stated" : "any", w->by, ratio,
                                 w->reached);
    }
}

static void come_near(struct hc_check *check)
{
    struct hc_comparisons all = {.what = "witnesses that come as near to their bound as they did"};
    compare_with(check, hc_witnesses, hc_witness_count, "", &all);
    compare_with(check, hc_subnormal_witnesses, hc_subnormal_witness_count, "subnormal ", &all);
    hc_claim_comparisons(check, &all);
}

#define ROW(op)                                                                                    \
    {                                                                                              \
        .name = "witness/" #op,                                                                    \
        .title = "a right implementation comes as near to each bound of " #op                      \
                 " as it did when the witness was found",                                          \
        .source = "cases/witness/witnesses.inc; the proofs in src/check/bound/",                   \
        .level = HC_QUICK, .once = true, .run = come_near                                          \
    }

static const struct hc_case cases[] = {
    ROW(sum),
    ROW(dot),
    ROW(sum_squares),
    ROW(gemm),
    ROW(conv2d),
    ROW(conv2d_bwd_data),
    ROW(conv2d_bwd_filter),
    ROW(avg_pool),
    ROW(avg_pool_bwd),
    ROW(bn_train),
    ROW(bn_infer),
    ROW(bn_bwd),
    ROW(bn_leaky_train),
    ROW(bn_leaky_infer),
    ROW(bn_leaky_bwd),
    ROW(bn_moments),
    ROW(bn_combine),
    ROW(bn_bwd_sums),
    ROW(bn_bwd_apply),
    ROW(xent),
    ROW(xent_bwd),
    ROW(sgd),
    ROW(adam),
    ROW(adamw),
    ROW(all_reduce),
    ROW(leaky_relu),
    ROW(leaky_relu_bwd),
    ROW(axpy),
    ROW(clip),
    ROW(gemm_q),
};

HC_CASES(witness_bounds, cases);
