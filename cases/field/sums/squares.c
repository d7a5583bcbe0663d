/* Squares and cubes that leave half.

   Half ends at 65504, the square of 256 and the cube of 40.3. So squares leave it long before the
   numbers do: an area of 257 x 257 pixels, a norm of 5000, the product of two squared norms. What
   comes next hides the infinity: x / inf is 0, inf / inf is NaN, and tanh(inf) is 1, so that an
   output is fine and its gradient is not.

   The rule of thumb: whatever has a power above 1 is computed in fp32; or divide first, by the
   largest number or by the norm. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG(
        "field/squares/grad-norm-overflow",
        "The norm of all gradients is inf with 5000 on each device, and each step is skipped.",
        "facebookresearch/fairscale PR 263, 'Resolve issue where grad norms because inf with OSS "
        "/ fp16', https://github.com/facebookresearch/fairscale/pull/263; NVIDIA-NeMo/Automodel "
        "PR 825; facebookresearch/fairseq issues 2384 and 4555",
        .formula = "norm = 5000; total = sqrt(sum(8, norm * norm))", .show = "total",
        .buggy = {.in = "fp16", .prints = "inf"}, .fixed = {.in = "fp32", .prints = "14142"},
        .lesson = "Cast norms to fp32 before they are squared, also those that only arrive from "
                  "other devices.",
        .fault = "norm-squares-in-half"),
    HC_BUG("field/squares/cosine-sim-zero",
           "cosine_similarity(a, a) is 0 in half, for a = torch.randn(512).",
           "pytorch/pytorch issue 69512, 'Inconsistent behavior of cosine_similarity between fp16 "
           "and fp32 inputs', https://github.com/pytorch/pytorch/issues/69512; issue 65298",
           .formula = "a = list(512, select(sin(i) < 0, -1, 1)); w = sum(a * a)\n"
                      "similarity = sum(a * a) / sqrt(w * w)",
           .show = "w, w * w, similarity", .buggy = {.in = "fp16", .prints = "512 exact, inf, 0"},
           .fixed = {.in = "fp32", .prints = "512 exact, 262144 exact, 1 exact"},
           .lesson = "Divide by one norm and then by the other; their product needs twice the "
                     "range."),
    HC_BUG(
        "field/squares/box-area-overflow",
        "The IoU of a box of 257 x 257 pixels with itself is NaN in half: NMS keeps all boxes.",
        "pytorch/vision PR 3383, 'Fix NMS and IoU overflows for fp16', "
        "https://github.com/pytorch/vision/pull/3383; issue 3371 (37 boxes where fp32 keeps one); "
        "PRs 3385 and 9175; open-mmlab/mmdetection "
        "PR 4889",
        .formula = "area = 257 * acc(257); union = area + area - area; iou = area / union",
        .show = "area, iou", .buggy = {.in = "fp16 acc=fp16", .prints = "inf, nan"},
        .fixed = {.in = "fp16 acc=fp32", .prints = "66049 exact, 1 exact"},
        .lesson = "Compute areas in fp32: half ends at some 255 x 256 pixels."),
    HC_BUG("field/squares/gelu-cube-overflow",
           "GELU by tanh has finite outputs and NaN gradients in half, for x = 256.",
           "facebookresearch/fairseq issue 2235, 'gelu_accurate: nan gradient with fp16. add an "
           "inner cast to float32?', https://github.com/facebookresearch/fairseq/issues/2235",
           .formula = "x = [40.34375, 147.75, 147.875, 256]; a = 0.7978845608; cube = x * x * x\n"
                      "t = tanh(a * (x + 0.044715 * cube)); y = 0.5 * x * (1 + t)\n"
                      "d = 0.5 * x * (1 - t * t) * a\n"
                      "grad = 0.5 * (1 + t) + d + d * 0.044715 * (3 * (x * x))",
           .show = "cube[0], y[3], grad",
           .buggy = {.in = "fp16", .prints = "inf, 256 exact, 1 exact, 1 exact, nan, nan"},
           .fixed = {.in = "fp32", .prints = "65664, 256, 1, 1, 1, 1"},
           .correction =
               "The report blames the cube, which overflows from 40.34375 on; the gradient "
               "is NaN only where 3 x^2 overflows, too, from 147.875 on.",
           .lesson = "Cast to fp32 inside of the function, and test gradients at both ends of the "
                     "range."),
};

HC_CASES(field_sums_squares, cases);
