/* The statistics of all ranks from those of each: a thread for each channel, which adds up the
   ranks in order, as the backend exact does. */
#include <math.h>

#include "kernels/cuda/kernel/elements.h"

HC_ON_DEVICE int64_t hc_dk_elements_of(const struct hc_call *call, int64_t r)
{
    int32_t n = ((const int32_t *)call->in[HC_BN_COMBINE_COUNTS].data)[r];
    return n > 0 ? n : 0;
}

/* The channel's mean, or its variance about that mean. */
HC_ON_DEVICE float hc_dk_combined(const struct hc_call *call, int64_t c, int64_t all,
                                  const float *mean)
{
    const struct hc_tensor *means = &call->in[HC_BN_COMBINE_MEANS];
    int64_t channels = hc_dk_count(&call->out[HC_BN_COMBINE_SAVED_MEAN]);
    int64_t ranks = hc_dk_count(&call->in[HC_BN_COMBINE_COUNTS]);
    float sum = 0;
    for (int64_t r = 0; r < ranks; r++) {
        float share = (float)hc_dk_elements_of(call, r) / (float)all;
        float term = hc_dk_load(means, r * channels + c);
        if (mean) {
            float d = term - *mean;
            term = hc_dk_load(&call->in[HC_BN_COMBINE_VARIANCES], r * channels + c) + d * d;
        }
        sum += share > 0 ? share * term : 0;
    }
    return sum;
}

/* to = from + momentum * (batch - from); both may be the same tensor. */
HC_ON_DEVICE void hc_dk_move_running(const struct hc_call *call, int from, int to, int64_t c,
                                     float batch)
{
    float momentum = (float)call->params.bn.momentum;
    float running = hc_dk_load(&call->in[from], c);
    hc_dk_store(&call->out[to], c, running + momentum * (batch - running));
}

HC_ON_DEVICE void hc_dk_bn_combine_body(const struct hc_call *call)
{
    int64_t channels = hc_dk_count(&call->out[HC_BN_COMBINE_SAVED_MEAN]);
    int64_t all = 0;
    for (int64_t r = 0; r < hc_dk_count(&call->in[HC_BN_COMBINE_COUNTS]); r++)
        all += hc_dk_elements_of(call, r);
    float less = all > 1 ? (float)all / (float)(all - 1) : 1;
    for (int64_t c = hc_dk_first(); c < channels; c += hc_dk_stride()) {
        float mean = hc_dk_combined(call, c, all, NULL);
        float variance = hc_dk_combined(call, c, all, &mean);
        hc_dk_store(&call->out[HC_BN_COMBINE_SAVED_MEAN], c, mean);
        hc_dk_store(&call->out[HC_BN_COMBINE_SAVED_VARIANCE], c, variance);
        hc_dk_store(&call->out[HC_BN_COMBINE_SAVED_INVSTD], c,
                    1 / sqrtf(variance + (float)call->params.bn.eps));
        hc_dk_move_running(call, HC_BN_COMBINE_MEAN, HC_BN_COMBINE_NEW_MEAN, c, mean);
        hc_dk_move_running(call, HC_BN_COMBINE_VARIANCE, HC_BN_COMBINE_NEW_VARIANCE, c,
                           variance * less);
    }
}
HC_LAUNCHABLE(bn_combine, struct hc_call)
