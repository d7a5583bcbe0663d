/* Bugs of numbers that a format has no room for near 0. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    /* An epsilon that is lost before it can help.

       An epsilon keeps a divisor away from 0 or a probability away from 1. It does so only if it is
       a number of its own where it is added. Half makes 0 of everything up to 2^-25 = 2.98e-8, so
       that 1e-12 and Adam's 1e-8 are no epsilon at all (eps/ shows those). Next to 1 it must be
       larger still: 1 + eps is 1 up to 2^-11 in half, 2^-8 in bf16 and 2^-24 in fp32, and below 1
       half of that is enough. Then 0 / 0 is NaN, or the logarithm of 0 is -inf, and often only the
       gradient sees it.

       The rule of thumb: compute with epsilons in fp32, and add them to the small number, last. */
    HC_BUG(
        "field/lost-eps/iou-eps-1e-9-half",
        "The CIoU of two identical boxes is NaN, in fp32 and in half, though there is an epsilon "
        "of 1e-9.",
        "ultralytics/yolov5 issue 2376, 'a bug about function bbox_iou()', "
        "https://github.com/ultralytics/yolov5/issues/2376",
        .show = "alpha, ciou",
        .buggy = {.in = "fp32",
                  .formula =
                      "iou = 1; v = 0; alpha = v / ((1 + 1e-9) - iou + v); ciou = iou - v * alpha",
                  .prints = "-, nan",
                  .is = "nan, -"},
        .fixed = {.in = "fp32",
                  .formula =
                      "iou = 1; v = 0; alpha = v / ((1 - iou + v) + 1e-9); ciou = iou - v * alpha",
                  .is = "0, 1.0"},
        .lesson = "Add an epsilon to the small difference, not to 1; in half no order helps 1e-9, "
                  "which is 0."),
    HC_BUG("field/lost-eps/bce-clamp-1-minus-eps",
           "The loss is finite and the gradients are NaN, because clamp(max=1 - 1e-6) does nothing "
           "in half and bf16.",
           "fastino-ai/GLiNER2 PR 155, 'Fix NaN gradients from marginal_pair_consistency_loss in "
           "half precision', https://github.com/fastino-ai/GLiNER2/pull/155; "
           "zylo117/Yet-Another-EfficientDet-Pytorch issue 502",
           .formula = "p = 1; c = min(p, 1 - 1e-6); log_survival = log1p(-c); loss = 1 - "
                      "exp(log_survival); masked = 0; grad = masked * (-1 / (1 - c))",
           .show = "c, log_survival, loss, grad",
           .buggy = {.in = "bf16", .prints = "-, -, -, nan", .is = "1 exact, -inf, 1 exact, -"},
           .fixed = {.in = "fp32", .is = "0.999999, -13.8, 1.0, 0"},
           .lesson = "Clamp probabilities in fp32: the largest half below 1 is 1 - 2^-11, the "
                     "largest bf16 number 1 - 2^-8."),
    HC_BUG("field/lost-eps/bce-grad-divisor-1e-12",
           "The gradient of binary cross entropy is NaN where the prediction is exactly right.",
           "Oneflow-Inc/oneflow PR 7476, 'fix bce loss half grad functor', "
           "https://github.com/Oneflow-Inc/oneflow/pull/7476; PaddlePaddle/Paddle PR 50930",
           .formula =
               "p = [1, 1, 0]; target = [1, 0, 0]; grad = (p - target) / max((1 - p) * p, 1e-12)",
           .show = "grad", .buggy = {.in = "fp16", .prints = "nan, -, nan", .is = "-, inf, -"},
           .fixed = {.in = "fp32", .is = "0, 1.0e12, 0"}, .fault = "eps-in-half",
           .lesson = "Compute such a gradient in fp32 inside: the 1e-12 of a half functor is 0."),

    /* A static loss scale that is too small for some gradients.

       Half rounds to 0 what is at most 2^-25. A loss scale S moves that limit to 2^-25 / S: 5.8e-11
       with the 512 of many recipes. Gradients below are lost whatever the optimizer does with them
       later, and a training has more and more of those as it learns. A dynamic scale goes up until
       something overflows, and so keeps as much as half can hold.

       The rule of thumb: 512 is a beginning, not a setting. */
    HC_BUG("field/static-scale/static-scale-too-small",
           "A static loss scale of 512 does not get as far as dynamic loss scaling: gradients of "
           "1e-11 are still 0.",
           "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's Automatic "
           "Mixed Precision'; fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: "
           "loss_scale:float=512.",
           .formula = "g = 1e-11; scaled = fp16(S * g)", .show = "scaled, fp32(scaled) / S",
           .buggy = {.in = "fp32", .with = "S := 512", .is = "0, 0"},
           .fixed = {.in = "fp32", .with = "S := 2^20", .is = "1.049e-5, 1.0004e-11"},
           .fault = "scaler-never-grows",
           .lesson = "Use a dynamic scale: with S half loses gradients up to 2^-25 / S."),

    /* Two powers of a gradient in one format.

       Adam keeps averages of g and of g^2. Half has room for 12 powers of ten between its smallest
       number, 6e-8, and its largest, 65504. Gradients of a network spread over six or more, their
       squares over twice as many. A loss scale moves both ends at once: what saves the small
       squares makes the large ones infinite.

       The rule of thumb: keep the second moment in fp32 or bf16, or give it a scale of its own. */
    HC_BUG("field/moment-range/adam-no-single-scale",
           "Adam with half states over- or underflows, whatever the loss scale.",
           "warner-benjamin/optimi PR 15, 'Make float16 actually work using gradient and optimizer "
           "state scaling', https://github.com/warner-benjamin/optimi/pull/15",
           .formula = "small = list(41, 1e-4 * 2^(i - 20))\n"
                      "large = list(41, 1000 * 2^(i - 20))\n"
                      "v_small = small * small; v_large = large * large\n"
                      "scales = 41 - count((v_small == 0) + isinf(v_large))",
           .show = "v_small[20], v_large[20], scales", .buggy = {.in = "fp16", .is = "0, inf, 0"},
           .fixed = {.in = "fp32", .is = "1.00e-8, 1000000, 41 exact"},
           .fault = "adam-variance-in-half",
           .lesson = "Scale the second moment apart from the gradient, or keep it in fp32."),
};

HC_CASES(field_numbers_near_zero, cases);
