/* Sums by hardware, and roundings by random bits. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    /* What a matrix unit does beside adding products.

       A matrix unit has its own formats inside. TF32 mode cuts fp32 inputs to 11 bits before they
       are multiplied. An accumulator has fewer bits than fp32: the fp8 units of Hopper align all
       products to the largest summand and cut them 13 bits behind its point. A unit may spend a bit
       of the range. And whatever the accumulator holds, the result is rounded once more where it is
       stored: numbers that were different can come out equal.

       The rule of thumb: test a unit with inputs whose exact result needs one bit more than it
       should keep, and ask for an fp32 output where small differences decide. */
    HC_BUG("field/matrix-units/tf32-1024.5",
           "On an RTX 30 card torch.matmul of 1024.5 and 1 is 1025.",
           "pytorch/pytorch issue 53635, 'torch.matmul() gives rounded results for 30xx cards', "
           "https://github.com/pytorch/pytorch/issues/53635; issues 55355, 66212 and 84334; "
           "jax-ml/jax issue 14022; also products/gemm-in-tf32",
           .show = "away, even",
           .buggy = {.in = "fp32",
                     .formula = "away = tf32_rz(1024.5 + 0.5) * 1; even = tf32(1024.5) * 1",
                     .prints = "1025 exact, -",
                     .is = "-, 1024 exact"},
           .fixed = {.in = "fp32",
                     .formula = "away = 1024.5 * 1; even = 1024.5 * 1",
                     .prints = "1024.5 exact, -",
                     .is = "-, 1024.5 exact"},
           .lesson = "Set torch.backends.cuda.matmul.allow_tf32 = False where 11 bits are too few. "
                     "The card rounds inputs with ties away from 0; ties to even give 1024.",
           .fault = "tf32-creeps-into-gemm"),
    HC_BUG(
        "field/matrix-units/gemm-saturate-half-max",
        "On Apple's neural engine a product of 33000 is inf, though half holds up to 65504.",
        "sbryngelson/ANEForge issue 115, 'matmul saturates at fp16_max/2 (~32752); two "
        "transpose-fed cases return inf even below that', "
        "https://github.com/sbryngelson/ANEForge/issues/115",
        .formula = "k32 = fp16(spare * sum(32, 1000)) / spare\n"
                   "k33 = fp16(spare * sum(33, 1000)) / spare",
        .show = "k32, k33",
        .buggy = {.in = "fp32", .with = "spare := 2", .prints = "-, inf", .is = "32000 exact, -"},
        .fixed = {.in = "fp32", .with = "spare := 1", .is = "32000 exact, 32992 exact"},
        .correction = "The title says that the product saturates at 32752; by the numbers in "
                      "the thread it is infinite above that.",
        .lesson = "Measure a unit's range with K ones times 1000, for K around 32 and 65."),
    HC_BUG("field/matrix-units/fp8-accumulator-13-bits",
           "fp8 products on Hopper lose small terms: the unit keeps only 14 bits of a sum.",
           "deepseek-ai/DeepGEMM issue 37, 'only uses the highest 14 bits', "
           "https://github.com/deepseek-ai/DeepGEMM/issues/37; deepseek-ai/DeepSeek-V3 issue 197; "
           "DeepGEMM issue 176 (a B200 keeps 25 bits); MMA-Sim: summands are cut 13 bits behind "
           "the point of the largest",
           .formula = "c = 1", .steps = 128, .show = "c",
           .buggy = {.in = "fp32", .each = "c = floor((c + 2^-14) * 2^13) / 2^13", .is = "1 exact"},
           .fixed = {.in = "fp32", .each = "c = c + 2^-14", .is = "1.0078125 exact"},
           .lesson = "Promote fp8 partial sums to fp32 every 128 products, as DeepGEMM does.",
           .fault = "gemm-cuts", .curve = "c"),
    HC_BUG("field/matrix-units/router-gemm-bf16-output",
           "A mixture of experts loses accuracy: 5 % of the tokens go to other experts.",
           "sgl-project/sglang PR 33764, 'Fix the router GEMM inaccuracy when using _front_w in "
           "Kimi-K3', https://github.com/sgl-project/sglang/pull/33764; PR 29783 (SWE-bench 79 "
           "falls to 67); vllm-project/vllm PR 47970",
           .formula = "x = [4, 0.25]; w = list(64, 1 + i / 128)    # exact in bf16, too\n"
                      "logit = list(64, out(x[0] * 1 + x[1] * w[i]))",
           .show = "distinct(logit), logit[48] - logit[47]",
           .buggy = {.in = "fp32 out=bf16", .is = "5 exact, 0"},
           .fixed = {.in = "fp32 out=fp32", .is = "64 exact, 0.001953125 exact"},
           .lesson = "Ask the product for an fp32 output, out_dtype=torch.float32: inputs in bf16 "
                     "do no harm.",
           .fault = "gemm-result-in-half"),

    /* Stochastic rounding with few random bits.

       A number that lies the fraction f of an ulp above its lower neighbour goes up with
       probability f. With k random bits r = 0, 1, ... 2^k - 1 one tests f > r / 2^k: that holds for
       ceil(f 2^k) of the 2^k draws, so that the probability is f rounded up to a multiple of 2^-k.
       Numbers grow by half of 2^-k ulp on the average. To add r / 2^k and cut, floor(f + r / 2^k),
       rounds the probability down, and numbers shrink. Neither matters with 8 bits and more; with 2
       an eighth of an ulp is lost or won at each step, in one direction.

       The rule of thumb: count over all fractions and all draws that the mean is the number
       itself. */
    HC_BUG(
        "field/random-bits/sr-few-bits-biased",
        "Stochastic rounding with two random bits is off by a constant part of an ulp on the "
        "average.",
        "graphcore-research/gfloat PR 36, 'Add comparison to \"SRFast\"', "
        "https://github.com/graphcore-research/gfloat/pull/36",
        .formula = "r := 2^k; all := 64 * r       # draws; and 64 fractions of an ulp\n"
                   "away = sum(n: 64, sum(r, (n/64 > i/r) - n/64)) / all\n"
                   "toward = sum(n: 64, sum(r, floor(n/64 + i/r) - n/64)) / all\n"
                   "worst = sum(r, (1/64 > i/r) - 1/64) / r",
        .show = "away, toward, worst",
        .buggy = {.in = "fp32", .with = "k := 2", .is = "0.12, -0.12, 0.23"},
        .fixed = {.in = "fp32", .with = "k := 8", .is = "0, 0, 0"}, .fault = "rounding-two-bits",
        .lesson =
            "Take as many random bits as are cut off, or 8: k bits are biased by up to 2^-k ulp."),
    HC_BUG("field/random-bits/nvfp4-sr-zeros-without-cvt-rs",
           "Training runs on gradients that are all 0 on some GPUs, and products are right.",
           "NVIDIA/TransformerEngine PR 3281, '[Common] Fix NVFP4 stochastic rounding on "
           "architectures without cvt.rs', https://github.com/NVIDIA/TransformerEngine/pull/3281: "
           "assert(0) is compiled out, and the result stays what it was at first",
           .show = "mean",
           .buggy = {.in = "fp32",
                     .formula = "x = 1.3; code = 0 * x; mean = sum(256, code) / 256",
                     .prints = "0"},
           .fixed = {.in = "fp32",
                     .formula = "x = 1.3    # between 1 and 1.5, 8 random bits\n"
                                "mean = 1 + sum(256, floor((x - 1) / 0.5 + i / 256)) / 512",
                     .is = "1.298828125 exact"},
           .frozen = "2026-11-27 3be12114",
           .lesson = "Ask of a random rounding that its mean is the number itself, and let a "
                     "missing branch end the program in release builds, too.",
           .fault = "rounding-two-bits"),
    HC_BUG("field/random-bits/nvfp4-sr-dither-twice-the-step",
           "The eager fallback is noisier than the kernel that it stands for.",
           "axolotl-ai-cloud/axolotl PR 3767, 'feat(nvfp4): native NVFP4-GEMM training refactor as "
           "plugin', https://github.com/axolotl-ai-cloud/axolotl/pull/3767 (a deviation of 0.61 in "
           "the place of 0.37, of its own data)",
           .formula = "e = sum(n: 64, sum(64, (floor(n/64 + d*((i + 0.5)/64 - 0.5) + 0.5) - n/64)"
                      " * (floor(n/64 + d*((i + 0.5)/64 - 0.5) + 0.5) - n/64)))\n"
                      "rms = sqrt(e / 4096)",
           .show = "rms", .buggy = {.in = "fp32", .with = "d := 2", .is = "0.6455"},
           .fixed = {.in = "fp32", .with = "d := 1", .is = "0.4082"},
           .frozen = "2026-11-27 9acc14fa",
           .lesson = "Add a dither as wide as one step: the deviation is then 1 / sqrt(6) of it."),
};

HC_CASES(field_sums_units, cases);
