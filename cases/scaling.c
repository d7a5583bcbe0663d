#include "cases/scaling.h"

#include <math.h>

enum hc_status hc_scale_into(struct hc_check *check, const struct hc_tensor *gradients,
                             double scale, const struct hc_tensor *out)
{
    float s = (float)scale;
    struct hc_call call = {.op = HC_OP_scale, .in = {*gradients, hc_tensor1(HC_FP32, 1, &s)}};
    call.out[0] = *out;
    return hc_do(check, &call);
}

enum hc_status hc_unscale_into(struct hc_check *check, const struct hc_tensor *scaled, double scale,
                               bool reciprocal, const struct hc_tensor *out, bool *found)
{
    float s = (float)scale;
    float seen = 0;
    struct hc_call call = {.op = HC_OP_unscale, .params.unscale.reciprocal = reciprocal};
    call.in[0] = *scaled;
    call.in[1] = hc_tensor1(HC_FP32, 1, &s);
    call.in[2] = hc_tensor1(HC_FP32, 1, &seen);
    call.out[0] = *out;
    call.out[1] = call.in[2];
    enum hc_status status = hc_do(check, &call);
    *found = seen != 0;
    return status;
}

struct hc_tensor hc_log_normal(struct hc_check *check, int64_t n, double mean, double deviation)
{
    struct hc_tensor t = hc_check_vector(check, HC_FP32, n);
    uint64_t seed = hc_check_seed(check);
    for (int64_t i = 0; i < n; i++) {
        double g = exp2(mean + deviation * hc_random_normal(seed, 1, (uint64_t)i));
        hc_tensor_put(&t, i, hc_random(seed, 2, (uint64_t)i) & 1 ? -g : g);
    }
    return t;
}
