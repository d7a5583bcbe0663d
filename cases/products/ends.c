/* Sums and products at extremes, whatever the seed: beyond the largest number they are infinite,
   opposed infinities give NaN, and a NaN stays. Every op here has two equal terms or one pair. */
#include <math.h>

#include "case.h"

/* Two terms, each the product of its element and 1. */
struct pair {
    double first;
    double second;
    double want;
};

/* The largest number of the format where the row says 2, otherwise the row's number. */
static double scaled(enum hc_format format, double value)
{
    return fabs(value) == 2 ? copysign(hc_format_max(format), value) : value;
}

/* In the rows 2 stands for the largest number. */
static const struct pair pairs[] = {
    {2, 2, (double)INFINITY},
    {-2, -2, -(double)INFINITY},
    {2, -2, 0},
    {(double)INFINITY, 1, (double)INFINITY},
    {-(double)INFINITY, 2, -(double)INFINITY},
    {(double)INFINITY, -(double)INFINITY, (double)NAN},
    {(double)NAN, 1, (double)NAN},
    {1, (double)NAN, (double)NAN},
};

/* A call that sums the two elements of x, each times 1. */
static struct hc_call call_of(struct hc_check *check, enum hc_op op, enum hc_format format)
{
    struct hc_call call = {.op = op};
    struct hc_tensor x = hc_check_vector(check, format, 2);
    struct hc_tensor ones = hc_check_vector(check, format, 2);
    struct hc_tensor sum = hc_check_vector(check, format, 1);
    hc_tensor_set(&ones, 0, 1);
    hc_tensor_set(&ones, 1, 1);
    if (op == HC_OP_gemm) {
        call.in[HC_GEMM_A] = hc_tensor2(format, 1, 2, x.data);
        call.in[HC_GEMM_B] = hc_tensor2(format, 2, 1, ones.data);
        call.out[HC_GEMM_OUT] = hc_tensor2(format, 1, 1, sum.data);
        call.params.gemm.alpha = 1;
    } else if (op == HC_OP_conv2d) {
        call.in[HC_CONV_X] = hc_tensor4(format, 1, 1, 1, 2, x.data);
        call.in[HC_CONV_W] = hc_tensor4(format, 1, 1, 1, 2, ones.data);
        call.out[HC_CONV_Y] = hc_tensor4(format, 1, 1, 1, 1, sum.data);
        call.params.conv.stride = 1;
    } else {
        call.in[HC_REDUCE_X] = x;
        if (op == HC_OP_dot)
            call.in[HC_DOT_Y] = ones;
        call.out[HC_REDUCE_OUT] = sum;
        call.params.reduce.accumulator = HC_FP32;
    }
    return call;
}

static void ends(struct hc_check *check)
{
    static const enum hc_op ops[] = {HC_OP_sum, HC_OP_dot, HC_OP_gemm, HC_OP_conv2d};
    static const enum hc_format formats[] = {HC_FP16, HC_BF16, HC_FP32};
    for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++)
        for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++)
            for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
                struct hc_call call = call_of(check, ops[o], formats[f]);
                hc_tensor_set(&call.in[HC_FIRST], 0, scaled(formats[f], pairs[p].first));
                hc_tensor_set(&call.in[HC_FIRST], 1, scaled(formats[f], pairs[p].second));
                if (hc_do(check, &call) != HC_OK)
                    return;
                hc_claim_value(check, hc_ops[ops[o]].name, pairs[p].want,
                               hc_tensor_get(&call.out[HC_FIRST], 0));
            }
}

/* A matrix product without terms is +0, whatever alpha is. */
static void no_terms(struct hc_check *check)
{
    static const double alphas[] = {1, -1, -0.5, 3};
    static const enum hc_format formats[] = {HC_FP16, HC_BF16, HC_FP32};
    for (int k = 0; k < 12; k++) {
        enum hc_format f = formats[k % 3];
        struct hc_tensor y = hc_check_vector(check, f, 6);
        struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = alphas[k / 3]}};
        call.in[HC_GEMM_A] = hc_tensor2(f, 2, 0, hc_check_memory(check, 1));
        call.in[HC_GEMM_B] = hc_tensor2(f, 0, 3, hc_check_memory(check, 1));
        call.out[HC_GEMM_OUT] = hc_tensor2(f, 2, 3, y.data);
        if (hc_do(check, &call) != HC_OK)
            return;
        for (int i = 0; i < 6; i++)
            hc_claim_value(check, "an empty sum", 0, hc_tensor_get(&call.out[HC_GEMM_OUT], i));
    }
}

static const struct hc_case cases[] = {
    {.name = "products/ends",
     .title = "sums beyond the largest number are infinite, opposed infinities are NaN, NaN stays",
     .source =
         "IEEE 754-2019, sections 6.1, 6.2 and 7.4; contracts in src/op/{reduction,gemm,conv}.h",
     .level = HC_QUICK,
     .run = ends},
    {.name = "products/no-terms",
     .title = "a matrix product without terms is +0, whatever alpha is",
     .source = "contract in src/op/gemm.h",
     .level = HC_QUICK,
     .run = no_terms},
};

HC_CASES(products_ends, cases);
