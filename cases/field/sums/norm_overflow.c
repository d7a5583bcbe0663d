/* A norm layer that leaves half.

   Half ends at 65504, and so 256 is the first number whose square is infinite in it. A norm, a
   variance or a mean of squares needs squares of activations that are well inside half's range.
   Where a square or the sum of them is infinite, the quotient x / norm is 0: a layer gives zeros,
   or its bias, for finite inputs, without a message. Kernels that square in half and accumulate in
   fp32 do not escape, since infinity is what they accumulate.

   The rule of thumb: cast to fp32 before the square, not after it. In half a root of a mean of
   squares is safe up to 255 for one number, and up to 255 / sqrt(n) for n of one size. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG(
        "field/norm-overflow/groupnorm-square-in-half",
        "Group norm in fp16 has an infinite variance, although its sums are in fp32.",
        "neuroneural/brainchop-cli PR 56, 'fix(meshnet): compute fp16 GroupNorm variance in f32 "
        "to prevent overflow', https://github.com/neuroneural/brainchop-cli/pull/56 "
        "(activations up to 375 and 940); ml-explore/mlx issue 4228, 'InstanceNorm FP16 variance "
        "overflow collapses finite feature maps'",
        .formula = "x = [940, 375, 256, 255.875]; s = fp32(sq(x) * sq(x)); v = sum(s) / 4",
        .show = "s, v, x[0] / sqrt(v)",
        .buggy = {.in = "fp32 sq=fp16", .prints = "inf, inf, inf, 65472, inf, 0"},
        .fixed = {.in = "fp32 sq=fp32", .prints = "883600, 140625, 65536, 65472, -, 1.749"},
        .fault = "norm-variance-in-half",
        .lesson = "Cast to fp32 before the square: an fp32 accumulator comes too late."),
    HC_BUG(
        "field/norm-overflow/rmsnorm-sum-overflow",
        "RMS norm in half gives zeros or NaN, although each square is finite.",
        "nntrainer/nntrainer issue 3935, '[CausalLM] FP16 Overflow in "
        "rms_norm_wrt_width_fp16_intrinsic', https://github.com/nntrainer/nntrainer/issues/3935; "
        "microsoft/onnxruntime PR 29043, 'Fix simplified layer norm fp16 overflow'; "
        "xlite-dev/LeetCUDA PR 335, 'bugfix: fix layernorm & rmsnorm f16 overflow'",
        .formula = "x = 8; in_order = sum(1024, x * x); in_pairs = tree(1024, x * x)\n"
                   "y = x / sqrt(in_order / 1024)",
        .show = "x * x, in_order, in_pairs, y",
        .buggy = {.in = "fp16", .prints = "64, inf, inf, 0"},
        .fixed = {.in = "fp32", .prints = "64, 65536, 65536, 1"}, .fault = "norm-squares-in-half",
        .lesson = "Sum squares in fp32: 1024 squares of 8 are 65536, in any order."),
    HC_BUG("field/norm-overflow/weight-norm-half",
           "weight_norm in half gives weights that are all 0.",
           "PyTorch forums 11815, 'Training with Half Precision', a question that nobody answered: "
           "'Is it the same situation with weight norm? It should use float32?'",
           .formula = "v = list(64, 32); g = 1; norm = sqrt(sum(v * v))",
           .show = "norm, g * v[0] / norm", .buggy = {.in = "fp16", .prints = "inf, 0"},
           .fixed = {.in = "fp32", .prints = "256, 0.125"}, .fault = "norm-squares-in-half",
           .lesson = "Take norms of weights in fp32: that of 64 weights of 32 is inf in half."),
};

HC_CASES(field_sums_norm_overflow, cases);
