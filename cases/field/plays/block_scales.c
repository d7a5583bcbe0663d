/* The scale of a block, by the rules that systems have (docs/scales.md).

   The MX formats store 32 numbers as codes of a few bits and one power of two for all of them. The
   power is made of the block's largest number, and each system has had its own rule. Rounded the
   wrong way it is too small: the largest number, which matters most in a product, is cut to the
   largest code. Rounded the right way it still depends on the very bits of that number: after a
   round trip the largest number may be smaller, and another scale is right for it.

   The rule of thumb: round a scale up, never to nearest or down; and where bits are compared, store
   codes and scales and do not make them anew from what was decoded. */
#include "cases/fixture/bug.h"
#include "cases/fixture/round_trip.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCK = 32, BLOCKS = 512, CHECKED = 1024 };

/* What becomes of x in a block whose largest number it is. The codes' rounding is off by u / (1 +
   u) of x at most, u = 2^-p; scales are powers of two. */
static void show_one(struct hc_check *check, struct hc_exhibits *shown, const char *name,
                     const struct hc_round_trip rule[2], double x)
{
    double y[2];
    double u = hc_format_unit(rule[1].codes);
    for (int arm = 0; arm < 2; arm++)
        if (!hc_round_trip(check, &rule[arm], &x, &y[arm], NULL))
            return;
    hc_exhibits_add(shown, name, HC_FP32, y[0], y[1], x, fabs(x) * u / (1 + u));
}

static struct hc_round_trip blocks(enum hc_scale_rule rule, enum hc_format codes, int64_t rows)
{
    return (struct hc_round_trip){
        .rule = rule, .codes = codes, .y = HC_FP32, .rows = rows, .columns = 1};
}

/* 512 blocks with the largest numbers 448 to 896. More than 1/16 is lost by saturation alone. */
static void saturates(struct hc_check *check, struct hc_exhibits *shown)
{
    const struct hc_round_trip one[2] = {blocks(HC_SCALE_MX_NEAREST, HC_E4M3, 1),
                                         blocks(HC_SCALE_MX_RP, HC_E4M3, 1)};
    double x[BLOCKS];
    double y[BLOCKS];
    double lost[2] = {0};
    show_one(check, shown, "633", one, 633);
    for (int i = 0; i < BLOCKS; i++)
        x[i] = hc_round(HC_FP32, 448 * exp2(i / (double)BLOCKS));
    for (int arm = 0; arm < 2; arm++) {
        const struct hc_round_trip all = blocks(one[arm].rule, HC_E4M3, BLOCKS);
        if (!hc_round_trip(check, &all, x, y, NULL))
            return;
        for (int i = 0; i < BLOCKS; i++)
            lost[arm] += !(y[i] > x[i] * 15 / 16);
    }
    hc_exhibits_add(shown, "blocks of 512 that lose over 1/16", HC_FORMAT_COUNT, lost[0], lost[1],
                    0, 0);
}

static void clips(struct hc_check *check, struct hc_exhibits *shown)
{
    const struct hc_round_trip rule[2] = {blocks(HC_SCALE_MX_FLOOR, HC_E4M3, 1),
                                          blocks(HC_SCALE_MX_RP, HC_E4M3, 1)};
    show_one(check, shown, "957", rule, 957);
}

static void divides_first(struct hc_check *check, struct hc_exhibits *shown)
{
    const struct hc_round_trip rule[2] = {blocks(HC_SCALE_MX_FLOOR_DIV, HC_E2M1, 1),
                                          blocks(HC_SCALE_MX_FLOOR, HC_E2M1, 1)};
    show_one(check, shown, "2.7", rule, hc_round(HC_FP32, 2.7));
    show_one(check, shown, "5.5", rule, 5.5);
    show_one(check, shown, "2.5, a tie", rule, 2.5);
}

/* 2^-120 is below the numbers for which torchao 0.18's scales have room. */
static void loses_small_blocks(struct hc_check *check, struct hc_exhibits *shown)
{
    const struct hc_round_trip floor[2] = {blocks(HC_SCALE_AO18_FLOOR, HC_E4M3, 1),
                                           blocks(HC_SCALE_MX_FLOOR, HC_E4M3, 1)};
    const struct hc_round_trip up[2] = {blocks(HC_SCALE_AO18_RCEIL, HC_E4M3, 1),
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
    struct hc_round_trip how = {HC_SCALE_MX_RP, HC_E4M3, HC_BF16, 0, CHECKED, BLOCK};
    for (int i = 0; i < CHECKED * BLOCK; i++)
        x[0][i] = hc_round(HC_FP32, 0.02 * hc_random_normal(6666, 0, (uint64_t)i));
    if (!hc_round_trip(check, &how, x[0], x[1], saved) ||
        !hc_round_trip(check, &how, x[1], x[2], loaded))
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

static const struct hc_case cases[] = {
    HC_BUG("field/block-scale/e8m0-scale-nearest-saturates",
           "The largest number of an MXFP8 block is off by up to 29 %.",
           "ml-explore/mlx PR 4353, 'Round mxfp8 block scales up to avoid saturation', "
           "https://github.com/ml-explore/mlx/pull/4353: 243 of 512 blocks lose more than 1/16; "
           "Pushkinist/rMLX issue 463; ROCm/aiter issue 3212",
           .play = saturates, .buggy = {.prints = "448 exact, -"},
           .fixed = {.prints = "640 exact, 0"}, .fault = "quantize-rp-as-floor",
           .lesson = "Round amax / 448 up to a power of two: to nearest it may be too small by a "
                     "factor of the root of 2. See halfcheck calc "
                     "'fake_quantize(mx-nearest, e4m3, 633)'.",
           .also = {{"e8m0-scale-one-step-low",
                     "ROCm/FlyDSL PR 590, '[Feat] Add OCP-spec even_round E8M0 helper "
                     "f32_to_e8m0_even', https://github.com/ROCm/FlyDSL/pull/590: two thirds of "
                     "the scales of e2m3 blocks are a step too low"}}),
    HC_BUG("field/block-scale/mx-floor-scale-clips",
           "957 becomes 896 in MXFP8, although its elements have three bits after the first.",
           "microsoft/microxcaling issue 4, '957 is quantized as 896', "
           "https://github.com/microsoft/microxcaling/issues/4; ROCm/aiter issue 3212; OCP MX "
           "1.0, section 6.3",
           .play = clips, .buggy = {.prints = "896 exact"}, .fixed = {.prints = "960 exact"},
           .fault = "quantize-rp-as-floor",
           .lesson = "OCP's rule cuts what lies above 7/8 of the next power of two; round "
                     "amax / 448 up in its place."),
    HC_BUG("field/block-scale/e2m1-scale-exponent-after-division",
           "MXFP4 activations of a mixture of experts are severely wrong.",
           "vllm-project/vllm PR 43557, 'Fix the E8M0 scale computation in the MXFP4 (W4A4) MOE "
           "CUTLASS kernel', https://github.com/vllm-project/vllm/pull/43557",
           .play = divides_first, .buggy = {.prints = "1.5 exact, 3 exact, 1.5 exact"},
           .fixed = {.prints = "3 exact, 6 exact, 2 exact"}, .fault = "quantize-ties-away",
           .lesson = "Take the exponent of the amax first, and subtract the format's then: "
                     "floor(log2(a / 6)) is one less than floor(log2 a) - 2 for most a."),
    HC_BUG("field/block-scale/e8m0-code-0-not-divided-by",
           "MXFP8 blocks of tiny numbers are halved, or become 0.",
           "pytorch/ao PR 4725, 'Refine MXFP8 CUDA quantization semantics', "
           "https://github.com/pytorch/ao/pull/4725, which names NVIDIA/TransformerEngine issue "
           "2408; the numbers are of the rules of torchao 0.18.0",
           .play = loses_small_blocks, .buggy = {.prints = "3.76e-37, 0"},
           .fixed = {.prints = "7.52e-37, 7.52e-37"}, .fault = "dequantize-least-as-zero",
           .lesson = "Divide by the scale that is stored. The smallest is 2^-127, and its "
                     "reciprocal is a number of fp32, too."),
    HC_BUG("field/block-scale/mxfp8-requantized-on-load",
           "A checkpoint of MXFP8 weights that is loaded has other codes than what was saved.",
           "NVIDIA/Megatron-LM PR 6666, 'Re-derive quantized params from FP32 main params on "
           "checkpoint load', https://github.com/NVIDIA/Megatron-LM/pull/6666: 52 of 1024 scales "
           "change, each by one step; the values do not",
           .play = forgets_scales, .fixed = {.prints = "0"}, .fault = "quantize-rp-as-floor",
           .lesson = "Make codes from the masters, or store codes and scales: quantising what was "
                     "decoded finds a smaller largest number."),
};

HC_CASES(field_plays_block_scales, cases);
