/* Scale rules in formulas: known numbers, the bits of the op quantize on the backend exact, which
   has the rules in another statement, and texts that are refused. */
#include "backend.h"
#include "formula/testing.h"
#include "num/bits.h"
#include "op/quant.h"

static double show_in(const char *in, const char *formula, const char *shown)
{
    struct trial t = begin(in, formula);
    double want = want_of(&t, shown);
    finish(&t);
    return want;
}

static uint32_t bits_of(const char *shown)
{
    return hc_fp32_bits((float)show_in("fp32", "", shown));
}

/* TransformerEngine's fused and unfused scales of 3 are an ulp apart. */
Test(scale, a_scale_is_what_the_system_keeps)
{
    cr_expect_eq(bits_of("scale(te-current, e4m3, 3)"), 0x43155555);
    cr_expect_eq(bits_of("scale(te-delayed, e4m3, 3)"), 0x43155555);
    cr_expect_eq(bits_of("scale(te-delayed-unfused, e4m3, 3)"), 0x43155556);
    cr_expect_eq(bits_of("scale(torchao, e4m3, 0)"), 0x57cbba10);
    cr_expect_eq(bits_of("scale(te-current, e4m3, [0, -3, nan])"), 0x43155555, "NaN is dropped");
    cr_expect_eq(want_in("fp32", "scale(te-current, e4m3, inf)"), 1);
    cr_expect_eq(want_in("fp32", "scale(te-reference, e4m3, inf)"), 0);
    cr_expect_eq(want_in("fp32", "scale(mx-floor, e4m3, 957)"), 2);
    cr_expect_eq(want_in("fp32", "scale(mx-rp, e4m3, 957)"), 4);
    cr_expect_eq(want_in("fp32", "scale(mx-floor, e2m1, 957)"), 128);
    cr_expect_eq(want_in("fp32", "encode_scale(mx-rp, e4m3, 957)"), 0.25);
    cr_expect_eq(want_in("fp32", "scale(deepgemm-ue8m0, e4m3, 448)"), 1);
    cr_expect(isnan(want_in("fp32", "scale(torchao-rceil, e4m3, inf)")));
    cr_expect_eq(want_in("fp16", "scale(te-current, e4m3, 1e-8)"), 1, "1e-8 is 0 in fp16");
    cr_expect_eq(want_in("fp64", "scale(mx-floor, e4m3, 1 - 2^-30)"), 0x1p-8, "1 in fp32");
}

Test(scale, what_is_decoded_again_is_real_as_it_was)
{
    struct trial t = begin("fp32", "x = [957, 0.1]; y = fake_quantize(mx-floor, e4m3, x)\n"
                                   "z = x * encode_scale(te-current, e4m3, x)"
                                   " * decode_scale(te-current, e4m3, x)");
    const struct hc_value *y = value_of(&t, "y");
    cr_expect_eq(y->want[0], 896);
    cr_expect_eq(hc_real_double(y->real[0]), 957);
    /* 957 - 896 = 61; half an ulp of fp32 near 957, 2^-15, is far below a tenth. */
    cr_expect_geq(y->rad[0], 61);
    cr_expect_lt(y->rad[0], 61.1);
    const struct hc_value *z = value_of(&t, "z");
    cr_expect_eq(hc_real_double(z->real[1]), 0.1, "scales are reciprocals as real numbers");
    cr_expect_geq(z->rad[1], fabs(z->want[1] - 0.1));
    finish(&t);
}

/* A tensor of 100 has S = 26.88, so the block's ue4m3 scale is 26 for 26.88, and 6 is 6.2 under it,
   for which e2m1 has 6. */
Test(scale, two_levels_take_the_block_and_the_tensor)
{
    double want = 6 * 26 / 26.88;
    struct trial t = begin("fp32", "x = [0.1, 0.2, 6]; y = fake_quantize(nvfp4-te, e2m1, x, 100)");
    cr_expect_eq(want_of(&t, "decode_scale(nvfp4-te, e2m1, x, [1, -100])"), 26);
    cr_expect_float_eq(want_of(&t, "tensor_scale(nvfp4-te, e2m1, 100)"), 1 / 26.88, 1e-8);
    cr_expect_float_eq(value_of(&t, "y")->want[2], want, 1e-6);
    finish(&t);
}

/* One infinity holds the scale for as many steps as the window has. */
Test(scale, delayed_scales_follow_a_list_of_amaxes)
{
    static const double want[] = {448, 224, 224, 224, 224, 224, 224, 56};
    struct trial t = begin("fp32", "s = scale(te-delayed, e4m3, [1, 2, inf, 0, 3, 4, 4, 8], 4)");
    const struct hc_value *s = value_of(&t, "s");
    cr_assert_eq(s->n, 8);
    for (int i = 0; i < 8; i++)
        cr_expect_eq(s->want[i], want[i], "step %d: want %g, got %g", i, want[i], s->want[i]);
    cr_expect_eq(show_in("fp32", "", "scale(flax-delayed, e4m3, [896, 1], 4)[1]"), 2);
    finish(&t);
}

Test(scale, scale_is_also_a_name)
{
    cr_expect_eq(show_in("fp16", "scale = 3; quantize := 2; y = scale * quantize", "y"), 6);
    cr_expect_eq(show_in("fp16", "scale = 3; y = scale(mx-floor, e4m3, 448*scale)", "y"), 4);
    cr_expect_eq(show_in("fp32", "s := scale(mx-floor, e4m3, 448); y = 2^-s", "y"), 0.5);
}

/* A constant takes the format of what it meets, also if it is a scale: 2049 is 2048 in fp16. */
Test(scale, a_constant_scale_has_no_format)
{
    struct trial t = begin("fp16", "s := scale(mx-floor, e4m3, 448)\nx = 2049; y = x * s");
    cr_expect_eq(value_of(&t, "y")->format, HC_FP16);
    cr_expect_eq(want_of(&t, "y"), 2048);
    finish(&t);
}

/* In a sum each term is a block of its own, also where others are computed at once. */
Test(scale, a_term_of_a_sum_is_a_block)
{
    cr_expect_eq(want_in("fp32", "sum(3, scale(mx-floor, e4m3, 256 * 2^i))"), 7);
}

static const char *const blocks[] = {
    "[957, 1, -2, 3e-3]",
    "[0, 0, 0]",
    "[1e-38, -3e-39, 1e-45]",
    "[3e38, 1, inf]",
    "[nan, 5, 6, 7]",
    "[1.5, 2.7, 5.5, 1.2, 0.3, -0.75, 6]",
    "[448, 464, 3.5e-5, 0.015]",
    "[1e30, 1, -1e-30]",
};

static enum hc_status run_call(const struct hc_call *call, void *context)
{
    static char scratch[4096];
    const struct hc_backend *exact = hc_backend_by_name("exact");
    struct hc_call with_scratch = *call;
    cr_assert(!exact->scratch || exact->scratch(context, call) <= sizeof scratch);
    with_scratch.scratch = scratch;
    return exact->kernel[call->op](context, &with_scratch);
}

/* What the ops quantize and dequantize make of one block. */
static void by_ops(struct hc_queue *queue, enum hc_scale_rule rule, enum hc_format format,
                   const struct hc_value *x, double *codes, double *decoded)
{
    uint32_t in[8], code[8], out[8], scales, tensor, amax;
    struct hc_tensor q = hc_tensor2(format, 1, x->n, code);
    struct hc_tensor y = hc_tensor2(HC_FP32, 1, x->n, out);
    struct hc_tensor s = hc_tensor2(hc_scale_format(rule), 1, 1, &scales);
    struct hc_tensor t = hc_tensor1(HC_FP32, 1, &tensor);
    struct hc_call quantize = {.op = HC_OP_quantize,
                               .in = {[HC_QUANTIZE_X] = hc_tensor2(x->format, 1, x->n, in)},
                               .out = {[HC_QUANTIZE_CODES] = q,
                                       [HC_QUANTIZE_SCALES] = s,
                                       [HC_QUANTIZE_TENSOR] = t,
                                       [HC_QUANTIZE_AMAX] = hc_tensor1(HC_FP32, 1, &amax)}};
    quantize.params.quantize.rule = rule;
    for (int64_t i = 0; i < x->n; i++)
        hc_tensor_set(&quantize.in[HC_QUANTIZE_X], i, x->want[i]);
    struct hc_call dequantize = {
        .op = HC_OP_dequantize,
        .in = {[HC_DEQUANTIZE_CODES] = q, [HC_DEQUANTIZE_SCALES] = s, [HC_DEQUANTIZE_TENSOR] = t},
        .out = {[HC_DEQUANTIZE_Y] = y}};
    cr_assert_eq(run_call(&quantize, queue), HC_OK, "%s", hc_message());
    cr_assert_eq(run_call(&dequantize, queue), HC_OK, "%s", hc_message());
    for (int64_t i = 0; i < x->n; i++) {
        codes[i] = hc_tensor_get(&q, i);
        decoded[i] = hc_tensor_get(&y, i);
    }
}

static void expect_same(const char *what, const struct hc_value *v, const double *want)
{
    for (int64_t i = 0; i < v->n; i++) {
        bool same = isnan(want[i]) ? isnan(v->want[i])
                                   : want[i] == v->want[i] &&
                                         (signbit(want[i]) != 0) == (signbit(v->want[i]) != 0);
        cr_expect(same, "%s [%d]: want %a, got %a", what, (int)i, want[i], v->want[i]);
        cr_expect(isnan(v->want[i]) ? isnan(v->got[i]) : v->got[i] == v->want[i], "%s", what);
    }
}

static void try_block(struct hc_queue *queue, enum hc_scale_rule rule, enum hc_format format,
                      const char *in, const char *block)
{
    char text[200];
    double codes[8];
    double decoded[8];
    bool levels = hc_scale_rules[rule].kind == HC_SCALE_OF_LEVELS;
    struct hc_evaluation_options options = {.call = run_call, .context = queue};
    (void)snprintf(text, sizeof text, "x = %s", block);
    struct trial t = begin_with(in, text, options);
    by_ops(queue, rule, format, value_of(&t, "x"), codes, decoded);
    (void)snprintf(text, sizeof text, "quantize(%s, %s, x%s)", hc_scale_rule_names[rule],
                   hc_formats[format].name, levels ? ", x" : "");
    expect_same(text, value_of(&t, text), codes);
    (void)snprintf(text, sizeof text, "fake_quantize(%s, %s, x%s)", hc_scale_rule_names[rule],
                   hc_formats[format].name, levels ? ", x" : "");
    expect_same(text, value_of(&t, text), decoded);
    finish(&t);
}

Test(scale, every_rule_has_the_bits_of_the_op_quantize)
{
    static const enum hc_format formats[] = {HC_E4M3, HC_E5M2, HC_E2M1, HC_E2M3, HC_E4M3FNUZ};
    static const char *const arms[] = {"fp32", "bf16"};
    const struct hc_backend *exact = hc_backend_by_name("exact");
    struct hc_queue *queue;
    cr_assert_eq(exact->open(exact, &queue, 1), HC_OK);
    for (int r = HC_SCALE_GIVEN + 1; r < HC_SCALE_RULE_COUNT; r++)
        for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
            for (size_t i = 0; i < 2 * sizeof blocks / sizeof *blocks; i++)
                if (hc_scale_rules[r].kind != HC_SCALE_OF_LEVELS || formats[f] == HC_E2M1)
                    try_block(queue, (enum hc_scale_rule)r, formats[f], arms[i % 2], blocks[i / 2]);
    exact->close(queue);
}

Test(scale, a_rule_and_a_format_come_before_the_numbers)
{
    refuse("v = scale(floor, e4m3, w)", "          ^~~~~",
           "there is no scale rule 'floor'; did you mean 'mx-floor'?");
    refuse("v = scale(te-curent, e4m3, w)", "          ^~~~~~~~~",
           "there is no scale rule 'te-curent'; did you mean 'te-current'?");
    refuse("v = scale(given, e4m3, w)", "          ^~~~~",
           "there is no scale rule 'given': halfcheck list scales has them");
    refuse("v = scale(w)", "          ^",
           "there is no scale rule 'w': halfcheck list scales has them");
    refuse("v = scale()", "          ^", "the name of a scale rule is missing before ')'");
    refuse("v = scale(te-current, fp16, w)", "                      ^~~~",
           "'fp16' is no format of codes, such as e4m3 and e2m1");
    refuse("v = scale(te-current, e4m3)", "                          ^",
           "a comma and what is scaled is missing before ')'");
    refuse("v = scale(te-current, w)", "                      ^",
           "'w' is no format of codes, such as e4m3 and e2m1");
    refuse("v = scale", "    ^~~~~", "'scale' is a function: write scale(te-current, e4m3, x)");
    refuse("v = quantize(te-delayed, e4m3, w)", "             ^~~~~~~~~~",
           "'te-delayed' looks back at former steps: scale() alone knows it");
    refuse("c := quantize(te-current, e4m3, 3)", "     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~",
           "a constant is made of constants alone, and 'quantize(te-current, e4m3, 3)' is a value");
}

Test(scale, a_rule_takes_what_it_looks_at)
{
    refuse("v = scale(te-current, e4m3, w, w)", "    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~",
           "te-current makes its scale of one block or tensor alone");
    refuse("v = scale(nvfp4-te, e4m3, w, w)", "    ^~~~~~~~~~~~~~~~~~~~~~~~~~~",
           "nvfp4-te is for codes in e2m1");
    refuse("v = scale(nvfp4-te, e2m1, w)", "    ^~~~~~~~~~~~~~~~~~~~~~~~",
           "nvfp4-te has two levels: the tensor, or its amax, comes behind the block");
    refuse("v = tensor_scale(mx-rp, e4m3, w)", "    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~",
           "mx-rp has one level and no scale of a tensor beside the blocks'");
    refuse("v = scale(te-current, e4m3, 1, 2, 3)", "    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~",
           "'scale' takes 1 or 2 operands, not 3");
}
