/* A trust ratio between weights and scaled gradients.

   LARC and LARS give each layer a rate of trust * |w| / (|g| + decay * |w|). Under a loss scale the
   gradients that the wrapped optimizer holds are S times too large, the weights are not, and the
   ratio comes out too small by S (by less where decay counts). The step that follows divides by S,
   but only the gradient: the layer's rate stays 1/S of what it should be.

   The rule of thumb: whatever mixes a gradient with something else needs it unscaled. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/trust-ratio/larc-norm-scaled",
           "LARC with fp16 hardly trains: its rate per layer is too small by the loss scale.",
           "NVIDIA/apex issue 1030, 'Bug in LARC when using FP16', "
           "https://github.com/NVIDIA/apex/issues/1030",
           .formula = "w = list(64, 0.125); g = S * list(64, 1.25e-4);"
                      "w_norm = sqrt(sum(w * w)); g_norm = sqrt(sum(g * g));"
                      "rate = 0.02 * w_norm / (g_norm + 1e-4 * w_norm)",
           .show = "w_norm, g_norm, rate",
           .buggy = {.in = "fp32", .with = "S := 65536", .prints = "1.000, 65.54, 3.052e-4"},
           .fixed = {.in = "fp32", .with = "S := 1", .prints = "1.000, 0.001000, 18.18"},
           .fault = "restated-not-unscaled",
           .lesson = "Unscale before a norm of gradients meets a norm of weights.",
           .correction = "The ratio is too small by S = 65536 only where nothing decays; with the "
                         "usual decay of 1e-4 and these norms it is 59,578."),
};

HC_CASES(field_sums_trust_ratio, cases);
