/* Whole numbers that are names, not measures: token ids, labels, positions, rows, timesteps.

   fp16 has 11 bits and holds every whole number up to 2048; bf16 has 8 and holds those up to 256.
   Beyond, numbers share a code: 2049 is 2048 in fp16, and from 65,536 on bf16 counts in steps of
   512. A name that is rounded is somebody else's name, so that no error bound makes it right: the
   wrong row is looked up, the wrong position is embedded, two timesteps become one.

   Rule of thumb: what names a thing stays an integer, or fp32 up to 2^24. Autocast does not know
   the difference, so a product with a position belongs outside of it. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/ids/int-label-to-half",
           "Token and class ids that pass through half or bf16 come back as other ids.",
           "deepspeedai/DeepSpeed issue 5701, '[BUG] Mixed-precision: fp16 will cast input_ids "
           "into torch.cuda.HalfTensor instead of Long or Int.', "
           "https://github.com/deepspeedai/DeepSpeed/issues/5701; pytorch/pytorch issue 70179, "
           "'Invalid result when casting tensor from int64 to float16': 2101 becomes 2100",
           .formula = "label = h(2049); token = h(50257); class = b(999); id = h(2101)",
           .show = "label, token, class, id",
           .buggy = {.in = "fp32 h=fp16 b=bf16", .prints = "2048, 50272, 1000, 2100"},
           .fixed = {.in = "fp32 h=fp32 b=fp32", .prints = "2049, 50257, 999, 2101"},
           .fault = "labels-in-half",
           .lesson = "Keep ids in an integer type until they are looked up."),
    HC_BUG("field/ids/timestep-bf16",
           "A diffusion model is told a wrong timestep, because the timestep was cast to bf16.",
           "huggingface/diffusers issue 9405, 'Potential misalignment for flux and sd3 in bf16', "
           "https://github.com/huggingface/diffusers/issues/9405; modelscope/DiffSynth-Studio "
           "issue 562; Tencent-Hunyuan/UniRL PR 438: 1000 bf16(0.978) = 976",
           .formula = "t = cut([750, 937, 998.39]); u = 1000 * cut(0.978)",
           .show = "t, sin(fp32(t[0])), u",
           .buggy = {.in = "fp32 cut=bf16", .prints = "752, 936, 1000, -, 976"},
           .fixed = {.in = "fp32 cut=fp32", .prints = "750, 937, 998.39, -, 978"},
           .lesson = "Divide the timestep by 1000 in fp32, and cast the quotient."),
    HC_BUG("field/ids/sigma-schedule-bf16-collide",
           "Neighbouring timesteps of a schedule are one number in bf16, and a search by value "
           "finds the wrong one.",
           "Comfy-Org/ComfyUI PR 16001, 'Support Bernini v2 native pipeline', "
           "https://github.com/Comfy-Org/ComfyUI/pull/16001",
           .formula = "different = distinct(100, cut(1000 - i))", .show = "different",
           .buggy = {.in = "fp32 cut=bf16", .prints = "26 exact"},
           .fixed = {.in = "fp32 cut=fp32", .prints = "100 exact"},
           .lesson = "Between 512 and 1024 bf16 counts in fours: keep a schedule in fp32."),
    HC_BUG("field/ids/rope-offset-65536-bf16",
           "All image tokens get the same rotary embedding under autocast.",
           "huggingface/diffusers PR 13922, 'Fix `Ideogram4MRoPE` collapsing under "
           "`torch.autocast` (compute rotary in float32)', "
           "https://github.com/huggingface/diffusers/pull/13922",
           .formula = "positions = distinct(156, cut(65536 + 100 + i))", .show = "positions",
           .buggy = {.in = "fp32 cut=bf16", .prints = "1 exact"},
           .fixed = {.in = "fp32 cut=fp32", .prints = "156 exact"},
           .lesson = "Switch autocast off where positions are multiplied: bf16 has 8 bits."),
    HC_BUG("field/ids/upsample-index-bf16",
           "The last rows of a bf16 image are resized from a row that does not exist.",
           "pytorch/pytorch PR 83847, 'fix upsample bf16 issue for channels last path by using "
           "high pricsion to compute index', https://github.com/pytorch/pytorch/pull/83847",
           .formula = "row = floor(cut(639) * 0.5); rows = 320", .show = "row, rows",
           .buggy = {.in = "fp32 cut=bf16", .prints = "320 exact, -"},
           .fixed = {.in = "fp32 cut=fp32", .prints = "319 exact, -"},
           .lesson = "Compute indices in fp32 or in integers, whatever the format of the image."),
};

HC_CASES(field_numbers_ids, cases);
