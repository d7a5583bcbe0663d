/* Kernels of bn_moments, bn_train and bn_leaky_train for the tests of bounds in any order, by
   manner (manners.h): two passes in fp64 and in the format, Welford's recurrence with y folded to
   a x + b, and Chan's tree. */
#ifndef HC_CHECK_BOUND_TESTING_NORM_H
#define HC_CHECK_BOUND_TESTING_NORM_H

#include <stdlib.h>

#include "check/bound/manners.h"
#include "check/bound/testing_field.h"

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

#endif
