/* An epsilon that is lost before it can help.

   An epsilon keeps a divisor away from 0 or a probability away from 1. It does so only if it is a
   number of its own where it is added. Half makes 0 of everything up to 2^-25 = 2.98e-8, so that
   1e-12 and Adam's 1e-8 are no epsilon at all (eps/ shows those). Next to 1 it must be larger
   still: 1 + eps is 1 up to 2^-11 in half, 2^-8 in bf16 and 2^-24 in fp32, and below 1 half of that
   is enough. Then 0 / 0 is NaN, or the logarithm of 0 is -inf, and often only the gradient sees it.

   The rule of thumb: compute with epsilons in fp32, and add them to the small number, last. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/lost-eps/iou-eps-1e-9-half",
           "The CIoU of two identical boxes is NaN, in fp32 and in half, though there is an "
           "epsilon of 1e-9.",
           "ultralytics/yolov5 issue 2376, 'a bug about function bbox_iou()', "
           "https://github.com/ultralytics/yolov5/issues/2376",
           .show = "alpha, ciou",
           .buggy = {.in = "fp32",
                     .formula = "iou = 1; v = 0; alpha = v / ((1 + 1e-9) - iou + v); "
                                "ciou = iou - v * alpha",
                     .prints = "nan, nan"},
           .fixed = {.in = "fp32",
                     .formula = "iou = 1; v = 0; alpha = v / ((1 - iou + v) + 1e-9); "
                                "ciou = iou - v * alpha",
                     .prints = "0, 1.0"},
           .lesson = "Add an epsilon to the small difference, not to 1; in half no order helps "
                     "1e-9, which is 0."),
    HC_BUG("field/lost-eps/bce-clamp-1-minus-eps",
           "The loss is finite and the gradients are NaN, because clamp(max=1 - 1e-6) does nothing "
           "in half and bf16.",
           "fastino-ai/GLiNER2 PR 155, 'Fix NaN gradients from marginal_pair_consistency_loss in "
           "half precision', https://github.com/fastino-ai/GLiNER2/pull/155; "
           "zylo117/Yet-Another-EfficientDet-Pytorch issue 502",
           .formula = "p = 1; c = min(p, 1 - 1e-6); log_survival = log1p(-c); "
                      "loss = 1 - exp(log_survival); masked = 0; grad = masked * (-1 / (1 - c))",
           .show = "c, log_survival, loss, grad",
           .buggy = {.in = "bf16", .prints = "1 exact, -inf, 1 exact, nan"},
           .fixed = {.in = "fp32", .prints = "0.999999, -13.8, 1.0, 0"},
           .lesson = "Clamp probabilities in fp32: the largest half below 1 is 1 - 2^-11, the "
                     "largest bf16 number 1 - 2^-8."),
    HC_BUG("field/lost-eps/bce-grad-divisor-1e-12",
           "The gradient of binary cross entropy is NaN where the prediction is exactly right.",
           "Oneflow-Inc/oneflow PR 7476, 'fix bce loss half grad functor', "
           "https://github.com/Oneflow-Inc/oneflow/pull/7476; PaddlePaddle/Paddle PR 50930",
           .formula = "p = [1, 1, 0]; target = [1, 0, 0]; "
                      "grad = (p - target) / max((1 - p) * p, 1e-12)",
           .show = "grad", .buggy = {.in = "fp16", .prints = "nan, inf, nan"},
           .fixed = {.in = "fp32", .prints = "0, 1.0e12, 0"}, .fault = "eps-in-half",
           .lesson = "Compute such a gradient in fp32 inside: the 1e-12 of a half functor is 0."),
};

HC_CASES(field_numbers_lost_eps, cases);
