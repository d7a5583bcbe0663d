/* The parameters that the generated cases give to an op, apart from shapes and formats. */
#include "check/generate/op_space.h"

static const struct hc_variant plain[] = {{.name = ""}, {.name = NULL}};

static const struct hc_variant directions[] = {
    {.name = "", .params.cast = {HC_NEAREST}},
    {.name = "-toward-zero", .params.cast = {HC_TOWARD_ZERO}},
    {.name = "-upward", .params.cast = {HC_UPWARD}},
    {.name = "-downward", .params.cast = {HC_DOWNWARD}},
    {.name = "-saturating", .params.cast = {HC_NEAREST, true}},
    {.name = NULL},
};

static const struct hc_variant axpys[] = {
    {.name = "", .params.axpy = {-1.1}}, {.name = "-plain", .params.axpy = {1}}, {.name = NULL}};
static const struct hc_variant slopes[] = {{.name = "", .params.leaky = {0.1}}, {.name = NULL}};
static const struct hc_variant norms[] = {{.name = "", .params.bn = {1e-5, 0.1, 0.1}},
                                          {.name = NULL}};

static const struct hc_variant unscales[] = {
    {.name = "", .params.unscale = {false}},
    {.name = "-reciprocal", .params.unscale = {true}},
    {.name = "-first", .params.unscale = {false}, .bare = true},
    {.name = NULL},
};

/* With the scalars that may be absent, and without. */
static const struct hc_variant more_or_less[] = {
    {.name = ""},
    {.name = "-bare", .bare = true},
    {.name = NULL},
};

static const struct hc_variant clips[] = {
    {.name = "", .params.clip = {1}},
    {.name = "-tenth", .params.clip = {0.1}},
    {.name = "-bare", .params.clip = {5}, .bare = true},
    {.name = NULL},
};

/* C is there with beta = 0, too. What people call a product, and a linear layer, are rows of their
   own: a function that knows no alpha, beta and C takes no others. */
static const struct hc_variant gemms[] = {
    {.name = "", .params.gemm = {.alpha = 1}},
    {.name = "-plain", .params.gemm = {.alpha = 1}, .bare = true},
    {.name = "-added", .params.gemm = {.alpha = 1, .beta = 1}},
    {.name = "-ta", .params.gemm = {.transpose_a = true, .alpha = 1}},
    {.name = "-tb-bias", .params.gemm = {.transpose_b = true, .alpha = 1, .beta = 1}, .row = true},
    {.name = "-ta-tb-scaled",
     .params.gemm = {.transpose_a = true, .transpose_b = true, .alpha = 1.5, .beta = -0.3}},
    {.name = NULL},
};

/* Blocks of a and of b, and the longest sums. Without `bare` both tensors have a factor and C is
   there. */
static const struct hc_variant quantised_gemms[] = {
    {.name = "", .params.gemm_q = {0}, .bare = true},
    {.name = "-factors", .params.gemm_q = {0}},
    {.name = "-rowwise", .params.gemm_q = {.a_rows = 1, .b_rows = 1}, .bare = true},
    {.name = "-1x128-128x128", .params.gemm_q = {1, 128, 128, 128, 0}, .bare = true},
    {.name = "-1x32", .params.gemm_q = {1, 32, 1, 32, 0}, .bare = true},
    {.name = "-1x16-factors", .params.gemm_q = {1, 16, 1, 16, 0}},
    {.name = "-1x16-16x16", .params.gemm_q = {1, 16, 16, 16, 0}, .bare = true},
    {.name = "-promoted", .params.gemm_q = {.promote = 128}, .bare = true},
    {.name = "-3x7-5x11-promoted", .params.gemm_q = {3, 7, 5, 11, 13}},
    {.name = NULL},
};

static const struct hc_variant means[] = {
    {.name = "", .params.xent = {false}},
    {.name = "-sum", .params.xent = {true}},
    {.name = NULL},
};

/* Plain is w - lr g: no decay, no found_inf, and draws have no momentum. */
static const struct hc_variant sgds[] = {
    {.name = "", .params.sgd = {.weight_decay = 1e-2}},
    {.name = "-plain", .params.sgd = {.weight_decay = 0}, .bare = true},
    {.name = "-nesterov", .params.sgd = {.weight_decay = 1e-2, .nesterov = true}},
    {.name = "-decoupled", .params.sgd = {.weight_decay = 1e-2, .decoupled = true}},
    {.name = "-rate-inside",
     .params.sgd = {.weight_decay = 1e-2, .nesterov = true, .rate_inside = true}},
    {.name = "-stochastic",
     .params.sgd = {.weight_decay = 1e-2, .stochastic = {.on = true, .seed = 7, .first = 640}}},
    {.name = "-kahan", .params.sgd = {.weight_decay = 1e-2, .nesterov = true}, .compensated = true},
    {.name = "-kahan-decoupled",
     .params.sgd = {.weight_decay = 1e-2, .decoupled = true},
     .compensated = true},
    {.name = "-kahan-rate-inside",
     .params.sgd = {.weight_decay = 1e-2, .rate_inside = true},
     .compensated = true},
    {.name = NULL},
};

static const struct hc_variant adams[] = {
    {.name = "", .params.adam = {.beta2 = 0.99, .eps = 1e-8, .weight_decay = 1e-2}},
    {.name = "-plain", .params.adam = {.beta2 = 0.999, .eps = 1e-8}, .bare = true},
    {.name = "-eps-inside", .params.adam = {.beta2 = 0.999, .eps = 1e-8, .eps_inside = true}},
    {.name = "-stochastic",
     .params.adam = {.beta2 = 0.99,
                     .eps = 1e-8,
                     .weight_decay = 1e-2,
                     .stochastic = {.on = true, .seed = 7, .first = 640}}},
    {.name = "-kahan",
     .params.adam = {.beta2 = 0.99, .eps = 1e-8, .weight_decay = 1e-2},
     .compensated = true},
    {.name = "-torch-fused",
     .params
         .adam = {.beta2 = 0.99, .eps = 1e-8, .weight_decay = 1e-2, .order = HC_ORDER_TORCH_FUSED}},
    {.name = "-torch-loop",
     .params
         .adam = {.beta2 = 0.99, .eps = 1e-8, .weight_decay = 1e-2, .order = HC_ORDER_TORCH_LOOP}},
    {.name = "-apex",
     .params.adam = {.beta2 = 0.99, .eps = 1e-8, .weight_decay = 1e-2, .order = HC_ORDER_APEX}},
    {.name = NULL},
};

#define TREE    HC_COLLECTIVE_TREE
#define RING    HC_COLLECTIVE_RING
#define HALVING HC_COLLECTIVE_HALVING

/* Of each algorithm the division after, before and on both sides. */
static const struct hc_variant averages[] = {
    {.name = "", .params.all_reduce = {.algorithm = TREE, .before = 1}},
    {.name = "-before", .params.all_reduce = {.algorithm = TREE, .after = 1}},
    {.name = "-split-times",
     .params.all_reduce = {.algorithm = TREE, .before = 32, .after = 0.7, .multiplies = true}},
    {.name = "-ring-sum", .params.all_reduce = {.algorithm = RING, .before = 1, .after = 1}},
    {.name = "-ring-split", .params.all_reduce = {.algorithm = RING, .before = 2.7, .after = 3}},
    {.name = "-ring-times",
     .params.all_reduce = {.algorithm = RING, .before = 1, .multiplies = true}},
    {.name = "-halving", .params.all_reduce = {.algorithm = HALVING, .before = 1}},
    {.name = "-halving-before-times",
     .params.all_reduce = {.algorithm = HALVING, .after = 1, .multiplies = true}},
    {.name = NULL},
};

static const struct hc_variant *const by_class[] = {
    [HC_CLASS_ELEMENTWISE] = plain,   [HC_CLASS_REDUCTION] = plain, [HC_CLASS_GEMM] = gemms,
    [HC_CLASS_CONV] = plain,          [HC_CLASS_NORM] = norms,      [HC_CLASS_POOL] = plain,
    [HC_CLASS_LOSS] = means,          [HC_CLASS_OPTIMIZER] = adams, [HC_CLASS_CONTROL] = plain,
    [HC_CLASS_COLLECTIVE] = averages, [HC_CLASS_QUANT] = plain,
};

/* Ops that have parameters which others of their class do not have. */
static const struct hc_variant *const by_op[HC_OP_COUNT] = {
    [HC_OP_cast] = directions,
    [HC_OP_axpy] = axpys,
    [HC_OP_unscale] = unscales,
    [HC_OP_leaky_relu] = slopes,
    [HC_OP_leaky_relu_bwd] = slopes,
    [HC_OP_sgd] = sgds,
    [HC_OP_step_log] = more_or_less,
    [HC_OP_sum_squares] = more_or_less,
    [HC_OP_clip] = clips,
    [HC_OP_gemm_q] = quantised_gemms,
};

const struct hc_variant *hc_op_variants(enum hc_op op)
{
    return by_op[op] ? by_op[op] : by_class[hc_ops[op].class_];
}
