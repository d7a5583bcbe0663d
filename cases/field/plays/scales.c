/* A matrix that is quantised and decoded again by the backend under test. */
#include <math.h>
#include <stdlib.h>

#include "case.h"
#include "cases/fixture/bug.h"

struct round_trip {
    enum hc_scale_rule rule;
    enum hc_format codes;
    enum hc_format y;  /* what is decoded: fp32, bf16 or fp16 */
    double multiplier; /* of HC_SCALE_GIVEN */
    int64_t rows;
    int64_t columns; /* each row is a block */
};

/* x, y: rows x columns numbers, x fp32's. scales: what each row's codes are multiplied by; NULL if
   nobody asks. What a backend could not compute is NaN. */
static bool round_trip(struct hc_check *check, const struct round_trip *how, const double *x,
                       double *y, double *scales)
{
    int64_t n = how->rows * how->columns;
    struct hc_tensor codes =
        hc_check_tensor(check, hc_tensor2(how->codes, how->rows, how->columns, NULL));
    struct hc_tensor scale =
        hc_check_tensor(check, hc_tensor2(hc_scale_format(how->rule), how->rows, 1, NULL));
    struct hc_tensor tensor = hc_check_vector(check, HC_FP32, 1);
    struct hc_call quantize = {
        .op = HC_OP_quantize,
        .in = {[HC_QUANTIZE_X] =
                   hc_check_tensor(check, hc_tensor2(HC_FP32, how->rows, how->columns, NULL))},
        .out = {[HC_QUANTIZE_CODES] = codes,
                [HC_QUANTIZE_SCALES] = scale,
                [HC_QUANTIZE_TENSOR] = tensor,
                [HC_QUANTIZE_AMAX] = hc_check_vector(check, HC_FP32, 1)},
        .params.quantize = {.rule = how->rule, .rows = 1}};
    struct hc_call dequantize = {
        .op = HC_OP_dequantize,
        .in = {[HC_DEQUANTIZE_CODES] = codes,
               [HC_DEQUANTIZE_SCALES] = scale,
               [HC_DEQUANTIZE_TENSOR] = tensor},
        .out = {[HC_DEQUANTIZE_Y] =
                    hc_check_tensor(check, hc_tensor2(how->y, how->rows, how->columns, NULL))},
        .params.dequantize = {.rows = 1}};
    for (int64_t i = 0; i < n; i++) {
        hc_tensor_set(&quantize.in[HC_QUANTIZE_X], i, x[i]);
        y[i] = (double)NAN;
    }
    if (how->rule == HC_SCALE_GIVEN) {
        quantize.in[HC_QUANTIZE_SCALE] = hc_check_vector(check, HC_FP32, 1);
        hc_tensor_set(&quantize.in[HC_QUANTIZE_SCALE], 0, how->multiplier);
    }
    if (hc_do(check, &quantize) != HC_OK || hc_do(check, &dequantize) != HC_OK)
        return false;
    for (int64_t i = 0; i < n; i++)
        y[i] = hc_tensor_get(&dequantize.out[HC_DEQUANTIZE_Y], i);
    for (int64_t r = 0; scales && r < how->rows; r++)
        scales[r] = hc_tensor_get(&scale, r);
    return true;
}

/* The scale of a block, by the rules that systems have (docs/scales.md).

   The MX formats store 32 numbers as codes of a few bits and one power of two for all of them. The
   power is made of the block's largest number, and each system has had its own rule. Rounded the
   wrong way it is too small: the largest number, which matters most in a product, is cut to the
   largest code. Rounded the right way it still depends on the very bits of that number: after a
   round trip the largest number may be smaller, and another scale is right for it.

   The rule of thumb: round a scale up, never to nearest or down; and where bits are compared, store
   codes and scales and do not make them anew from what was decoded. */

enum { BLOCK = 32, BLOCKS = 512, CHECKED = 1024 };

/* What becomes of x in a block whose largest number it is. The codes' rounding is off by u / (1 +
   u) of x at most, u = 2^-p; scales are powers of two. */
static void show_one(struct hc_check *check, struct hc_exhibits *shown, const char *name,
                     const struct round_trip rule[2], double x)
{
    double y[2];
    double u = hc_format_unit(rule[1].codes);
    for (int arm = 0; arm < 2; arm++)
        if (!round_trip(check, &rule[arm], &x, &y[arm], NULL))
            return;
    hc_exhibits_add(shown, name, HC_FP32, y[0], y[1], x, fabs(x) * u / (1 + u));
}

static struct round_trip blocks(enum hc_scale_rule rule, enum hc_format codes, int64_t rows)
{
    return (struct round_trip){
        .rule = rule, .codes = codes, .y = HC_FP32, .rows = rows, .columns = 1};
}

/* 512 blocks with the largest numbers 448 to 896. More than 1/16 is lost by saturation alone. */
static void saturates(struct hc_check *check, struct hc_exhibits *shown)
{
    const struct round_trip one[2] = {blocks(HC_SCALE_MX_NEAREST, HC_E4M3, 1),
                                      blocks(HC_SCALE_MX_RP, HC_E4M3, 1)};
    double x[BLOCKS];
    double y[BLOCKS];
    double lost[2] = {0};
    show_one(check, shown, "633", one, 633);
    for (int i = 0; i < BLOCKS; i++)
        x[i] = hc_round(HC_FP32, 448 * exp2(i / (double)BLOCKS));
    for (int arm = 0; arm < 2; arm++) {
        const struct round_trip all = blocks(one[arm].rule, HC_E4M3, BLOCKS);
        if (!round_trip(check, &all, x, y, NULL))
            return;
        for (int i = 0; i < BLOCKS; i++)
            lost[arm] += !(y[i] > x[i] * 15 / 16);
    }
    hc_exhibits_add(shown, "blocks of 512 that lose over 1/16", HC_FORMAT_COUNT, lost[0], lost[1],
                    0, 0);
}

static void clips(struct hc_check *check, struct hc_exhibits *shown)
{
    const struct round_trip rule[2] = {blocks(HC_SCALE_MX_FLOOR, HC_E4M3, 1),
                                       blocks(HC_SCALE_MX_RP, HC_E4M3, 1)};
    show_one(check, shown, "957", rule, 957);
}

static void divides_first(struct hc_check *check, struct hc_exhibits *shown)
{
    const struct round_trip rule[2] = {blocks(HC_SCALE_MX_FLOOR_DIV, HC_E2M1, 1),
                                       blocks(HC_SCALE_MX_FLOOR, HC_E2M1, 1)};
    show_one(check, shown, "2.7", rule, hc_round(HC_FP32, 2.7));
    show_one(check, shown, "5.5", rule, 5.5);
    show_one(check, shown, "2.5, a tie", rule, 2.5);
}

/* 2^-120 is below the numbers for which torchao 0.18's scales have room. */
static void loses_small_blocks(struct hc_check *check, struct hc_exhibits *shown)
{
    const struct round_trip floor[2] = {blocks(HC_SCALE_AO18_FLOOR, HC_E4M3, 1),
                                        blocks(HC_SCALE_MX_FLOOR, HC_E4M3, 1)};
    const struct round_trip up[2] = {blocks(HC_SCALE_AO18_RCEIL, HC_E4M3, 1),
                                     blocks(HC_SCALE_MX_RP, HC_E4M3, 1)};
    show_one(check, shown, "2^-120 by FLOOR", floor, 0x1p-120);
    show_one(check, shown, "2^-120 by RCEIL", up, 0x1p-120);
}

/* What a checkpoint that keeps codes decoded into bf16 changes in weights: x[0] are the masters,
   x[1] what is saved, x[2] what becomes of that. */
static void requantise(struct hc_check *check, struct hc_exhibits *shown, double *const x[3])
{
    double saved[CHECKED];
    double loaded[CHECKED];
    double changed = 0;
    double values = 0;
    bool explained = true;
    struct round_trip how = {HC_SCALE_MX_RP, HC_E4M3, HC_BF16, 0, CHECKED, BLOCK};
    for (int i = 0; i < CHECKED * BLOCK; i++)
        x[0][i] = hc_round(HC_FP32, 0.02 * hc_random_normal(6666, 0, (uint64_t)i));
    if (!round_trip(check, &how, x[0], x[1], saved) || !round_trip(check, &how, x[1], x[2], loaded))
        return;
    for (int b = 0; b < CHECKED; b++) {
        double most = 0;
        for (int i = b * BLOCK; i < (b + 1) * BLOCK; i++) {
            most = fmax(most, fabs(x[1][i]));
            values += x[1][i] != x[2][i];
        }
        changed += loaded[b] != saved[b];
        explained = explained && loaded[b] == (most <= 224 * saved[b] ? saved[b] / 2 : saved[b]);
    }
    hc_exhibits_add(shown, "scales of 1024 that changed", HC_FORMAT_COUNT, changed, 0, 0, 0);
    hc_claim_true(check, "a scale is halved where the largest number came down to half of M",
                  explained);
    hc_claim_value(check, "values that changed", 0, values);
}

static void forgets_scales(struct hc_check *check, struct hc_exhibits *shown)
{
    double *x = calloc((size_t)3 * CHECKED * BLOCK, sizeof *x);
    if (!x) {
        (void)hc_check_ok(check, hc_fail(HC_NO_MEMORY, "no memory for weights"));
        return;
    }
    requantise(check, shown, (double *[]){x, x + CHECKED * BLOCK, x + 2 * CHECKED * BLOCK});
    free(x);
}

/* A scale from a history, under the rules that systems have (docs/scales.md).

   Delayed scaling multiplies a tensor by a scale that was made of the largest elements of former
   steps. So the scale may be wrong for the tensor at hand: after a jump it is too large, and all
   that is large becomes the largest code. And whatever enters the history stays there: an
   infinity, a tiny number, or the zero of a step in which the tensor did not exist.

   The rule of thumb: say what an idle step, an infinite and a tiny amax do to the scale, and try
   it; and give all ranks that share codes one scale. */

enum { WINDOW = 4 };

/* The scale after each of n steps with these amaxes; false if a call failed. */
static bool scale_after(struct hc_check *check, enum hc_delayed_rule rule, const double *amax,
                        int n, double *scale)
{
    struct hc_tensor history = hc_check_tensor(check, hc_tensor2(HC_FP32, WINDOW, 1, NULL));
    struct hc_tensor new_history = hc_check_tensor(check, hc_tensor2(HC_FP32, WINDOW, 1, NULL));
    struct hc_call step = {.op = HC_OP_delayed_scale,
                           .in = {[HC_DELAYED_AMAX] = hc_check_vector(check, HC_FP32, 1),
                                  [HC_DELAYED_HISTORY] = history,
                                  [HC_DELAYED_SCALE] = hc_check_vector(check, HC_FP32, 1)},
                           .out = {[HC_DELAYED_NEW_HISTORY] = new_history,
                                   [HC_DELAYED_NEW_SCALE] = hc_check_vector(check, HC_FP32, 1)},
                           .params.delayed_scale = {.rule = rule, .codes = HC_E4M3}};
    hc_tensor_set(&step.in[HC_DELAYED_SCALE], 0, 1);
    for (int i = 0; i < WINDOW; i++)
        hc_tensor_set(&history, i, 0);
    for (int i = 0; i < n; i++) {
        hc_tensor_set(&step.in[HC_DELAYED_AMAX], 0, amax[i]);
        if (hc_do(check, &step) != HC_OK)
            return false;
        *scale = hc_tensor_get(&step.out[HC_DELAYED_NEW_SCALE], 0);
        hc_tensor_set(&step.in[HC_DELAYED_SCALE], 0, *scale);
        for (int k = 0; k < WINDOW; k++)
            hc_tensor_set(&history, k, hc_tensor_get(&new_history, k));
    }
    return true;
}

/* x[0], quantised in one tensor with x[1] under a multiplier, or under a rule, and decoded. */
static double becomes(struct hc_check *check, enum hc_scale_rule rule, double multiplier,
                      const double x[2])
{
    double y[2];
    const struct round_trip how = {rule, HC_E4M3, HC_FP32, multiplier, 1, 2};
    (void)round_trip(check, &how, x, y, NULL);
    return y[0];
}

/* The rounding of a code, 1/17 of x or half of 2^-9 under the scale, and two of fp32. */
static double bound(double x, double scale)
{
    return fmax(fabs(x) / 17, 0x1p-10 / scale) + fabs(x) * 0x1p-22;
}

/* A module that does not run in three steps, then runs with 1, and then has 4 again. */
static void rolls(struct hc_check *check, struct hc_exhibits *shown)
{
    static const double amax[] = {4, 1, 0, 0, 0, 1};
    static const double x[2] = {4, 1};
    double s[2];
    if (!scale_after(check, HC_DELAYED_TE_UNFUSED, amax, 6, &s[0]) ||
        !scale_after(check, HC_DELAYED_TE, amax, 6, &s[1]))
        return;
    hc_exhibits_add(shown, "the scale after idle steps", HC_FP32, s[0], s[1], 112, 0);
    hc_exhibits_add(shown, "4", HC_FP32, becomes(check, HC_SCALE_GIVEN, s[0], x),
                    becomes(check, HC_SCALE_GIVEN, s[1], x), 4, bound(4, 112));
}

static void is_late(struct hc_check *check, struct hc_exhibits *shown)
{
    static const double amax[] = {1, 1, 1, 1};
    static const double x[2] = {10, 3};
    double s;
    if (!scale_after(check, HC_DELAYED_TE, amax, 4, &s))
        return;
    hc_exhibits_add(shown, "10, after steps with 1", HC_FP32, becomes(check, HC_SCALE_GIVEN, s, x),
                    becomes(check, HC_SCALE_TE_CURRENT, 0, x), 10, bound(10, 44.8));
}

/* Two ranks of a tensor-parallel group gather the codes of each other's rows, and decode them by
   the scale that they have themselves. */
static void is_not_shared(struct hc_check *check, struct hc_exhibits *shown)
{
    static const double of_rank[2][1] = {{448}, {4.48}};
    static const double x[2] = {4.48, 1};
    double s[2];
    for (int rank = 0; rank < 2; rank++)
        if (!scale_after(check, HC_DELAYED_TE, of_rank[rank], 1, &s[rank]))
            return;
    double local = becomes(check, HC_SCALE_GIVEN, s[1], x) * s[1] / s[0];
    double shared = becomes(check, HC_SCALE_GIVEN, s[0], x);
    hc_exhibits_add(shown, "rank 1's 4.48 on rank 0", HC_FP32, local, shared, 4.48, bound(4.48, 1));
}

static void inverts(struct hc_check *check, struct hc_exhibits *shown)
{
    static const double amax[] = {3.5, (double)INFINITY};
    static const double x[2] = {0.01, 1};
    double s[2];
    if (!scale_after(check, HC_DELAYED_MS_AMP, amax, 2, &s[0]) ||
        !scale_after(check, HC_DELAYED_TE, amax, 2, &s[1]))
        return;
    hc_exhibits_add(shown, "the scale after an infinite amax", HC_FP32, s[0], s[1], 128, 0);
    hc_exhibits_add(shown, "0.01", HC_FP32, becomes(check, HC_SCALE_GIVEN, s[0], x),
                    becomes(check, HC_SCALE_GIVEN, s[1], x), 0.01, bound(0.01, 128));
}

/* flax keeps the reciprocal of a multiplier, of the history before this step's amax. */
static void divides_by_0(struct hc_check *check, struct hc_exhibits *shown)
{
    static const double amax[] = {1e-37, 1e-37};
    static const double zero[2] = {0, 1e-37};
    static const double tiny[2] = {1e-37, 0};
    double s[2];
    if (!scale_after(check, HC_DELAYED_FLAX, amax, 2, &s[0]) ||
        !scale_after(check, HC_DELAYED_TE, amax, 2, &s[1]))
        return;
    hc_exhibits_add(shown, "0", HC_FP32, becomes(check, HC_SCALE_GIVEN, 1 / s[0], zero),
                    becomes(check, HC_SCALE_GIVEN, s[1], zero), 0, 0);
    hc_exhibits_add(shown, "1e-37", HC_FP32, becomes(check, HC_SCALE_GIVEN, 1 / s[0], tiny),
                    becomes(check, HC_SCALE_GIVEN, s[1], tiny), 1e-37, bound(1e-37, s[1]));
}

static void expects_nan(struct hc_check *check, struct hc_exhibits *shown)
{
    static const double x[2] = {1.0625, (double)INFINITY};
    hc_exhibits_add(shown, "1.0625 beside an infinity", HC_FP32,
                    becomes(check, HC_SCALE_TE_REFERENCE, 0, x),
                    becomes(check, HC_SCALE_TE_CURRENT, 0, x), 1.0625, bound(1.0625, 1));
}

static const struct hc_case cases[] = {
    HC_BUG("field/block-scale/e8m0-scale-nearest-saturates",
           "The largest number of an MXFP8 block is off by up to 29 %.",
           "ml-explore/mlx PR 4353, 'Round mxfp8 block scales up to avoid saturation', "
           "https://github.com/ml-explore/mlx/pull/4353: 243 of 512 blocks lose more than 1/16; "
           "Pushkinist/rMLX issue 463; ROCm/aiter issue 3212",
           .play = saturates, .buggy = {.is = "448 exact, -"}, .fixed = {.is = "640 exact, 0"},
           .fault = "quantize-rp-as-floor",
           .lesson =
               "Round amax / 448 up to a power of two: to nearest it may be too small by a factor "
               "of the root of 2. See halfcheck calc 'fake_quantize(mx-nearest, e4m3, 633)'.",
           .also = {{"e8m0-scale-one-step-low",
                     "ROCm/FlyDSL PR 590, '[Feat] Add OCP-spec even_round E8M0 helper "
                     "f32_to_e8m0_even', https://github.com/ROCm/FlyDSL/pull/590: two thirds of "
                     "the scales of e2m3 blocks are a step too low"}}),
    HC_BUG("field/block-scale/mx-floor-scale-clips",
           "957 becomes 896 in MXFP8, although its elements have three bits after the first.",
           "microsoft/microxcaling issue 4, '957 is quantized as 896', "
           "https://github.com/microsoft/microxcaling/issues/4; ROCm/aiter issue 3212; OCP MX 1.0, "
           "section 6.3",
           .play = clips, .buggy = {.prints = "896 exact"}, .fixed = {.is = "960 exact"},
           .fault = "quantize-rp-as-floor",
           .lesson = "OCP's rule cuts what lies above 7/8 of the next power of two; round amax / "
                     "448 up in its place."),
    HC_BUG("field/block-scale/e2m1-scale-exponent-after-division",
           "MXFP4 activations of a mixture of experts are severely wrong.",
           "vllm-project/vllm PR 43557, 'Fix the E8M0 scale computation in the MXFP4 (W4A4) MOE "
           "CUTLASS kernel', https://github.com/vllm-project/vllm/pull/43557",
           .play = divides_first, .buggy = {.is = "1.5 exact, 3 exact, 1.5 exact"},
           .fixed = {.is = "3 exact, 6 exact, 2 exact"}, .fault = "quantize-ties-away",
           .lesson = "Take the exponent of the amax first, and subtract the format's then: "
                     "floor(log2(a / 6)) is one less than floor(log2 a) - 2 for most a."),
    HC_BUG("field/block-scale/e8m0-code-0-not-divided-by",
           "MXFP8 blocks of tiny numbers are halved, or become 0.",
           "pytorch/ao PR 4725, 'Refine MXFP8 CUDA quantization semantics', "
           "https://github.com/pytorch/ao/pull/4725, which names NVIDIA/TransformerEngine issue "
           "2408; the numbers are of the rules of torchao 0.18.0",
           .play = loses_small_blocks, .buggy = {.is = "3.76e-37, 0"},
           .fixed = {.is = "7.52e-37, 7.52e-37"}, .fault = "dequantize-least-as-zero",
           .lesson = "Divide by the scale that is stored. The smallest is 2^-127, and its "
                     "reciprocal is a number of fp32, too."),
    HC_BUG("field/block-scale/mxfp8-requantized-on-load",
           "A checkpoint of MXFP8 weights that is loaded has other codes than what was saved.",
           "NVIDIA/Megatron-LM PR 6666, 'Re-derive quantized params from FP32 main params on "
           "checkpoint load', https://github.com/NVIDIA/Megatron-LM/pull/6666: 52 of 1024 scales "
           "change, each by one step; the values do not",
           .play = forgets_scales, .fixed = {.is = "0"}, .fault = "quantize-rp-as-floor",
           .lesson = "Make codes from the masters, or store codes and scales: quantising what was "
                     "decoded finds a smaller largest number."),
    HC_BUG("field/delayed-scale/amax-roll-idle-module",
           "The scale of a module changes while the module does not run, and then does not fit.",
           "NVIDIA/TransformerEngine PR 825, 'Avoid amax roll for non-run modules', "
           "https://github.com/NVIDIA/TransformerEngine/pull/825, which mends issue 814; it gives "
           "no numbers",
           .play = rolls, .buggy = {.is = "448 exact, 1 exact"},
           .fixed = {.is = "112 exact, 4 exact"}, .fault = "delayed-rolls-idle",
           .lesson = "Roll a history only in steps that have an amax."),
    HC_BUG("field/delayed-scale/fp8-stale-amax",
           "A tensor that grows tenfold in a step is cut to what it was.",
           "NVIDIA/TransformerEngine issue 1169, '[Question] fp8 amax_history setup', "
           "https://github.com/NVIDIA/TransformerEngine/issues/1169: it asks how long a history "
           "should be and gives no numbers; the clipping follows from the rule",
           .play = is_late, .buggy = {.is = "1 exact"}, .fixed = {.is = "10"},
           .fault = "quantize-scale-inverted",
           .lesson = "Scale by the tensor's own amax where it may jump, or leave a margin; no "
                     "length of the history helps against a first jump."),
    HC_BUG("field/delayed-scale/fp8-amax-group",
           "Tensor-parallel ranks with scales of their own read each other's fp8 codes wrongly.",
           "NVIDIA/Megatron-LM PR 442, 'Bug fix: Use amax_reduction_group instead of "
           "data_parallel_group as fp8_group', https://github.com/NVIDIA/Megatron-LM/pull/442; "
           "AMD-AGI/Primus PR 669. They give no numbers; that codes are gathered and decoded by "
           "one scale is the mechanism of sequence parallelism",
           .play = is_not_shared, .buggy = {.is = "448"}, .fixed = {.is = "4.5 exact"},
           .fault = "quantize-scale-inverted",
           .lesson = "Reduce amaxes over all ranks that exchange codes, not over those that share "
                     "gradients alone."),
    HC_BUG(
        "field/delayed-scale/ms-amp-inf-inverts-scale",
        "After one infinite gradient the next ones vanish: the scale has become its reciprocal.",
        "found by halfcheck in Azure/MS-AMP @9746ea8, msamp/common/tensor/meta.py, whose rule was "
        "run; no report of it was found",
        .play = inverts, .buggy = {.is = "0.0078125 exact, 0"},
        .fixed = {.is = "128 exact, 0.00977"}, .fault = "delayed-infinite-counts",
        .lesson =
            "floor(log2(M / inf)) is -inf, whose sign chose the reciprocal: keep the scale where "
            "the amax is no number. See halfcheck calc 'scale(ms-amp, e4m3, [3.5, inf])'."),
    HC_BUG(
        "field/delayed-scale/delayed-tiny-amax-nan-zeros",
        "Zeros become NaN in fp8 after a step whose numbers were all tiny.",
        "NVIDIA/TransformerEngine PR 786, 'Handle the scaling factor when amax is too tiny that "
        "leads to an infinite scale', https://github.com/NVIDIA/TransformerEngine/pull/786; flax "
        "0.12.8, linen/fp8_ops.py, has no such limit, of which no report was found",
        .play = divides_by_0, .buggy = {.is = "nan, -"}, .fixed = {.is = "0, 1e-37"},
        .fault = "quantize-scale-inverted",
        .lesson = "Limit the multiplier to the largest number of fp32: 448 / 1e-37 is infinite, "
                  "and 0 times that is NaN.",
        .also = {{"mxfp8-quantize-nan-small-inputs",
                  "flashinfer-ai/flashinfer issue 2440, 'mxfp8_quantize() produces nans when "
                  "inputs are small', https://github.com/flashinfer-ai/flashinfer/issues/2440"}}),
    HC_BUG("field/delayed-scale/te-reference-differs-at-inf",
           "A kernel that is right fails its own test where a tensor holds an infinity.",
           "found by halfcheck in NVIDIA/TransformerEngine @d0067d0: common/recipe/"
           "recipe_common.cuh, which was read, and tests/pytorch/references/"
           "quantize_scale_calc.py, which was run; no report of it was found",
           .play = expects_nan, .buggy = {.is = "nan"}, .fixed = {.is = "1 exact"},
           .fault = "quantize-ties-away",
           .lesson = "Put 0, infinity and NaN to a reference before it judges a kernel: 448 / inf "
                     "is a multiplier of 0 here, and 0 times its reciprocal is NaN."),
};

HC_CASES(field_plays_scales, cases);
