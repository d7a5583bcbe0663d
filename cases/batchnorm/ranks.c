/* Batch norm of a batch that ranks share, in parts, against the whole batch. What is wanted is
   MPFR's value of bn_leaky_train and bn_leaky_bwd of the whole batch, which know nothing of ranks,
   within check/bound/norm_ranks.c's bound and within bn_leaky_bwd's own. */
#include "cases/fixture/norm_parts.h"
#include "check/bound/bound.h"
#include "op/descriptor.h"
#include "reference.h"

static const struct hc_norm_shares ways[] = {
    {1, {24}},
    {2, {12, 12}},
    {4, {1, 40, 3, 20}},
    {8, {8, 8, 8, 8, 8, 8, 8, 8}},
};

static void claim_whole(const struct hc_norm_parts *b, const struct hc_call *whole)
{
    struct hc_accumulator sums = {.precision = 24, .block = 1};
    bool any = hc_check_backend(b->check)->free_order;
    for (int o = 0; o < hc_ops[whole->op].outputs; o++)
        for (int64_t i = 0; i < hc_tensor_count(&whole->out[o]); i++) {
            struct hc_element e = {whole, o, i};
            struct hc_exact want = hc_reference_value(whole, o, i);
            double bound = whole->op == HC_OP_bn_leaky_train
                               ? hc_bound_shared(&e, b->shares->rows, b->shares->ranks, any, &want)
                           : any ? hc_bound_any_order(&e, &sums, &want)
                                 : hc_bound(&e, &sums, &want);
            hc_claim_within(b->check, hc_slot(whole->op, hc_ops[whole->op].inputs + o)->name,
                            want.hi, hc_tensor_get(&whole->out[o], i), bound);
        }
}

static void parts(struct hc_check *check)
{
    static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16};
    for (size_t s = 0; s < sizeof ways / sizeof ways[0]; s++)
        for (int f = 0; f < 3; f++) {
            struct hc_norm_parts b = hc_norm_parts_new(check, &ways[s], formats[f]);
            if (!hc_norm_parts_forward(&b) || !hc_norm_parts_backward(&b))
                return;
            claim_whole(&b, &b.train);
            claim_whole(&b, &b.back);
        }
}

static const struct hc_case cases[] = {
    {.name = "batchnorm/ranks-parts",
     .title = "1, 2, 4 and 8 ranks that share a batch evenly or not have the batch norm of the "
              "whole batch, forward and back",
     .source = "pytorch v1.13.1 torch/nn/modules/_functions.py: SyncBatchNorm",
     .run = parts},
};

HC_CASES(batchnorm_ranks, cases);
