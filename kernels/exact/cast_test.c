#include <math.h>
#include <stdio.h>

#include "kernels/exact/testing.h"
#include "num/rng.h"

static uint64_t cast_one(enum hc_format from, uint64_t bits, enum hc_format to,
                         enum hc_direction direction)
{
    struct hc_call call = {.op = HC_OP_cast,
                           .in = {made(hc_tensor1(from, 1, NULL))},
                           .out = {made(hc_tensor1(to, 1, NULL))},
                           .params.cast.direction = direction};
    hc_tensor_set_bits(&call.in[HC_X], 0, bits);
    call_exact(&call);
    return hc_tensor_bits(&call.out[HC_OUT], 0);
}

/* Values and their four results, worked out by hand from the formats' definitions. */
static const struct {
    double value;
    enum hc_format to;
    double want[HC_DIRECTION_COUNT]; /* nearest, toward zero, upward, downward */
} rows[] = {
    {63343.99805, HC_FP16, {63328, 63328, 63360, 63328}},
    {65519.999, HC_FP16, {65504, 65504, INFINITY, 65504}},
    {65520, HC_FP16, {INFINITY, 65504, INFINITY, 65504}},
    {-65520, HC_FP16, {-INFINITY, -65504, -65504, -INFINITY}},
    {0x1p-25, HC_FP16, {0, 0, 0x1p-24, 0}},
    {0x1.0000000000001p-25, HC_FP16, {0x1p-24, 0, 0x1p-24, 0}},
    {-0x1p-200, HC_FP16, {-0.0, -0.0, -0.0, -0x1p-24}},
    {259, HC_BF16, {260, 258, 260, 258}},
    {257, HC_BF16, {256, 256, 258, 256}},
    {1 + 0x1p-24, HC_FP32, {1, 1, 1 + 0x1p-23, 1}},
    {1 + 0x1p-11, HC_TF32, {1, 1, 1 + 0x1p-10, 1}},
    {17, HC_E4M3, {16, 16, 18, 16}},
    {464, HC_E4M3, {448, 448, NAN, 448}},
    {465, HC_E4M3, {NAN, 448, NAN, 448}},
    {9, HC_E5M2, {8, 8, 10, 8}},
    {2.5, HC_I32, {2, 2, 3, 2}},
    {-3.5, HC_I32, {-4, -3, -3, -4}},
    {3e9, HC_I32, {2147483647, 2147483647, 2147483647, 2147483647}},
    {2049, HC_FP64, {2049, 2049, 2049, 2049}},
};

static void hold_row(size_t r, enum hc_format from, uint64_t bits)
{
    for (int d = 0; d < HC_DIRECTION_COUNT; d++) {
        double want = rows[r].want[d];
        double got = hc_decode(rows[r].to, cast_one(from, bits, rows[r].to, (enum hc_direction)d));
        cr_assert((isnan(want) && isnan(got)) || hc_fp64_bits(want) == hc_fp64_bits(got),
                  "%a (%s) to %s %s: want %a, got %a", rows[r].value, hc_formats[from].name,
                  hc_formats[rows[r].to].name, hc_direction_names[d], want, got);
    }
}

Test(cast, each_direction_takes_its_own_neighbour)
{
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        float single = (float)rows[r].value;
        hold_row(r, HC_FP64, hc_fp64_bits(rows[r].value));
        if ((double)single == rows[r].value)
            hold_row(r, HC_FP32, hc_fp32_bits(single));
    }
}

/* The fast conversions to nearest among H, against the definition of the encodings. */
static void hold(enum hc_format from, enum hc_format to, const struct hc_tensor *x, bool saturate)
{
    struct hc_call call = {.op = HC_OP_cast,
                           .in = {*x},
                           .out = {made(hc_tensor1(to, x->shape[0], NULL))},
                           .params.cast.saturate = saturate};
    call_exact(&call);
    for (int64_t i = 0; i < x->shape[0]; i++) {
        uint64_t want = (saturate ? hc_encode_saturated : hc_encode)(
            to, hc_decode(from, hc_tensor_bits(x, i)), 0, HC_NEAREST);
        uint64_t got = hc_tensor_bits(&call.out[HC_OUT], i);
        cr_assert(same(to, want, got), "%s to %s: %llx: want %llx, got %llx", hc_formats[from].name,
                  hc_formats[to].name, (unsigned long long)hc_tensor_bits(x, i),
                  (unsigned long long)want, (unsigned long long)got);
    }
}

Test(cast, to_nearest_from_fp32_fp16_and_bf16_every_16_bit_code_and_many_of_fp32)
{
    static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16};
    enum { N = 65536 };
    uint32_t key[2] = {11, 0};
    for (int f = 0; f < 3; f++) {
        struct hc_tensor x = made(hc_tensor1(formats[f], N, NULL));
        for (uint32_t i = 0; i < N; i++) {
            uint32_t counter[4] = {i, 0, 0, 0};
            struct hc_philox c = hc_philox(key, counter);
            uint32_t below = i & 1 ? c.word[0] : c.word[0] & 0x11001000;
            hc_tensor_set_bits(&x, i, f == 0 ? i << 16 ^ below : i);
        }
        for (int t = 0; t < 3; t++)
            hold(formats[f], formats[t], &x, false);
        for (int t = HC_E4M3; t < HC_I32; t++)
            for (int saturate = 0; saturate < 2; saturate++)
                hold(formats[f], (enum hc_format)t, &x, saturate);
    }
}

Test(cast, a_model_copy_is_the_rounded_master)
{
    double master[] = {1.0001, 70000, 1e-8, 1234.567, -0.0};
    double half[] = {1, INFINITY, 0, 1235, -0.0};
    struct hc_call call = {.op = HC_OP_master_to_model,
                           .in = {vector_of(HC_FP32, 5, master)},
                           .out = {made(hc_tensor1(HC_FP16, 5, NULL))}};
    call_exact(&call);
    for (int i = 0; i < 5; i++)
        cr_assert_eq(hc_fp64_bits(hc_tensor_get(&call.out[HC_OUT], i)), hc_fp64_bits(half[i]));
}

/* "FORMAT K R FP32 CODE", saturating, by gfloat 0.5.2 and by integers. */
Test(cast, with_random_bits_has_the_golden_codes)
{
    FILE *in = fopen(HC_SOURCE "/src/num/golden/stochastic.txt", "r");
    char line[256], name[16];
    unsigned bits, random, x, code;
    int lines = 0;
    cr_assert(in);
    while (fgets(line, sizeof line, in)) {
        if (line[0] == '#')
            continue;
        cr_assert_eq(sscanf(line, "%15s %u %x %x %x", name, &bits, &random, &x, &code), 5);
        struct hc_call call = {.op = HC_OP_stochastic_cast,
                               .params.stochastic_cast = {(int)bits, true}};
        call.in[HC_STOCHASTIC_X] = made(hc_tensor1(HC_FP32, 1, NULL));
        call.in[HC_STOCHASTIC_WORDS] = made(hc_tensor1(HC_I32, 1, NULL));
        call.out[HC_STOCHASTIC_OUT] = made(hc_tensor1(hc_format_by_name(name), 1, NULL));
        hc_tensor_set_bits(&call.in[HC_STOCHASTIC_X], 0, x);
        hc_tensor_set_bits(&call.in[HC_STOCHASTIC_WORDS], 0, random);
        call_exact(&call);
        cr_expect_eq(hc_tensor_bits(&call.out[HC_STOCHASTIC_OUT], 0), code, "%s", line);
        lines++;
    }
    (void)fclose(in);
    cr_expect_eq(lines, 3000);
}
