/* Activations that half cannot hold.

   Models that were trained in bf16 or fp32 may have activations beyond 65504. A product of matrices
   sums them in fp32 without harm, and the cast of its result to half makes an infinity of them. The
   NaN comes later, and another operation is blamed: a norm divides inf by inf, a loss subtracts inf
   from inf, an optimizer's eps is enlarged in vain. Clamping removes the symptom and keeps the
   error.

   The rule of thumb: look for the first inf, not for the first NaN. Such a layer needs bf16 or fp32
   for its output, or smaller weights. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG(
        "field/activations/t5-ffn-overflow",
        "T5 in fp16 gives a NaN loss after 34 iterations: one activation is 66246.39.",
        "huggingface/transformers issue 5651, 'T5 fp16 overflow in forward (T5DenseReluDense)', "
        "https://github.com/huggingface/transformers/issues/5651; issues 4287, 4586, 9295, 11461 "
        "and 14189; PRs 10956 and 19229",
        .formula = "h = [wo(66246.3906), wo(100)]; x = fp32(h)\n"
                   "norm = sqrt((x[0] * x[0] + x[1] * x[1]) / 2); y = x / norm",
        .show = "h, y", .buggy = {.in = "fp32 wo=fp16", .prints = "inf, 100 exact, nan, 0"},
        .fixed = {.in = "fp32 wo=fp32", .prints = "66246.39, 100 exact, 1.41421, 0.00213"},
        .lesson = "Keep wo's output in fp32 or bf16: T5 was trained in bf16 and reaches beyond "
                  "65504.",
        .fault = "gemm-result-in-half"),
    HC_BUG("field/activations/clamp-only-inf",
           "Clamping T5's infinite activations ends the NaNs, and leaves them 2.6 % too small.",
           "huggingface/transformers PR 9487, '[T5] enable T5 fp16', "
           "https://github.com/huggingface/transformers/pull/9487",
           .formula = "h = act(66246.3906); limit = act(65504 - 1000)\n"
                      "y = fp32(select(isinf(h), limit, h))",
           .show = "limit, y, 1 - y / 66246.3906",
           .buggy = {.in = "fp32 act=fp16", .prints = "64512 exact, 64512 exact, 2.6%"},
           .fixed = {.in = "fp32 act=fp32", .prints = "64504 exact, 66246.39, 0"},
           .correction = "The code says max - 1000 = 64504, which is no half: it clamps to 64512.",
           .lesson = "Clamping hides an overflow; keep the residual stream in fp32 or bf16.",
           .fault = "dot-saturates"),
    HC_BUG("field/activations/linear-overflow-then-ce",
           "NaN in SoftmaxCrossEntropy in float16, and a larger eps for Adam does not cure it.",
           "chainer/chainer PR 6738, 'Use larger eps in mnist example', "
           "https://github.com/chainer/chainer/pull/6738: 'I found that Linear leads to infinity'",
           .formula = "z = [out(sum(784, 100)), out(sum(784, 90))]; m = max(z)\n"
                      "loss = log(sum(exp(z - m))) + m - z[1]",
           .show = "z, loss", .buggy = {.in = "fp32 out=fp16", .prints = "inf, inf, nan"},
           .fixed = {.in = "fp32 out=fp32", .prints = "78400 exact, 70560 exact, 7840"},
           .lesson = "Look for the first operation that gives inf; the one that reports NaN comes "
                     "later."),
};

HC_CASES(field_sums_activations, cases);
