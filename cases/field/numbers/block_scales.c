/* The scale of a block.

   The MX formats and NVFP4 store a block of 16 or 32 numbers as codes of a few bits, and one scale
   for all of them. The scale must bring the block's largest number into the elements' range. A
   scale that is a power of two is rounded, and rounded the wrong way it is too small: the largest
   number, which matters most in a product, is cut to the largest code. A scale that is computed by
   a division can be 0, or infinite, and takes the block with it.

   The rule of thumb: round a scale up, never to nearest; take the exponent of the amax before any
   division; and give amaxes a floor and scales a ceiling. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/block-scale/fp8-zero-row-scale-nan",
           "fp8 training with LoRA is NaN from the first step: a row of zeros has the scale 0.",
           "pytorch/ao issue 3356, 'Float8Tensor NaN's for LoRA + FP8 training', "
           "https://github.com/pytorch/ao/issues/3356; pytorch/ao issue 4713; "
           "huggingface/kernels-community PR 680; "
           "NVIDIA/Model-Optimizer PR 381",
           .formula = "row = [0, 0]; scale = max(max(abs(row)), least) / 448\n"
                      "x = fp32(e4m3(row / scale)) * scale",
           .show = "x", .buggy = {.in = "fp32", .with = "least := 0", .prints = "nan, nan"},
           .fixed = {.in = "fp32", .with = "least := 1e-12", .prints = "0, 0"},
           .lesson = "Give the amax a floor, such as 1e-12, before it is divided by."),
    HC_BUG("field/block-scale/fp8-reciprocal-scale-overflow",
           "A block of tiny numbers becomes infinite: its scale is 448 / amax.",
           "leanprover/TensorLib PR 99, 'Add fp8_e8m0 scale type support', "
           "https://github.com/leanprover/TensorLib/pull/99; NVIDIA/TransformerEngine, which "
           "limits the scale to the largest fp32 number",
           .formula = "amax = 1e-37; scale = 448 / max(amax, least)\n"
                      "scaled = amax * scale; zero = 0 * scale",
           .show = "scale, scaled, zero",
           .buggy = {.in = "fp32", .with = "least := 0", .prints = "inf, inf, nan"},
           .fixed = {.in = "fp32", .with = "least := 1.32e-36", .prints = "3.394e38, 33.9, 0"},
           .lesson = "448 / amax is infinite below 1.3166e-36, and then zeros are NaN: give the "
                     "amax a floor, or the scale a ceiling."),
    HC_BUG(
        "field/block-scale/nvfp4-one-level-clips-2688",
        "NVFP4 halves a block of outliers: its scale ends at 448.",
        "kekzl/imp issue 1544, '[QUANT][S1] NVFP4 activation quant has no global scale, UE4M3 "
        "clamps blocks above absmax 2688', https://github.com/kekzl/imp/issues/1544; "
        "NVIDIA/Fuser issue 5680; nunchaku issue 362",
        .formula = "s = fp32(ue4m3(min(5376 / 6 / tensor, 448)))\n"
                   "x = fp32(e2m1(min(5376 / tensor / s, 6))) * s * tensor",
        .show = "s, x",
        .buggy = {.in = "fp32", .with = "tensor := 1", .prints = "448 exact, 2688 exact"},
        .fixed = {.in = "fp32", .with = "tensor := 5376 / 2688", .prints = "448 exact, 5376 exact"},
        .lesson = "Divide by amax / 2688 of the whole tensor first, so that 448 is the scale of "
                  "the block with the largest number."),
    HC_BUG("field/block-scale/nvfp4-reciprocal-for-division",
           "NVFP4 codes of two kernels differ, but only where a test aims at ties.",
           "arch-hdl-lang/arch-com issue 905, 'ScaledVec Phase 5b: NVFP4 blocks (UE4M3 scale + "
           "two-level per-tensor scaling)', https://github.com/arch-hdl-lang/arch-com/issues/905; "
           "radixark/miles issue 1054",
           .show = "x",
           .buggy = {.in = "fp32",
                     .formula = "v = 0.02392577938735485; s = fp32(ue4m3(0.013671875))\n"
                                "x = fp32(e2m1(v * (1 / s)))",
                     .prints = "2 exact"},
           .fixed = {.in = "fp32",
                     .formula = "v = 0.02392577938735485; s = fp32(ue4m3(0.013671875))\n"
                                "x = fp32(e2m1(v / s))",
                     .prints = "1.5 exact"},
           .lesson = "Divide, or say that you multiply: 1 / s is rounded and carries a number onto "
                     "a tie. Random tests do not show it: aim at midpoints."),
};

HC_CASES(field_numbers_block_scales, cases);
