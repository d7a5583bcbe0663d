/* How many there are, as a number of a small format.

   A mean divides by n, an unbiased variance multiplies by n / (n - 1). A kernel that keeps n in
   the format of its data has no n beyond 65504 in half: a batch of 256 images has as many pixels
   at 16 x 16. Infinity minus one is infinity, and the quotient of the two is NaN. Below, n is
   rounded: above 2048 half holds n or n - 1, not both, and the correction is 1, which does no
   harm.

   The rule of thumb: a count is an integer, and the factor that is made of it an fp32 number. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG(
        "field/counts/bessel-nan-half",
        "The running variance of batch norm in half is NaN for large batches: n / (n - 1).",
        "tensorflow/tensorflow PR 30230, 'XLA - Batch Norm - Bessel's correction generates NaNs "
        "in FP16', https://github.com/tensorflow/tensorflow/pull/30230",
        .formula = "n = 65536; m = 60000; v = 2", .show = "n, v * (n / (n - 1)), v * (m / (m - 1))",
        .buggy = {.in = "fp16", .prints = "inf, nan, 2 exact"},
        .fixed = {.in = "fp32", .prints = "65536, 2.00003, 2.00003"}, .fault = "norm-count-in-half",
        .lesson = "Compute n / (n - 1) in fp32, and cast the quotient."),
};

HC_CASES(field_numbers_counts, cases);
