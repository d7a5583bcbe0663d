/* A large square that swallows small ones.

   bf16 has fp32's range and 8 bits. Its sums of squares overflow hardly earlier than fp32's, but
   one outlier of 16 has the square 256, of which a square of 1 is half an ulp and is lost, however
   many follow. The norm is then that of the outlier alone, and too small. What is divided by it
   comes out too large: by 41 % where the lost squares add up to as much as the outlier's. Layers
   with massive activations are of this kind, and so are ranks of which one has most of the
   gradient.

   The rule of thumb: sum squares in fp32, whatever the format of what is squared. In bf16 a square
   below 1/512 of the sum before it is nothing. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/swallowed-squares/rmsnorm-sumsq-in-bf16",
           "Hidden states of deep layers drift away from the reference: RMS norm sums its squares "
           "in bf16.",
           "sgl-project/sglang PR 27540, '[gemma4] Compute RMSNorm in fp32 to fix deep-layer "
           "hidden-state divergence vs HF', https://github.com/sgl-project/sglang/pull/27540 "
           "(cosine at layer 58: 0.513, and 0.999 with fp32)",
           .formula = "x = list(1024, select(i == 0, 32, 1)); s = sum(acc(x) * acc(x))\n"
                      "rms = sqrt(fp32(s) / 1024)",
           .show = "s, rms, x[1] / rms",
           .buggy = {.in = "fp32 acc=bf16", .prints = "1024 exact, 1 exact, 1 exact"},
           .fixed = {.in = "fp32 acc=fp32", .prints = "2047 exact, 1.4139, 0.7073"},
           .fault = "norm-in-bf16",
           .lesson = "Take the mean of squares in fp32: beside an outlier of 32 (summed first) "
                     "1023 ones are nothing in bf16."),
    HC_BUG("field/swallowed-squares/norm-allreduce-bf16",
           "The gradient norm is wrong where the ranks' norms are summed in bf16.",
           "NVIDIA-NeMo/Automodel PR 825, 'fix: Cast norm to fp32 in clip_grad_norm', "
           "https://github.com/NVIDIA-NeMo/Automodel/pull/825",
           .formula = "norm = list(8, select(i == 0, 16, 1)); s = sum(acc(norm) * acc(norm))\n"
                      "largest = fp32(acc(1e19)) * fp32(acc(1e19))",
           .show = "s, sqrt(fp32(s)), largest",
           .buggy = {.in = "fp32 acc=bf16", .prints = "256 exact, 16 exact, 1.0e38"},
           .fixed = {.in = "fp32 acc=fp32", .prints = "263 exact, 16.217, 1.00e38"},
           .fault = "norm-in-bf16",
           .lesson = "Cast each rank's norm to fp32 before it is squared and summed.",
           .correction = "The report names overflow and underflow as the cause of its NaN. bf16 "
                         "has fp32's range, where squares end at 1.8e19 for both: what the cast "
                         "to fp32 repairs is the rounding."),
};

HC_CASES(field_sums_swallowed_squares, cases);
