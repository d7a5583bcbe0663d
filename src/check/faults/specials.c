/* Defects at special values: NaN, infinities, zeros' signs, subnormals. */
#include "check/selftest/change.h"

#include <math.h>

static const struct hc_change flushed = {hc_everywhere, hc_flushed, 0, HC_ALL_SLOTS};
static const struct hc_change unsigned_zero = {hc_everywhere, hc_unsigned_zero, 0, HC_ALL_SLOTS};
static const struct hc_change nan_zero = {hc_everywhere, hc_nan_to_zero, 0, HC_ALL_SLOTS};
static const struct hc_change saturated = {hc_everywhere, hc_infinity_to_largest, 0, HC_ALL_SLOTS};
static const struct hc_change second_saturated = {hc_everywhere, hc_infinity_to_largest, 0,
                                                  HC_CONV_BWD_DATA_W};
static const struct hc_change second_flushed = {hc_everywhere, hc_flushed, 0, HC_FIRST + 1};

/* The detector says whether max(x) < inf, which a NaN makes false. */
static enum hc_status largest_is_finite(const struct hc_fault_site *site, struct hc_queue *queue,
                                        const struct hc_call *call)
{
    bool found = hc_is_set(&call->in[HC_UNSCALE_FOUND_INF]);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_UNSCALE_X]); i++)
        found |= !(hc_tensor_get(&call->in[HC_UNSCALE_X], i) < (double)INFINITY);
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK)
        hc_tensor_set(&call->out[HC_UNSCALE_NEW_FOUND_INF], 0, found);
    return status;
}

/* The detector takes each vector's last lane for padding. */
static enum hc_status last_lane_unseen(const struct hc_fault_site *site, struct hc_queue *queue,
                                       const struct hc_call *call)
{
    bool found = hc_is_set(&call->in[HC_UNSCALE_FOUND_INF]);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_UNSCALE_X]); i++)
        found |= i % 64 != 63 && !isfinite(hc_tensor_get(&call->in[HC_UNSCALE_X], i));
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK)
        hc_tensor_set(&call->out[HC_UNSCALE_NEW_FOUND_INF], 0, found);
    return status;
}

/* The detector looks at what has been written, which in place is the quotient. */
static enum hc_status looks_after(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    bool found = hc_is_set(&call->in[HC_UNSCALE_FOUND_INF]);
    enum hc_status status = site->right(queue, call);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_UNSCALE_X]); i++)
        found |= !isfinite(hc_tensor_get(&call->in[HC_UNSCALE_X], i));
    if (status == HC_OK)
        hc_tensor_set(&call->out[HC_UNSCALE_NEW_FOUND_INF], 0, found);
    return status;
}

static const struct hc_fault faults[] = {
    {"unscale-asks-the-largest", "the detector asks max(x) < inf and is blind to -inf alone",
     HC_FAULT_SPECIALS, "unscale", "op/unscale/*/specials", .wrong = largest_is_finite},
    {"unscale-last-lane-unseen", "the detector never looks at the last lane of a vector",
     HC_FAULT_SPECIALS, "unscale", "op/unscale/*/specials", .wrong = last_lane_unseen,
     .place = HC_PLACE_HOST},
    {"unscale-looks-after-writing", "the detector looks at the gradients when they are divided",
     HC_FAULT_IN_PLACE, "unscale", "scaler/detector-before-division", .wrong = looks_after,
     .place = HC_PLACE_HOST},
    {"add-flushes", "subnormal sums of two numbers become 0", HC_FAULT_SPECIALS, "add sub",
     "op/add/* bits/sub/*", .outputs = &flushed, .place = HC_PLACE_HOST},
    {"mul-flushes", "subnormal products become 0", HC_FAULT_SPECIALS, "mul", "op/mul/* bits/mul/*",
     .outputs = &flushed},
    {"div-takes-subnormals-for-0", "div treats subnormal operands as 0", HC_FAULT_SPECIALS, "div",
     "op/div/* bits/div/*", .inputs = &flushed, .place = HC_PLACE_HOST},
    {"sqrt-of-minus-0", "the root of -0 is +0", HC_FAULT_SPECIALS, "sqrt", "bits/sqrt/*",
     .outputs = &unsigned_zero},
    {"fma-flushes", "fma treats subnormal operands as 0", HC_FAULT_SPECIALS, "fma",
     "op/fma/* bits/fma/*", .inputs = &flushed},
    {"mul-zeros-have-no-sign", "a product that is -0 becomes +0", HC_FAULT_SPECIALS, "mul div",
     "op/mul/* bits/div/*", .outputs = &unsigned_zero, .place = HC_PLACE_HOST},
    {"add-saturates", "a sum beyond the largest number is the largest number", HC_FAULT_SPECIALS,
     "add", "op/add/* bits/add/*", .outputs = &saturated},
    {"axpy-nan-is-0", "axpy gives 0 for NaN", HC_FAULT_SPECIALS, "axpy", "op/axpy/* bits/axpy/*",
     .outputs = &nan_zero, .place = HC_PLACE_HOST},
    {"scale-saturates", "a scaled gradient beyond the largest number is the largest number",
     HC_FAULT_SPECIALS, "scale", "op/scale/* bits/scale/*", .outputs = &saturated},
    {"leaky-nan-is-0", "leaky ReLU gives 0 for NaN", HC_FAULT_SPECIALS, "leaky_relu leaky_relu_bwd",
     "op/leaky_relu/* op/leaky_relu_bwd/*", .outputs = &nan_zero},
    {"leaky-zero-sign", "leaky ReLU gives +0 for -0", HC_FAULT_SPECIALS, "leaky_relu",
     "bits/leaky_relu/*", .outputs = &unsigned_zero},
    {"master-saturates", "a master beyond half's range is half's largest number", HC_FAULT_SPECIALS,
     "master_to_model", "op/master_to_model/* bits/master_to_model/*", .outputs = &saturated},
    {"sum-takes-subnormals-for-0", "sums treat subnormal terms as 0", HC_FAULT_SPECIALS, "sum",
     "op/sum/*", .inputs = &flushed, .place = HC_PLACE_HOST},
    {"squares-flush", "a sum of squares treats subnormal terms as 0", HC_FAULT_SPECIALS,
     "sum_squares", "op/sum_squares/*", .inputs = &flushed},
    {"dot-saturates", "a sum of products beyond the largest number is the largest number",
     HC_FAULT_SPECIALS, "dot", "products/ends", .outputs = &saturated, .place = HC_PLACE_HOST},
    {"gemm-nan-is-0", "a matrix product gives 0 for NaN", HC_FAULT_SPECIALS, "gemm", "op/gemm/*",
     .outputs = &nan_zero, .place = HC_PLACE_HOST},
    {"gemm-takes-subnormals-for-0", "a matrix product treats subnormal factors as 0",
     HC_FAULT_SPECIALS, "gemm", "op/gemm/*", .inputs = &flushed},
    {"conv-infinities-are-finite", "a convolution treats infinite pixels as the largest number",
     HC_FAULT_SPECIALS, "conv2d", "op/conv2d/*", .inputs = &saturated, .place = HC_PLACE_HOST},
    {"conv-filter-nan-is-0", "a convolution's filter gradient is 0 where it is NaN",
     HC_FAULT_SPECIALS, "conv2d_bwd_filter", "op/conv2d_bwd_filter/*", .outputs = &nan_zero},
    {"conv-flushes", "a convolution treats subnormal weights as 0", HC_FAULT_SPECIALS, "conv2d",
     "op/conv2d/*", .inputs = &second_flushed},
    {"norm-nan-is-0", "batch norm gives 0 for NaN", HC_FAULT_SPECIALS, "bn_train bn_leaky_train",
     "op/bn_train/* op/bn_leaky_train/*", .outputs = &nan_zero, .place = HC_PLACE_HOST},
    {"norm-infer-saturates", "batch norm gives the largest number for infinity", HC_FAULT_SPECIALS,
     "bn_infer bn_leaky_infer", "op/bn_infer/* op/bn_leaky_infer/*", .outputs = &saturated},
    {"norm-gradient-nan-is-0", "batch norm's gradient is 0 where it is NaN", HC_FAULT_SPECIALS,
     "bn_bwd bn_leaky_bwd", "op/bn_bwd/* op/bn_leaky_bwd/*", .outputs = &nan_zero},
    {"pool-flushes", "means that are subnormal become 0", HC_FAULT_SPECIALS,
     "avg_pool avg_pool_bwd", "op/avg_pool/* op/avg_pool_bwd/*", .outputs = &flushed,
     .place = HC_PLACE_HOST},
    {"sum-nan-is-0", "a sum that is NaN is 0", HC_FAULT_SPECIALS, "sum dot", "products/ends",
     .outputs = &nan_zero},
    {"conv-data-weights-finite", "a convolution's data gradient treats infinite weights as finite",
     HC_FAULT_SPECIALS, "conv2d_bwd_data", "op/conv2d_bwd_data/*", .inputs = &second_saturated,
     .place = HC_PLACE_HOST},
    {"loss-nan-is-0", "a loss that is NaN is 0", HC_FAULT_SPECIALS, "xent", "loss/nan-stays",
     .outputs = &nan_zero},
    {"loss-gradient-saturates", "a scaled gradient of the loss is never infinite",
     HC_FAULT_SPECIALS, "xent_bwd", "loss/gradient-beyond-half", .outputs = &saturated},
    {"sgd-nan-stands", "SGD treats a NaN in the gradient as 0", HC_FAULT_SPECIALS, "sgd",
     "op/sgd/* bits/sgd/*",
     .inputs = &(const struct hc_change){hc_everywhere, hc_nan_to_zero, 0, HC_SGD_G}},
    {"adam-takes-subnormals-for-0", "Adam treats subnormal gradients as 0", HC_FAULT_SPECIALS,
     "adam", "bits/adam/*", .inputs = &second_flushed, .place = HC_PLACE_HOST},
};

HC_FAULTS(specials, faults);
