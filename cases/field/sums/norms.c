/* Factors that are made of norms. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    /* A clip coefficient from a norm that overflowed.

       Clipping multiplies all gradients by max / (norm + 1e-6). The norm is the root of a sum of
       squares, and squares leave a format at the root of its largest number: fp32 at 1.8e19, half
       at 256. The norm is then infinite, the coefficient is 0, and every finite gradient becomes 0
       without a message: the step looks like a small one. (A gradient that is itself infinite
       becomes NaN: order/clip-infinite-norm.)

       The rule of thumb: sum squares in a wider format than the gradients', and look whether the
       norm is finite before anything is multiplied by it. */
    HC_BUG(
        "field/clip-coefficient/clip-coef-eps-and-inf",
        "clip_grad_norm_ returns an infinite norm, and all gradients of 1e20 silently become 0.",
        "pytorch/pytorch issue 46849, 'clip_grad_norm_ silently passes when not finite', "
        "https://github.com/pytorch/pytorch/issues/46849; facebookresearch/habitat-lab PR 2229, "
        "https://github.com/facebookresearch/habitat-lab/pull/2229",
        .formula = "g = 1e20; norm = sqrt(sum(100, g * g)); c = min(1, 1 / (norm + 1e-6))",
        .show = "norm, c, c * g", .buggy = {.in = "fp32", .prints = "inf, -, 0", .is = "-, 0, -"},
        .fixed = {.in = "fp64", .is = "1e21, 1e-21, 0.1000"}, .fault = "norm-squares-in-half",
        .lesson = "Look whether the norm is finite before gradients are multiplied by max / norm."),

    /* A trust ratio between weights and scaled gradients.

       LARC and LARS give each layer a rate of trust * |w| / (|g| + decay * |w|). Under a loss scale
       the gradients that the wrapped optimizer holds are S times too large, the weights are not,
       and the ratio comes out too small by S (by less where decay counts). The step that follows
       divides by S, but only the gradient: the layer's rate stays 1/S of what it should be.

       The rule of thumb: whatever mixes a gradient with something else needs it unscaled. */
    HC_BUG("field/trust-ratio/larc-norm-scaled",
           "LARC with fp16 hardly trains: its rate per layer is too small by the loss scale.",
           "NVIDIA/apex issue 1030, 'Bug in LARC when using FP16', "
           "https://github.com/NVIDIA/apex/issues/1030",
           .formula = "w = list(64, 0.125); g = S * list(64, 1.25e-4);"
                      "w_norm = sqrt(sum(w * w)); g_norm = sqrt(sum(g * g));"
                      "rate = 0.02 * w_norm / (g_norm + 1e-4 * w_norm)",
           .show = "w_norm, g_norm, rate",
           .buggy = {.in = "fp32", .with = "S := 65536", .is = "1.000, 65.54, 3.052e-4"},
           .fixed = {.in = "fp32", .with = "S := 1", .is = "1.000, 0.001000, 18.18"},
           .fault = "restated-not-unscaled",
           .lesson = "Unscale before a norm of gradients meets a norm of weights.",
           .correction = "The ratio is too small by S = 65536 only where nothing decays; with the "
                         "usual decay of 1e-4 and these norms it is 59,578."),
};

HC_CASES(field_sums_norms, cases);
