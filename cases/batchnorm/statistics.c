/* The batch's statistics: how they are taken, counted and added up. */
#include <math.h>

#include "case.h"
#include "cases/fixture/batchnorm.h"
#include "cases/fixture/scalar.h"
#include "check/bound/bound.h"

/* The batch's statistics: two passes in fp32 against shortcuts and against half. */

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

/* What an output of the layer may be off by; in the stated order so much. */
static double held_to(const struct hc_batchnorm *norm, int out, double stated)
{
    const struct hc_backend *backend = hc_check_backend(norm->check);
    struct hc_call call = hc_batchnorm_training(norm);
    struct hc_accumulator sums = hc_backend_accumulator(backend, &call);
    struct hc_element e = {&call, out, 0};
    struct hc_exact want = hc_reference_value(&call, out, 0);
    return backend->free_order ? fmax(hc_bound_any_order(&e, &sums, &want), stated) : stated;
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
    hc_claim_within(check, "two passes: mean", (a + b) / 2, hc_tensor_get(&norm.saved_mean, 0),
                    held_to(&norm, HC_BN_SAVED_MEAN, 0));
    hc_claim_within(check, "two passes: 1/sqrt(var + eps)", right,
                    hc_tensor_get(&norm.saved_invstd, 0),
                    held_to(&norm, HC_BN_SAVED_INVSTD, ldexp(4 * right, -24)));
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
    enum { COUNT_STATISTICS = 4096 };
    for (int f = 0; f < 2; f++) {
        double half = sum(check, COUNT_STATISTICS, 1, formats[f], formats[f], false);
        double single = sum(check, COUNT_STATISTICS, 1, formats[f], HC_FP32, false);
        hc_claim_value(check, "accumulated in 16 bits", ldexp(1, hc_formats[formats[f]].precision),
                       half);
        hc_claim_value(check, "accumulated in fp32", COUNT_STATISTICS, single);
    }
}

/* A whole layer: 4096 half activations, 0.5 and 0.875 in turn. Their sum is 2816, but from 2048 on
   half adds nothing to it: the mean comes out as 0.5. bn_train's fp32 sums are exact (multiples of
   1/8), which leaves eps, one rounding of y below 1 into half, 2^-12, and 8 of fp32 before it. */
static void layer(struct hc_check *check)
{
    enum { COUNT_STATISTICS = 4096 };
    struct hc_batchnorm norm = hc_batchnorm_new(check, HC_FP16, HC_FP32, COUNT_STATISTICS, 1);
    alternate(&norm, 0.5, 0.875);
    double half = 0;
    struct hc_scalar scalar = {.check = check, .format = HC_FP16};
    for (int i = 0; i < COUNT_STATISTICS; i++)
        half = hc_scalar_add(&scalar, half, hc_tensor_get(&norm.x, i));
    half = hc_scalar_div(&scalar, half, COUNT_STATISTICS);
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
    for (int i = 0; i < COUNT_STATISTICS; i += 1023)
        hc_claim_within(check, "y", i % 2 ? -want : want, hc_tensor_get(&norm.y, i),
                        ldexp(1, -12) + ldexp(8, -24));
}

static const char source[] = "PyTorch forums 11815, 'Training with Half Precision': 'make sure "
                             "that the BatchNormalization layers use float32 for accumulation'";

/* Batch norm over more elements than half can count.

   The running variance gets the batch's times M / (M - 1). M is 65,536 at a batch of 256 images of
   16 x 16, and half has neither M, which is infinite there, nor, from 2048 on, both M and M - 1.

   Here x is 1 and -1 in turn, and the last one of an odd number is 0. The sums are integers below
   2^24, and so exact in whatever order they are taken: 0, and M or M - 1. From a running variance
   of 0 and with a momentum of 1 the new one is that number over M - 1. Dividing by M, making
   M / (M - 1) and multiplying rounds three times, by a factor of at most 1 + u each, u = 2^-24; an
   addition of 0 and a product by 1 round nothing. What is wanted is at most 4097 / 4096, so that
   the error is at most 1.00025 ((1 + u)^3 - 1) < 3.01 u. */

static const int64_t count_rows[][4] = {{241, 1, 17, 1}, {256, 16, 16, 1}, {17, 61, 65, 1}};

static void count_beyond_half(struct hc_check *check)
{
    static const enum hc_format formats[] = {HC_FP16, HC_FP32, HC_BF16};
    for (int k = 0; k < 3; k++) {
        const int64_t *d = count_rows[k];
        struct hc_tensor x = hc_tensor4(formats[k], d[0], d[1], d[2], d[3], NULL);
        struct hc_call call = {.op = HC_OP_bn_train, .params.bn = {.eps = 1e-5, .momentum = 1}};
        call.in[HC_BN_X] = hc_check_tensor(check, x);
        call.out[HC_BN_Y] = hc_check_tensor(check, x);
        for (int i = HC_BN_GAMMA; i <= HC_BN_VARIANCE; i++)
            call.in[i] = hc_check_vector(check, HC_FP32, 1);
        for (int o = HC_BN_SAVED_MEAN; o <= HC_BN_NEW_VARIANCE; o++)
            call.out[o] = hc_check_vector(check, HC_FP32, 1);
        hc_tensor_set(&call.in[HC_BN_GAMMA], 0, 1);
        int64_t n = hc_tensor_count(&x);
        int64_t m = n / 2 * 2;
        for (int64_t i = 0; i < m; i++)
            hc_tensor_set(&call.in[HC_BN_X], i, i % 2 ? -1 : 1);
        if (hc_do(check, &call) != HC_OK)
            return;
        double want = (double)m / (double)(n - 1);
        hc_claim_value(check, "mean", 0, hc_tensor_get(&call.out[HC_BN_NEW_MEAN], 0));
        hc_claim_within(check, "running variance", want,
                        hc_tensor_get(&call.out[HC_BN_NEW_VARIANCE], 0), 3.01 * 0x1p-24);
    }
}

/* Batch norm of batches whose last rows are unlike the others. A kernel that takes
   statistics chunk by chunk must weigh each chunk's mean by its own rows, and the last chunk is
   short. Values are
   small integers, so that mean and variance are known: with a rows of 0 and b rows of d, M = a + b,
     mean = b d / M,    var = a b d^2 / M^2.
   Any order of M additions in fp32 is off by M u of their sum of magnitudes (Higham, Accuracy and
   Stability of Numerical Algorithms, section 4.2), here the sum itself: all terms have one sign.
   The mean's error e adds M e^2 to the squares, (M u)^2 of them at most, and what follows is a
   handful of roundings: 2 M u holds for all three. A chunk's mean that is weighed by a whole
   chunk's rows is off by hundreds of times the variance. */

enum { CHANNELS = 4 };

struct batch {
    int64_t rows;
    int64_t
        last; /* rows at the end, whose elements are the channel's number + 1; all others are 0 */
};

/* Around powers of two of elements, and far from them. */
static const struct batch batches[] = {{40, 3},    {1031, 7},   {2048, 1},  {8192, 8},
                                       {8197, 5},  {16389, 5},  {20000, 1}, {33000, 232},
                                       {65541, 5}, {70001, 100}};

static void claim_statistics(struct hc_check *check, const struct hc_call *call,
                             const struct batch *b)
{
    double m = (double)b->rows;
    double off = 2 * m * 0x1p-24;
    for (int c = 0; c < CHANNELS; c++) {
        double d = c + 1;
        double mean = (double)b->last * d / m;
        double var = (double)(b->rows - b->last) * (double)b->last * d * d / (m * m);
        double invstd = 1 / sqrt(var + call->params.bn.eps);
        double unbiased = var * m / (m - 1);
        hc_claim_within(check, "mean", mean, hc_tensor_get(&call->out[HC_BN_SAVED_MEAN], c),
                        off * mean);
        hc_claim_within(check, "1 / deviation", invstd,
                        hc_tensor_get(&call->out[HC_BN_SAVED_INVSTD], c), off * invstd);
        hc_claim_within(check, "running variance", 0.5 + 0.5 * unbiased,
                        hc_tensor_get(&call->out[HC_BN_NEW_VARIANCE], c),
                        off * (0.5 + 0.5 * unbiased));
    }
}

static void last_rows(struct hc_check *check)
{
    for (size_t k = 0; k < sizeof batches / sizeof batches[0]; k++) {
        const struct batch *b = &batches[k];
        struct hc_call call = {.op = HC_OP_bn_train, .params.bn = {1e-5, 0.5, 0}};
        struct hc_tensor x =
            hc_check_tensor(check, hc_tensor4(HC_FP32, b->rows, 1, 1, CHANNELS, NULL));
        call.in[HC_BN_X] = x;
        call.out[HC_BN_Y] = hc_check_tensor(check, x);
        for (int i = 1; i < 5; i++) {
            call.in[i] = hc_check_vector(check, HC_FP32, CHANNELS);
            call.out[i] = hc_check_vector(check, HC_FP32, CHANNELS);
        }
        for (int c = 0; c < CHANNELS; c++) {
            hc_tensor_set(&call.in[HC_BN_GAMMA], c, 1);
            hc_tensor_set(&call.in[HC_BN_VARIANCE], c, 1);
        }
        for (int64_t i = (b->rows - b->last) * CHANNELS; i < b->rows * CHANNELS; i++)
            hc_tensor_set(&x, i, (double)(i % CHANNELS + 1));
        if (hc_do(check, &call) != HC_OK)
            return;
        claim_statistics(check, &call, b);
    }
}

/* The sums of batch norm over whole numbers, which fill fp32's 24 bits and never leave them: no
   partial sum is rounded in whatever order, so the results are settled.

   A lane that keeps 20 bits may hide: sixteen lanes share a sum of 24 bits, and each has 20. So all
   that counts lies in one of `stride` elements here, or in one stretch of so many, wherever a
   kernel's lanes lie, and the others are 0 off the mean. The numbers of elements are powers of two,
   so that means are exact, too: nothing is rounded at all.

   bn_moments: x is 3 plus or minus a, in pairs, with odd a; the mean is 3, the variance is
   sum(a^2) / M, and the sum of squares stays below 2^24. bn_bwd_sums: x - mean is 1, or in one
   channel -1 at each third element, and invstd is 1; dy is a, so that dbeta is the sum of a, and
   dgamma that with those signs, each below 2^24. */

enum { ELEMENTS = 4096, CHANNELS_WHOLE = 3, MEAN = 3 };

static const int strides[] = {1, 4, 8, 16, 32, 64};

/* Whether element i has a share in the sums: one in `stride`, or the first of so many parts. */
static bool counts_whole(int64_t i, int stride, bool stretch)
{
    return stretch ? i < ELEMENTS / stride : i % stride == stride / 2;
}

/* Odd numbers up to `most`, drawn anew for each channel. */
static double odd(const struct hc_check *check, int64_t i, int channel, double most)
{
    double u = hc_random_uniform(hc_check_seed(check), 40 + (uint64_t)channel, (uint64_t)i);
    return 2 * floor((most / 2 - 1) * (0.5 + u / 2)) + 1;
}

static bool moments(struct hc_check *check, int stride, bool stretch, struct hc_comparisons *all)
{
    struct hc_call call = {.op = HC_OP_bn_moments};
    struct hc_tensor x =
        hc_check_tensor(check, hc_tensor4(HC_FP32, 1, 1, ELEMENTS, CHANNELS_WHOLE, NULL));
    call.in[HC_BN_MOMENTS_X] = x;
    call.out[HC_BN_MOMENTS_MEAN] = hc_check_vector(check, HC_FP32, CHANNELS_WHOLE);
    call.out[HC_BN_MOMENTS_VARIANCE] = hc_check_vector(check, HC_FP32, CHANNELS_WHOLE);
    double squares[CHANNELS_WHOLE] = {0};
    double most = floor(sqrt(0x1p24 * stride / ELEMENTS));
    for (int c = 0; c < CHANNELS_WHOLE; c++) {
        int64_t pair = 0;
        double a = 0;
        for (int64_t i = 0; i < ELEMENTS; i++) {
            bool own = counts_whole(i, stride, stretch);
            a = own && pair % 2 == 0 ? odd(check, i, c, most) : a;
            double part = !own ? 0 : pair++ % 2 ? -a : a;
            squares[c] += part * part;
            hc_tensor_set(&x, i * CHANNELS_WHOLE + c, MEAN + part);
        }
    }
    if (hc_do(check, &call) != HC_OK)
        return false;
    for (int c = 0; c < CHANNELS_WHOLE; c++) {
        double mean = hc_tensor_get(&call.out[HC_BN_MOMENTS_MEAN], c);
        double variance = hc_tensor_get(&call.out[HC_BN_MOMENTS_VARIANCE], c);
        all->checked += 2;
        if (mean != MEAN)
            hc_comparisons_wrong(all, "one %s of %d: want mean 3, got %.9g",
                                 stretch ? "stretch" : "element", stride, mean);
        if (variance != squares[c] / ELEMENTS)
            hc_comparisons_wrong(all, "one %s of %d: want variance %.9g, got %.9g",
                                 stretch ? "stretch" : "element", stride, squares[c] / ELEMENTS,
                                 variance);
    }
    return true;
}

static bool sums(struct hc_check *check, int stride, bool stretch, struct hc_comparisons *all)
{
    struct hc_call call = {.op = HC_OP_bn_bwd_sums};
    struct hc_tensor x =
        hc_check_tensor(check, hc_tensor4(HC_FP32, 1, 1, ELEMENTS, CHANNELS_WHOLE, NULL));
    struct hc_tensor dy = hc_check_tensor(check, x);
    call.in[HC_BN_BWD_SUMS_X] = x;
    call.in[HC_BN_BWD_SUMS_DY] = dy;
    for (int i = HC_BN_BWD_SUMS_MEAN; i <= HC_BN_BWD_SUMS_INVSTD; i++)
        call.in[i] = hc_check_vector(check, HC_FP32, CHANNELS_WHOLE);
    call.out[HC_BN_BWD_SUMS_DGAMMA] = hc_check_vector(check, HC_FP32, CHANNELS_WHOLE);
    call.out[HC_BN_BWD_SUMS_DBETA] = hc_check_vector(check, HC_FP32, CHANNELS_WHOLE);
    double want[2][CHANNELS_WHOLE] = {{0}};
    double most = floor(0x1p24 * stride / ELEMENTS);
    for (int c = 0; c < CHANNELS_WHOLE; c++) {
        hc_tensor_set(&call.in[HC_BN_BWD_SUMS_MEAN], c, MEAN);
        hc_tensor_set(&call.in[HC_BN_BWD_SUMS_INVSTD], c, 1);
        for (int64_t i = 0; i < ELEMENTS; i++) {
            double side = c == 1 && i % 3 == 0 ? -1 : 1;
            double g = counts_whole(i, stride, stretch) ? odd(check, i, c, most) : 0;
            hc_tensor_set(&x, i * CHANNELS_WHOLE + c, MEAN + side);
            hc_tensor_set(&dy, i * CHANNELS_WHOLE + c, g);
            want[0][c] += side * g;
            want[1][c] += g;
        }
    }
    if (hc_do(check, &call) != HC_OK)
        return false;
    for (int o = HC_BN_BWD_SUMS_DGAMMA; o <= HC_BN_BWD_SUMS_DBETA; o++)
        for (int c = 0; c < CHANNELS_WHOLE; c++) {
            double right = want[o == HC_BN_BWD_SUMS_DBETA][c];
            double got = hc_tensor_get(&call.out[o], c);
            all->checked++;
            if (got != right)
                hc_comparisons_wrong(all, "one %s of %d: want %s %.9g, got %.9g",
                                     stretch ? "stretch" : "element", stride,
                                     o == HC_BN_BWD_SUMS_DBETA ? "dbeta" : "dgamma", right, got);
        }
    return true;
}

typedef bool one_call(struct hc_check *check, int stride, bool stretch, struct hc_comparisons *all);

static void each(struct hc_check *check, one_call *call)
{
    struct hc_comparisons all = {.what = "sums"};
    for (size_t s = 0; s < sizeof strides / sizeof *strides; s++)
        for (int stretch = 0; stretch < (strides[s] > 1 ? 2 : 1); stretch++)
            if (!call(check, strides[s], stretch, &all))
                return;
    hc_claim_comparisons(check, &all);
}

static void run_moments(struct hc_check *check)
{
    each(check, moments);
}

static void run_sums(struct hc_check *check)
{
    each(check, sums);
}

static const struct hc_case cases[] = {
    {"batchnorm/one-pass-variance",
     "E[x^2] - E[x]^2 gives a variance of 0 in fp32 and -8 in half where two passes give 1 and "
     "2.25",
     "Chan, Golub and LeVeque, Algorithms for computing the sample variance, 1983",
     .run = one_pass_variance},
    {"batchnorm/statistics-overflow-in-half",
     "sums and sums of squares beyond 65504 are infinite in half, exact in fp32",
     "fast.ai forums, 'I think to_fp16 behaves in a weird way internally' on norms that are left "
     "in half; brainchop-cli PR 56, 'compute fp16 GroupNorm variance in f32 to prevent overflow'",
     .run = overflows},
    {"batchnorm/statistics-stall-in-half", "4096 ones sum to 2048 in half and to 256 in bf16",
     source, .run = sums_stall},
    {"batchnorm/layer-in-half-and-fp32",
     "statistics of 4096 activations: in half the mean is wrong by more than 1 %, in fp32 right",
     source, .run = layer},
    {"batchnorm/count-beyond-half",
     "the running variance's M / (M - 1) is right beyond 2048 and 65,504 elements",
     "tensorflow/tensorflow PR 30230, 'XLA - Batch Norm - Bessel's correction generates NaNs in "
     "FP16', https://github.com/tensorflow/tensorflow/pull/30230",
     .level = HC_STANDARD, .run = count_beyond_half},
    {"batchnorm/last-rows-unlike-the-others",
     "statistics of batches whose last rows are unlike the others weigh every row alike",
     "Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample "
     "variances, 1979",
     .run = last_rows},
    {"batchnorm/whole-moments",
     "mean and variance of whole numbers keep fp32's 24 bits, in whatever lane they lie",
     "contract in src/op/norm.h: sums are taken in fp32", .level = HC_STANDARD, .run = run_moments},
    {"batchnorm/whole-gradient-sums",
     "a rank's sums of gradients over whole numbers keep fp32's 24 bits, in any lane",
     "contract in src/op/norm.h: sums are taken in fp32", .level = HC_STANDARD, .run = run_sums},
};

HC_CASES(batchnorm_statistics, cases);
