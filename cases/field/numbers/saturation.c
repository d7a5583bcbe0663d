/* A sum that leaves fp8.

   e4m3 ends at 448 and has no infinity: what is above 464, half a step more, is NaN. e5m2 ends at
   57344, and from 61440 on is infinity. Conversions come in two kinds: those that round, as IEEE
   754 has it, and those that saturate at the largest number. A library that saturates in products,
   minima and scaled sums and not in plain sums gives a NaN for two finite gradients, which then
   spreads to all ranks.

   The rule of thumb: clamp to the largest number before the cast wherever a NaN or an infinity
   would be worse than a wrong gradient; and count how often, since saturation hides overflow. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/saturation/fp8-sum-not-saturated",
           "An all-reduce in fp8 turns two finite numbers into NaN or infinity.",
           "ROCm/rocm-systems PR 9554, 'fix(rccl): saturate fp8/bf8 Sum, and fix 1-wide hadd on "
           "gfx942', https://github.com/ROCm/rocm-systems/pull/9554, and its issue 9556 "
           "(436 pairs of e4m3 numbers of 65536)",
           .formula =
               "sum_e4m3 = fp32(e4m3(min(448 + 18, e4)))\n"
               "sum_e5m2 = fp32(e5m2(min(57344 + 4096, e5)))\n"
               "x = list(38, (9 + i - 8 * floor((i + 1) / 8)) * 2^(1 + floor((i + 1) / 8)))\n"
               "nans = 2 * sum(38, count(j: 38, isnan(e4m3(min(x[i] + x[j], e4)))))",
           .show = "sum_e4m3, sum_e5m2, nans",
           .buggy = {.in = "fp32", .with = "e4 := inf; e5 := inf", .prints = "nan, inf, 436 exact"},
           .fixed = {.in = "fp32", .with = "e4 := 448; e5 := 57344", .prints = "448, 57344, 0"},
           .lesson = "Clamp to the format's largest number before the cast to fp8."),
    HC_BUG("field/saturation/e4m3fn-overflow-nan-or-448",
           "What is NaN in one stack is 448 in another.",
           "jax-ml/ml_dtypes issue 400, 'float8_e4m3fn: float32 cast gives NaN on overflow where "
           "other stacks saturate to 448', https://github.com/jax-ml/ml_dtypes/issues/400; issues "
           "260 and 147; ROCm/rocm-systems PR 8800; riscv-isa-sim PR 2284",
           .formula = "tie = fp32(e4m3(min(464, e4))); beyond = fp32(e4m3(min(465, e4)))\n"
                      "below = fp32(e5m2(min(61439, e5))); at = fp32(e5m2(min(61440, e5)))",
           .show = "tie, beyond, below, at",
           .buggy = {.in = "fp32",
                     .with = "e4 := inf; e5 := inf",
                     .prints = "448 exact, nan, 57344 exact, inf"},
           .fixed = {.in = "fp32",
                     .with = "e4 := 448; e5 := 57344",
                     .prints = "448 exact, 448 exact, 57344 exact, 57344 exact"},
           .lesson = "OFP8 allows both: say which one a conversion does, and clamp where the other "
                     "side saturates."),
    HC_BUG("field/saturation/fp8-dynamic-scale-output-overflow",
           "fp8 outputs with dynamic scales are NaN, and the library's own test lets them pass.",
           "uxlfoundation/oneDNN PR 5626, 'fp8: saturate the output value after dynamic scaling "
           "instead of overflowing', https://github.com/uxlfoundation/oneDNN/pull/5626",
           .formula = "amax = 972; y = fp32(e4m3(min(amax / 2, e4)))", .show = "y",
           .buggy = {.in = "fp32", .with = "e4 := inf", .prints = "nan"},
           .fixed = {.in = "fp32", .with = "e4 := 448", .prints = "448 exact"},
           .lesson = "Saturate after scaling: a scale that is a power of two below amax / 448, 2 "
                     "here, leaves up to 512."),
};

HC_CASES(field_numbers_saturation, cases);
