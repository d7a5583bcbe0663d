/* Kernels of batch norm that are as far from the contract's order as people write them, by manner
   (manners.h): of a rank's or the batch's elements, and of the ranks' moments. */
#ifndef HC_CHECK_BOUND_MANNERS_NORM_H
#define HC_CHECK_BOUND_MANNERS_NORM_H

#include <stdlib.h>

#include "check/bound/manners.h"
#include "check/bound/testing_field.h"

/* Kernels of bn_moments, bn_train and bn_leaky_train, by manner (manners.h): two passes in fp64 and
   in the format, Welford's recurrence with y folded to a x + b, and Chan's tree. */

static inline struct part moments_of(const struct hc_call *call, int64_t c)
{
    static moments_fn *const by_manner[] = {
        [IN_FP64] = two_passes_in_sequence,
        [TEXTBOOK] = two_passes_in_sequence,
        [FOLDED] = welford_in_sequence,
        [FUSED] = chan_in_pairs,
    };
    const struct hc_tensor *x = &call->in[HC_BN_X];
    int64_t channels = x->shape[x->rank - 1];
    int n = (int)(hc_tensor_count(x) / channels);
    double *values = malloc((size_t)n * sizeof *values);
    for (int i = 0; i < n; i++)
        values[i] = hc_tensor_get(x, i * channels + c);
    struct part m = by_manner[manner](values, n);
    free(values);
    return m;
}

static inline void normalize(const struct hc_call *call, int64_t c, double mean, double invstd)
{
    const struct hc_tensor *x = &call->in[HC_BN_X];
    double gamma = hc_tensor_get(&call->in[HC_BN_GAMMA], c);
    double beta = hc_tensor_get(&call->in[HC_BN_BETA], c);
    double slope = hc_bn_number(&call->params.bn, call->params.bn.slope);
    double scale = f(gamma * invstd);
    double shift = f(beta - f(mean * scale));
    for (int64_t i = c; i < hc_tensor_count(x); i += x->shape[x->rank - 1]) {
        double at = hc_tensor_get(x, i);
        double z = manner == FOLDED ? f(f(at * scale) + shift)
                                    : f(f(f(f(at - mean) * invstd) * gamma) + beta);
        if (call->op == HC_OP_bn_leaky_train) {
            z = hc_round(call->out[HC_BN_Y].format, z);
            z = z > 0 ? z : f(slope * z);
        }
        hc_tensor_set(&call->out[HC_BN_Y], i, z);
    }
}

static inline enum hc_status other_bn_train(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_BN_X];
    const struct hc_bn *p = &call->params.bn;
    double eps = hc_bn_number(p, p->eps);
    double kept = 1 - hc_bn_number(p, p->momentum);
    (void)queue;
    if (hc_tensor_count(x) == 0 || hc_tensor_count(x) / x->shape[x->rank - 1] > 2048)
        return hc_fail(HC_UNSUPPORTED, "no elements, or more than 2048 of a channel");
    rounded_in = manner == IN_FP64 || hc_call_fp64(call) ? HC_FP64 : HC_FP32;
    for (int64_t c = 0; c < x->shape[x->rank - 1]; c++) {
        struct part m = moments_of(call, c);
        double variance = f(m.m2 / m.n);
        if (call->op == HC_OP_bn_moments) {
            hc_tensor_set(&call->out[HC_BN_MOMENTS_MEAN], c, m.mean);
            hc_tensor_set(&call->out[HC_BN_MOMENTS_VARIANCE], c, variance);
            continue;
        }
        double invstd = f(1 / f(sqrt(f(variance + f(eps)))));
        double unbiased = m.n > 1 ? f(variance * f(m.n / (m.n - 1))) : variance;
        double old_mean = hc_tensor_get(&call->in[HC_BN_MEAN], c);
        double old_variance = hc_tensor_get(&call->in[HC_BN_VARIANCE], c);
        normalize(call, c, m.mean, invstd);
        hc_tensor_set(&call->out[HC_BN_SAVED_MEAN], c, m.mean);
        hc_tensor_set(&call->out[HC_BN_SAVED_INVSTD], c, invstd);
        hc_tensor_set(&call->out[HC_BN_NEW_MEAN], c, average(call, kept, old_mean, m.mean));
        hc_tensor_set(&call->out[HC_BN_NEW_VARIANCE], c,
                      average(call, kept, old_variance, unbiased));
    }
    return HC_OK;
}

/* bn_combine: two passes, which are the contract's order, and two that take the ranks one by one. */
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

/* other_backend with these, too. */
static inline struct hc_backend other_of_all(void)
{
    struct hc_backend other = other_backend();
    other.kernel[HC_OP_bn_combine] = other_bn_combine;
    other.kernel[HC_OP_bn_moments] = other.kernel[HC_OP_bn_train] = other_bn_train;
    other.kernel[HC_OP_bn_leaky_train] = other_bn_train;
    return other;
}

#endif
