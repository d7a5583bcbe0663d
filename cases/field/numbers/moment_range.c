/* Two powers of a gradient in one format.

   Adam keeps averages of g and of g^2. Half has room for 12 powers of ten between its smallest
   number, 6e-8, and its largest, 65504. Gradients of a network spread over six or more, their
   squares over twice as many. A loss scale moves both ends at once: what saves the small squares
   makes the large ones infinite.

   The rule of thumb: keep the second moment in fp32 or bf16, or give it a scale of its own. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/moment-range/adam-no-single-scale",
           "Adam with half states over- or underflows, whatever the loss scale.",
           "warner-benjamin/optimi PR 15, 'Make float16 actually work using gradient and optimizer "
           "state scaling', https://github.com/warner-benjamin/optimi/pull/15",
           .formula = "small = list(41, 1e-4 * 2^(i - 20))\n"
                      "large = list(41, 1000 * 2^(i - 20))\n"
                      "v_small = small * small; v_large = large * large\n"
                      "scales = 41 - count((v_small == 0) + isinf(v_large))",
           .show = "v_small[20], v_large[20], scales",
           .buggy = {.in = "fp16", .prints = "0, inf, 0"},
           .fixed = {.in = "fp32", .prints = "1.00e-8, 1000000, 41 exact"},
           .fault = "adam-variance-in-half",
           .lesson = "Scale the second moment apart from the gradient, or keep it in fp32."),
};

HC_CASES(field_numbers_moment_range, cases);
