/* Probabilities and schedules near 1: what is left of 1 - p after p was rounded.

   Below 1, fp16 is spaced by 2^-11 and bf16 by 2^-8. A p = 1 - d with d below half of that is 1,
   and 1 - p is 0: the noise of the first diffusion steps, the share that dropout keeps, the weight
   of an average. The subtraction is exact; the rounding before it took everything.

   Rule of thumb: store the small number d, or form 1 - p in fp32 before anything is cast. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/schedule-ends/alphas-cumprod-half",
           "The first diffusion steps add no noise at all in half.",
           "huggingface/diffusers PR 9004, '[bugfix] reduce float value error when adding noise', "
           "https://github.com/huggingface/diffusers/pull/9004",
           .formula = "alpha = 1 - 1e-4; noise = sqrt(1 - alpha)", .show = "alpha, noise",
           .buggy = {.in = "fp16", .prints = "1 exact, 0"},
           .fixed = {.in = "fp32", .prints = "0.9999, 0.01"}, .fault = "adam-beta2-in-bf16",
           .lesson = "Build the schedule in fp32, and cast the two square roots."),
};

HC_CASES(field_numbers_schedule_ends, cases);
