/* A scaled gradient that is cast to half before it is normalised.

   Muon replaces a gradient matrix by the nearest orthogonal one, with a few Newton-Schulz
   iterations of matrix products in half. The iteration needs a matrix whose singular values are at
   most 1, so the gradient is divided by its norm first, and that makes the result independent of
   the gradient's size. But a gradient under a loss scale of 1e4 has elements beyond 65504. Cast
   first, they are infinite; the norm is infinite; inf / inf is NaN, the NaNs are cleaned to zeros
   further down, and the matrix is never updated again, without any message.

   The rule of thumb: normalise in fp32, then cast. Both arms run the backend's ops: sum_squares,
   scale, cast, and gemm in half with fp32 accumulators. The coefficients are Muon's, of five steps.
   It is the plain iteration; the report's works on the Gram matrix, behind the same cast. */
#include "cases/fixture/bug.h"
#include "cases/fixture/scaling.h"

#include <math.h>

enum { SIDE = 8, CELLS = SIDE * SIDE, ITERATIONS = 5 };

static const double loss_scale = 1e4;
static const double muon[3] = {3.4445, -4.7750, 2.0315};

static struct hc_tensor matrix(struct hc_check *check, enum hc_format format)
{
    return hc_check_tensor(check, hc_tensor2(format, SIDE, SIDE, NULL));
}

/* out = alpha a b + beta c, or alpha a b^T + beta c. */
static bool multiply(struct hc_check *check, const struct hc_tensor *out, const struct hc_tensor *a,
                     const struct hc_tensor *b, bool transpose, double alpha, double beta,
                     const struct hc_tensor *c)
{
    struct hc_call call = {.op = HC_OP_gemm,
                           .in = {[HC_GEMM_A] = *a, [HC_GEMM_B] = *b},
                           .out = {[HC_GEMM_OUT] = *out},
                           .params.gemm = {.transpose_b = transpose, .alpha = alpha, .beta = beta}};
    if (c)
        call.in[HC_GEMM_C] = *c;
    return hc_do(check, &call) == HC_OK;
}

/* X becomes a X + (b A + c A A) X with A = X X^T. */
static bool iterate(struct hc_check *check, struct hc_tensor *x)
{
    struct hc_tensor gram = matrix(check, x->format);
    struct hc_tensor polynomial = matrix(check, x->format);
    struct hc_tensor next = matrix(check, x->format);
    bool done = multiply(check, &gram, x, x, true, 1, 0, NULL) &&
                multiply(check, &polynomial, &gram, &gram, false, muon[2], muon[1], &gram) &&
                multiply(check, &next, &polynomial, x, false, 1, muon[0], x);
    *x = next;
    return done;
}

/* x = g / ||g|| in half; the norm is summed in fp32. */
static bool normalise(struct hc_check *check, const struct hc_tensor *g, const struct hc_tensor *x)
{
    struct hc_tensor squares = hc_check_vector(check, HC_FP32, 1);
    struct hc_call sum = {.op = HC_OP_sum_squares,
                          .in = {[HC_REDUCE_X] = *g},
                          .out = {[HC_REDUCE_OUT] = squares},
                          .params.reduce = {HC_FP32}};
    if (hc_do(check, &sum) != HC_OK)
        return false;
    return hc_scale_into(check, g, 1 / sqrt(hc_tensor_get(&squares, 0)), x) == HC_OK;
}

/* The norm of the update, whose NaNs are cleaned to zeros. */
static double norm_of(const struct hc_tensor *x)
{
    double sum = 0;
    for (int i = 0; i < CELLS; i++)
        if (!isnan(hc_tensor_get(x, i)))
            sum += hc_tensor_get(x, i) * hc_tensor_get(x, i);
    return sqrt(sum);
}

static bool update(struct hc_check *check, const struct hc_tensor *g, bool cast_first,
                   double *infinite, double *norm)
{
    struct hc_tensor half = matrix(check, HC_FP16);
    struct hc_tensor x = matrix(check, HC_FP16);
    struct hc_call cast = {.op = HC_OP_cast, .in = {[HC_X] = *g}, .out = {[HC_OUT] = half}};
    if (cast_first && hc_do(check, &cast) != HC_OK)
        return false;
    if (!normalise(check, cast_first ? &half : g, &x))
        return false;
    *infinite = 0;
    for (int i = 0; i < CELLS; i++)
        *infinite += isinf(hc_tensor_get(&half, i)) != 0;
    for (int i = 0; i < ITERATIONS; i++)
        if (!iterate(check, &x))
            return false;
    *norm = norm_of(&x);
    return true;
}

/* The same in fp64. */
static double real_norm(const struct hc_tensor *g)
{
    double x[CELLS];
    double size = norm_of(g);
    for (int i = 0; i < CELLS; i++)
        x[i] = hc_tensor_get(g, i) / size;
    for (int step = 0; step < ITERATIONS; step++) {
        double gram[CELLS] = {0};
        double next[CELLS] = {0};
        for (int i = 0; i < CELLS; i++)
            for (int k = 0; k < SIDE; k++)
                gram[i] += x[i / SIDE * SIDE + k] * x[i % SIDE * SIDE + k];
        for (int i = 0; i < CELLS; i++)
            next[i] = muon[0] * x[i];
        for (int i = 0; i < CELLS; i++) {
            double p = muon[1] * gram[i];
            for (int k = 0; k < SIDE; k++)
                p += muon[2] * gram[i / SIDE * SIDE + k] * gram[k * SIDE + i % SIDE];
            for (int k = 0; k < SIDE; k++)
                next[i / SIDE * SIDE + k] += p * x[i % SIDE * SIDE + k];
        }
        for (int i = 0; i < CELLS; i++)
            x[i] = next[i];
    }
    double sum = 0;
    for (int i = 0; i < CELLS; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* Five steps do not converge: singular values end between 0.7 and 1.2. A fiftieth is a margin, not
   an error bound: the iteration forgets most of its rounding errors. */
static void orthogonal(struct hc_check *check, struct hc_exhibits *shown)
{
    struct hc_tensor g = matrix(check, HC_FP32);
    double infinite[2];
    double norm[2];
    int beyond = 0;
    for (int i = 0; i < CELLS; i++) {
        hc_tensor_set(&g, i, 5 * loss_scale * hc_random_normal(7, 1, (uint64_t)i));
        beyond += fabs(hc_tensor_get(&g, i)) >= 65520;
    }
    if (!update(check, &g, true, &infinite[0], &norm[0]) ||
        !update(check, &g, false, &infinite[1], &norm[1]))
        return;
    double real = real_norm(&g);
    hc_exhibits_add(shown, "infinite in half", HC_FORMAT_COUNT, infinite[0], infinite[1], 0, 0);
    hc_exhibits_add(shown, "norm of the update", HC_FP16, norm[0], norm[1], real, real / 50);
    hc_claim_value(check, "buggy: elements from 65520 on", beyond, infinite[0]);
}

static const struct hc_case cases[] = {
    HC_BUG("field/cast-before-norm/newton-schulz-cast-before-normalize",
           "Under a loss scale Muon leaves whole matrices at zero, without a message.",
           "deepspeedai/DeepSpeed PR 8533, 'Normalize Gram Newton-Schulz inputs before casting to "
           "fp16', https://github.com/deepspeedai/DeepSpeed/pull/8533; openvpi/DiffSinger PR 301, "
           "'perf(optim): implement Gram Newton-Schulz for Muon'",
           .play = orthogonal, .buggy = {.prints = "-, 0"}, .fixed = {.is = "0, -"},
           .fault = "scale-through-half",
           .lesson =
               "Normalise in fp32, then cast: what is divided by its norm fits into any format."),
};

HC_CASES(field_plays_newton_schulz, cases);
