/* Kernels by which bounds in any order are tested: right ones that are as far from the contract's
   order as people write them, and wrong ones that are near to a right one. Each is a formula in
   fp32, every operation rounded (r), or in fp64 throughout. */
#ifndef HC_CHECK_BOUND_MANNERS_H
#define HC_CHECK_BOUND_MANNERS_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "backend.h"
#include "check/bound/testing_field.h"

/* How a kernel of these computes. The first are right. */
enum manner {
    IN_FP64,       /* rounded once, at the end */
    TEXTBOOK,      /* the paper's formula from left to right, each operation rounded */
    FOLDED,        /* coefficients are folded together as far as they can be */
    FUSED,         /* a fused operation wherever there can be one; averages by lerp */
    ONE_BY_ONE,    /* as the textbook; moments and ranks one by one, each with its weight */
    BY_BOTH_MEANS, /* as the textbook; ranks by (m - old)(m - new mean), moments so and fused */
    IN_PAIRS,      /* as the textbook; ranks and sums of moments as a tree */
    RIGHT_MANNERS, /* so many */
    EPS_MISPLACED = RIGHT_MANNERS, /* eps inside the root for outside, and the other way */
    UNCORRECTED,                   /* no bias correction */
    DECAY_MISPLACED,               /* coupled for decoupled, and the other way */
    THROUGH_BF16,                  /* the update is rounded to bf16 on the way */
    MANNERS
};

static _Thread_local enum manner manner;

/* One rounding into the arithmetic of the manner. */
static inline double r(const struct hc_call *call, double x)
{
    return manner == IN_FP64 || hc_call_fp64(call) ? x : (double)(float)x;
}

static inline double fused(const struct hc_call *call, double x, double y, double z)
{
    return hc_call_fp64(call) ? fma(x, y, z) : (double)fmaf((float)x, (float)y, (float)z);
}

static inline double average(const struct hc_call *call, double beta, double old, double term)
{
    double share = r(call, 1 - beta);
    if (manner == FUSED)
        return fused(call, share, r(call, term - old), old);
    return r(call, r(call, r(call, beta) * old) + r(call, share * term));
}

struct moments {
    double w, m, v;
};

static inline double update(const struct hc_call *call, const struct hc_adam *p, struct moments s,
                            const double hyper[HC_HYPER_COUNT])
{
    bool corrected = manner != UNCORRECTED;
    bool inside = p->eps_inside != (manner == EPS_MISPLACED);
    double first = corrected ? 1 - pow(hyper[HC_HYPER_BETA1], hyper[HC_HYPER_STEP]) : 1;
    double second = corrected ? 1 - pow(p->beta2, hyper[HC_HYPER_STEP]) : 1;
    double lr = hyper[HC_HYPER_LR];
    if (manner == FOLDED && !inside) {
        double step = r(call, lr * sqrt(second) / first);
        double eps = r(call, p->eps * sqrt(second));
        return r(call, r(call, step * s.m) / r(call, r(call, sqrt(s.v)) + eps));
    }
    double mean = r(call, s.m / r(call, first));
    double square = r(call, s.v / r(call, second));
    double eps = r(call, p->eps);
    double root =
        inside ? r(call, sqrt(r(call, square + eps))) : r(call, r(call, sqrt(square)) + eps);
    return r(call, lr * r(call, mean / root));
}

static inline enum hc_status other_adam(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_adam *p = &call->params.adam;
    double hyper[HC_HYPER_COUNT];
    (void)queue;
    if (p->stochastic.on || call->in[HC_ADAM_COMPENSATION].data)
        return hc_fail(HC_UNSUPPORTED, "no stochastic rounding and no compensation");
    if (call->in[HC_ADAM_FOUND_INF].data && hc_tensor_get(&call->in[HC_ADAM_FOUND_INF], 0) != 0)
        return hc_backend_by_name("exact")->kernel[call->op](NULL, call);
    for (int i = 0; i < HC_HYPER_COUNT; i++)
        hyper[i] = hc_tensor_get(&call->in[HC_ADAM_HYPER], i);
    bool decoupled = (call->op == HC_OP_adamw) != (manner == DECAY_MISPLACED);
    double wd = p->weight_decay;
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_ADAM_W]); i++) {
        double g = hc_tensor_get(&call->in[HC_ADAM_G], i);
        struct moments s = {hc_tensor_get(&call->in[HC_ADAM_W], i),
                            hc_tensor_get(&call->in[HC_ADAM_M], i),
                            hc_tensor_get(&call->in[HC_ADAM_V], i)};
        if (!decoupled && wd != 0)
            g = manner == FUSED ? fused(call, r(call, wd), s.w, g)
                                : r(call, g + r(call, r(call, wd) * s.w));
        s.m = average(call, hyper[HC_HYPER_BETA1], s.m, g);
        s.v = average(call, p->beta2, s.v, r(call, g * g));
        double u = update(call, p, s, hyper);
        if (manner == THROUGH_BF16)
            u = hc_round(HC_BF16, u);
        if (decoupled && manner == FOLDED)
            u = r(call, u + r(call, r(call, hyper[HC_HYPER_LR] * wd) * s.w));
        else if (decoupled)
            s.w = r(call, s.w * r(call, 1 - hyper[HC_HYPER_LR] * wd));
        hc_tensor_set(&call->out[HC_ADAM_NEW_W], i, r(call, s.w - u));
        hc_tensor_set(&call->out[HC_ADAM_NEW_M], i, s.m);
        hc_tensor_set(&call->out[HC_ADAM_NEW_V], i, s.v);
    }
    return HC_OK;
}

static inline enum hc_status other_sgd(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_sgd *p = &call->params.sgd;
    (void)queue;
    if (p->stochastic.on || call->in[HC_SGD_COMPENSATION].data)
        return hc_fail(HC_UNSUPPORTED, "no stochastic rounding and no compensation");
    if (call->in[HC_SGD_FOUND_INF].data && hc_tensor_get(&call->in[HC_SGD_FOUND_INF], 0) != 0)
        return hc_backend_by_name("exact")->kernel[call->op](NULL, call);
    double lr = hc_tensor_get(&call->in[HC_SGD_HYPER], HC_HYPER_LR);
    double beta = hc_tensor_get(&call->in[HC_SGD_HYPER], HC_HYPER_BETA1);
    bool decoupled = p->decoupled != (manner == DECAY_MISPLACED);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_SGD_W]); i++) {
        double w = hc_tensor_get(&call->in[HC_SGD_W], i);
        double d = hc_tensor_get(&call->in[HC_SGD_G], i);
        double v = hc_tensor_get(&call->in[HC_SGD_MOMENTUM], i);
        double wd = p->weight_decay;
        double decay = decoupled ? lr * wd : 0;
        if (!decoupled && wd != 0)
            d = manner == FUSED ? fused(call, r(call, wd), w, d)
                                : r(call, d + r(call, r(call, wd) * w));
        d = p->rate_inside ? r(call, lr * d) : d;
        v = manner == FUSED ? fused(call, beta, v, d) : r(call, r(call, beta * v) + d);
        hc_tensor_set(&call->out[HC_SGD_NEW_MOMENTUM], i, v);
        if (p->nesterov)
            v = manner == FUSED ? fused(call, beta, v, d) : r(call, d + r(call, beta * v));
        double u = p->rate_inside ? v : r(call, lr * v);
        if (manner == THROUGH_BF16)
            u = hc_round(HC_BF16, u);
        if (manner == FOLDED)
            u = r(call, u + r(call, r(call, decay) * w));
        else
            w = decay != 0 ? r(call, w * r(call, 1 - decay)) : w;
        w = manner == FUSED && !p->rate_inside ? fused(call, -lr, v, w) : r(call, w - u);
        hc_tensor_set(&call->out[HC_SGD_NEW_W], i, w);
    }
    return HC_OK;
}

/* alpha x + y, with the product rounded. */
static inline enum hc_status other_axpy(struct hc_queue *queue, const struct hc_call *call)
{
    double alpha = (double)(float)call->params.axpy.alpha;
    (void)queue;
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_OUT]); i++) {
        double x = hc_tensor_get(&call->in[HC_X], i);
        double y = hc_tensor_get(&call->in[HC_Y], i);
        hc_tensor_set(&call->out[HC_OUT], i, r(call, r(call, alpha * x) + y));
    }
    return HC_OK;
}

/* x alpha + (beta - mean alpha), as PyTorch's CPU kernels fold it. */
static inline enum hc_status other_bn_infer(struct hc_queue *queue, const struct hc_call *call)
{
    int64_t channels = call->in[HC_BN_GAMMA].shape[0];
    double slope = r(call, (double)(float)call->params.bn.slope);
    (void)queue;
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_BN_Y]); i++) {
        int64_t c = i % channels;
        double eps = (double)(float)call->params.bn.eps;
        double variance = hc_tensor_get(&call->in[HC_BN_VARIANCE], c);
        double invstd = r(call, 1 / r(call, sqrt(r(call, variance + eps))));
        double alpha = r(call, hc_tensor_get(&call->in[HC_BN_GAMMA], c) * invstd);
        double shift = r(call, hc_tensor_get(&call->in[HC_BN_MEAN], c) * alpha);
        shift = r(call, hc_tensor_get(&call->in[HC_BN_BETA], c) - shift);
        double x = hc_tensor_get(&call->in[HC_BN_X], i);
        double z = r(call, r(call, x * alpha) + shift);
        if (call->op == HC_OP_bn_leaky_infer) {
            z = hc_round(call->out[HC_BN_Y].format, z);
            z = z > 0 ? z : r(call, slope * z);
        }
        hc_tensor_set(&call->out[HC_BN_Y], i, z);
    }
    return HC_OK;
}

/* The sum times 1 / n. */
static inline enum hc_status other_pool_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    double by = r(call, 1.0 / (call->params.pool.window * call->params.pool.window));
    const struct hc_tensor *dy = &call->in[HC_POOL_BWD_DY];
    const struct hc_tensor *dx = &call->out[HC_POOL_BWD_DX];
    (void)queue;
    for (int64_t i = 0; i < hc_tensor_count(dx); i++) {
        int64_t c = i % dx->shape[3];
        int64_t x = i / dx->shape[3] % dx->shape[2] / call->params.pool.window;
        int64_t y = i / dx->shape[3] / dx->shape[2] % dx->shape[1] / call->params.pool.window;
        int64_t n = i / dx->shape[3] / dx->shape[2] / dx->shape[1];
        int64_t at = ((n * dy->shape[1] + y) * dy->shape[2] + x) * dy->shape[3] + c;
        hc_tensor_set(dx, i, r(call, hc_tensor_get(dy, at) * by));
    }
    return HC_OK;
}

/* The exponential of the logarithm of softmax. */
static inline enum hc_status other_xent_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *z = &call->in[HC_XENT_LOGITS];
    double up = hc_tensor_get(&call->in[HC_XENT_UPSTREAM], 0);
    double n = call->params.xent.sum ? 1 : r(call, 1 / (double)z->shape[0]);
    (void)queue;
    for (int64_t row = 0; row < z->shape[0]; row++) {
        double most = hc_tensor_get(z, row * z->shape[1]);
        double sum = 0;
        for (int64_t j = 1; j < z->shape[1]; j++)
            most = fmax(most, hc_tensor_get(z, row * z->shape[1] + j));
        for (int64_t j = z->shape[1] - 1; j >= 0; j--)
            sum = r(call, sum + r(call, exp(hc_tensor_get(z, row * z->shape[1] + j) - most)));
        for (int64_t j = 0; j < z->shape[1]; j++) {
            double x = r(call, hc_tensor_get(z, row * z->shape[1] + j) - most);
            double p = r(call, exp(r(call, x - r(call, log(sum)))));
            bool label = (int64_t)hc_tensor_get(&call->in[HC_XENT_LABELS], row) == j;
            double scale = r(call, up * n);
            double got = r(call, r(call, p * scale) - (label ? scale : 0));
            hc_tensor_set(&call->out[HC_XENT_DLOGITS], row * z->shape[1] + j, got);
        }
    }
    return HC_OK;
}

/* One division, or a product with a reciprocal; in fp32, or in fp64 and rounded at the end. */
static inline enum hc_status other_clip(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *overflowed = &call->in[HC_CLIP_OVERFLOWED];
    bool flagged = overflowed->data && hc_tensor_get(overflowed, 0) != 0;
    double norm = r(call, sqrt(hc_tensor_get(&call->in[HC_CLIP_SUM_SQUARES], 0)));
    double most = (double)(float)call->params.clip.max_norm;
    double d = r(call, norm + (double)1e-6F);
    double c = manner == FOLDED ? most * r(call, 1 / d) : r(call, most / d);
    (void)queue;
    c = isnan(c) ? c : fmin(c, 1);
    hc_tensor_set(&call->out[HC_CLIP_FACTOR], 0, flagged ? 1 : c);
    return HC_OK;
}

/* 16-bit accumulators give way to finer ones, from the last term to the first. */
static inline enum hc_status other_sum(struct hc_queue *queue, const struct hc_call *call)
{
    double sum = 0;
    (void)queue;
    for (int64_t i = hc_tensor_count(&call->in[HC_REDUCE_X]) - 1; i >= 0; i--) {
        double x = hc_tensor_get(&call->in[HC_REDUCE_X], i);
        if (call->op == HC_OP_dot)
            x = r(call, x * hc_tensor_get(&call->in[HC_DOT_Y], i));
        sum = r(call, sum + x);
    }
    hc_tensor_set(&call->out[HC_REDUCE_OUT], 0, sum);
    return HC_OK;
}

/* Over a divisor, as the contract has it, in the format that sums have. */
static inline double over(const struct hc_call *call, double divisor, double x)
{
    enum hc_format sum = call->params.all_reduce.sum;
    double d = hc_call_fp64(call) ? divisor : (double)(float)divisor;
    double by = hc_call_fp64(call) ? 1 / d : (double)(1 / (float)d);
    double value = call->params.all_reduce.multiplies ? x * by : x / d;
    if (d == 1)
        return x;
    return hc_round(sum, hc_call_fp64(call) ? value : (double)(float)value);
}

/* The ranks one by one. Orders of ranks are claims of their own, and so no backend has this. */
static inline enum hc_status other_all_reduce(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_all_reduce *p = &call->params.all_reduce;
    const struct hc_tensor *x = &call->in[HC_ALL_REDUCE_X];
    (void)queue;
    for (int64_t i = 0; i < x->shape[1]; i++) {
        double sum = 0;
        for (int64_t rank = 0; rank < x->shape[0]; rank++) {
            double own = hc_round(p->sum, hc_tensor_get(x, rank * x->shape[1] + i));
            own = over(call, p->before, own);
            sum = rank == 0 ? own : hc_round(p->sum, sum + own);
        }
        hc_tensor_set(&call->out[HC_ALL_REDUCE_OUT], i, over(call, p->after, sum));
    }
    return HC_OK;
}

/* A copy of `exact` of free order, with these kernels. Outputs may be inputs: each element is read
   before it is written. */
static inline struct hc_backend other_backend(void)
{
    struct hc_backend other = *hc_backend_by_name("exact");
    other.name = "other";
    other.free_order = true;
    other.partial = true;
    other.kernel[HC_OP_adam] = other.kernel[HC_OP_adamw] = other_adam;
    other.kernel[HC_OP_sgd] = other_sgd;
    other.kernel[HC_OP_axpy] = other_axpy;
    other.kernel[HC_OP_bn_infer] = other.kernel[HC_OP_bn_leaky_infer] = other_bn_infer;
    other.kernel[HC_OP_avg_pool_bwd] = other_pool_bwd;
    other.kernel[HC_OP_xent_bwd] = other_xent_bwd;
    other.kernel[HC_OP_clip] = other_clip;
    other.kernel[HC_OP_sum] = other.kernel[HC_OP_dot] = other_sum;
    return other;
}

/* Kernels of batch norm that are as far from the contract's order as people write them, by manner
   (manners.h): of a rank's or the batch's elements, and of the ranks' moments. */

/* Kernels of bn_moments, bn_train and bn_leaky_train, by manner (manners.h): two passes in fp64 and
   in the format, Welford's recurrence with y folded to a x + b, Chan's tree, weighted means,
   Welford's recurrence fused, and two passes as a tree. */

static inline struct part moments_of(const struct hc_call *call, int64_t c)
{
    static moments_fn *const by_manner[] = {
        [IN_FP64] = two_passes_in_sequence,  [TEXTBOOK] = two_passes_in_sequence,
        [FOLDED] = welford_in_sequence,      [FUSED] = chan_in_pairs,
        [ONE_BY_ONE] = weighted_in_sequence, [BY_BOTH_MEANS] = welford_fused,
        [IN_PAIRS] = two_passes_in_pairs,
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

/* bn_combine: two passes, which are the contract's order, four that take the ranks one by one, and
   a tree. */
static const char *const orders_of_ranks[] = {
    [IN_FP64] = "fp64",       [TEXTBOOK] = "two passes", [FOLDED] = "Welford", [FUSED] = "Chan",
    [ONE_BY_ONE] = "weights", [BY_BOTH_MEANS] = "West",  [IN_PAIRS] = "tree",
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

/* The same, where the variance itself is kept, and multiplied by its weight. */
static inline void weighted(const struct hc_call *call, struct of_rank *all, struct of_rank rank)
{
    double factor = r(call, 1 / (all->count + rank.count));
    double before = r(call, factor * all->count);
    double own = r(call, factor * rank.count);
    double off = r(call, all->mean - rank.mean);
    double between = r(call, r(call, r(call, off * off) * before) * own);
    double variance = r(call, r(call, rank.variance * own) + between);
    all->variance = r(call, r(call, all->variance * before) + variance);
    all->mean = r(call, r(call, before * all->mean) + r(call, own * rank.mean));
}

/* Welford's recurrence, with a rank's number of elements as its weight. */
static inline void west(const struct hc_call *call, struct of_rank *all, struct of_rank rank)
{
    double off = r(call, rank.mean - all->mean);
    double share = r(call, rank.count / (all->count + rank.count));
    all->mean = r(call, all->mean + r(call, off * share));
    double between = r(call, r(call, off * r(call, rank.mean - all->mean)) * rank.count);
    double own = r(call, rank.variance * rank.count);
    all->variance = r(call, all->variance + r(call, own + between));
}

static inline void add_rank_to(const struct hc_call *call, struct of_rank *all, struct of_rank rank)
{
    static void (*const by_manner[])(const struct hc_call *, struct of_rank *, struct of_rank) = {
        [FOLDED] = welford, [FUSED] = chan, [ONE_BY_ONE] = weighted, [BY_BOTH_MEANS] = west};
    by_manner[manner](call, all, rank);
    all->count += rank.count;
}

static inline struct of_rank one_by_one(const struct hc_call *call, int64_t c)
{
    struct of_rank all = {0};
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_BN_COMBINE_COUNTS]); i++)
        if (of_rank(call, i, c).count > 0)
            add_rank_to(call, &all, of_rank(call, i, c));
    if (all.count > 0 && manner != ONE_BY_ONE)
        all.variance = r(call, all.variance / all.count);
    return all;
}

/* Those from rank `first` on, each half of them by itself; the variance is the ranks' own. */
static inline struct of_rank in_halves(const struct hc_call *call, int64_t c, int64_t first,
                                       int64_t ranks)
{
    if (ranks == 1)
        return of_rank(call, first, c);
    struct of_rank a = in_halves(call, c, first, ranks / 2);
    struct of_rank b = in_halves(call, c, first + ranks / 2, ranks - ranks / 2);
    if (a.count <= 0 || b.count <= 0)
        return a.count > 0 ? a : b;
    double share = r(call, b.count / (a.count + b.count));
    double other = r(call, a.count / (a.count + b.count));
    double off = r(call, b.mean - a.mean);
    double own = r(call, r(call, other * a.variance) + r(call, share * b.variance));
    double between = r(call, r(call, r(call, off * off) * share) * other);
    return (struct of_rank){a.count + b.count, r(call, a.mean + r(call, off * share)),
                            r(call, own + between)};
}

/* The statistics of all ranks, by manner. */
static inline struct of_rank combined_ranks(const struct hc_call *call, int64_t c)
{
    if (manner == IN_PAIRS)
        return in_halves(call, c, 0, hc_tensor_count(&call->in[HC_BN_COMBINE_COUNTS]));
    if (manner >= FOLDED && manner <= BY_BOTH_MEANS)
        return one_by_one(call, c);
    return two_passes(call, c);
}

static inline enum hc_status other_bn_combine(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_bn *p = &call->params.bn;
    const struct hc_tensor *running = &call->in[HC_BN_COMBINE_MEAN];
    double eps = hc_bn_number(p, p->eps);
    double kept = 1 - hc_bn_number(p, p->momentum);
    (void)queue;
    for (int64_t c = 0; c < hc_tensor_count(running); c++) {
        struct of_rank all = combined_ranks(call, c);
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
