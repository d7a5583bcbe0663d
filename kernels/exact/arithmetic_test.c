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
