/* A scale of numbers that are no longer there.

   e4m3 has numbers up to 448 and three bits after the first. So a tensor is multiplied by a scale
   that brings its largest element to 448, and divided by it again. To save a pass the scale is
   taken from the largest elements of former steps, the amax history. A checkpoint that is loaded
   over random weights replaces the weights and, if it forgets, not the history. Then all that is
   larger than the random weights were becomes as large as they were, and what is far smaller
   becomes 0.

   The rule of thumb: whoever writes a tensor writes its scale, too. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/delayed-scale/amax-bogus-after-load",
           "Fine-tuning in fp8 from a checkpoint does not converge: weights are clipped to the "
           "largest number, or are 0.",
           "NVIDIA/TransformerEngine PR 567, 'Update fp8_meta amax when copying into "
           "Float8Tensor', https://github.com/NVIDIA/TransformerEngine/pull/567; "
           "NVIDIA/TransformerEngine issue 982",
           .formula = "w = [20.48, -13.3, 2.5, 0.02, -0.3]   # the checkpoint's weights\n"
                      "scale = 448 / max(abs(seen))\n"
                      "code = e4m3(max(min(w * scale, 448), -448))\n"
                      "decoded = fp32(code) / scale",
           .show = "decoded",
           .buggy = {.in = "fp32",
                     .with = "seen = [0.02, -0.013, 0.0024, 0.0001, -0.007]",
                     .prints = "0.02, -0.02, 0.02, 0.02, -0.02"},
           .fixed = {.in = "fp32",
                     .with = "seen = [20.48, -13.3, 2.5, 0.02, -0.3]",
                     .prints = "20.48, -13.17, 2.56, 0.02, -0.297"},
           .lesson = "A copy into a scaled tensor updates its largest element, on which the next "
                     "scale depends."),
    HC_BUG("field/delayed-scale/fp8-meta-clipped-as-gradient",
           "Training in fp8 converges worse than in int8: scales are clipped with the gradients.",
           "AI-Hypercomputer/maxtext PR 672, 'FP8 Clipping Fix', "
           "https://github.com/AI-Hypercomputer/maxtext/pull/672",
           .formula = "amax = 10; scale = amax / 448 * clip\n"
                      "x = fp32(e4m3_sat(amax / scale)) * scale",
           .show = "x", .buggy = {.in = "fp32", .with = "clip := 1/4", .prints = "2.5"},
           .fixed = {.in = "fp32", .with = "clip := 1", .prints = "10"},
           .lesson =
               "Where amax histories and scales travel in the tree of gradients, clip what is "
               "a gradient alone."),
};

HC_CASES(field_numbers_delayed_scale, cases);
