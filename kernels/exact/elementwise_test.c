#include <math.h>

#include "kernels/exact/testing.h"
#include "num/rng.h"

enum { N = 64 };

/* Zeros, infinities, NaN, subnormals, the borders of the range, 1 and its neighbours, then bits at
   random; both signs. */
static struct hc_tensor awkward(enum hc_format format)
{
    static const double fixed[] = {0, 1, 1.5, 3, 7, 37, 683, 0.1};
    struct hc_tensor t = made(hc_tensor1(format, N, NULL));
    uint64_t max = hc_encode(format, hc_format_max(format), 0, HC_NEAREST);
    uint64_t normal =
        hc_encode(format, 2 / hc_format_unit(format) * hc_format_tiny(format) / 4, 0, HC_NEAREST);
    uint64_t one = hc_encode(format, 1, 0, HC_NEAREST);
    const uint64_t codes[] = {1,       2,       3,   normal - 1, normal,  normal + 1,
                              one - 1, one + 1, max, max - 1,    max + 1, max + 3};
    for (int64_t i = 0; i < N; i++) {
        uint64_t bits = 0;
        if (i < 16)
            bits = hc_encode(format, i & 1 ? -fixed[i / 2] : fixed[i / 2], 0, HC_NEAREST);
        else if (i < 28)
            bits = codes[i - 16];
        else if (i < 40)
            bits = codes[i - 28] | (uint64_t)1 << (hc_formats[format].bits - 1);
        else {
            uint32_t key[2] = {3, (uint32_t)format};
            uint32_t counter[4] = {(uint32_t)i, 0, 0, 0};
            struct hc_philox c = hc_philox(key, counter);
            bits = c.word[0] | (uint64_t)c.word[1] << 32;
        }
        hc_tensor_set_bits(&t, i, bits);
    }
    return t;
}

static void hold(const struct hc_call *call)
{
    enum hc_format f = call->out[HC_OUT].format;
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_OUT]); i++) {
        uint64_t want = wanted(call, 0, i);
        uint64_t got = hc_tensor_bits(&call->out[HC_OUT], i);
        cr_assert(same(f, want, got), "%s %s %a %a %a: want %a, got %a", hc_ops[call->op].name,
                  hc_formats[f].name, hc_tensor_get(&call->in[HC_X], i),
                  call->in[HC_Y].data ? hc_tensor_get(&call->in[HC_Y], i) : 0,
                  call->in[HC_Z].data ? hc_tensor_get(&call->in[HC_Z], i) : 0, hc_decode(f, want),
                  hc_decode(f, got));
    }
}

static const enum hc_format formats[] = {HC_FP16, HC_BF16, HC_FP32, HC_FP64};

Test(arithmetic, two_operands_are_rounded_once)
{
    static const enum hc_op ops[] = {HC_OP_add, HC_OP_sub, HC_OP_mul, HC_OP_div};
    for (int f = 0; f < 4; f++)
        for (int o = 0; o < 4; o++) {
            struct hc_tensor x = awkward(formats[f]);
            struct hc_call call = {.op = ops[o], .in = {x, x}, .out = {x}};
            call.in[HC_Y] = made(x);
            call.out[HC_OUT] = made(x);
            for (int64_t j = 0; j < N; j++) {
                for (int64_t i = 0; i < N; i++)
                    hc_tensor_set_bits(&call.in[HC_Y], i, hc_tensor_bits(&x, j));
                call_exact(&call);
                hold(&call);
            }
        }
}

Test(arithmetic, a_square_root_is_rounded_once)
{
    for (int f = 0; f < 4; f++) {
        struct hc_tensor x = awkward(formats[f]);
        struct hc_call call = {.op = HC_OP_sqrt, .in = {x}, .out = {made(x)}};
        call_exact(&call);
        hold(&call);
    }
}

Test(arithmetic, a_fused_product_and_sum_is_rounded_once)
{
    for (int f = 0; f < 4; f++) {
        struct hc_tensor x = awkward(formats[f]);
        struct hc_call call = {.op = HC_OP_fma, .in = {x, made(x), made(x)}, .out = {made(x)}};
        for (int64_t j = 0; j < N; j++)
            for (int64_t k = 0; k < N; k += 1 + (j & 3)) {
                for (int64_t i = 0; i < N; i++) {
                    hc_tensor_set_bits(&call.in[HC_Y], i, hc_tensor_bits(&x, j));
                    hc_tensor_set_bits(&call.in[HC_Z], i, hc_tensor_bits(&x, k));
                }
                call_exact(&call);
                hold(&call);
            }
    }
}

/* 7 * 37 = 259 lies between 258 and 260; in fp64 the term below is lost, and the tie goes up. */
Test(arithmetic, bf16_fma_knows_what_fp64_has_forgotten)
{
    double x = 7;
    double y = 37;
    double z = -0x1p-100;
    struct hc_call call = {
        .op = HC_OP_fma,
        .in = {vector_of(HC_BF16, 1, &x), vector_of(HC_BF16, 1, &y), vector_of(HC_BF16, 1, &z)},
        .out = {made(hc_tensor1(HC_BF16, 1, NULL))}};
    call_exact(&call);
    cr_assert_eq(hc_tensor_get(&call.out[HC_OUT], 0), 258);
    cr_assert_eq(hc_round(HC_BF16, x * y + z), 260);
}

Test(leaky, below_zero_the_slope_in_fp32_is_multiplied_and_rounded)
{
    double x[] = {3, -4, 0, -0.0, -0x1p-24, INFINITY, -INFINITY};
    double want[] = {3, -0.5, 0, -0.0, -0.0, INFINITY, -INFINITY};
    struct hc_call call = {.op = HC_OP_leaky_relu,
                           .in = {vector_of(HC_FP16, 7, x)},
                           .out = {made(hc_tensor1(HC_FP16, 7, NULL))},
                           .params.leaky.slope = 0.125};
    call_exact(&call);
    for (int i = 0; i < 7; i++)
        cr_assert_eq(hc_fp64_bits(hc_tensor_get(&call.out[HC_LEAKY_Y], i)), hc_fp64_bits(want[i]));
    call.params.leaky.slope = 0.1;
    call_exact(&call);
    cr_assert_eq(hc_tensor_get(&call.out[HC_LEAKY_Y], 1), hc_round(HC_FP16, (double)(-4 * 0.1f)));
}

Test(leaky, zero_is_not_above_zero)
{
    double x = 0;
    struct hc_call call = {.op = HC_OP_leaky_relu,
                           .in = {vector_of(HC_FP32, 1, &x)},
                           .out = {made(hc_tensor1(HC_FP32, 1, NULL))},
                           .params.leaky.slope = -1};
    call_exact(&call);
    cr_assert(signbit(hc_tensor_get(&call.out[HC_LEAKY_Y], 0)));
}

Test(leaky, a_nan_stays_in_both_passes)
{
    double nan = (double)NAN;
    double one = 1;
    struct hc_tensor x = vector_of(HC_BF16, 1, &nan);
    struct hc_call call = {.op = HC_OP_leaky_relu, .in = {x}, .out = {made(x)}};
    call_exact(&call);
    cr_assert(isnan(hc_tensor_get(&call.out[HC_LEAKY_Y], 0)));
    call.op = HC_OP_leaky_relu_bwd;
    call.in[HC_LEAKY_BWD_Y] = vector_of(HC_BF16, 1, &one);
    call.in[HC_LEAKY_BWD_DY] = x;
    call_exact(&call);
    cr_assert(isnan(hc_tensor_get(&call.out[HC_LEAKY_BWD_DX], 0)));
}

Test(leaky, the_gradient_passes_whole_above_zero_only)
{
    double y[] = {2, -2, 0, -0.0};
    double dy[] = {8, 8, 8, 8};
    double want[] = {8, 2, 2, 2};
    struct hc_call call = {.op = HC_OP_leaky_relu_bwd,
                           .in = {vector_of(HC_FP32, 4, y), vector_of(HC_FP32, 4, dy)},
                           .out = {made(hc_tensor1(HC_FP32, 4, NULL))},
                           .params.leaky.slope = 0.25};
    call_exact(&call);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(hc_tensor_get(&call.out[HC_LEAKY_BWD_DX], i), want[i]);
}

Test(scaling, axpy_fuses_in_fp32_and_rounds_into_the_output)
{
    double x = 1 + 0x1p-10;
    double y = -1;
    struct hc_call call = {.op = HC_OP_axpy,
                           .in = {vector_of(HC_FP16, 1, &x), vector_of(HC_BF16, 1, &y)},
                           .out = {made(hc_tensor1(HC_FP32, 1, NULL))},
                           .params.axpy.alpha = 1 + 0x1p-23};
    call_exact(&call);
    /* (1 + 2^-10)(1 + 2^-23) - 1 = 2^-10 + 2^-23 + 2^-33, of which only a fused sum
       keeps the last. */
    cr_assert_eq(hc_tensor_get(&call.out[HC_OUT], 0), 0x1p-10 + 0x1p-23 + 0x1p-33);
    call.out[HC_OUT] = made(hc_tensor1(HC_FP16, 1, NULL));
    call_exact(&call);
    cr_assert_eq(hc_tensor_get(&call.out[HC_OUT], 0), 0x1p-10);
}

Test(scaling, scale_multiplies_in_fp32)
{
    double x[] = {0x1p-24, 3, 60000};
    double s = 512;
    double want[] = {0x1p-15, 1536, INFINITY};
    struct hc_call call = {.op = HC_OP_scale,
                           .in = {vector_of(HC_FP16, 3, x), vector_of(HC_FP32, 1, &s)},
                           .out = {made(hc_tensor1(HC_FP16, 3, NULL))}};
    call_exact(&call);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(hc_tensor_get(&call.out[HC_OUT], i), want[i]);
}

static struct hc_call unscale(enum hc_format from, enum hc_format to, double x, double s,
                              double found)
{
    struct hc_call call = {
        .op = HC_OP_unscale,
        .in = {vector_of(from, 1, &x), vector_of(HC_FP32, 1, &s), vector_of(HC_FP32, 1, &found)},
        .out = {made(hc_tensor1(to, 1, NULL)), made(hc_tensor1(HC_FP32, 1, NULL))}};
    return call;
}

Test(scaling, unscaling_in_half_loses_what_fp32_keeps)
{
    /* 1e-9 * 65536 in half is 1100 * 2^-24 = 6.5565e-5. */
    double scaled = hc_round(HC_FP16, 1e-9 * 65536);
    struct hc_call call = unscale(HC_FP16, HC_FP32, scaled, 65536, 0);
    call_exact(&call);
    cr_assert_eq(hc_tensor_get(&call.out[HC_UNSCALE_OUT], 0), 0x1.13p-14 / 65536);
    call = unscale(HC_FP16, HC_FP16, scaled, 65536, 0);
    call_exact(&call);
    cr_assert_eq(hc_tensor_get(&call.out[HC_UNSCALE_OUT], 0), 0);
}

Test(scaling, division_and_the_rounded_reciprocal_differ)
{
    struct hc_call call = unscale(HC_FP32, HC_FP32, 9, 3, 0);
    call_exact(&call);
    cr_assert_eq(hc_tensor_get(&call.out[HC_UNSCALE_OUT], 0), 3);
    /* Of the integers 41 is the first whose product with its rounded reciprocal is not 1: 1/41 is
       rounded down by more than u / 41. */
    for (int n = 1; n <= 41; n++) {
        call = unscale(HC_FP32, HC_FP32, n, n, 0);
        call.params.unscale.reciprocal = true;
        call_exact(&call);
        cr_assert_eq(hc_tensor_get(&call.out[HC_UNSCALE_OUT], 0), n < 41 ? 1 : 1 - 0x1p-24, "%d",
                     n);
    }
}

Test(scaling, any_infinity_or_nan_is_found_before_the_division_and_found_stays)
{
    static const struct {
        double x, s, found, want;
    } rows[] = {
        {1, 2, 0, 0}, {INFINITY, 2, 0, 1}, {-INFINITY, 2, 0, 1},    {NAN, 2, 0, 1},
        {1, 2, 1, 1}, {1, 2, NAN, 1},      {65504, 0x1p-126, 0, 0}, {1, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hc_call call = unscale(HC_FP32, HC_FP16, rows[i].x, rows[i].s, rows[i].found);
        call_exact(&call);
        cr_assert_eq(hc_tensor_get(&call.out[HC_UNSCALE_NEW_FOUND_INF], 0), rows[i].want, "row %zu",
                     i);
        call.out[HC_UNSCALE_NEW_FOUND_INF] = call.in[HC_UNSCALE_FOUND_INF];
        call_exact(&call);
        cr_assert_eq(hc_tensor_get(&call.in[HC_UNSCALE_FOUND_INF], 0), rows[i].want,
                     "row %zu, in place", i);
    }
}
