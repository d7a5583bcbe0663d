/* Bugs of one number below half: its code, its scale, its end. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    /* Codes below half, written and read by hand: what cases/field/plays/codes.c says of bits,
       in numbers.

       A conversion into a format without infinity has an end that is easily put at the wrong place:
       at the last power of two, at the largest number before the rounding, or where a wider format
       would have gone on. And a scale in e8m0 is a byte that stands for a power of two: 0 is no
       zero, the byte is no number, and a code below 0 must not wrap around.

       The rule of thumb: try all codes, all midpoints, and their neighbours; halfcheck vectors
       has them. */
    HC_BUG("field/fp8-codes/fp8-clamp-before-rounding",
           "58000 is infinite in e5m2, and 460 has overflown in e4m3.",
           "stillwater-sc/universal issue 1302, 'microfloat e4m3 is not bit-correct for OCP E4M3', "
           "https://github.com/stillwater-sc/universal/issues/1302, and PR 1351",
           .formula = "x = 58000; y = select(x > most, inf, fp32(e5m2(x)))", .show = "y",
           .buggy = {.in = "fp32", .with = "most := 57344", .prints = "inf"},
           .fixed = {.in = "fp32", .with = "most := inf", .prints = "57344 exact"},
           .fault = "cast-e4m3-overflow-before-rounding",
           .lesson = "Round first, as if there were no largest number, and ask for overflow then."),
    HC_BUG("field/fp8-codes/fp8-top-binade-saturates",
           "Every number from 256 on is 448: the largest of a group are off by up to 75 %.",
           "sgl-project/sglang PR 40581, 'fix(dsv4): correct software FP8 RNE encoding and edge "
           "cases', https://github.com/sgl-project/sglang/pull/40581; it says the same of "
           "e4m3fnuz, from 128 on",
           .formula = "x = 256; y = select(x >= last, 448, fp32(e4m3(x)))\n"
                      "z = select(x / 2 >= last / 2, 240, fp32(e4m3fnuz(x / 2)))",
           .show = "y, z",
           .buggy = {.in = "fp32",
                     .with = "last := 256",
                     .prints = "448 exact, -",
                     .is = "-, 240 exact"},
           .fixed = {.in = "fp32", .with = "last := inf", .is = "256 exact, 128 exact"},
           .lesson =
               "In e4m3 the largest exponent has seven numbers, and only the eighth code is NaN."),
    HC_BUG("field/fp8-codes/gguf-ue4m3-from-248", "NVFP4 scales from 248 on are 448.",
           "found by halfcheck in gguf 0.19.0, fp32_to_ue4m3 (reports/packages/cast_gguf.py): "
           "7,340,093 inputs; no report of it was found",
           .formula = "x = 250; y = select(x >= last, 448, fp32(ue4m3(x)))", .show = "y",
           .buggy = {.in = "fp32", .with = "last := 248", .is = "448 exact"},
           .fixed = {.in = "fp32", .with = "last := inf", .is = "256 exact"},
           .lesson =
               "A carry out of the fraction goes into the exponent; it is no overflow below 464."),
    HC_BUG("field/fp8-codes/e8m0-code-0-is-no-zero", "Blocks with the smallest scale are 0.",
           "uxlfoundation/oneDNN PR 4218, 'common, xe: general e8m0 adjustments', "
           "https://github.com/uxlfoundation/oneDNN/pull/4218; triton-lang/triton PR 11624; "
           "NVIDIA/TransformerEngine PR 3262",
           .formula = "scale = fp32(e8m0(2^-127)); x = 448 * select(scale < least, 0, scale)",
           .show = "x", .buggy = {.in = "fp32", .with = "least := 2^-126", .is = "0"},
           .fixed = {.in = "fp32", .with = "least := 0", .is = "2.633e-36"},
           .fault = "cast-e8m0-zero-by-shift",
           .lesson = "Byte 0 is 2^-127, which is subnormal in fp32: a shift into the exponent "
                     "field makes 0 of it."),
    HC_BUG("field/fp8-codes/e8m0-bytes-as-numbers",
           "Weights of an MXFP8 checkpoint are some 450,000 times too large.",
           "jundot/omlx PR 2159, 'fix(oq): decode U8 e8m0 block scales in MXFP8 dequant', "
           "https://github.com/jundot/omlx/pull/2159: scales are stored as bytes, and were taken "
           "for numbers",
           .formula = "x = 2^-12 * scale / 2^-12; times = x / 2^-12", .show = "times",
           .buggy = {.in = "fp32", .with = "scale := 115", .is = "471040 exact"},
           .fixed = {.in = "fp32", .with = "scale := 2^(115 - 127)", .is = "1 exact"},
           .lesson = "A scale's format is part of the checkpoint: 115 stands for 2^-12. Compare "
                     "the mean magnitude of what was loaded."),
    HC_BUG("field/fp8-codes/mlx-e8m0-code-wraps",
           "Blocks of tiny numbers become infinite in MXFP8 and MXFP4.",
           "found by halfcheck in MLX 0.32.4 (reports/packages/scale_mlx.py), for amaxes up to "
           "1.3e-36; gguf 0.19.0 does the same in MXFP4 below 2^-126; no report of it was found",
           .formula = "code := 127 - floor(-log(2^-138 / 448) / log(2))\n"
                      "scale = 2^(max(code, least) - 256 * floor(max(code, least) / 256) - 127)",
           .show = "scale", .buggy = {.in = "fp32", .with = "least := -1000", .is = "1.298e33"},
           .fixed = {.in = "fp32", .with = "least := 0", .is = "5.877e-39"},
           .fault = "cast-e8m0-exponent-field",
           .lesson = "Limit the exponent to -127 before it becomes a byte: -19 as a byte is 237. "
                     "See halfcheck calc 'scale(mx-rp, e4m3, 2^-138)'."),

    /* The scale of a block.

       The MX formats and NVFP4 store a block of 16 or 32 numbers as codes of a few bits, and one
       scale for all of them. The scale must bring the block's largest number into the elements'
       range. A scale that is a power of two is rounded, and rounded the wrong way it is too small:
       the largest number, which matters most in a product, is cut to the largest code. A scale that
       is computed by a division can be 0, or infinite, and takes the block with it.

       The rule of thumb: round a scale up, never to nearest; take the exponent of the amax
       before any division; and give amaxes a floor and scales a ceiling. */
    HC_BUG("field/block-scale/fp8-zero-row-scale-nan",
           "fp8 training with LoRA is NaN from the first step: a row of zeros has the scale 0.",
           "pytorch/ao issue 3356, 'Float8Tensor NaN's for LoRA + FP8 training', "
           "https://github.com/pytorch/ao/issues/3356; pytorch/ao issue 4713; "
           "huggingface/kernels-community PR 680; NVIDIA/Model-Optimizer PR 381",
           .formula = "row = [0, 0]; scale = max(max(abs(row)), least) / 448\n"
                      "x = fp32(e4m3(row / scale)) * scale",
           .show = "x", .buggy = {.in = "fp32", .with = "least := 0", .is = "nan, nan"},
           .fixed = {.in = "fp32", .with = "least := 1e-12", .is = "0, 0"},
           .lesson = "Give the amax a floor, such as 1e-12, before it is divided by."),
    HC_BUG("field/block-scale/fp8-reciprocal-scale-overflow",
           "A block of tiny numbers becomes infinite: its scale is 448 / amax.",
           "leanprover/TensorLib PR 99, 'Add fp8_e8m0 scale type support', "
           "https://github.com/leanprover/TensorLib/pull/99; NVIDIA/TransformerEngine, which "
           "limits the scale to the largest fp32 number",
           .formula = "amax = 1e-37; scale = 448 / max(amax, least)\n"
                      "scaled = amax * scale; zero = 0 * scale",
           .show = "scale, scaled, zero",
           .buggy = {.in = "fp32", .with = "least := 0", .is = "inf, inf, nan"},
           .fixed = {.in = "fp32", .with = "least := 1.32e-36", .is = "3.394e38, 33.9, 0"},
           .lesson = "448 / amax is infinite below 1.3166e-36, and then zeros are NaN: give the "
                     "amax a floor, or the scale a ceiling."),
    HC_BUG(
        "field/block-scale/nvfp4-one-level-clips-2688",
        "NVFP4 halves a block of outliers: its scale ends at 448.",
        "kekzl/imp issue 1544, '[QUANT][S1] NVFP4 activation quant has no global scale, UE4M3 "
        "clamps blocks above absmax 2688', https://github.com/kekzl/imp/issues/1544; NVIDIA/Fuser "
        "issue 5680; nunchaku issue 362",
        .formula = "s = fp32(ue4m3(min(5376 / 6 / tensor, 448)))\n"
                   "x = fp32(e2m1(min(5376 / tensor / s, 6))) * s * tensor",
        .show = "s, x",
        .buggy = {.in = "fp32", .with = "tensor := 1", .is = "448 exact, 2688 exact"},
        .fixed = {.in = "fp32", .with = "tensor := 5376 / 2688", .is = "448 exact, 5376 exact"},
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
                     .is = "2 exact"},
           .fixed = {.in = "fp32",
                     .formula = "v = 0.02392577938735485; s = fp32(ue4m3(0.013671875))\n"
                                "x = fp32(e2m1(v / s))",
                     .is = "1.5 exact"},
           .lesson = "Divide, or say that you multiply: 1 / s is rounded and carries a number onto "
                     "a tie. Random tests do not show it: aim at midpoints."),
    HC_BUG(
        "field/block-scale/mxfp4-kv-exact-scale-encodes",
        "From 512 tokens on the text is \"the the the\": codes and scale do not belong together.",
        "kekzl/imp PR 250, 'fix(mxfp4-kv): quantize with the stored scale', "
        "https://github.com/kekzl/imp/pull/250 (off by up to 2 in a block, and by 1.5 % where "
        "scales are e4m3)",
        .formula = "x = [3.1, 1.6, 0.7, -0.4]; exact = max(abs(x)) / 6\n"
                   "stored = fp32(e8m0_ru(exact))\n"
                   "y = fp32(e2m1(x / select(own, exact, stored))) * stored",
        .show = "y",
        .buggy = {.in = "fp32", .with = "own := 1", .is = "6 exact, 3 exact, 1.5 exact, -1 exact"},
        .fixed = {.in = "fp32",
                  .with = "own := 0",
                  .is = "3 exact, 1.5 exact, 0.5 exact, -0.5 exact"},
        .no_bound =
            "The stored scale is up to twice the exact one. A running bound holds for every scale "
            "in between, with some of which the codes saturate, so that it is infinite.",
        .frozen = "2026-11-27 1ee89c0e",
        .lesson = "Make codes with the scale that is stored, after it was rounded.",
        .fault = "quantize-scale-inverted"),

    /* A scale of numbers that are no longer there.

       e4m3 has numbers up to 448 and three bits after the first. So a tensor is multiplied by a
       scale that brings its largest element to 448, and divided by it again. To save a pass the
       scale is taken from the largest elements of former steps, the amax history. A checkpoint that
       is loaded over random weights replaces the weights and, if it forgets, not the history. Then
       all that is larger than the random weights were becomes as large as they were, and what is
       far smaller becomes 0.

       The rule of thumb: whoever writes a tensor writes its scale, too. */
    HC_BUG(
        "field/delayed-scale/amax-bogus-after-load",
        "Fine-tuning in fp8 from a checkpoint does not converge: weights are clipped to the "
        "largest number, or are 0.",
        "NVIDIA/TransformerEngine PR 567, 'Update fp8_meta amax when copying into Float8Tensor', "
        "https://github.com/NVIDIA/TransformerEngine/pull/567; NVIDIA/TransformerEngine issue 982",
        .formula = "w = [20.48, -13.3, 2.5, 0.02, -0.3]   # the checkpoint's weights\n"
                   "scale = 448 / max(abs(seen))\n"
                   "code = e4m3(max(min(w * scale, 448), -448))\n"
                   "decoded = fp32(code) / scale",
        .show = "decoded",
        .buggy = {.in = "fp32",
                  .with = "seen = [0.02, -0.013, 0.0024, 0.0001, -0.007]",
                  .is = "0.02, -0.02, 0.02, 0.02, -0.02"},
        .fixed = {.in = "fp32",
                  .with = "seen = [20.48, -13.3, 2.5, 0.02, -0.3]",
                  .is = "20.48, -13.17, 2.56, 0.02, -0.297"},
        .lesson = "A copy into a scaled tensor updates its largest element, on which the next "
                  "scale depends."),
    HC_BUG("field/delayed-scale/fp8-meta-clipped-as-gradient",
           "Training in fp8 converges worse than in int8: scales are clipped with the gradients.",
           "AI-Hypercomputer/maxtext PR 672, 'FP8 Clipping Fix', "
           "https://github.com/AI-Hypercomputer/maxtext/pull/672",
           .formula = "amax = 10; scale = amax / 448 * clip\n"
                      "x = fp32(e4m3_sat(amax / scale)) * scale",
           .show = "x", .buggy = {.in = "fp32", .with = "clip := 1/4", .is = "2.5"},
           .fixed = {.in = "fp32", .with = "clip := 1", .is = "10"},
           .lesson = "Where amax histories and scales travel in the tree of gradients, clip what "
                     "is a gradient alone."),
    HC_BUG("field/delayed-scale/kv-scale-calibrated-on-warmup",
           "Text degenerates within 30 tokens: the scale is that of a synthetic first batch.",
           "kekzl/imp PR 89, 'fix(kv-cache): FP8 KV scale poisoned by warmup; high-water-mark "
           "calibration', https://github.com/kekzl/imp/pull/89",
           .formula = "x = [6, -3.1, 0.5]; scale = seen / 448\n"
                      "y = fp32(e4m3(max(min(x / scale, 448), -448))) * scale",
           .show = "y",
           .buggy = {.in = "fp32", .with = "seen := 1", .is = "1 exact, -1 exact, 0.5 exact"},
           .fixed = {.in = "fp32", .with = "seen := 6", .is = "6.00, -3.00, 0.482"},
           .frozen = "2026-11-27 5b6af664",
           .lesson =
               "Keep the largest amax so far: all above the scale of a warm-up is cut to it."),

    /* A sum that leaves fp8.

       e4m3 ends at 448 and has no infinity: what is above 464, half a step more, is NaN. e5m2 ends
       at 57344, and from 61440 on is infinity. Conversions come in two kinds: those that round, as
       IEEE 754 has it, and those that saturate at the largest number. A library that saturates in
       products, minima and scaled sums and not in plain sums gives a NaN for two finite gradients,
       which then spreads to all ranks.

       The rule of thumb: clamp to the largest number before the cast wherever a NaN or an
       infinity would be worse than a wrong gradient; and count how often, since saturation hides
       overflow. */
    HC_BUG("field/saturation/fp8-sum-not-saturated",
           "An all-reduce in fp8 turns two finite numbers into NaN or infinity.",
           "ROCm/rocm-systems PR 9554, 'fix(rccl): saturate fp8/bf8 Sum, and fix 1-wide hadd on "
           "gfx942', https://github.com/ROCm/rocm-systems/pull/9554, and its issue 9556 (436 pairs "
           "of e4m3 numbers of 65536)",
           .formula =
               "sum_e4m3 = fp32(e4m3(min(448 + 18, e4)))\n"
               "sum_e5m2 = fp32(e5m2(min(57344 + 4096, e5)))\n"
               "x = list(38, (9 + i - 8 * floor((i + 1) / 8)) * 2^(1 + floor((i + 1) / 8)))\n"
               "nans = 2 * sum(38, count(j: 38, isnan(e4m3(min(x[i] + x[j], e4)))))",
           .show = "sum_e4m3, sum_e5m2, nans",
           .buggy = {.in = "fp32",
                     .with = "e4 := inf; e5 := inf",
                     .prints = "nan, -, -",
                     .is = "-, inf, 436 exact"},
           .fixed = {.in = "fp32", .with = "e4 := 448; e5 := 57344", .is = "448, 57344, 0"},
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
                     .prints = "448 exact, nan, -, -",
                     .is = "-, -, 57344 exact, inf"},
           .fixed = {.in = "fp32",
                     .with = "e4 := 448; e5 := 57344",
                     .prints = "448 exact, 448 exact, -, -",
                     .is = "-, -, 57344 exact, 57344 exact"},
           .lesson = "OFP8 allows both: say which one a conversion does, and clamp where the other "
                     "side saturates."),
    HC_BUG("field/saturation/fp8-dynamic-scale-output-overflow",
           "fp8 outputs with dynamic scales are NaN, and the library's own test lets them pass.",
           "uxlfoundation/oneDNN PR 5626, 'fp8: saturate the output value after dynamic scaling "
           "instead of overflowing', https://github.com/uxlfoundation/oneDNN/pull/5626",
           .formula = "amax = 972; y = fp32(e4m3(min(amax / 2, e4)))", .show = "y",
           .buggy = {.in = "fp32", .with = "e4 := inf", .prints = "nan"},
           .fixed = {.in = "fp32", .with = "e4 := 448", .is = "448 exact"},
           .lesson = "Saturate after scaling: a scale that is a power of two below amax / 448, 2 "
                     "here, leaves up to 512."),
};

HC_CASES(field_numbers_fp8, cases);
