/* Parameters and operands that are ignored or confused. */
#include <string.h>

#include "check/selftest/change.h"

static void without_alpha(struct hc_call *call, double number)
{
    (void)number;
    call->params.gemm.alpha = 1;
}

static void without_beta(struct hc_call *call, double number)
{
    (void)number;
    call->params.gemm.beta = call->params.gemm.beta != 0 ? 1 : 0;
}

/* A square matrix is not transposed. (For a vector times a matrix there is no other shape.) */
static void as_it_lies(struct hc_call *call, double number)
{
    (void)number;
    const struct hc_tensor *a = &call->in[HC_GEMM_A];
    if (call->params.gemm.transpose_a) {
        int64_t rows = a->shape[0];
        call->in[HC_GEMM_A].shape[0] = a->shape[1];
        call->in[HC_GEMM_A].shape[1] = rows;
        call->params.gemm.transpose_a = false;
    }
}

/* Row 0 of C is added to every row. */
static void broadcast(struct hc_call *call, double number)
{
    (void)number;
    if (call->in[HC_GEMM_C].data && call->in[HC_GEMM_C].rank == 2 &&
        call->in[HC_GEMM_C].shape[0] > 0)
        call->in[HC_GEMM_C] = hc_tensor1(call->in[HC_GEMM_C].format, call->in[HC_GEMM_C].shape[1],
                                         call->in[HC_GEMM_C].data);
}

static void axpy_by(struct hc_call *call, double number)
{
    call->params.axpy.alpha *= number;
}

static void to_nearest(struct hc_call *call, double number)
{
    (void)number;
    call->params.cast.direction = HC_NEAREST;
}

static void up_for_down(struct hc_call *call, double number)
{
    (void)number;
    if (call->params.cast.direction == HC_DOWNWARD)
        call->params.cast.direction = HC_TOWARD_ZERO;
}

static void norm_eps(struct hc_call *call, double number)
{
    call->params.bn.eps *= number;
}

static void norm_momentum(struct hc_call *call, double number)
{
    call->params.bn.momentum *= number;
}

static void norm_slope(struct hc_call *call, double number)
{
    call->params.bn.slope = number;
}

static void slope(struct hc_call *call, double number)
{
    call->params.leaky.slope *= number;
}

static void sums(struct hc_call *call, double number)
{
    call->params.xent.sum = number != 0;
}

static void sgd_decay(struct hc_call *call, double number)
{
    call->params.sgd.weight_decay *= number;
}

static void sgd_plain(struct hc_call *call, double number)
{
    (void)number;
    call->params.sgd.nesterov = false;
}

static void sgd_coupled(struct hc_call *call, double number)
{
    (void)number;
    call->params.sgd.decoupled = false;
}

static void adam_beta2(struct hc_call *call, double number)
{
    call->params.adam.beta2 = number;
}

static void adam_eps(struct hc_call *call, double number)
{
    call->params.adam.eps *= number;
}

static void adam_decay(struct hc_call *call, double number)
{
    call->params.adam.weight_decay *= number;
}

static void clip_at(struct hc_call *call, double number)
{
    call->params.clip.max_norm = number;
}

/* The first factor is used twice. */
static void squared(struct hc_call *call, double number)
{
    (void)number;
    call->in[HC_Y] = call->in[HC_X];
}

static void gain_for_offset(struct hc_call *call, double number)
{
    (void)number;
    struct hc_tensor gain = call->in[HC_BN_GAMMA];
    call->in[HC_BN_GAMMA] = call->in[HC_BN_BETA];
    call->in[HC_BN_BETA] = gain;
}

static const struct hc_fault faults[] = {
    {"gemm-alpha-ignored", "a matrix product ignores alpha", HC_FAULT_PARAMETER, "gemm",
     "op/gemm/*scaled*", .change = without_alpha},
    {"gemm-beta-ignored", "a matrix product uses a beta of 1 wherever it is not 0",
     HC_FAULT_PARAMETER, "gemm", "op/gemm/*scaled*", .change = without_beta,
     .place = HC_PLACE_HOST},
    {"gemm-as-it-lies", "a matrix product does not transpose its first factor", HC_FAULT_PARAMETER,
     "gemm", "op/gemm/*-ta/*", .change = as_it_lies},
    {"gemm-one-row-of-c", "a matrix product adds C's first row to every row", HC_FAULT_PARAMETER,
     "gemm", "op/gemm/*scaled*", .change = broadcast, .place = HC_PLACE_HOST},
    {"axpy-alpha-in-single-ulp", "axpy's factor is off by an ulp", HC_FAULT_PARAMETER, "axpy",
     "op/axpy/* bits/axpy/*", .change = axpy_by, .number = 1 + 0x1p-23},
    {"cast-always-to-nearest", "casts round to nearest whatever direction the call asks for",
     HC_FAULT_PARAMETER, "cast", "rounding/fp32-to-fp16/upward bits/cast/* op/cast/*",
     .change = to_nearest, .place = HC_PLACE_HOST},
    {"cast-down-is-toward-zero", "casts downward round toward zero", HC_FAULT_PARAMETER, "cast",
     "rounding/fp32-to-bf16/downward bits/cast/* op/cast/*", .change = up_for_down},
    {"norm-eps-forgotten", "batch norm uses an epsilon of 0", HC_FAULT_PARAMETER,
     "bn_train bn_infer", "op/bn_train/* op/bn_infer/*", .change = norm_eps},
    {"norm-eps-doubled", "batch norm with leaky ReLU takes twice its epsilon", HC_FAULT_PARAMETER,
     "bn_leaky_train bn_leaky_infer", "op/bn_leaky_train/* op/bn_leaky_infer/*", .change = norm_eps,
     .number = 2, .place = HC_PLACE_HOST},
    {"norm-momentum-off", "running statistics move by a hundredth too much", HC_FAULT_PARAMETER,
     "bn_train bn_leaky_train", "op/bn_train/* op/bn_leaky_train/*", .change = norm_momentum,
     .number = 1.01, .place = HC_PLACE_HOST},
    {"norm-slope-fixed", "batch norm's leaky ReLU always has a slope of 0.01", HC_FAULT_PARAMETER,
     "bn_leaky_*", "op/bn_leaky_train/* op/bn_leaky_infer/* op/bn_leaky_bwd/*",
     .change = norm_slope, .number = 0.01},
    {"norm-gain-for-offset", "batch norm swaps gain and offset", HC_FAULT_PARAMETER,
     "bn_train bn_infer", "op/bn_train/* op/bn_infer/*", .change = gain_for_offset,
     .place = HC_PLACE_HOST},
    {"leaky-slope-ulp", "leaky ReLU's slope is off by an ulp", HC_FAULT_PARAMETER,
     "leaky_relu leaky_relu_bwd", "op/leaky_relu/* bits/leaky_relu_bwd/*", .change = slope,
     .number = 1 + 0x1p-23, .place = HC_PLACE_HOST},
    {"loss-always-mean", "the loss is a mean where a sum is asked for", HC_FAULT_PARAMETER, "xent",
     "op/xent/*-sum/*", .change = sums},
    {"loss-gradient-always-sum", "the gradient of a mean loss is that of a summed loss",
     HC_FAULT_PARAMETER, "xent_bwd", "op/xent_bwd/*", .change = sums, .number = 1,
     .place = HC_PLACE_HOST},
    {"sgd-decay-forgotten", "SGD does not decay", HC_FAULT_PARAMETER, "sgd", "op/sgd/* bits/sgd/*",
     .change = sgd_decay, .place = HC_PLACE_HOST},
    {"sgd-never-nesterov", "SGD has no Nesterov momentum", HC_FAULT_PARAMETER, "sgd",
     "op/sgd/*-nesterov/* bits/sgd/*-nesterov", .change = sgd_plain},
    {"sgd-decay-in-the-gradient", "SGD adds a decoupled decay to the gradient", HC_FAULT_PARAMETER,
     "sgd", "op/sgd/*-decoupled/* bits/sgd/*-decoupled", .change = sgd_coupled,
     .place = HC_PLACE_HOST},
    {"adam-beta2-fixed", "Adam's second beta is 0.999 whatever the call says", HC_FAULT_PARAMETER,
     "adam adamw", "op/adam/* bits/adamw/*", .change = adam_beta2, .number = 0.999},
    {"adam-eps-doubled", "Adam takes twice its epsilon", HC_FAULT_PARAMETER, "adam adamw",
     "op/adam/fp64/* bits/adamw/* eps/*", .change = adam_eps, .number = 2, .place = HC_PLACE_HOST},
    {"adam-decay-forgotten", "Adam adds no decay to its gradient", HC_FAULT_PARAMETER, "adam",
     "op/adam/* bits/adam/*", .change = adam_decay},
    {"clip-to-one", "clipping clips to a norm of 1", HC_FAULT_PARAMETER, "clip",
     "op/clip/*-tenth/* bits/clip/* clipping/factor", .change = clip_at, .number = 1,
     .place = HC_PLACE_HOST},
    {"dot-of-one-factor", "a sum of products uses its first factor twice", HC_FAULT_PARAMETER,
     "dot mul", "op/dot/* op/mul/*", .change = squared},
    {"adam-ignores-found", "Adam steps on infinities and NaNs", HC_FAULT_SKIP, "adam adamw",
     "op/adam/*/found-inf op/adamw/*/found-inf bits/adam/*", .change = hc_take_for_absent,
     .number = HC_ADAM_FOUND_INF, .place = HC_PLACE_HOST},
    {"sgd-loses-compensation", "SGD ignores its compensation", HC_FAULT_STOCHASTIC, "sgd",
     "op/sgd/*-kahan*", .change = hc_take_for_absent, .number = HC_SGD_COMPENSATION},
};

HC_FAULTS(parameter, faults);
