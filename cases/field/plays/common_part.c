/* Rows whose numbers have a large part in common, on the backend's own ops: a norm of numbers far
   from 0, logits that grow together, and one logit that two programs add up in two ways.

   A norm and a softmax ask only how the numbers of a row differ. What they have in common, however
   large, is nothing in real numbers. In a format it decides how fine a difference can be: what is
   squared, or stored, with the common part in it has lost that difference before it is taken. */
#include "cases/fixture/bug.h"

#include <math.h>

#include "op/later.h"
#include "op/params.h"

enum { PAIR = 2, STEPS = 10 };

static void set_pair(struct hc_tensor *t, double first, double second)
{
    hc_tensor_set(t, 0, first);
    hc_tensor_set(t, 1, second);
}

static void set_option(struct hc_call *call, int option, double value)
{
    memcpy(call->params.later + (size_t)option * sizeof(double), &value, sizeof value);
}

static struct hc_tensor row(struct hc_check *check, enum hc_format format)
{
    return hc_check_tensor(check, hc_tensor2(format, 1, PAIR, NULL));
}

/* x op y of two numbers in fp32. */
static double of_two(struct hc_check *check, enum hc_op op, double x, double y)
{
    struct hc_call call = {.op = op,
                           .in = {[HC_X] = hc_check_vector(check, HC_FP32, 1)},
                           .out = {[HC_OUT] = hc_check_vector(check, HC_FP32, 1)}};
    hc_tensor_set(&call.in[HC_X], 0, x);
    if (op != HC_OP_sqrt) {
        call.in[HC_Y] = hc_check_vector(check, HC_FP32, 1);
        hc_tensor_set(&call.in[HC_Y], 0, y);
    }
    return hc_do(check, &call) == HC_OK ? hc_tensor_get(&call.out[HC_OUT], 0) : (double)NAN;
}

/* The first of two numbers, normalised by the mean of squares less the square of the mean. */
static double in_one_pass(struct hc_check *check, double first, double second, double eps)
{
    double squares = of_two(check, HC_OP_add, of_two(check, HC_OP_mul, first, first),
                            of_two(check, HC_OP_mul, second, second));
    double mean = of_two(check, HC_OP_add, first, second) / 2;
    double variance = of_two(check, HC_OP_sub, squares / 2, of_two(check, HC_OP_mul, mean, mean));
    double deviation = of_two(check, HC_OP_sqrt, of_two(check, HC_OP_add, variance, eps), 0);
    return of_two(check, HC_OP_div, of_two(check, HC_OP_sub, first, mean), deviation);
}

static double by_layer_norm(struct hc_check *check, double first, double second)
{
    struct hc_call call = {.op = HC_OP_layer_norm,
                           .in = {[HC_LN_X] = row(check, HC_FP32),
                                  [HC_LN_W] = hc_check_vector(check, HC_FP32, PAIR),
                                  [HC_LN_B] = hc_check_vector(check, HC_FP32, PAIR)},
                           .out = {[HC_LN_Y] = row(check, HC_FP32)}};
    hc_params_usual(call.op, &call.params);
    set_pair(&call.in[HC_LN_X], first, second);
    set_pair(&call.in[HC_LN_W], 1, 1);
    set_pair(&call.in[HC_LN_B], 0, 0);
    return hc_do(check, &call) == HC_OK ? hc_tensor_get(&call.out[HC_LN_Y], 0) : (double)NAN;
}

/* 4096 and a quarter more or less: their squares are 2^24 +- 2048 and 1/16, and an ulp there is 1
   or 2. Mean and variance are exact in fp32, whether in two passes or as Welford has it. A kernel
   may multiply x and the mean by the reciprocal root, 4, before it subtracts: four roundings of
   numbers up to 16388 each. */
static void centres(struct hc_check *check, struct hc_exhibits *shown)
{
    const double eps = 1e-5;
    hc_exhibits_add(
        shown, "4096.25 of 4095.75 and itself", HC_FP32, in_one_pass(check, 4096.25, 4095.75, eps),
        by_layer_norm(check, 4096.25, 4095.75), 0.25 / sqrt(0.0625 + eps), 2 * 4 * 16388 * 0x1p-24);
}

/* What a row of two logits, of which the first is right, is worth: its loss, or its log-sum. */
static double worth(struct hc_check *check, const struct hc_tensor *logits, int what)
{
    struct hc_call call = {.op = HC_OP_cross_entropy_general,
                           .in = {[HC_CE_Z] = *logits,
                                  [HC_CE_TARGET] = hc_check_vector(check, HC_I32, 1),
                                  [HC_CE_W] = hc_check_vector(check, HC_FP32, PAIR)},
                           .out = {[HC_CE_LOSS] = hc_check_vector(check, HC_FP32, 1),
                                   [HC_CE_ROWS] = hc_check_vector(check, HC_FP32, 1),
                                   [HC_CE_LSE] = hc_check_vector(check, HC_FP32, 1)}};
    call.out[HC_CE_LOSS].rank = 0;
    hc_params_usual(call.op, &call.params);
    hc_tensor_set(&call.in[HC_CE_TARGET], 0, 0);
    set_pair(&call.in[HC_CE_W], 1, 1);
    return hc_do(check, &call) == HC_OK ? hc_tensor_get(&call.out[what], 0) : (double)NAN;
}

/* One step of gradient descent on two equal logits, whose targets are half and half (all of the
   label is smoothed), so that only the z-loss, zeta times the square of the log-sum, moves them. */
static bool descend(struct hc_check *check, struct hc_tensor *logits, double zeta)
{
    struct hc_call call = {.op = HC_OP_cross_entropy_general_backward,
                           .in = {[HC_CE_Z] = *logits,
                                  [HC_CE_TARGET] = hc_check_vector(check, HC_I32, 1),
                                  [HC_CE_W] = hc_check_vector(check, HC_FP32, PAIR),
                                  [HC_CE_BWD_LSE] = hc_check_vector(check, HC_FP32, 1),
                                  [HC_CE_BWD_DLOSS] = hc_check_vector(check, HC_FP32, 1)},
                           .out = {[HC_CE_BWD_DZ] = row(check, HC_FP32)}};
    call.in[HC_CE_BWD_DLOSS].rank = 0;
    hc_params_usual(call.op, &call.params);
    set_option(&call, HC_CE_SMOOTHING, 1);
    set_option(&call, HC_CE_ZETA, zeta);
    hc_tensor_set(&call.in[HC_CE_TARGET], 0, 0);
    set_pair(&call.in[HC_CE_W], 1, 1);
    hc_tensor_set(&call.in[HC_CE_BWD_LSE], 0, worth(check, logits, HC_CE_LSE));
    hc_tensor_set(&call.in[HC_CE_BWD_DLOSS], 0, 1);
    struct hc_call less = {.op = HC_OP_sub,
                           .in = {[HC_X] = *logits, [HC_Y] = call.out[HC_CE_BWD_DZ]},
                           .out = {[HC_OUT] = row(check, HC_FP32)}};
    if (hc_do(check, &call) != HC_OK || hc_do(check, &less) != HC_OK)
        return false;
    *logits = less.out[HC_OUT];
    return true;
}

/* The log-sum after the steps, and what a head that stores bf16 makes of a logit that is then 1
   larger: the loss. */
static bool grown(struct hc_check *check, double start, double zeta, double *log_sum, double *loss)
{
    struct hc_tensor logits = row(check, HC_FP32);
    set_pair(&logits, start, start);
    for (int i = 0; i < STEPS; i++)
        if (!descend(check, &logits, zeta))
            return false;
    *log_sum = worth(check, &logits, HC_CE_LSE);
    hc_tensor_set(&logits, 0, hc_tensor_get(&logits, 0) + 1);
    struct hc_call store = {
        .op = HC_OP_cast, .in = {[HC_X] = logits}, .out = {[HC_OUT] = row(check, HC_BF16)}};
    if (hc_do(check, &store) != HC_OK)
        return false;
    *loss = worth(check, &store.out[HC_OUT], HC_CE_LOSS);
    return true;
}

/* With a zeta of 1/2 and a rate of 1 each step halves the log-sum l: the gradient of a logit is
   (1 + l) p - 1/2 = l / 2. The kernel's p is exp(z - l), which has the error of l, at most 6 units
   more than l itself, and a few roundings of its own; what a step errs by the later ones halve. In
   bf16 the last logits, -0.4 and 0.6, are off by 2^-10 and 2^-9 at most, and the loss by no more
   than half of that. */
static void holds(struct hc_check *check, struct hc_exhibits *shown)
{
    const double start = 299.5;
    double wrong[2];
    double right[2];
    double l = start + log(2);
    double bound = 0;
    if (!grown(check, start, 0, &wrong[0], &wrong[1]) ||
        !grown(check, start, 0.5, &right[0], &right[1]))
        return;
    for (int i = 0; i < STEPS; i++, l /= 2)
        bound = bound / 2 + ((1 + l) * (l + 12) + 8 * (1 + l)) * 0x1p-24;
    hc_exhibits_add(shown, "log-sum after ten steps", HC_FP32, wrong[0], right[0], l,
                    bound + (l + 8) * 0x1p-24);
    hc_exhibits_add(shown, "loss of logits 1 apart, in bf16", HC_FP32, wrong[1], right[1],
                    log1p(exp(-1)), (0x1p-9 + 0x1p-10) / 2 + 0x1p-20);
}

/* log p of the first of two classes. */
static double log_p(struct hc_check *check, double first, double second)
{
    struct hc_call call = {.op = HC_OP_log_softmax,
                           .in = {[HC_SOFTMAX_X] = row(check, HC_FP32)},
                           .out = {[HC_SOFTMAX_Y] = row(check, HC_FP32)}};
    hc_params_usual(call.op, &call.params);
    set_pair(&call.in[HC_SOFTMAX_X], first, second);
    return hc_do(check, &call) == HC_OK ? hc_tensor_get(&call.out[HC_SOFTMAX_Y], 0) : (double)NAN;
}

/* A logit: what the first n weights of a head, 8, 1/32 and 1/64, give of ones, in that format. */
static double logit(struct hc_check *check, enum hc_format format, int64_t n)
{
    static const double weight[] = {8, 0x1p-5, 0x1p-6};
    struct hc_call call = {
        .op = HC_OP_gemm,
        .in = {[HC_GEMM_A] = hc_check_tensor(check, hc_tensor2(format, 1, n, NULL)),
               [HC_GEMM_B] = hc_check_tensor(check, hc_tensor2(format, n, 1, NULL))},
        .out = {[HC_GEMM_OUT] = hc_check_tensor(check, hc_tensor2(format, 1, 1, NULL))},
        .params.gemm = {.alpha = 1}};
    for (int64_t i = 0; i < n; i++) {
        hc_tensor_set(&call.in[HC_GEMM_A], i, 1);
        hc_tensor_set(&call.in[HC_GEMM_B], i, weight[i]);
    }
    return hc_do(check, &call) == HC_OK ? hc_tensor_get(&call.out[HC_GEMM_OUT], 0) : (double)NAN;
}

/* The same logit of an inference engine that has shared the columns among two ranks: the last one
   is added to what the first two have given. */
static double logit_of_ranks(struct hc_check *check, enum hc_format format)
{
    struct hc_call add = {.op = HC_OP_add,
                          .in = {[HC_X] = hc_check_vector(check, format, 1),
                                 [HC_Y] = hc_check_vector(check, format, 1)},
                          .out = {[HC_OUT] = hc_check_vector(check, format, 1)}};
    hc_tensor_set(&add.in[HC_X], 0, logit(check, format, 2));
    hc_tensor_set(&add.in[HC_Y], 0, 0x1p-6);
    return hc_do(check, &add) == HC_OK ? hc_tensor_get(&add.out[HC_OUT], 0) : (double)NAN;
}

/* The other class has a logit of 8. fp16 holds each sum here, so that both programs take the same
   softmax, and p over p is 1 to the bit; bf16 has no number between 8 and 8 + 1/16. log p: an
   exponential and a logarithm within 4 units of at most 2, and two sums of numbers up to 1. */
static void disagree(struct hc_check *check, struct hc_exhibits *shown)
{
    static const enum hc_format stored[] = {HC_BF16, HC_FP16};
    double trained[2];
    double sampled[2];
    for (int i = 0; i < 2; i++) {
        trained[i] = log_p(check, logit(check, stored[i], 3), 8);
        sampled[i] = log_p(check, logit_of_ranks(check, stored[i]), 8);
    }
    hc_exhibits_add(shown, "p in training over p in inference", HC_FP64,
                    exp(trained[0] - sampled[0]), exp(trained[1] - sampled[1]), 1, 0);
    hc_exhibits_add(shown, "log p in inference", HC_FP32, sampled[0], sampled[1],
                    -log1p(exp(-3 * 0x1p-6)), (2 * 4 * 2 + 2) * 0x1p-24);
}

static const struct hc_case cases[] = {
    HC_BUG("field/one-pass-variance/layer-norm-far-from-0",
           "Layer norm multiplies numbers with a large mean by 316 in place of 4.",
           "pytorch/pytorch issue 51102, 'LayerNorm does not behave as documented', "
           "https://github.com/pytorch/pytorch/issues/51102; pytorch/pytorch issue 40302, 'Improve "
           "numerical stability for normalization ops.'; the numbers are of this row",
           .play = centres, .buggy = {.is = "79.06"}, .fixed = {.is = "0.9999"},
           .fault = "layer-norm-of-a-sample",
           .lesson = "Subtract the mean before you square, or update both as Welford does."),
    HC_BUG("field/logits/nothing-holds-their-mean",
           "Logits grow together, until bf16 does not see that one of them is larger.",
           "arXiv 2309.14322, 'Small-scale proxies for large-scale Transformer training "
           "instabilities', divergence of output logits and z-loss; the numbers are of this row",
           .play = holds, .buggy = {.is = "300.2, 0.6931"}, .fixed = {.is = "0.293, 0.313"},
           .fault = "cross-entropy-gradient-half-a-z-loss",
           .lesson = "The cross-entropy does not change when all logits do, so nothing holds them: "
                     "add a small multiple of the squared log-sum."),
    HC_BUG(
        "field/logits/training-and-inference-disagree",
        "A model samples tokens with other probabilities than it is trained with.",
        "arXiv 2510.26788, 'Defeating the Training-Inference Mismatch via FP16'; the numbers are "
        "of this row",
        .play = disagree, .buggy = {.is = "1.031, -0.6931"}, .fixed = {.is = "1 exact, -0.6700"},
        .fault = "log-softmax-last-column",
        .lesson = "Take log p from logits in fp32, or at least from fp16, in both programs."),
};

HC_CASES(field_plays_common_part, cases);
