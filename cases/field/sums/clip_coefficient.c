/* A clip coefficient from a norm that overflowed.

   Clipping multiplies all gradients by max / (norm + 1e-6). The norm is the root of a sum of
   squares, and squares leave a format at the root of its largest number: fp32 at 1.8e19, half at
   256. The norm is then infinite, the coefficient is 0, and every finite gradient becomes 0 without
   a message: the step looks like a small one. (A gradient that is itself infinite becomes NaN:
   order/clip-infinite-norm.)

   The rule of thumb: sum squares in a wider format than the gradients', and look whether the norm
   is finite before anything is multiplied by it. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/clip-coefficient/clip-coef-eps-and-inf",
           "clip_grad_norm_ returns an infinite norm, and all gradients of 1e20 silently become 0.",
           "pytorch/pytorch issue 46849, 'clip_grad_norm_ silently passes when not finite', "
           "https://github.com/pytorch/pytorch/issues/46849; facebookresearch/habitat-lab PR 2229, "
           "https://github.com/facebookresearch/habitat-lab/pull/2229",
           .formula = "g = 1e20; norm = sqrt(sum(100, g * g)); c = min(1, 1 / (norm + 1e-6))",
           .show = "norm, c, c * g", .buggy = {.in = "fp32", .prints = "inf, 0, 0"},
           .fixed = {.in = "fp64", .prints = "1e21, 1e-21, 0.1000"},
           .fault = "norm-squares-in-half",
           .lesson = "Look whether the norm is finite before gradients are multiplied by "
                     "max / norm."),
};

HC_CASES(field_sums_clip_coefficient, cases);
