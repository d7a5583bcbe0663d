/* A cast before the operation that magnifies its error.

   A rounding to bf16 is off by up to 2^-8 of the number, one to half by 2^-11. That is little as
   long as the number is used as it is. But the argument of a cosine is an angle: what counts is its
   error in radians, and 1000 radians have errors of several. The argument of an exponential is the
   same: e^(x + d) is e^d times e^x, so that an absolute error of x becomes a relative one. And the
   base of a counter is an offset of everything that is counted from it. The result may be rounded
   to 16 bits without harm; what goes in may not.

   The rule of thumb: the cast comes after cos, sin, exp or the addition of a base, not before. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/early-casts/rope-half-large-angle",
           "Rotary embeddings in half: the cosine is wrong by 0.78.",
           "EleutherAI/gpt-neox issue 1003, 'RotaryEmbedding computation is wrong for certain "
           "position/feature pairs in reduced precision (both fp16 and bfloat)', "
           "https://github.com/EleutherAI/gpt-neox/issues/1003; NVIDIA/Megatron-LM PR 531; "
           "huggingface/transformers PR 29285",
           .formula = "freq = 10000^(-2/32); angle = 1857 * freq; "
                      "worst = cos(2008 * freq)",
           .show = "angle, cos(angle), worst",
           .buggy = {.in = "fp16", .prints = "1045 exact, -0.408, 0.5625"},
           .fixed = {.in = "fp32", .prints = "1044.2678, 0.3067, -0.2194"},
           .lesson = "Compute angles and cosines in fp32, and cast the cosines."),
    HC_BUG("field/early-casts/rope-inv-freq-bf16-phase",
           "Long contexts lose their order: the frequencies of a rotary embedding were cast to "
           "bf16 before they were multiplied by the position.",
           "Modalities/modalities PR 462, 'Fix rotary frequency precision', "
           "https://github.com/Modalities/modalities/pull/462; NVIDIA-NeMo/Automodel PR 2549; "
           "sgl-project/sglang-jax PR 1473; huggingface/candle PR 3520, "
           "https://github.com/huggingface/candle/pull/3520",
           .formula = "freq = 10000^(-1/64); error = cast(freq) - freq; "
                      "far = cos(fp32(cast(15962)))",
           .show = "511 * error, 2047 * error, far",
           .buggy = {.in = "fp32 cast=bf16", .prints = "0.6, 2.5, -0.27"},
           .fixed = {.in = "fp32 cast=fp32", .prints = "0, 0, -0.908"},
           .lesson = "Keep frequencies and positions in fp32; 15962 itself is 15936 in bf16.",
           .correction = "candle PR 3520 has bf16 step by 16 at 15962, to 15968, and "
                         "cos(15962) = -0.547 and cos(15968) = -0.882: it steps by 64, to 15936, "
                         "and the cosines are -0.908 and -0.755."),
    HC_BUG("field/early-casts/ssm-a-log-exp-in-bf16",
           "Mamba forgets at the wrong rate, because A = -exp(A_log) is computed in bf16.",
           "state-spaces/mamba PR 923, 'Cast A_log to float32 before exp in Mamba2Simple.forward', "
           "https://github.com/state-spaces/mamba/pull/923; ml-explore/mlx-lm PR 1028",
           .formula = "a_log = 1.7890625; a = -exp(act(a_log)); "
                      "dt = 10 / 5.98384; kept = exp(dt * fp32(a))",
           .show = "a, kept", .buggy = {.in = "fp32 act=bf16", .prints = "-5.96875 exact, 4.66e-5"},
           .fixed = {.in = "fp32 act=fp32", .prints = "-5.98384, 4.54e-5"},
           .fault = "loss-logits-in-bf16",
           .lesson = "A_log.float() before exp: of a decay by e^-10, 2.6 % are wrong here.",
           .correction = "A in bf16 is said to be off by 2^-9 of itself, and a decay by e^-10 by "
                         "2 %: it is up to 2^-8 and 4 %."),
    HC_BUG("field/early-casts/arange-scalar-vs-vector-path",
           "torch.arange(241, 273, dtype=bfloat16) has 256 three times: half of its second vector "
           "is wrong.",
           "pytorch/pytorch issue 137774, 'torch.arange bf16 results are not accurate', "
           "https://github.com/pytorch/pytorch/issues/137774, and PR 178334, 'Fix arange "
           "half-precision scalar/vectorized inconsistency', "
           "https://github.com/pytorch/pytorch/pull/178334",
           .formula = "base = cut(257); x = list(16, bf16(fp32(base) + i)); "
                      "wrong = count(16, x[i] != bf16(257 + i))",
           .show = "x[0], x[1], x[2], wrong",
           .buggy = {.in = "fp32 cut=bf16", .prints = "256 exact, 256 exact, 258 exact, 8 exact"},
           .fixed = {.in = "fp32 cut=fp32", .prints = "256 exact, 258 exact, 260 exact, 0"},
           .lesson = "Add base and lane in fp32 and round the sum; 257 is no bf16 number."),
};

HC_CASES(field_numbers_early_casts, cases);
