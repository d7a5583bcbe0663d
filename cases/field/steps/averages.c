/* Averages over steps that stand still.

   An exponential average moves by (1 - d) times the distance to its target, a thousandth or less.
   In bf16 a thousandth of a number is below half an ulp of it, in half a ten-thousandth is, and
   the average keeps its value; where d itself is rounded to 1 it cannot do anything else. Written
   as d * a + (1 - d) * t it may still drift, since the rounded d and 1 - d need not add up to 1.
   What stands still is not marked as such: the number is a fine number, only old.

   The rule of thumb: keep averages in fp32. They stall there, too, but only a distance of 2^-24 /
   (1 - d) from the target: 1.49994 in the place of 1.5 with d = 0.999. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG(
        "field/averages/exp-avg-sq-bf16-stall",
        "Adam's second moment in bf16 never comes down from its first value: steps are too "
        "small.",
        "decoderesearch/SAELens PR 728, a comment (explained variance 0.6161, with fp32 0.7267), "
        "https://github.com/decoderesearch/SAELens/pull/728; whitecircle/halo PR 30; "
        "Nerogar/OneTrainer issue 1005; NVIDIA/Model-Optimizer PR 738 (MMLU 59 %, with fp32 72 %)",
        .formula = "v = 1e-6; g = 1e-4", .each = "v = 0.999 * v + 0.001 * g * g", .steps = 2000,
        .show = "v, g / sqrt(v)", .curve = "v",
        .buggy = {.in = "fp32/bf16", .prints = "9.98e-7, 0.100"}, .fault = "adam-variance-in-bf16",
        .fixed = {.in = "fp32", .prints = "1.44e-7, 0.2637"},
        .lesson = "Keep v in fp32, or round it at random: a thousandth of it is less than half an "
                  "ulp in bf16."),
    HC_BUG("field/averages/ema-frozen-half", "The average of half or bf16 weights never changes.",
           "d8ahazard/sd_dreambooth_extension PR 1417, 'Ema fp32', "
           "https://github.com/d8ahazard/sd_dreambooth_extension/pull/1417; PaddlePaddle/PaddleMIX "
           "PR 515; konpatp/diffae issue 16; OpenNMT/OpenNMT-py PR 1294; keras-team/keras PR 21238",
           .formula = "ema = 1; w = 0", .each = "ema = 0.9999 * ema + 1e-4 * w", .steps = 2000,
           .show = "ema", .curve = "ema", .buggy = {.in = "fp16", .prints = "1 exact"},
           .fault = "running-statistics-in-half", .fixed = {.in = "fp32", .prints = "0.8187"},
           .lesson = "Keep the average in fp32: 0.9999 is 1 in half, and 0.999 is 1 in bf16."),
    HC_BUG("field/averages/ema-lerp-vs-mul",
           "Two ways to write the same average differ in half: one stands still, the "
           "other runs ahead.",
           "d8ahazard/sd_dreambooth_extension PR 1415, 'Use float32 for EMA model', "
           "https://github.com/d8ahazard/sd_dreambooth_extension/pull/1415",
           .formula = "lerp = 1; up = 1; down = 2; t = 1.5",
           .each = "lerp += 0.001 * (t - lerp); up = 0.999 * up + 0.001 * t\n"
                   "down = 0.999 * down + 0.001 * t",
           .steps = 500, .show = "lerp, up, down", .curve = "up",
           .buggy = {.in = "fp16", .prints = "1.0117, 1.488, 2 exact"},
           .fixed = {.in = "fp32", .prints = "1.1968, 1.1968, 1.8032"},
           .fault = "running-statistics-in-half",
           .lesson =
               "Keep averages in fp32. In half (each operation rounded) the second form moves "
               "only upward, since half(0.999) + half(0.001) is more than 1."),
    HC_BUG(
        "field/averages/momentum-buffer-half",
        "A momentum buffer in half is 5 % off for small gradients and 0 for smaller ones.",
        "tinygrad/tinygrad PR 10387, 'use float32 for sgd momentum', "
        "https://github.com/tinygrad/tinygrad/pull/10387",
        .formula = "g = 1e-7; m = 0; h = 2.9e-8; n = 0", .each = "m = 0.9 * m + g; n = 0.9 * n + h",
        .steps = 200, .show = "m, n", .buggy = {.in = "fp32/fp16", .prints = "9.5e-7, 0"},
        .fixed = {.in = "fp32", .prints = "1.00e-6, 2.90e-7"}, .fault = "sgd-momentum-in-half",
        .lesson = "Keep momentum in fp32: half's small numbers lie 6e-8 apart.",
        .correction = "5 % is fp32 arithmetic on a buffer in half (9.5e-7); with every operation "
                      "in half it is 11 % (8.9e-7)."),
};

HC_CASES(field_steps_averages, cases);
