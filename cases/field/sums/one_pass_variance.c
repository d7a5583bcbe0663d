/* A variance in one pass.

   E[x^2] - E[x]^2 needs one pass over the data and is the variance of real numbers. In a format it
   is the difference of two numbers of the size of the mean's square, each with an error of about
   half an ulp of it. With a mean of 5 and a deviation of 0.1 these are 25 and the variance 0.01:
   bf16's numbers at 25 lie 0.125 apart. What is left is 0, or negative, and 1 / sqrt of it is huge
   or NaN. Epsilon does not help against -0.6. Two passes, the mean first and then the mean of (x -
   mean)^2, lose only what the format loses of the data.

   The rule of thumb: one pass loses 2 log2(mean / deviation) bits, here 11, which is all that half
   has. Subtract the mean first, or use Welford's updates; fp32 alone only moves the limit. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/one-pass-variance/var-ex2-ex-2",
           "Batch norm in training gives NaN for data with mean 5 and standard deviation 0.1.",
           "tenstorrent/tt-metal issue 45968, '`batch_norm` (training): catastrophic variance "
           "cancellation', https://github.com/tenstorrent/tt-metal/issues/45968; "
           "tensorflow/tensorflow issue 118701, 'XLA FusedBatchNormV3 produces negative variance "
           "and NaN output'; google/objax issue 182; microsoft/onnxruntime issue 21935 (fp32)",
           .formula = "x = list(64, 4.9 + 0.2 * (i - 2 * floor(i / 2))); mean = sum(x) / 64\n"
                      "one_pass = sum(x * x) / 64 - mean * mean\n"
                      "inverse = 1 / sqrt(one_pass + 1e-5)\n"
                      "two_passes = sum((x - mean) * (x - mean)) / 64",
           .show = "mean, one_pass, inverse, two_passes",
           .buggy = {.in = "bf16", .prints = "5, -0.625, nan, 0.008"},
           .fixed = {.in = "fp32", .prints = "5.000, 0.0100, 10.0, 0.0100"},
           .fault = "norm-one-pass",
           .lesson = "Take the variance in two passes and in fp32; the sums here are in order."),
};

HC_CASES(field_sums_one_pass_variance, cases);
