/* Defects of arithmetic that the backends share: the subject and the backend that it is compared
   with have them both, so that equal bits say nothing. MPFR, integers and published answers must
   see them. Most rows are the defect of a row elsewhere; the others show only at extremes. */
#include "check/selftest/fault.h"
#include "num/format.h"
#include "op/counts.h"

#define CLASS   HC_FAULT_COMMON
#define IN_BOTH .place = HC_PLACE_BOTH

/* -0 where there is no term and alpha is negative. */
static enum hc_status alpha_times_nothing(const struct hc_fault_site *site, struct hc_queue *queue,
                                          const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    const struct hc_gemm *p = &call->params.gemm;
    bool signed_zero = call->in[HC_GEMM_A].shape[p->transpose_a ? 0 : 1] == 0 && p->alpha < 0;
    for (int64_t i = 0;
         status == HC_OK && signed_zero && i < hc_tensor_count(&call->out[HC_GEMM_OUT]); i++)
        if (hc_tensor_get(&call->out[HC_GEMM_OUT], i) == 0)
            hc_tensor_set(&call->out[HC_GEMM_OUT], i, -0.0);
    return status;
}

/* The count is rounded before 1 is added. */
static enum hc_status t_rounded_twice(const struct hc_fault_site *site, struct hc_queue *queue,
                                      const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    double taken = hc_round(HC_FP32, hc_tensor_get(&call->in[HC_RATES_COUNTS], HC_COUNT_TAKEN));
    if (status == HC_OK)
        hc_tensor_set(&call->out[HC_RATES_HYPER], 2, taken + 1);
    return status;
}

/* Products are added to a narrow sum unrounded. */
static enum hc_status products_kept(const struct hc_fault_site *site, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    enum hc_format f = call->params.reduce.accumulator;
    double sum = 0;
    if (f == HC_FP32)
        return site->right(queue, call);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_REDUCE_X]); i++)
        sum = hc_round(f, sum + hc_tensor_get(&call->in[HC_REDUCE_X], i) *
                                    hc_tensor_get(&call->in[HC_DOT_Y], i));
    hc_tensor_set(&call->out[HC_REDUCE_OUT], 0, sum);
    return HC_OK;
}

static const struct hc_fault faults[] = {
    {"common-ties-away", "the shared conversion rounds ties away from zero", CLASS, "cast",
     "rounding/fp32-to-fp16/nearest op/cast/fp32-fp16/*", IN_BOTH, .like = "cast-ties-away"},
    {"common-sticky-lost", "the shared conversion loses bits far below the last one", CLASS, "cast",
     "rounding/fp32-to-fp16/nearest", IN_BOTH, .like = "cast-sticky-lost"},
    {"common-double-rounding", "fp64 goes through fp32 into half, and into bf16, in all backends",
     CLASS, "cast", "rounding/fp64-to-bf16/* rounding/fp64-to-fp16/*", IN_BOTH,
     .like = "cast-bf16-through-fp32"},
    {"common-master-cut", "masters are truncated into the model's copy in all backends", CLASS,
     "master_to_model", "op/master_to_model/* master/*", IN_BOTH, .like = "master-truncated"},
    {"common-fma-not-fused", "fma rounds its product in all backends", CLASS, "fma",
     "rounding/fp16/fma op/fma/*", IN_BOTH, .like = "fma-not-fused"},
    {"common-div", "div multiplies with a rounded reciprocal in all backends", CLASS, "div",
     "rounding/fp16/div op/div/*", IN_BOTH, .like = "div-by-reciprocal"},
    {"common-axpy-not-fused", "axpy rounds its product in all backends", CLASS, "axpy", "op/axpy/*",
     IN_BOTH, .like = "axpy-not-fused"},
    {"common-slope", "leaky ReLU's slope is off by an ulp in all backends", CLASS,
     "leaky_relu leaky_relu_bwd", "op/leaky_relu/* op/leaky_relu_bwd/*", IN_BOTH,
     .like = "leaky-slope-ulp"},
    {"common-adam-beta2", "Adam's second beta is 0.999 in all backends", CLASS, "adam adamw",
     "op/adam/* op/adamw/*", IN_BOTH, .like = "adam-beta2-fixed"},
    {"common-adam-step", "Adam corrects its bias by the step before in all backends", CLASS,
     "adam adamw", "op/adam/* op/adamw/*", IN_BOTH, .like = "adam-step-before"},
    {"common-adam-eps-inside", "Adam adds epsilon inside the root in all backends", CLASS, "adam",
     "op/adam/fp64/* eps/*", IN_BOTH, .like = "eps-inside-the-root"},
    {"common-adamw-decay", "AdamW adds its decay to the gradient in all backends", CLASS, "adamw",
     "op/adamw/* decay/*", IN_BOTH, .like = "decay-in-the-gradient"},
    {"common-sgd-nesterov", "SGD has no Nesterov momentum in all backends", CLASS, "sgd",
     "op/sgd/*-nesterov/*", IN_BOTH, .like = "sgd-never-nesterov"},
    {"common-sgd-contracted", "SGD does not round momentum times velocity in all backends", CLASS,
     "sgd", "op/sgd/*-decoupled/*", IN_BOTH, .like = "sgd-contracted"},
    {"common-compensation", "SGD subtracts the compensation in all backends", CLASS, "sgd",
     "op/sgd/*-kahan/* stochastic/*", IN_BOTH, .like = "compensation-wrong-sign"},
    {"common-random-numbers", "stochastic rounding's numbers are one too large in all backends",
     CLASS, "sgd", "stochastic/goes-where-its-random-number-says", IN_BOTH,
     .like = "rounding-one-more"},
    {"common-norm-eps", "batch norm uses an epsilon of 0 in all backends", CLASS,
     "bn_train bn_infer", "op/bn_train/* op/bn_infer/*", IN_BOTH, .like = "norm-eps-forgotten"},
    {"common-norm-momentum", "running statistics use 1 - momentum as momentum in all backends",
     CLASS, "bn_train bn_leaky_train", "op/bn_train/* op/bn_leaky_train/*", IN_BOTH,
     .like = "running-momentum-swapped"},
    {"common-norm-biased", "the running variance is biased in all backends", CLASS,
     "bn_train bn_leaky_train", "op/bn_train/* op/bn_leaky_train/*", IN_BOTH,
     .like = "norm-biased-variance"},
    {"common-conv-turned", "convolutions rotate their filters by half a turn in all backends",
     CLASS, "conv2d conv2d_bwd_data", "op/conv2d/* op/conv2d_bwd_data/*", IN_BOTH,
     .like = "conv-turned-filter"},
    {"common-gemm-alpha", "matrix products ignore alpha in all backends", CLASS, "gemm",
     "op/gemm/*scaled*", IN_BOTH, .like = "gemm-alpha-ignored"},
    {"common-loss-mean", "the loss's mean is over one row too many in all backends", CLASS,
     "xent xent_bwd", "op/xent/* op/xent_bwd/*", IN_BOTH, .like = "loss-over-one-more"},
    {"common-found", "the detector sees no NaN in all backends", CLASS, "unscale",
     "scaler/from-gradients", IN_BOTH, .like = "unscale-sees-no-nan"},
    {"common-scaler-late", "the loss scale grows one step late in all backends", CLASS,
     "scaler_update", "scaler/torch scaler/one-update", IN_BOTH, .like = "scale-grows-late"},
    {"common-clip", "clipping adds nothing to the norm in all backends", CLASS, "clip",
     "clipping/factor", IN_BOTH, .like = "clip-without-epsilon"},
    {"common-rates", "learning rates start over beyond their table in all backends", CLASS, "rates",
     "op/rates/*", IN_BOTH, .like = "rates-wrap"},
    {"common-step-log", "the step log writes one row late in all backends", CLASS, "step_log",
     "op/step_log/*", IN_BOTH, .like = "step-log-next-row"},
    {"common-pixels", "pixels are divided by 256 in all backends", CLASS, "augment",
     "data/pixels-* data/augment", IN_BOTH, .like = "pixels-over-256"},
    {"common-crops", "every epoch has the first one's crops in all backends", CLASS, "augment",
     "data/augment", IN_BOTH, .like = "epochs-repeat"},
    {"common-squares", "a sum of squares forgets the tensors before in all backends", CLASS,
     "sum_squares", "op/sum_squares/* clipping/*", IN_BOTH, .like = "squares-begin-anew"},
    {"common-empty-sum", "an empty sum times a negative alpha is -0 in all backends", CLASS, "gemm",
     "products/no-terms", .wrong = alpha_times_nothing, IN_BOTH},
    {"common-t-rounded-twice", "Adam's t is rounded before 1 is added in all backends", CLASS,
     "rates", "scaler/large-counts", .wrong = t_rounded_twice, IN_BOTH},
    {"common-products-kept", "sums in sixteen bits do not round their products in all backends",
     CLASS, "dot", "products/sums-in-sixteen-bits", .wrong = products_kept, IN_BOTH},
};

HC_FAULTS(common, faults);
