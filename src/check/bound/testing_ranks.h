/* Kernels of bn_combine for the tests of bounds in any order, by manner (manners.h): two passes,
   which are the contract's order, and two that take the ranks one by one. */
#ifndef HC_CHECK_BOUND_TESTING_RANKS_H
#define HC_CHECK_BOUND_TESTING_RANKS_H

#include "check/bound/manners.h"

static const char *const orders_of_ranks[] = {
    [IN_FP64] = "fp64",
    [TEXTBOOK] = "two passes",
    [FOLDED] = "Welford",
    [FUSED] = "Chan",
};

/* What one rank knows of a channel. */
struct of_rank {
    double count, mean, variance;
};

static inline struct of_rank of_rank(const struct hc_call *call, int64_t rank, int64_t c)
{
    const struct hc_tensor *means = &call->in[HC_BN_COMBINE_MEANS];
    int64_t at = rank * means->shape[means->rank - 1] + c;
    return (struct of_rank){hc_tensor_get(&call->in[HC_BN_COMBINE_COUNTS], rank),
                            hc_tensor_get(means, at),
                            hc_tensor_get(&call->in[HC_BN_COMBINE_VARIANCES], at)};
}

static inline struct of_rank two_passes(const struct hc_call *call, int64_t c)
{
    int64_t ranks = hc_tensor_count(&call->in[HC_BN_COMBINE_COUNTS]);
    struct of_rank all = {0};
    for (int64_t i = 0; i < ranks; i++)
        all.count += fmax(of_rank(call, i, c).count, 0);
    for (int64_t i = 0; i < ranks; i++) {
        struct of_rank rank = of_rank(call, i, c);
        double share = r(call, rank.count / all.count);
        if (rank.count > 0)
            all.mean = r(call, all.mean + r(call, share * rank.mean));
    }
    for (int64_t i = 0; i < ranks; i++) {
        struct of_rank rank = of_rank(call, i, c);
        double share = r(call, rank.count / all.count);
        double off = r(call, rank.mean - all.mean);
        double own = r(call, rank.variance + r(call, off * off));
        if (rank.count > 0)
            all.variance = r(call, all.variance + r(call, share * own));
    }
    return all;
}

/* Adds a rank to those so far, whose variance is times their count. The mean is a weighted one:
   PyTorch's batch_norm_gather_stats does so. */
static inline void welford(const struct hc_call *call, struct of_rank *all, struct of_rank rank)
{
    double factor = r(call, 1 / (all->count + rank.count));
    double off = r(call, all->mean - rank.mean);
    double between = r(call, r(call, off * off) * rank.count);
    between = r(call, r(call, between * all->count) * factor);
    double own = r(call, rank.variance * rank.count);
    all->variance = r(call, all->variance + r(call, own + between));
    double before = r(call, r(call, factor * all->count) * all->mean);
    all->mean = r(call, before + r(call, r(call, factor * rank.count) * rank.mean));
}

/* The same, where the mean is moved by its share of the difference. */
static inline void chan(const struct hc_call *call, struct of_rank *all, struct of_rank rank)
{
    double share = r(call, rank.count / (all->count + rank.count));
    double off = r(call, rank.mean - all->mean);
    double between = r(call, r(call, off * off) * r(call, all->count * share));
    all->variance = r(call, all->variance + fused(call, rank.variance, rank.count, between));
    all->mean = fused(call, off, share, all->mean);
}

static inline struct of_rank one_by_one(const struct hc_call *call, int64_t c)
{
    struct of_rank all = {0};
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_BN_COMBINE_COUNTS]); i++) {
        struct of_rank rank = of_rank(call, i, c);
        if (rank.count <= 0)
            continue;
        if (manner == FOLDED)
            welford(call, &all, rank);
        else
            chan(call, &all, rank);
        all.count += rank.count;
    }
    if (all.count > 0)
        all.variance = r(call, all.variance / all.count);
    return all;
}

static inline enum hc_status other_bn_combine(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_bn *p = &call->params.bn;
    const struct hc_tensor *running = &call->in[HC_BN_COMBINE_MEAN];
    double eps = hc_bn_number(p, p->eps);
    double kept = 1 - hc_bn_number(p, p->momentum);
    (void)queue;
    for (int64_t c = 0; c < hc_tensor_count(running); c++) {
        bool steps = manner == FOLDED || manner == FUSED;
        struct of_rank all = steps ? one_by_one(call, c) : two_passes(call, c);
        if (manner == THROUGH_BF16)
            all.variance = hc_round(HC_BF16, all.variance);
        double root = manner == EPS_MISPLACED ? r(call, r(call, sqrt(all.variance)) + eps)
                                              : r(call, sqrt(r(call, all.variance + r(call, eps))));
        double unbiased = all.variance;
        if (all.count > 1 && manner != UNCORRECTED)
            unbiased = r(call, unbiased * r(call, all.count / (all.count - 1)));
        double mean = hc_tensor_get(running, c);
        double variance = hc_tensor_get(&call->in[HC_BN_COMBINE_VARIANCE], c);
        hc_tensor_set(&call->out[HC_BN_COMBINE_SAVED_MEAN], c, all.mean);
        hc_tensor_set(&call->out[HC_BN_COMBINE_SAVED_VARIANCE], c, all.variance);
        hc_tensor_set(&call->out[HC_BN_COMBINE_SAVED_INVSTD], c, r(call, 1 / root));
        hc_tensor_set(&call->out[HC_BN_COMBINE_NEW_MEAN], c, average(call, kept, mean, all.mean));
        hc_tensor_set(&call->out[HC_BN_COMBINE_NEW_VARIANCE], c,
                      average(call, kept, variance, unbiased));
    }
    return HC_OK;
}

#endif
