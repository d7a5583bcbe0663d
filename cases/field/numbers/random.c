/* Random numbers in [0, 1) that are 1.

   A generator makes u < 1 from many random bits and rounds it to the format that was asked for.
   From the midpoint between 1 and the number below it on, rounding to nearest gives 1: in fp16
   that is 1 - 2^-12, so that one draw in 4096 is 1, and in bf16 one in 512. The interval is no
   longer half open, and what relies on that fails: log(1 - u) is -inf, an index floor(n u) is n.

   Rule of thumb: draw and transform in fp32, and cast what comes out; or cut u toward zero. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG(
        "field/random/rand-returns-1",
        "torch.rand in half or bf16 returns 1, though its interval ends before 1.",
        "pytorch/pytorch issue 96947, 'torch.rand can sample the upper bound for lower "
        "precision floating point dtypes on CUDA', "
        "https://github.com/pytorch/pytorch/issues/96947; JuliaMath/BFloat16s.jl issue 71; "
        "NVIDIA/Fuser PR 2355",
        .formula =
            "in_fp16 = count(65536, h(i / 65536) == 1); in_bf16 = count(65536, b(i / 65536) == 1)",
        .show = "in_fp16, in_bf16", .buggy = {.in = "fp32 h=fp16 b=bf16", .prints = "16, 128"},
        .fixed = {.in = "fp32 h=fp32 b=fp32", .prints = "0, 0"}, .fault = "rounding-one-more",
        .lesson = "Cut u toward zero (fp16_rz), or map 1 to 0: one of 4096 draws is 1 in fp16."),
    HC_BUG("field/random/randn-minus-inf", "Normal random numbers in half are sometimes -inf.",
           "tinygrad/tinygrad issue 3611, 'Tensor.rand goes to -inf with default half', "
           "https://github.com/tinygrad/tinygrad/issues/3611; ml-explore/mlx PR 904",
           .formula = "u = 65535 / 65536; r = sqrt(-2 * log(1 - u))", .show = "u, r",
           .buggy = {.in = "fp16", .prints = "1 exact, inf"},
           .fixed = {.in = "fp32", .prints = "0.99998, 4.71"},
           .lesson = "Transform uniform numbers in fp32, and cast the normal ones."),
};

HC_CASES(field_numbers_random, cases);
