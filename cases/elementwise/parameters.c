/* Elementwise ops with many values of their scalar. The backends share this arithmetic with
   `exact`, so it is held to MPFR here for more than the one alpha, slope or scale of the generated
   cases. */
#include <math.h>

#include "case.h"

enum { FORMATS = 3, ENDS = 14, N = 48 };

static const enum hc_format formats[FORMATS] = {HC_FP32, HC_FP16, HC_BF16};

/* Element i: zeros, the smallest number, the smallest normal one, 1 and its neighbours, the
   largest, each of the format; then numbers of any size. */
static double number(struct hc_check *check, enum hc_format f, uint64_t stream, int64_t i)
{
    double tiny = hc_format_tiny(f);
    double next = 2 * hc_format_unit(f);
    const double ends[ENDS] = {0,
                               -0.0,
                               tiny,
                               -tiny,
                               3 * tiny,
                               ldexp(1, hc_formats[f].emin),
                               1,
                               1 + next,
                               -1 - next,
                               next / 2 - 1,
                               hc_format_max(f),
                               -hc_format_max(f),
                               (double)INFINITY,
                               -(double)INFINITY};
    if (i < ENDS)
        return ends[i];
    double x = hc_random_normal(hc_check_seed(check), stream, (uint64_t)i);
    return hc_round(f, ldexp(x, (int)(i % 3) * -12));
}

static struct hc_tensor numbers(struct hc_check *check, enum hc_format f, uint64_t stream)
{
    struct hc_tensor t = hc_check_vector(check, f, N);
    for (int64_t i = 0; i < N; i++)
        hc_tensor_set(&t, i, number(check, f, stream, i));
    return t;
}

/* Slopes of 0, of either sign, above 1, and such that the product is subnormal. */
static void slopes(struct hc_check *check)
{
    static const double all[] = {0, -0.0, 0.01, 0.1, 1, -1, -0.5, 2, 1.5, -3, 1e-40, 1.0 / 3};
    for (int s = 0; s < (int)(sizeof all / sizeof all[0]); s++)
        for (int f = 0; f < FORMATS; f++) {
            struct hc_call call = {.op = HC_OP_leaky_relu, .params.leaky = {all[s]}};
            call.in[HC_LEAKY_X] = numbers(check, formats[f], 1);
            call.out[HC_LEAKY_Y] = hc_check_vector(check, formats[(f + s) % FORMATS], N);
            hc_claim_call_met(check, &call);
            struct hc_call back = {.op = HC_OP_leaky_relu_bwd, .params.leaky = {all[s]}};
            back.in[HC_LEAKY_BWD_Y] = numbers(check, formats[f], 2);
            back.in[HC_LEAKY_BWD_DY] = numbers(check, formats[f], 3);
            /* Special values of y meet ordinary dy, and the other way round. */
            for (int64_t i = 0; i < N / 2; i++)
                hc_tensor_set(&back.in[HC_LEAKY_BWD_DY], i, i % 2 ? 0.7 : -1.25);
            back.out[HC_LEAKY_BWD_DX] = hc_check_vector(check, formats[f], N);
            hc_claim_call_met(check, &back);
        }
}

/* Scales: powers of two, other numbers, subnormal ones (whose reciprocal is infinite), and values
   that are no scale. */
static const double scales[] = {65536, 1,        3,        1.0 / 3,          0x1p-24,
                                65504, 1e30,     0x1p120,  0x1p127,          1e-30,
                                1e-40, 0x1p-149, 0x1p-126, 0x1p-127,         (double)3.4028e38F,
                                -2,    0,        -0.0,     (double)INFINITY, (double)NAN};

static void any_scale(struct hc_check *check)
{
    for (int s = 0; s < (int)(sizeof scales / sizeof scales[0]); s++)
        for (int f = 0; f < FORMATS; f++)
            for (int way = 0; way < 3; way++) {
                struct hc_call call = {.op = way < 2 ? HC_OP_unscale : HC_OP_scale};
                call.in[HC_UNSCALE_X] = numbers(check, formats[f], 4);
                call.in[HC_UNSCALE_SCALE] = hc_check_vector(check, HC_FP32, 1);
                hc_tensor_set(&call.in[HC_UNSCALE_SCALE], 0, scales[s]);
                call.out[HC_UNSCALE_OUT] = hc_check_vector(check, formats[(f + s) % FORMATS], N);
                if (way < 2) {
                    call.params.unscale.reciprocal = way == 1;
                    call.out[HC_UNSCALE_NEW_FOUND_INF] = hc_check_vector(check, HC_FP32, 1);
                }
                hc_claim_call_met(check, &call);
            }
}

static void alphas(struct hc_check *check)
{
    static const double all[] = {0,
                                 -0.0,
                                 1,
                                 -1,
                                 -1.1,
                                 1.0 / 3,
                                 0x1p-149,
                                 1e-40,
                                 0x1p-126,
                                 65536,
                                 (double)3.4e38F,
                                 (double)INFINITY,
                                 (double)NAN};
    for (int a = 0; a < (int)(sizeof all / sizeof all[0]); a++)
        for (int f = 0; f < FORMATS; f++) {
            struct hc_call call = {.op = HC_OP_axpy, .params.axpy = {all[a]}};
            call.in[HC_X] = numbers(check, formats[f], 5);
            call.in[HC_Y] = numbers(check, formats[(f + a) % FORMATS], 6);
            for (int64_t i = 0; i < N / 2; i++)
                hc_tensor_set(&call.in[HC_Y], i, i % 2 ? 0.7 : 0);
            call.out[HC_OUT] = hc_check_vector(check, formats[(f + a / 3) % FORMATS], N);
            hc_claim_call_met(check, &call);
        }
}

/* One infinity or NaN among finite elements, of every kind of bits, at the first place, the last,
   and beside the borders of vectors; and the largest finite number, which must not be found. */
static void found(struct hc_check *check)
{
    static const struct {
        uint64_t bits[FORMATS];
        double want;
    } rows[] = {
        {{0x7f800000, 0x7c00, 0x7f80}, 1}, {{0xff800000, 0xfc00, 0xff80}, 1},
        {{0x7fc00000, 0x7e00, 0x7fc0}, 1}, {{0xffc00000, 0xfe00, 0xffc0}, 1},
        {{0x7f800001, 0x7c01, 0x7f81}, 1}, {{0x7fffffff, 0x7fff, 0x7fff}, 1},
        {{0xffffffff, 0xffff, 0xffff}, 1}, {{0x7fa00000, 0x7d55, 0x7fa5}, 1},
        {{0x7f7fffff, 0x7bff, 0x7f7f}, 0}, {{0xff7fffff, 0xfbff, 0xff7f}, 0},
    };
    static const int64_t places[] = {0, 1, 7, 8, 15, 16, 31, 32, 46};
    for (int f = 0; f < FORMATS; f++)
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
            for (size_t p = 0; p < sizeof places / sizeof places[0]; p++) {
                struct hc_call call = {.op = HC_OP_unscale};
                call.in[HC_UNSCALE_X] = hc_check_vector(check, formats[f], 47);
                hc_tensor_set_bits(&call.in[HC_UNSCALE_X], places[p], rows[r].bits[f]);
                call.in[HC_UNSCALE_SCALE] = hc_check_vector(check, HC_FP32, 1);
                hc_tensor_set(&call.in[HC_UNSCALE_SCALE], 0, 1);
                call.out[HC_UNSCALE_OUT] = hc_check_vector(check, HC_FP32, 47);
                call.out[HC_UNSCALE_NEW_FOUND_INF] = hc_check_vector(check, HC_FP32, 1);
                if (hc_do(check, &call) != HC_OK)
                    return;
                hc_claim_value(check, "found", rows[r].want,
                               hc_tensor_get(&call.out[HC_UNSCALE_NEW_FOUND_INF], 0));
            }
}

static const char contract[] = "contract in src/op/elementwise.h";

static const struct hc_case cases[] = {
    {"elementwise/leaky-slopes",
     "leaky ReLU and its gradient are right for slopes of 0, -0, 1, above 1 and below 0", contract,
     .run = slopes},
    {"elementwise/any-scale",
     "scaling and unscaling, divided or by the reciprocal, are right for every scale, subnormal, "
     "infinite and 0 too",
     contract, .run = any_scale},
    {"elementwise/any-alpha", "alpha x + y is rounded once for every alpha", contract,
     .run = alphas},
    {"elementwise/found-inf-alone",
     "one infinity or NaN of any bits is found wherever it stands, and the largest number is not",
     contract, .run = found},
};

HC_CASES(elementwise_parameters, cases);
