/* The batch's statistics: two passes in fp32 against shortcuts and against half. */
#include "cases/fixture/batchnorm.h"
#include "cases/fixture/scalar.h"

#include <math.h>

/* Two values in turn, so that mean and variance are exact: their midpoint, and the square of half
   their distance. */
static void alternate(struct hc_batchnorm *norm, double a, double b)
{
    for (int64_t i = 0; i < hc_tensor_count(&norm->x); i++)
        hc_tensor_set(&norm->x, i, i % 2 ? a : b);
}

/* E[x^2] - E[x]^2, every operation rounded into the format. */
static double one_pass(struct hc_scalar *scalar, const struct hc_tensor *x)
{
    int64_t n = hc_tensor_count(x);
    double sum = 0;
    double squares = 0;
    for (int64_t i = 0; i < n; i++) {
        double value = hc_tensor_get(x, i);
        sum = hc_scalar_add(scalar, sum, value);
        squares = hc_scalar_add(scalar, squares, hc_scalar_mul(scalar, value, value));
    }
    double mean = hc_scalar_div(scalar, sum, (double)n);
    double of_squares = hc_scalar_div(scalar, squares, (double)n);
    if (scalar->check)
        hc_say(scalar->check, "%s: E[x] = %.8g, E[x^2] = %.10g, E[x]^2 = %.10g",
               hc_formats[scalar->format].name, mean, of_squares,
               hc_scalar_mul(scalar, mean, mean));
    return hc_scalar_sub(scalar, of_squares, hc_scalar_mul(scalar, mean, mean));
}

/* Buggy arm: one pass. Fixed arm: bn_train's two passes on the same numbers, whose 1/sqrt(var +
   eps) is held to 4 u (eps, sum, root, quotient; mean and variance are exact). */
static void variance(struct hc_check *check, enum hc_format format, double a, double b,
                     double claimed)
{
    struct hc_batchnorm norm = hc_batchnorm_new(check, format, HC_FP32, 8, 1);
    struct hc_scalar got = {.check = check, .format = format};
    struct hc_scalar definition = {.format = format};
    alternate(&norm, a, b);
    double want = one_pass(&definition, &norm.x);
    double naive = one_pass(&got, &norm.x);
    if (got.failed || hc_batchnorm_train(&norm) != HC_OK)
        return;
    struct hc_real *x = hc_real_new((a - b) * (a - b) / 4);
    struct hc_real *y = hc_real_new(norm.params.eps);
    hc_real_add(x, x, y);
    hc_real_sqrt(x, x);
    hc_real_set(y, 1);
    hc_real_div(x, y, x);
    double right = hc_real_double(x);
    hc_real_free(x);
    hc_real_free(y);
    hc_say(check, "%s, %g and %g in turn: one pass %g, real %g", hc_formats[format].name, a, b,
           naive, (a - b) * (a - b) / 4);
    hc_claim_value(check, "one pass, by its definition", want, naive);
    hc_claim_value(check, "one pass, as claimed", claimed, naive);
    hc_claim_value(check, "two passes: mean", (a + b) / 2, hc_tensor_get(&norm.saved_mean, 0));
    hc_claim_within(check, "two passes: 1/sqrt(var + eps)", right,
                    hc_tensor_get(&norm.saved_invstd, 0), ldexp(4 * right, -24));
}

static void one_pass_variance(struct hc_check *check)
{
    variance(check, HC_FP32, 10001, 9999, 0);
    variance(check, HC_FP16, 65, 63, 0);
    variance(check, HC_FP16, 84, 87, -8);
}

/* The op sum (or dot of x with itself) over n equal elements, with that accumulator and an fp32
   result. */
static double sum(struct hc_check *check, int64_t n, double value, enum hc_format format,
                  enum hc_format accumulator, bool squares)
{
    struct hc_call call = {.op = squares ? HC_OP_dot : HC_OP_sum,
                           .params.reduce.accumulator = accumulator};
    call.in[HC_REDUCE_X] = hc_check_vector(check, format, n);
    call.in[HC_DOT_Y] = call.in[HC_REDUCE_X];
    call.out[HC_REDUCE_OUT] = hc_check_vector(check, HC_FP32, 1);
    for (int64_t i = 0; i < n; i++)
        hc_tensor_set(&call.in[HC_REDUCE_X], i, value);
    if (hc_do(check, &call) != HC_OK)
        return (double)NAN;
    double got = hc_tensor_get(&call.out[HC_REDUCE_OUT], 0);
    hc_say(check, "%s of %lld times %g, accumulated in %s: %g", squares ? "sum of squares" : "sum",
           (long long)n, value, hc_formats[accumulator].name, got);
    return got;
}

struct overflow {
    int64_t n;
    double value;
    bool squares;
};

/* Beyond 65504. Every partial result in fp32 is an integer below 2^24, so fp32 is exact. */
static void overflows(struct hc_check *check)
{
    static const struct overflow rows[] = {{70, 1000, false}, {1024, 8, true}, {1, 256, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct overflow *r = &rows[i];
        double half = sum(check, r->n, r->value, HC_FP16, HC_FP16, r->squares);
        double single = sum(check, r->n, r->value, HC_FP16, HC_FP32, r->squares);
        double want = (double)r->n * r->value * (r->squares ? r->value : 1);
        hc_claim_value(check, "accumulated in half", (double)INFINITY, half);
        hc_claim_value(check, "accumulated in fp32", want, single);
    }
}

/* 1 + 1 + ...: a sum in p bits stops at 2^p, where the next 1 is half an ulp and the tie goes to
   the even sum. */
static void sums_stall(struct hc_check *check)
{
    static const enum hc_format formats[] = {HC_FP16, HC_BF16};
    enum { COUNT = 4096 };
    for (int f = 0; f < 2; f++) {
        double half = sum(check, COUNT, 1, formats[f], formats[f], false);
        double single = sum(check, COUNT, 1, formats[f], HC_FP32, false);
        hc_claim_value(check, "accumulated in 16 bits", ldexp(1, hc_formats[formats[f]].precision),
                       half);
        hc_claim_value(check, "accumulated in fp32", COUNT, single);
    }
}

/* A whole layer: 4096 half activations, 0.5 and 0.875 in turn. Their sum is 2816, but from 2048 on
   half adds nothing to it: the mean comes out as 0.5. bn_train's fp32 sums are exact (multiples of
   1/8), which leaves eps, one rounding of y below 1 into half, 2^-12, and 8 of fp32 before it. */
static void layer(struct hc_check *check)
{
    enum { COUNT = 4096 };
    struct hc_batchnorm norm = hc_batchnorm_new(check, HC_FP16, HC_FP32, COUNT, 1);
    alternate(&norm, 0.5, 0.875);
    double half = 0;
    struct hc_scalar scalar = {.check = check, .format = HC_FP16};
    for (int i = 0; i < COUNT; i++)
        half = hc_scalar_add(&scalar, half, hc_tensor_get(&norm.x, i));
    half = hc_scalar_div(&scalar, half, COUNT);
    if (scalar.failed || hc_batchnorm_train(&norm) != HC_OK)
        return;
    hc_say(check, "mean of 4096 activations 0.5 and 0.875: %g in half, %g in fp32", half,
           hc_tensor_get(&norm.saved_mean, 0));
    hc_claim_true(check, "in half the mean is wrong by more than 1 %", fabs(half - 0.6875) > 0.01);
    hc_claim_value(check, "in fp32 the mean", 0.6875, hc_tensor_get(&norm.saved_mean, 0));
    struct hc_real *x = hc_real_new(0.1875 * 0.1875 + norm.params.eps);
    struct hc_real *y = hc_real_new(0.1875);
    hc_real_sqrt(x, x);
    hc_real_div(x, y, x);
    double want = hc_real_double(x);
    hc_real_free(x);
    hc_real_free(y);
    for (int i = 0; i < COUNT; i += 1023)
        hc_claim_within(check, "y", i % 2 ? -want : want, hc_tensor_get(&norm.y, i),
                        ldexp(1, -12) + ldexp(8, -24));
}

static const char source[] = "PyTorch forums 11815, 'Training with Half Precision': 'make sure "
                             "that the BatchNormalization layers use float32 for accumulation'";

static const struct hc_case cases[] = {
    {.name = "batchnorm/one-pass-variance",
     .title = "E[x^2] - E[x]^2 gives a variance of 0 in fp32 and -8 in half where two passes give "
              "1 and 2.25",
     .source = "Chan, Golub and LeVeque, Algorithms for computing "
               "the sample variance, 1983",
     .run = one_pass_variance},
    {.name = "batchnorm/statistics-overflow-in-half",
     .title = "sums and sums of squares beyond 65504 are infinite in half, exact in fp32",
     .source = "fast.ai forums, 'I think to_fp16 behaves in a weird way internally' on norms that "
               "are left in half; brainchop-cli PR 56, 'compute fp16 GroupNorm variance in f32 to "
               "prevent overflow'",
     .run = overflows},
    {.name = "batchnorm/statistics-stall-in-half",
     .title = "4096 ones sum to 2048 in half and to 256 in bf16",
     .source = source,
     .run = sums_stall},
    {.name = "batchnorm/layer-in-half-and-fp32",
     .title = "statistics of 4096 activations: in half the mean is wrong by more than 1 %, in fp32 "
              "right",
     .source = source,
     .run = layer},
};

HC_CASES(batchnorm_statistics, cases);
