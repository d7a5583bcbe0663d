/* A scale from a history, under the rules that systems have (docs/scales.md).

   Delayed scaling multiplies a tensor by a scale that was made of the largest elements of former
   steps. So the scale may be wrong for the tensor at hand: after a jump it is too large, and all
   that is large becomes the largest code. And whatever enters the history stays there: an
   infinity, a tiny number, or the zero of a step in which the tensor did not exist.

   The rule of thumb: say what an idle step, an infinite and a tiny amax do to the scale, and try
   it; and give all ranks that share codes one scale. */
#include "cases/fixture/bug.h"
#include "cases/fixture/round_trip.h"

#include <math.h>

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
    const struct hc_round_trip how = {rule, HC_E4M3, HC_FP32, multiplier, 1, 2};
    (void)hc_round_trip(check, &how, x, y, NULL);
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
    HC_BUG("field/delayed-scale/amax-roll-idle-module",
           "The scale of a module changes while the module does not run, and then does not fit.",
           "NVIDIA/TransformerEngine PR 825, 'Avoid amax roll for non-run modules', "
           "https://github.com/NVIDIA/TransformerEngine/pull/825, which mends issue 814; it gives "
           "no numbers",
           .play = rolls, .buggy = {.prints = "448 exact, 1 exact"},
           .fixed = {.prints = "112 exact, 4 exact"}, .fault = "delayed-rolls-idle",
           .lesson = "Roll a history only in steps that have an amax."),
    HC_BUG("field/delayed-scale/fp8-stale-amax",
           "A tensor that grows tenfold in a step is cut to what it was.",
           "NVIDIA/TransformerEngine issue 1169, '[Question] fp8 amax_history setup', "
           "https://github.com/NVIDIA/TransformerEngine/issues/1169: it asks how long a history "
           "should be and gives no numbers; the clipping follows from the rule",
           .play = is_late, .buggy = {.prints = "1 exact"}, .fixed = {.prints = "10"},
           .fault = "quantize-scale-inverted",
           .lesson =
               "Scale by the tensor's own amax where it may jump, or leave a margin; no length "
               "of the history helps against a first jump."),
    HC_BUG("field/delayed-scale/fp8-amax-group",
           "Tensor-parallel ranks with scales of their own read each other's fp8 codes wrongly.",
           "NVIDIA/Megatron-LM PR 442, 'Bug fix: Use amax_reduction_group instead of "
           "data_parallel_group as fp8_group', https://github.com/NVIDIA/Megatron-LM/pull/442; "
           "AMD-AGI/Primus PR 669. They give no numbers; that codes are gathered and decoded by "
           "one scale is the mechanism of sequence parallelism",
           .play = is_not_shared, .buggy = {.prints = "448"}, .fixed = {.prints = "4.5 exact"},
           .fault = "quantize-scale-inverted",
           .lesson = "Reduce amaxes over all ranks that exchange codes, not over those that share "
                     "gradients alone."),
    HC_BUG("field/delayed-scale/ms-amp-inf-inverts-scale",
           "After one infinite gradient the next ones vanish: the scale has become its reciprocal.",
           "found by halfcheck in Azure/MS-AMP @9746ea8, msamp/common/tensor/meta.py, whose rule "
           "was run; no report of it was found",
           .play = inverts, .buggy = {.prints = "0.0078125 exact, 0"},
           .fixed = {.prints = "128 exact, 0.00977"}, .fault = "delayed-infinite-counts",
           .lesson =
               "floor(log2(M / inf)) is -inf, whose sign chose the reciprocal: keep the scale "
               "where the amax is no number. See halfcheck calc "
               "'scale(ms-amp, e4m3, [3.5, inf])'."),
    HC_BUG(
        "field/delayed-scale/delayed-tiny-amax-nan-zeros",
        "Zeros become NaN in fp8 after a step whose numbers were all tiny.",
        "NVIDIA/TransformerEngine PR 786, 'Handle the scaling factor when amax is too tiny that "
        "leads to an infinite scale', https://github.com/NVIDIA/TransformerEngine/pull/786; "
        "flax 0.12.8, linen/fp8_ops.py, has no such limit, of which no report was found",
        .play = divides_by_0, .buggy = {.prints = "nan, -"}, .fixed = {.prints = "0, 1e-37"},
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
           .play = expects_nan, .buggy = {.prints = "nan"}, .fixed = {.prints = "1 exact"},
           .fault = "quantize-ties-away",
           .lesson = "Put 0, infinity and NaN to a reference before it judges a kernel: 448 / inf "
                     "is a multiplier of 0 here, and 0 times its reciprocal is NaN."),
};

HC_CASES(field_plays_delayed_scales, cases);
