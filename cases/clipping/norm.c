/* Clipping to a norm: sums of squares over several tensors and beyond fp32, the clip factor, and
   the norm that is left. */
#include "case.h"

#include <math.h>

static const double unit = 0x1p-24;

static uint64_t draw(const struct hc_check *check, uint64_t *at)
{
    return hc_random(hc_check_seed(check), 95, (*at)++);
}

/* Any bits, sums near the square of the norm at which clipping begins, and the extremes. */
static uint32_t sum_of_squares(const struct hc_check *check, uint64_t *at, int i, double most)
{
    static const uint32_t ends[] = {0,           0x80000000u, 1,           0x007fffffu, 0x00800000u,
                                    0x7f7fffffu, 0x7f800000u, 0x7fc00000u, 0xbf800000u};
    enum { ENDS = sizeof ends / sizeof ends[0] };
    if (i < ENDS)
        return ends[i];
    if (i % 2)
        return (uint32_t)(draw(check, at) >> 33);
    return hc_fp32_bits((float)(most * most)) + (uint32_t)(draw(check, at) % 64) - 32;
}

static void factor(struct hc_check *check)
{
    static const double most[] = {1, 0.1, 5, 0, 1e-30, 0x1p-140, 3e38};
    static const double held[] = {0, 1, -0.0, (double)NAN};
    uint64_t at = 0;
    for (int i = 0; i < 150 * 7; i++) {
        bool in_place = i % 5 == 0;
        struct hc_call call = {.op = HC_OP_clip, .params.clip = {most[i % 7]}};
        call.in[HC_CLIP_SUM_SQUARES] = hc_check_vector(check, HC_FP32, 1);
        call.out[HC_CLIP_FACTOR] =
            in_place ? call.in[HC_CLIP_SUM_SQUARES] : hc_check_vector(check, HC_FP32, 1);
        hc_tensor_set_bits(&call.in[HC_CLIP_SUM_SQUARES], 0,
                           sum_of_squares(check, &at, i / 7, most[i % 7]));
        if (i % 3 == 0) {
            call.in[HC_CLIP_OVERFLOWED] = hc_check_vector(check, HC_FP32, 1);
            hc_tensor_set(&call.in[HC_CLIP_OVERFLOWED], 0, held[draw(check, &at) % 4]);
        }
        hc_claim_call_met(check, &call);
    }
}

/* Adds x's squares to the sum in place, or starts a sum with them; the call is held to its
   contract. */
static void add_squares(struct hc_check *check, const struct hc_tensor *x,
                        const struct hc_tensor *sum, bool first)
{
    struct hc_call call = {
        .op = HC_OP_sum_squares,
        .in = {[HC_REDUCE_X] = *x, [HC_SUM_SQUARES_PARTIAL] = first ? (struct hc_tensor){0} : *sum},
        .out = {[HC_REDUCE_OUT] = *sum},
        .params.reduce = {HC_FP32}};
    hc_claim_call_met(check, &call);
}

/* The real root of the sum of all squares. */
static double norm_of(const struct hc_tensor *x, int n)
{
    struct hc_real *sum = hc_real_new(0);
    struct hc_real *square = hc_real_new(0);
    for (int t = 0; t < n; t++)
        for (int64_t i = 0; i < hc_tensor_count(&x[t]); i++) {
            hc_real_set(square, hc_tensor_get(&x[t], i));
            hc_real_mul(square, square, square);
            hc_real_add(sum, sum, square);
        }
    hc_real_sqrt(sum, sum);
    double norm = hc_real_double(sum);
    hc_real_free(sum);
    hc_real_free(square);
    return norm;
}

/* Three tensors of three formats, at norms from far below the limit to far above. The squares are
   one sum of N terms in some order: N u, of which the root takes half. Then u each: the root, its
   sum with 1e-6 (and 1e-6 itself), the reciprocal, the product, the scaling; and u for second-order
   terms. fp32 copies are scaled, as a master's gradients are. */
static void left(struct hc_check *check)
{
    enum { TENSORS = 3, LENGTH = 200 };
    static const enum hc_format formats[TENSORS] = {HC_FP32, HC_FP16, HC_BF16};
    static const double sizes[] = {1e-3, 0.02, 0.0426, 0.0427, 1, 300};
    double bound = (TENSORS * LENGTH / 2.0 + 7) * unit;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        struct hc_tensor x[TENSORS];
        struct hc_tensor g[TENSORS];
        struct hc_tensor sum = hc_check_vector(check, HC_FP32, 1);
        struct hc_tensor by = hc_check_vector(check, HC_FP32, 1);
        for (int t = 0; t < TENSORS; t++) {
            x[t] = hc_check_vector(check, formats[t], LENGTH);
            g[t] = hc_check_vector(check, HC_FP32, LENGTH);
            for (int64_t i = 0; i < LENGTH; i++) {
                double value = hc_random_normal(hc_check_seed(check), (uint64_t)t, (uint64_t)i);
                hc_tensor_set(&x[t], i, sizes[s] * value);
                hc_tensor_set(&g[t], i, hc_tensor_get(&x[t], i));
            }
            add_squares(check, &x[t], &sum, t == 0);
        }
        struct hc_call clip = {.op = HC_OP_clip,
                               .in = {[HC_CLIP_SUM_SQUARES] = sum},
                               .out = {[HC_CLIP_FACTOR] = by},
                               .params.clip = {.max_norm = 1}};
        if (hc_do(check, &clip) != HC_OK)
            return;
        for (int t = 0; t < TENSORS; t++) {
            struct hc_call scale = {.op = HC_OP_scale,
                                    .in = {[HC_SCALE_X] = g[t], [HC_SCALE_S] = by},
                                    .out = {[HC_SCALE_OUT] = g[t]}};
            if (hc_do(check, &scale) != HC_OK)
                return;
        }
        double before = norm_of(x, TENSORS);
        double want = before * fmin(1, 1 / (before + (double)1e-6F));
        double got = norm_of(g, TENSORS);
        hc_say(check, "norm %.6g: factor %.6g, norm %.6g is left", before, hc_tensor_get(&by, 0),
               got);
        hc_claim_within(check, "the norm that is left", want, got, bound * want);
    }
}

/* Ten elements whose squares add up to 2^128 within a few u: some sums are infinite and some are
   not, and the contract says which of them may be. */
static void brink(struct hc_check *check)
{
    int infinite = 0;
    int finite = 0;
    for (int i = 0; i < 400; i++) {
        struct hc_tensor x = hc_check_vector(check, HC_FP32, 10);
        struct hc_tensor sum = hc_check_vector(check, HC_FP32, 1);
        double rest = 1;
        for (int64_t k = 0; k < 9; k++) {
            double share = hc_random_uniform(hc_check_seed(check), (uint64_t)i, (uint64_t)k) / 9;
            hc_tensor_set(&x, k, sqrt(share) * 0x1p64);
            rest -= pow(hc_tensor_get(&x, k) * 0x1p-64, 2);
        }
        hc_tensor_set(&x, 9, sqrt(rest) * 0x1p64 * (1 + (i % 21 - 10) * unit / 2));
        add_squares(check, &x, &sum, true);
        *(isinf(hc_tensor_get(&sum, 0)) ? &infinite : &finite) += 1;
    }
    hc_say(check, "squares' sums about 2^128: %d infinite, %d finite", infinite, finite);
    hc_claim_true(check, "both sides of the brink are met", infinite > 20 && finite > 20);
}

/* A gradient of norm 2^64, a number that even bf16 holds, and one below it. */
static void beyond(struct hc_check *check)
{
    struct hc_tensor g = hc_check_vector(check, HC_FP32, 4);
    struct hc_tensor sum = hc_check_vector(check, HC_FP32, 1);
    struct hc_tensor by = hc_check_vector(check, HC_FP32, 1);
    struct hc_call clip = {.op = HC_OP_clip,
                           .in = {[HC_CLIP_SUM_SQUARES] = sum},
                           .out = {[HC_CLIP_FACTOR] = by},
                           .params.clip = {1}};
    struct hc_call scale = {.op = HC_OP_scale,
                            .in = {[HC_SCALE_X] = g, [HC_SCALE_S] = by},
                            .out = {[HC_SCALE_OUT] = g}};
    for (int log2 = 63; log2 <= 64; log2++) {
        hc_tensor_set(&g, 0, ldexp(1, log2));
        hc_tensor_set(&g, 1, ldexp(1, log2 - 30));
        add_squares(check, &g, &sum, true);
        hc_claim_call_met(check, &clip);
        if (hc_do(check, &scale) != HC_OK)
            return;
        hc_say(check, "norm 2^%d: squares %g, factor %g, clipped to %g", log2,
               hc_tensor_get(&sum, 0), hc_tensor_get(&by, 0), hc_tensor_get(&g, 0));
        hc_claim_value(check, log2 == 64 ? "2^64 is clipped to 0" : "2^63 is clipped to 1",
                       log2 == 63, hc_tensor_get(&g, 0));
        hc_claim_value(check, "and what was 2^-30 of it", log2 == 63 ? 0x1p-30 : 0,
                       hc_tensor_get(&g, 1));
    }
    brink(check);
}

/* torch's factor is not the rounded quotient. Which of them a kernel gives is a matter of order. */
static void reciprocal(struct hc_check *check)
{
    enum { SUMS = 1000 };
    const float most = 5;
    int differ = 0;
    for (int i = 0; i < SUMS; i++) {
        float s = (float)(30 + i);
        float factor;
        struct hc_call clip = {.op = HC_OP_clip,
                               .in = {[HC_CLIP_SUM_SQUARES] = hc_tensor1(HC_FP32, 1, &s)},
                               .out = {[HC_CLIP_FACTOR] = hc_tensor1(HC_FP32, 1, &factor)},
                               .params.clip = {(double)most}};
        if (hc_claim_call_met(check, &clip) != HC_OK)
            return;
        double d = hc_round(HC_FP32, hc_round(HC_FP32, sqrt((double)s)) + (double)1e-6F);
        double quotient = hc_round(HC_FP32, (double)most / d);
        double torch = hc_round(HC_FP32, hc_round(HC_FP32, 1 / d) * (double)most);
        differ += quotient != torch;
        hc_claim_value(check, "the factor", torch, (double)factor);
        /* Two roundings of u each, the first carried over by the product; the quotient has one. */
        hc_claim_within(check, "factor and quotient", quotient, torch, 3.1 * unit * quotient);
    }
    hc_say(check, "%d of %d factors are not the rounded quotient", differ, SUMS);
    hc_claim_true(check, "some differ", differ > SUMS / 10);
}

static const char torch[] =
    "pytorch 2.15.0 torch/nn/utils/clip_grad.py, _get_total_norm and _clip_grads_with_norm_";

static const struct hc_case cases[] = {
    {"clipping/factor",
     "the clip factor is torch's for any sum of squares, and 1 where an overflow kept the "
     "gradients from being copied",
     torch, .run = factor},
    {"clipping/norm-that-is-left",
     "tensors that are clipped together end with the smaller of their norm and the limit", torch,
     .run = left},
    {"clipping/norm-beyond-fp32",
     "from 2^64 on a norm's square is infinite, and clipping makes 0 of a finite gradient; below "
     "it is clipped as others are",
     torch, .run = beyond},
    {"clipping/reciprocal",
     "a number over a tensor is the tensor's reciprocal times the number: not the rounded "
     "quotient, but within 3 u",
     "pytorch 2.15.0 torch/_tensor.py, Tensor.__rdiv__", .run = reciprocal},
};

HC_CASES(clipping_norm, cases);
