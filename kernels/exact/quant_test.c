/* quantize, dequantize and delayed_scale of exact: against the reference over random calls, and
   what their contract says of bad input. */
#include <math.h>

#include "kernels/exact/testing.h"
#include "num/rng.h"
#include "op/quant.h"

static const enum hc_format code_formats[] = {HC_E4M3, HC_E5M2, HC_E4M3FNUZ, HC_E5M2FNUZ,
                                              HC_E2M3, HC_E3M2, HC_E2M1};
enum { CODES = sizeof code_formats / sizeof *code_formats };

static struct hc_call quantize(const struct hc_quantize *p, enum hc_format x, enum hc_format codes,
                               int64_t m, int64_t k)
{
    int64_t rows = p->transpose ? k : m;
    int64_t columns = p->transpose ? m : k;
    struct hc_call call = {
        .op = HC_OP_quantize,
        .in = {made(hc_tensor2(x, m, k, NULL))},
        .out = {made(hc_tensor2(codes, rows, columns, NULL)),
                made(hc_tensor2(hc_scale_format(p->rule), hc_quant_blocks(rows, p->rows),
                                hc_quant_blocks(columns, p->columns), NULL)),
                made(hc_tensor1(HC_FP32, 1, NULL)), made(hc_tensor1(HC_FP32, 1, NULL))},
        .params.quantize = *p,
    };
    if (p->rule == HC_SCALE_GIVEN)
        call.in[HC_QUANTIZE_SCALE] = vector_of(HC_FP32, 1, (double[]){3.7});
    return call;
}

static void expect_reference(const struct hc_call *call, const char *what)
{
    for (int o = 0; o < hc_ops[call->op].outputs; o++) {
        const struct hc_tensor *t = &call->out[o];
        for (int64_t i = 0; i < hc_tensor_count(t); i++) {
            uint64_t want = wanted(call, o, i);
            uint64_t got = hc_tensor_bits(t, i);
            cr_assert(same(t->format, want, got), "%s: output %d, element %d: want %x, got %x",
                      what, o, (int)i, (unsigned)want, (unsigned)got);
        }
    }
}

/* Numbers of many sizes, ties of small formats, and now and then one that is none. */
static double drawn(uint64_t seed, uint64_t i, bool specials)
{
    uint64_t r = hc_random(seed, 1, i);
    double x = ldexp(hc_random_normal(seed, 2, i), (int)(r % 16));
    if (r >> 8 & 1)
        x = hc_round(HC_BF16, x);
    if (r >> 16 & 1)
        x = ldexp((double)(r >> 20 & 31), (int)(r >> 32 & 7)) * ((r >> 40 & 1) ? -1 : 1);
    if (specials && (r >> 44 & 31) == 0)
        x = (double[]){(double)INFINITY, -(double)INFINITY, (double)NAN, -0.0}[r >> 50 & 3];
    return x;
}

static void fill(const struct hc_call *call, uint64_t seed, bool specials, int scale)
{
    const struct hc_tensor *x = &call->in[HC_QUANTIZE_X];
    for (int64_t i = 0; i < hc_tensor_count(x); i++)
        hc_tensor_set(x, i, ldexp(drawn(seed, (uint64_t)i, specials), scale));
}

Test(quantize, every_rule_into_every_format_has_the_references_bits)
{
    static const struct hc_quantize shapes[] = {
        {.rows = 1, .columns = 0}, {.rows = 0, .columns = 0},   {.rows = 1, .columns = 16},
        {.rows = 3, .columns = 7}, {.rows = 16, .columns = 16},
    };
    static const enum hc_format inputs[] = {HC_FP32, HC_BF16, HC_FP16};
    for (int rule = 0; rule < HC_SCALE_RULE_COUNT; rule++)
        for (int c = 0; c < CODES; c++)
            for (int how = 0; how < 16; how++) {
                uint64_t seed = hc_random(3, (uint64_t)rule, (uint64_t)(c * 16 + how));
                struct hc_quantize p = shapes[seed % 5];
                bool levels = hc_scale_rules[rule].kind == HC_SCALE_OF_LEVELS;
                p.rule = (enum hc_scale_rule)rule;
                p.transpose = how & 1;
                p.hadamard = how & 2;
                p.random_bits = how & 4 ? 1 + (int)(seed >> 8 & 15) : 0;
                p.seed = seed;
                p.step = (int64_t)(seed >> 16 & 0x7fffffff);
                int64_t inner = p.hadamard ? 32 : 21;
                struct hc_call call = quantize(&p, inputs[seed >> 32 & 1 ? 0 : 1 + (how & 1)],
                                               levels ? HC_E2M1 : code_formats[c],
                                               p.transpose ? inner : 5, p.transpose ? 5 : inner);
                fill(&call, seed, how & 8, (int)(seed >> 40 & 63) * ((how & 8) ? 1 : -1));
                call_exact(&call);
                expect_reference(&call, hc_scale_rule_names[rule]);
            }
}

Test(quantize, an_empty_matrix_has_no_blocks_and_the_amax_0)
{
    struct hc_quantize p = {.rule = HC_SCALE_MX_RP, .rows = 1, .columns = 32};
    struct hc_call call = quantize(&p, HC_FP32, HC_E4M3, 0, 64);
    cr_expect_eq(call.out[HC_QUANTIZE_SCALES].shape[0], 0);
    call_exact(&call);
    cr_expect_eq(hc_tensor_bits(&call.out[HC_QUANTIZE_AMAX], 0), 0);
    cr_expect_eq(hc_tensor_get(&call.out[HC_QUANTIZE_TENSOR], 0), 1);
}

static void expect_codes(const struct hc_call *call, const unsigned *want, int count)
{
    for (int i = 0; i < count; i++)
        cr_expect_eq(hc_tensor_bits(&call->out[HC_QUANTIZE_CODES], i), want[i],
                     "%d: want %x, got %x", i, want[i],
                     (unsigned)hc_tensor_bits(&call->out[HC_QUANTIZE_CODES], i));
}

static struct hc_call given(double multiplier, enum hc_format codes, const double *x, int count)
{
    struct hc_quantize p = {.rule = HC_SCALE_GIVEN};
    struct hc_call call = quantize(&p, HC_FP32, codes, 1, count);
    hc_tensor_set(&call.in[HC_QUANTIZE_SCALE], 0, multiplier);
    for (int i = 0; i < count; i++)
        hc_tensor_set(&call.in[HC_QUANTIZE_X], i, x[i]);
    call_exact(&call);
    return call;
}

Test(quantize, a_multiplier_of_0_or_nan_gives_what_the_contract_says)
{
    static const double x[] = {2, -2, (double)INFINITY, (double)NAN};
    struct hc_call call = given(0, HC_E4M3, x, 4);
    expect_codes(&call, (unsigned[]){0x00, 0x80}, 2);
    cr_expect(isnan(hc_tensor_get(&call.out[HC_QUANTIZE_CODES], 2)));
    cr_expect(isnan(hc_tensor_get(&call.out[HC_QUANTIZE_CODES], 3)));
    cr_expect_eq(hc_tensor_get(&call.out[HC_QUANTIZE_SCALES], 0), (double)INFINITY);
    cr_expect_eq(hc_tensor_get(&call.out[HC_QUANTIZE_AMAX], 0), (double)INFINITY);
    call = given((double)NAN, HC_E5M2, x, 4);
    for (int i = 0; i < 4; i++)
        cr_expect(isnan(hc_tensor_get(&call.out[HC_QUANTIZE_CODES], i)), "%d", i);
    cr_expect(isnan(hc_tensor_get(&call.out[HC_QUANTIZE_SCALES], 0)));
    call = given(-1, HC_E4M3, x, 4);
    expect_codes(&call, (unsigned[]){0xc0, 0x40, 0xfe}, 3);
    cr_expect_eq(hc_tensor_get(&call.out[HC_QUANTIZE_SCALES], 0), -1);
}

Test(quantize, a_nan_becomes_the_largest_number_where_there_is_no_nan)
{
    static const double x[] = {(double)NAN, -(double)NAN, -(double)INFINITY, 1};
    struct hc_call call = given(1, HC_E2M1, x, 4);
    expect_codes(&call, (unsigned[]){0x7, 0x7, 0xf, 0x2}, 4);
    call = given(1, HC_E2M3, x, 4);
    expect_codes(&call, (unsigned[]){0x1f, 0x1f, 0x3f, 0x8}, 4);
    call = given(1, HC_E4M3FNUZ, x, 4);
    expect_codes(&call, (unsigned[]){0x80, 0x80, 0xff, 0x40}, 4);
}

/* Half an ulp goes up by 1 of 2, whatever k is; less than 2^-k of an ulp never does. */
Test(quantize, random_bits_round_up_as_often_as_the_part_that_is_cut_off)
{
    enum { COUNT = 4096 };
    static double x[COUNT];
    for (int k = 1; k <= HC_QUANTIZE_MAX_RANDOM_BITS; k += 3)
        for (int part = 0; part < 3; part++) {
            int up = 0;
            double cut = (double[]){0.5, 0.25, 0x1p-20}[part];
            for (int i = 0; i < COUNT; i++)
                x[i] = 1 + cut / 8;
            struct hc_quantize p = {.rule = HC_SCALE_GIVEN, .random_bits = k, .seed = 11};
            struct hc_call call = quantize(&p, HC_FP32, HC_E4M3, 1, COUNT);
            hc_tensor_set(&call.in[HC_QUANTIZE_SCALE], 0, 1);
            for (int i = 0; i < COUNT; i++)
                hc_tensor_set(&call.in[HC_QUANTIZE_X], i, x[i]);
            call_exact(&call);
            for (int i = 0; i < COUNT; i++)
                up += hc_tensor_bits(&call.out[HC_QUANTIZE_CODES], i) == 0x39;
            double share = part == 2 || (part == 1 && k == 1) ? 0 : cut;
            double deviation = 5 * sqrt(share * (1 - share) * COUNT);
            cr_expect(fabs(up - share * COUNT) <= deviation, "%d bits, %g cut: %d of %d up", k, cut,
                      up, COUNT);
        }
}

Test(dequantize, codes_under_every_scale_have_the_references_bits)
{
    static const enum hc_format scales[] = {HC_FP32, HC_E8M0, HC_UE4M3};
    static const enum hc_format outputs[] = {HC_FP32, HC_BF16, HC_FP16};
    for (int c = 0; c < CODES; c++)
        for (int how = 0; how < 18; how++) {
            struct hc_call call = {
                .op = HC_OP_dequantize,
                .in = {made(hc_tensor2(code_formats[c], 9, 37, NULL)),
                       made(hc_tensor2(scales[how % 3], 5, 3, NULL))},
                .out = {made(hc_tensor2(outputs[how / 3 % 3], 9, 37, NULL))},
                .params.dequantize = {.rows = 2, .columns = 16},
            };
            uint64_t seed = (uint64_t)(c * 18 + how);
            if (how >= 9)
                call.in[HC_DEQUANTIZE_TENSOR] = vector_of(HC_FP32, 1, (double[]){0.0123});
            for (int64_t i = 0; i < hc_tensor_count(&call.in[HC_DEQUANTIZE_CODES]); i++)
                hc_tensor_set_bits(&call.in[HC_DEQUANTIZE_CODES], i,
                                   hc_random(seed, 0, (uint64_t)i) &
                                       ((1u << hc_formats[code_formats[c]].bits) - 1));
            for (int64_t i = 0; i < 15; i++)
                hc_tensor_set(&call.in[HC_DEQUANTIZE_SCALES], i,
                              fabs(drawn(seed, (uint64_t)i, true)));
            call_exact(&call);
            expect_reference(&call, hc_formats[code_formats[c]].name);
        }
}

Test(delayed_scale, every_rule_has_the_references_bits_also_in_place)
{
    for (int rule = 0; rule < HC_DELAYED_RULE_COUNT; rule++)
        for (int how = 0; how < 24; how++) {
            int64_t length = (int64_t[]){1, 4, 16}[how % 3];
            enum { TENSORS = 37 };
            struct hc_call call = {
                .op = HC_OP_delayed_scale,
                .in = {made(hc_tensor1(HC_FP32, TENSORS, NULL)),
                       made(hc_tensor2(HC_FP32, length, TENSORS, NULL)),
                       made(hc_tensor1(HC_FP32, TENSORS, NULL))},
                .out = {made(hc_tensor2(HC_FP32, length, TENSORS, NULL)),
                        made(hc_tensor1(HC_FP32, TENSORS, NULL))},
                .params.delayed_scale = {.rule = (enum hc_delayed_rule)rule,
                                         .codes = how & 1 ? HC_E5M2 : HC_E4M3,
                                         .margin = how % 5 - 2,
                                         .most_recent = how & 2},
            };
            for (int t = 0; t < 3; t++)
                for (int64_t i = 0; i < hc_tensor_count(&call.in[t]); i++)
                    hc_tensor_set(&call.in[t], i,
                                  fabs(drawn((uint64_t)(how * 3 + t), (uint64_t)i, t < 2)));
            call_exact(&call);
            expect_reference(&call, hc_delayed_rule_names[rule]);
            struct hc_call again = call;
            again.out[HC_DELAYED_NEW_HISTORY] = call.in[HC_DELAYED_HISTORY];
            again.out[HC_DELAYED_NEW_SCALE] = call.in[HC_DELAYED_SCALE];
            call_exact(&again);
            for (int o = 0; o < 2; o++)
                for (int64_t i = 0; i < hc_tensor_count(&call.out[o]); i++)
                    cr_assert(same(HC_FP32, hc_tensor_bits(&call.out[o], i),
                                   hc_tensor_bits(&again.out[o], i)));
        }
}
