/* Results that are rounded once too often, or not as the contract says. */
#include <math.h>

#include "check/selftest/change.h"

static const struct hc_change result_through_bf16 = {hc_everywhere, hc_through_bf16, 0, HC_FIRST};
static const struct hc_change result_through_fp16 = {hc_everywhere, hc_through_fp16, 0, HC_FIRST};
static const struct hc_change result_through_fp32 = {hc_everywhere, hc_through_fp32, 0, HC_OUT};
static const struct hc_change first_through_fp16 = {hc_everywhere, hc_through_fp16, 0, HC_FIRST};
static const struct hc_change first_through_fp32 = {hc_everywhere, hc_through_fp32, 0, HC_X};
static const struct hc_change second_through_bf16 = {hc_everywhere, hc_through_bf16, 0,
                                                     HC_FIRST + 1};
static const struct hc_change third_through_fp16 = {hc_everywhere, hc_through_fp16, 0, HC_GEMM_C};
static const struct hc_change third_through_bf16 = {hc_everywhere, hc_through_bf16, 0,
                                                    HC_BN_BWD_GAMMA};
static const struct hc_change fourth_through_fp32 = {hc_everywhere, hc_through_fp32, 0, HC_BN_MEAN};
static const struct hc_change second_result_bf16 = {hc_everywhere, hc_through_bf16, 0,
                                                    HC_BN_SAVED_MEAN};
static const struct hc_change third_result_fp16 = {hc_everywhere, hc_through_fp16, 0,
                                                   HC_BN_SAVED_INVSTD};

static double value(const struct hc_call *call, int slot, int64_t i)
{
    return hc_tensor_get(&call->in[slot], i);
}

static double product_first(const struct hc_call *call, int64_t i)
{
    enum hc_format format = call->out[HC_OUT].format;
    return hc_round(format, value(call, HC_X, i) * value(call, HC_Y, i)) + value(call, HC_Z, i);
}

/* The reciprocal is rounded before it is multiplied with. */
static double by_reciprocal(const struct hc_call *call, int64_t i)
{
    return value(call, HC_X, i) * hc_round(call->out[HC_OUT].format, 1 / value(call, HC_Y, i));
}

/* x times 1/sqrt(x), as fast vector code has it. */
static double by_reciprocal_root(const struct hc_call *call, int64_t i)
{
    double x = value(call, HC_X, i);
    double root = hc_round(call->out[HC_OUT].format, 1 / sqrt(x));
    return x > 0 && isfinite(root) && isfinite(x) ? x * root : sqrt(x);
}

static double exact_product(const struct hc_call *call, int64_t i)
{
    return value(call, HC_X, i) * value(call, HC_Y, i);
}

/* An elementwise op by another formula in fp64, in formats that are narrower. */
struct formula {
    double (*value)(const struct hc_call *call, int64_t i);
    enum hc_direction direction;
};

static enum hc_status by_formula(const struct hc_fault_site *site, struct hc_queue *queue,
                                 const struct hc_call *call)
{
    const struct formula *formula = site->fault->data;
    struct hc_call kept = *call;
    const struct hc_tensor *out = &call->out[HC_OUT];
    uint64_t wrong[256];
    if (out->format == HC_FP64)
        return site->right(queue, call);
    int64_t n = hc_tensor_count(out);
    for (int64_t first = 0; first < n; first += 256) {
        int64_t length = n - first < 256 ? n - first : 256;
        for (int64_t i = 0; i < length; i++)
            wrong[i] =
                hc_encode(out->format, formula->value(&kept, first + i), 0, formula->direction);
        for (int64_t i = 0; i < length; i++)
            hc_tensor_set_bits(out, first + i, wrong[i]);
    }
    return HC_OK;
}

static const struct formula not_fused = {product_first, HC_NEAREST};
static const struct formula reciprocal = {by_reciprocal, HC_NEAREST};
static const struct formula reciprocal_root = {by_reciprocal_root, HC_NEAREST};
static const struct formula cut_product = {exact_product, HC_TOWARD_ZERO};

static const struct hc_fault faults[] = {
    {"fma-not-fused", "fma rounds its product before it adds", HC_FAULT_ROUNDING, "fma",
     "rounding/fp16/fma bits/fma/* op/fma/*", .wrong = by_formula, .data = &not_fused},
    {"div-by-reciprocal", "div multiplies with a rounded reciprocal", HC_FAULT_ROUNDING, "div",
     "rounding/bf16/div bits/div/* op/div/*", .wrong = by_formula, .data = &reciprocal,
     .place = HC_PLACE_HOST},
    {"sqrt-by-reciprocal-root", "sqrt multiplies with a rounded reciprocal root", HC_FAULT_ROUNDING,
     "sqrt", "rounding/fp16/sqrt bits/sqrt/* op/sqrt/*", .wrong = by_formula,
     .data = &reciprocal_root},
    {"mul-cuts", "mul cuts its product toward zero", HC_FAULT_ROUNDING, "mul",
     "rounding/bf16/mul bits/mul/* op/mul/*", .wrong = by_formula, .data = &cut_product,
     .place = HC_PLACE_HOST},
    {"add-through-fp32", "add in fp64 rounds into fp32 on the way", HC_FAULT_ROUNDING, "add",
     "op/add/fp64/* bits/add/fp64", .outputs = &result_through_fp32},
    {"sub-through-bf16", "sub rounds into bf16 on the way", HC_FAULT_ROUNDING, "sub",
     "op/sub/fp32/* bits/sub/fp32", .outputs = &result_through_bf16, .place = HC_PLACE_HOST},
    {"axpy-through-half", "axpy rounds into half before it rounds into its output",
     HC_FAULT_ROUNDING, "axpy", "op/axpy/* bits/axpy/*", .outputs = &result_through_fp16},
    {"master-through-half", "masters are rounded into half before bf16", HC_FAULT_ROUNDING,
     "master_to_model", "op/master_to_model/fp32-bf16/* bits/master_to_model/fp32-bf16",
     .inputs = &first_through_fp16, .place = HC_PLACE_HOST},
    {"scale-through-half", "gradients are rounded into half before they are scaled",
     HC_FAULT_ROUNDING, "scale", "op/scale/* bits/scale/*", .inputs = &first_through_fp16},
    {"cast-bf16-through-fp32", "casts of fp64 round to fp32 first", HC_FAULT_ROUNDING, "cast",
     "rounding/fp64-to-bf16/* bits/cast/fp64-*", .inputs = &first_through_fp32,
     .place = HC_PLACE_HOST},
    {"gemm-weights-in-bf16", "a matrix product rounds its second factor into bf16",
     HC_FAULT_ROUNDING, "gemm", "op/gemm/fp32/* products/gemm-in-fp32",
     .inputs = &second_through_bf16, .place = HC_PLACE_HOST},
    {"gemm-addend-in-half", "a matrix product rounds its addend to half", HC_FAULT_ROUNDING, "gemm",
     "op/gemm/fp32/*", .inputs = &third_through_fp16},
    {"gemm-result-in-half", "a matrix product in bf16 goes through half", HC_FAULT_ROUNDING, "gemm",
     "op/gemm/bf16-fp32/*", .outputs = &result_through_fp16},
    {"conv-result-in-bf16", "a convolution of halves goes through bf16", HC_FAULT_ROUNDING,
     "conv2d", "op/conv2d/fp16/* op/conv2d/fp16-fp32/*", .outputs = &result_through_bf16,
     .place = HC_PLACE_HOST},
    {"conv-data-weights-in-bf16", "a convolution's data gradient rounds weights into bf16",
     HC_FAULT_ROUNDING, "conv2d_bwd_data",
     "op/conv2d_bwd_data/fp32/* products/conv2d-bwd-data-in-fp32", .inputs = &second_through_bf16},
    {"conv-filter-result-in-half", "a convolution's filter gradient goes through half",
     HC_FAULT_ROUNDING, "conv2d_bwd_filter", "op/conv2d_bwd_filter/fp32/*",
     .outputs = &result_through_fp16, .place = HC_PLACE_HOST},
    {"conv-double-in-single", "a convolution in fp64 rounds its weights into fp32",
     HC_FAULT_ROUNDING, "conv2d*", "op/conv2d/fp64/*",
     .inputs = &(const struct hc_change){hc_everywhere, hc_through_fp32, 0, HC_CONV_SECOND},
     .place = HC_PLACE_HOST},
    {"norm-saved-mean-in-bf16", "batch norm saves its mean in bf16", HC_FAULT_ROUNDING, "bn_train",
     "op/bn_train/*", .outputs = &second_result_bf16},
    {"norm-saved-deviation-in-half", "batch norm saves its inverse deviation in half",
     HC_FAULT_ROUNDING, "bn_leaky_train", "op/bn_leaky_train/*", .outputs = &third_result_fp16,
     .place = HC_PLACE_HOST},
    {"norm-gain-in-bf16", "batch norm's gradient rounds its gain to bf16", HC_FAULT_ROUNDING,
     "bn_bwd", "op/bn_bwd/*", .inputs = &third_through_bf16},
    {"norm-double-mean-in-single", "batch norm in fp64 rounds the running mean to fp32",
     HC_FAULT_ROUNDING, "bn_infer bn_leaky_infer", "op/bn_infer/fp64/* op/bn_leaky_infer/fp64/*",
     .inputs = &fourth_through_fp32},
    {"pool-through-half", "means in fp32 go through half", HC_FAULT_ROUNDING,
     "avg_pool avg_pool_bwd", "op/avg_pool/fp32/* op/avg_pool_bwd/fp32/*",
     .outputs = &result_through_fp16, .place = HC_PLACE_HOST},
    {"loss-in-half", "the loss goes through half", HC_FAULT_ROUNDING, "xent", "op/xent/fp32/*",
     .outputs = &result_through_fp16},
    {"loss-logits-in-bf16", "the loss rounds its logits into bf16", HC_FAULT_ROUNDING,
     "xent xent_bwd", "op/xent/fp32/* op/xent_bwd/fp32/*",
     .inputs = &(const struct hc_change){hc_everywhere, hc_through_bf16, 0, HC_XENT_LOGITS},
     .place = HC_PLACE_HOST},
    {"loss-gradient-through-half", "the gradient of the loss goes through half", HC_FAULT_ROUNDING,
     "xent_bwd", "op/xent_bwd/fp32/* op/xent_bwd/bf16*", .outputs = &result_through_fp16},
    {"sgd-gradient-in-half", "SGD rounds its gradient into half", HC_FAULT_ROUNDING, "sgd",
     "op/sgd/* bits/sgd/*",
     .inputs = &(const struct hc_change){hc_everywhere, hc_through_fp16, 0, HC_SGD_G}},
    {"adam-variance-in-bf16", "Adam keeps its second moment in bf16", HC_FAULT_ROUNDING,
     "adam adamw", "op/adam/* bits/adamw/*",
     .outputs = &(const struct hc_change){hc_everywhere, hc_through_bf16, 0, HC_ADAM_NEW_V},
     .place = HC_PLACE_HOST},
    {"sum-terms-in-bf16", "a sum rounds its terms into bf16", HC_FAULT_ROUNDING, "sum", "op/sum/*",
     .inputs = &(const struct hc_change){hc_everywhere, hc_through_bf16, 0, HC_REDUCE_X}},
    {"dot-result-in-half", "a sum of products goes through half", HC_FAULT_ROUNDING, "dot",
     "op/dot/*", .outputs = &result_through_fp16, .place = HC_PLACE_HOST},
    {"squares-in-bf16", "a sum of squares rounds its terms into bf16", HC_FAULT_ROUNDING,
     "sum_squares", "op/sum_squares/*",
     .inputs = &(const struct hc_change){hc_everywhere, hc_through_bf16, 0, HC_REDUCE_X}},
};

HC_FAULTS(rounding, faults);
