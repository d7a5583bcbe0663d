/* Bugs of whole numbers in small formats: names, counts, places. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    /* Whole numbers that are names, not measures: token ids, labels, positions, rows, timesteps.

       fp16 has 11 bits and holds every whole number up to 2048; bf16 has 8 and holds those up to
       256. Beyond, numbers share a code: 2049 is 2048 in fp16, and from 65,536 on bf16 counts in
       steps of 512. A name that is rounded is somebody else's name, so that no error bound makes it
       right: the wrong row is looked up, the wrong position is embedded, two timesteps become one.

       Rule of thumb: what names a thing stays an integer, or fp32 up to 2^24. Autocast does not
       know the difference, so a product with a position belongs outside of it. */
    HC_BUG("field/ids/int-label-to-half",
           "Token and class ids that pass through half or bf16 come back as other ids.",
           "deepspeedai/DeepSpeed issue 5701, '[BUG] Mixed-precision: fp16 will cast input_ids "
           "into torch.cuda.HalfTensor instead of Long or Int.', "
           "https://github.com/deepspeedai/DeepSpeed/issues/5701; pytorch/pytorch issue 70179, "
           "'Invalid result when casting tensor from int64 to float16': 2101 becomes 2100",
           .formula = "label = h(2049); token = h(50257); class = b(999); id = h(2101)",
           .show = "label, token, class, id",
           .buggy = {.in = "fp32 h=fp16 b=bf16",
                     .prints = "-, -, -, 2100",
                     .is = "2048, 50272, 1000, -"},
           .fixed = {.in = "fp32 h=fp32 b=fp32",
                     .prints = "-, -, -, 2101",
                     .is = "2049, 50257, 999, -"},
           .fault = "labels-in-half",
           .lesson = "Keep ids in an integer type until they are looked up."),
    HC_BUG(
        "field/ids/timestep-bf16",
        "A diffusion model is told a wrong timestep, because the timestep was cast to bf16.",
        "huggingface/diffusers issue 9405, 'Potential misalignment for flux and sd3 in bf16', "
        "https://github.com/huggingface/diffusers/issues/9405; modelscope/DiffSynth-Studio "
        "issue 562; Tencent-Hunyuan/UniRL PR 438: 1000 bf16(0.978) = 976",
        .formula = "t = cut([750, 937, 998.39]); u = 1000 * cut(0.978)",
        .show = "t, sin(fp32(t[0])), u",
        .buggy = {.in = "fp32 cut=bf16", .prints = "752, -, -, -, 976", .is = "-, 936, 1000, -, -"},
        .fixed = {.in = "fp32 cut=fp32",
                  .prints = "750, -, -, -, -",
                  .is = "-, 937, 998.39, -, 978"},
        .lesson = "Divide the timestep by 1000 in fp32, and cast the quotient."),
    HC_BUG("field/ids/sigma-schedule-bf16-collide",
           "Neighbouring timesteps of a schedule are one number in bf16, and a search by value "
           "finds the wrong one.",
           "Comfy-Org/ComfyUI PR 16001, 'Support Bernini v2 native pipeline', "
           "https://github.com/Comfy-Org/ComfyUI/pull/16001",
           .formula = "different = distinct(100, cut(1000 - i))", .show = "different",
           .buggy = {.in = "fp32 cut=bf16", .is = "26 exact"},
           .fixed = {.in = "fp32 cut=fp32", .is = "100 exact"},
           .lesson = "Between 512 and 1024 bf16 counts in fours: keep a schedule in fp32."),
    HC_BUG(
        "field/ids/rope-offset-65536-bf16",
        "All image tokens get the same rotary embedding under autocast.",
        "huggingface/diffusers PR 13922, 'Fix `Ideogram4MRoPE` collapsing under `torch.autocast` "
        "(compute rotary in float32)', https://github.com/huggingface/diffusers/pull/13922",
        .formula = "positions = distinct(156, cut(65536 + 100 + i))", .show = "positions",
        .buggy = {.in = "fp32 cut=bf16", .is = "1 exact"},
        .fixed = {.in = "fp32 cut=fp32", .is = "156 exact"},
        .lesson = "Switch autocast off where positions are multiplied: bf16 has 8 bits."),
    HC_BUG("field/ids/upsample-index-bf16",
           "The last rows of a bf16 image are resized from a row that does not exist.",
           "pytorch/pytorch PR 83847, 'fix upsample bf16 issue for channels last path by using "
           "high pricsion to compute index', https://github.com/pytorch/pytorch/pull/83847",
           .formula = "row = floor(cut(639) * 0.5); rows = 320", .show = "row, rows",
           .buggy = {.in = "fp32 cut=bf16", .is = "320 exact, -"},
           .fixed = {.in = "fp32 cut=fp32", .is = "319 exact, -"},
           .lesson = "Compute indices in fp32 or in integers, whatever the format of the image."),

    /* How many there are, as a number of a small format.

       A mean divides by n, an unbiased variance multiplies by n / (n - 1). A kernel that keeps n in
       the format of its data has no n beyond 65504 in half: a batch of 256 images has as many
       pixels at 16 x 16. Infinity minus one is infinity, and the quotient of the two is NaN. Below,
       n is rounded: above 2048 half holds n or n - 1, not both, and the correction is 1, which does
       no harm.

       The rule of thumb: a count is an integer, and the factor that is made of it an fp32
       number. */
    HC_BUG(
        "field/counts/bessel-nan-half",
        "The running variance of batch norm in half is NaN for large batches: n / (n - 1).",
        "tensorflow/tensorflow PR 30230, 'XLA - Batch Norm - Bessel's correction generates NaNs in "
        "FP16', https://github.com/tensorflow/tensorflow/pull/30230",
        .formula = "n = 65536; m = 60000; v = 2", .show = "n, v * (n / (n - 1)), v * (m / (m - 1))",
        .buggy = {.in = "fp16", .prints = "-, nan, -", .is = "inf, -, 2 exact"},
        .fixed = {.in = "fp32", .is = "65536, 2.00003, 2.00003"}, .fault = "norm-count-in-half",
        .lesson = "Compute n / (n - 1) in fp32, and cast the quotient."),
    HC_BUG("field/counts/max-backward-count-half",
           "The gradient of a maximum is 0: its ties were counted in half.",
           "tinygrad/tinygrad PR 15036, 'use float32 for max backward counting with low-precision "
           "dtypes', https://github.com/tinygrad/tinygrad/pull/15036; tinygrad issue 12296",
           .formula = "b = tree(250, acc(1)); n = tree(280, b); grad = 1 / fp32(n)",
           .show = "n, grad", .buggy = {.in = "fp32 acc=fp16", .prints = "-, 0", .is = "inf, -"},
           .fixed = {.in = "fp32 acc=fp32", .is = "70000 exact, 1.4286e-5"},
           .frozen = "2026-11-27 cca9f026",
           .lesson = "Count in fp32 or in integers: 70,000 ties are infinitely many in half.",
           .fault = "sum-blocks-in-fp16"),

    /* Pixels in half.

       Half has 11 bits: from 512 on its numbers are 1/2 apart, from 1024 on 1, from 32768 on 32.
       That is the range of pixel coordinates, and of the offsets that detectors add to them. A box
       is a difference of two coordinates, and an overlap a product of such differences, so that an
       error of a quarter of a pixel at each edge can make an overlap larger than its box. Weights
       of an interpolation are differences, too: rounded one by one they do not add up to 1.

       The rule of thumb: boxes, offsets and interpolation weights are fp32, whatever the image
       is. */
    HC_BUG("field/coordinates/sub-then-square-boxes-half",
           "Boxes in half: IoU is above 1 and binary cross entropy is negative.",
           "Megvii-BaseDetection/YOLOX PR 1592, 'fix iou precision error', "
           "https://github.com/Megvii-BaseDetection/YOLOX/pull/1592",
           .formula = "d = 841 - 5.2; cx = 1000.5; w = 10.75; h = 20\n"
                      "inter = ((cx + w / 2) - (cx - w / 2)) * h     # of a box with itself\n"
                      "iou = inter / (w * h + w * h - inter)\n"
                      "p = 0.95; bce = -(iou * log(p) + (1 - iou) * log(1 - p))",
           .show = "d, iou, bce",
           .buggy = {.in = "fp16", .prints = "836 exact, -, -", .is = "-, 1.05, -0.09"},
           .fixed = {.in = "fp32", .is = "835.8, 1.00, 0.051"}, .fault = "sub-through-bf16",
           .lesson = "Compute overlaps in fp32, and clamp them to 1 before they become targets."),
    HC_BUG("field/coordinates/nms-class-offset-half",
           "Duplicates survive non-maximum suppression in half when a batch has many images.",
           "MultimediaTechLab/YOLO PR 234, '[FIX] Fix Float16 overflow problem in box_nms', "
           "https://github.com/MultimediaTechLab/YOLO/pull/234; pytorch/vision issue 3371",
           .formula = "highest = 3500; shifted = highest + 18 * (highest + 1)\n"
                      "earlier = 12 * (highest + 1); gap = (110 + earlier) - (100 + earlier)",
           .show = "shifted, gap", .buggy = {.in = "fp16", .is = "inf, 0"},
           .fixed = {.in = "fp32", .is = "66518 exact, 10 exact"},
           .lesson =
               "Shift boxes in fp32: half ends at 65504, and counts in steps of 32 long before."),
    HC_BUG("field/coordinates/bilinear-const-not-const",
           "An image of one colour, resized in half, has another colour in a corner: 0.4216 "
           "becomes 0.4214.",
           "pytorch/pytorch issue 38579, 'Incorrect nn.functional.interpolate behavior for "
           "align_corners=False', https://github.com/pytorch/pytorch/issues/38579",
           .formula = "x = 0.421630859375; w = 0.4; y = (1 - w) * x + w * x", .show = "y",
           .buggy = {.in = "fp16", .prints = "0.4214"}, .fixed = {.in = "fp32", .prints = "0.4216"},
           .lesson = "Interpolate in fp32: rounded products of half weights do not add up."),
};

HC_CASES(field_numbers_integers, cases);
