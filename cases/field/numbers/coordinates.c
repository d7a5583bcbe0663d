/* Pixels in half.

   Half has 11 bits: from 512 on its numbers are 1/2 apart, from 1024 on 1, from 32768 on 32. That
   is the range of pixel coordinates, and of the offsets that detectors add to them. A box is a
   difference of two coordinates, and an overlap a product of such differences, so that an error of
   a quarter of a pixel at each edge can make an overlap larger than its box. Weights of an
   interpolation are differences, too: rounded one by one they do not add up to 1.

   The rule of thumb: boxes, offsets and interpolation weights are fp32, whatever the image is. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/coordinates/sub-then-square-boxes-half",
           "Boxes in half: IoU is above 1 and binary cross entropy is negative.",
           "Megvii-BaseDetection/YOLOX PR 1592, 'fix iou precision error', "
           "https://github.com/Megvii-BaseDetection/YOLOX/pull/1592",
           .formula = "d = 841 - 5.2; cx = 1000.5; w = 10.75; h = 20\n"
                      "inter = ((cx + w / 2) - (cx - w / 2)) * h     # of a box with itself\n"
                      "iou = inter / (w * h + w * h - inter)\n"
                      "p = 0.95; bce = -(iou * log(p) + (1 - iou) * log(1 - p))",
           .show = "d, iou, bce", .buggy = {.in = "fp16", .prints = "836 exact, 1.05, -0.09"},
           .fixed = {.in = "fp32", .prints = "835.8, 1.00, 0.051"}, .fault = "sub-through-bf16",
           .lesson = "Compute overlaps in fp32, and clamp them to 1 before they become targets."),
    HC_BUG("field/coordinates/nms-class-offset-half",
           "Duplicates survive non-maximum suppression in half when a batch has many images.",
           "MultimediaTechLab/YOLO PR 234, '[FIX] Fix Float16 overflow problem in box_nms', "
           "https://github.com/MultimediaTechLab/YOLO/pull/234; pytorch/vision issue 3371",
           .formula = "highest = 3500; shifted = highest + 18 * (highest + 1)\n"
                      "earlier = 12 * (highest + 1); gap = (110 + earlier) - (100 + earlier)",
           .show = "shifted, gap", .buggy = {.in = "fp16", .prints = "inf, 0"},
           .fixed = {.in = "fp32", .prints = "66518 exact, 10 exact"},
           .lesson = "Shift boxes in fp32: half ends at 65504, and counts in steps of 32 long "
                     "before."),
    HC_BUG(
        "field/coordinates/bilinear-const-not-const",
        "An image of one colour, resized in half, has another colour in a corner: 0.4216 becomes "
        "0.4214.",
        "pytorch/pytorch issue 38579, 'Incorrect nn.functional.interpolate behavior for "
        "align_corners=False', https://github.com/pytorch/pytorch/issues/38579",
        .formula = "x = 0.421630859375; w = 0.4; y = (1 - w) * x + w * x", .show = "y",
        .buggy = {.in = "fp16", .prints = "0.4214"}, .fixed = {.in = "fp32", .prints = "0.4216"},
        .lesson = "Interpolate in fp32: rounded products of half weights do not add up."),
};

HC_CASES(field_numbers_coordinates, cases);
