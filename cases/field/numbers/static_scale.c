/* A static loss scale that is too small for some gradients.

   Half rounds to 0 what is at most 2^-25. A loss scale S moves that limit to 2^-25 / S: 5.8e-11
   with the 512 of many recipes. Gradients below are lost whatever the optimizer does with them
   later, and a training has more and more of those as it learns. A dynamic scale goes up until
   something overflows, and so keeps as much as half can hold.

   The rule of thumb: 512 is a beginning, not a setting. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/static-scale/static-scale-too-small",
           "A static loss scale of 512 does not get as far as dynamic loss scaling: gradients of "
           "1e-11 are still 0.",
           "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's Automatic "
           "Mixed Precision'; fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: "
           "loss_scale:float=512.",
           .formula = "g = 1e-11; scaled = fp16(S * g)", .show = "scaled, fp32(scaled) / S",
           .buggy = {.in = "fp32", .with = "S := 512", .prints = "0, 0"},
           .fixed = {.in = "fp32", .with = "S := 2^20", .prints = "1.049e-5, 1.0004e-11"},
           .fault = "scaler-never-grows",
           .lesson = "Use a dynamic scale: with S half loses gradients up to 2^-25 / S."),
};

HC_CASES(field_numbers_static_scale, cases);
