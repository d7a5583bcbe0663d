/* Exponentials and their logarithms.

   exp(x) leaves half above 11.09 and is 0 below -17.33; fp32 ends at 88.7 and -103.97. A softmax
   without the subtraction of the largest score overflows on one side. The logarithm of a softmax
   fails on the other: a probability of e^-17.4 is 0 in half, and its logarithm -inf, though -17.4
   is a number that half holds well.

   The rule of thumb: never take exp and then log. log_softmax(x) = x - max - log(sum(exp(x - max)))
   needs no small number at all. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/softmax/exp-overflow-11.09",
           "CLIP gives NaN as soon as the learned logit_scale has grown: exp is inf in half.",
           "openai/CLIP PR 530, 'Clamp logit_scale to prevent numerical instability', "
           "https://github.com/openai/CLIP/pull/530; issue 46; UKPLab/sentence-transformers issue "
           "2774; facebookresearch/xformers issue 96 and PR 98",
           .formula = "logit_scale = [4.605, 11.08, 11.09]; scale = exp(logit_scale)",
           .show = "scale", .buggy = {.in = "fp16", .prints = "100, 64736 exact, inf"},
           .fixed = {.in = "fp32", .prints = "100.0, 64861, 65513"},
           .fault = "loss-plain-exponentials",
           .lesson = "Clamp a learned temperature, as CLIP's paper does at 100, and take its "
                     "exponential in fp32."),
    HC_BUG("field/softmax/log-of-softmax",
           "Sudden overflows in fp16 and all steps skipped: the loss takes log(softmax(x)).",
           "NVIDIA/apex issue 379, 'Log function causes floating point underflow/ gradient "
           "overflow', https://github.com/NVIDIA/apex/issues/379",
           .show = "loss",
           .buggy = {.in = "fp16",
                     .formula = "x = [0, -15, -17.3, -17.4]; e = exp(x); s = sum(e)\n"
                                "loss = -log(e / s)",
                     .prints = "0, 15.02, 16.64, inf"},
           .fixed = {.in = "fp16",
                     .formula = "x = [0, -15, -17.3, -17.4]; e = exp(x); s = sum(e)\n"
                                "loss = log(s) - x",
                     .prints = "0, 15.00, 17.30, 17.41"},
           .fault = "loss-log-of-softmax",
           .lesson =
               "Take log_softmax: the same half gives the loss to 11 bits where no exponential "
               "is rounded to 0."),
};

HC_CASES(field_sums_softmax, cases);
