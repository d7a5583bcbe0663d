/* A norm that is not the norm, but an epsilon.

   x / max(|x|, eps) has length 1 only while |x| is above eps. Below, the epsilon takes the place of
   the norm, and what should be a direction shrinks with x. Muon's Newton-Schulz iteration then
   begins far below the singular values for which its polynomial was made: it multiplies small ones
   by 3.4445 a step, and six steps (a factor of 1670) do not reach 1. Nothing is infinite or NaN;
   the update is only too small, and all the more so the smaller the gradient.

   The singular values of a large random matrix have the density sqrt(4 - x^2) / pi on [0, 2]
   (the quarter circle). The four nodes above 0 of Gauss's rule for the whole circle have its even
   moments up to x^14, and a norm needs even ones alone: they give that of the report's random
   2048 x 2048 matrix to its three digits.

   The rule of thumb: an epsilon that guards a division by 0 belongs near the smallest number of
   the format (1e-30 in fp32), not near what is usual in it. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/norm-floor/newton-schulz-eps-floor",
           "Muon's update collapses to 0 without a word for small gradients.",
           "NVIDIA-NeMo/Emerging-Optimizers issue 229, 'newton_schulz silently degenerates "
           "(non-orthogonal output) for small-norm inputs due to F.normalize eps floor', "
           "https://github.com/NVIDIA-NeMo/Emerging-Optimizers/issues/229, and PR 230",
           .formula = "node = list(4, 2 * cos(pi * (i + 1) / 9))  # singular values\n"
                      "sine = list(4, sin(pi * (i + 1) / 9)); share = 4 / 9 * sine * sine\n"
                      "in1 = 1e-9; s = in1 / max(in1, eps) / sqrt(2048) * node\n"
                      "in2 = 1e-10; t = in2 / max(in2, eps) / sqrt(2048) * node",
           .each = "s = s * (3.4445 - s * s * (4.775 - 2.0315 * s * s))\n"
                   "t = t * (3.4445 - t * t * (4.775 - 2.0315 * t * t))\n"
                   "out1 = sqrt(2048 * sum(share * s * s))\n"
                   "out2 = sqrt(2048 * sum(share * t * t))",
           .steps = 6, .show = "out1, out2",
           .buggy = {.in = "fp32", .with = "eps := 1e-7", .prints = "16.1, 1.67"},
           .fixed = {.in = "fp32", .with = "eps := 1e-30"},
           .lesson = "Let such an epsilon be 1e-30: it is there for 0 alone."),
};

HC_CASES(field_steps_norm_floor, cases);
