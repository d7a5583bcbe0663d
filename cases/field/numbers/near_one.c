/* Bugs of numbers near 1, where formats are coarse and differences small. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    /* A hyperparameter that is another number in 16 bits.

       Betas are close to 1, and so are decays. Below 1 the numbers of bf16 are 2^-8 apart: 0.999
       and 0.9999 are both 1 when they are rounded to the nearest, and both 1 - 2^-8 when they are
       cut. What counts of a beta is its distance from 1, which is then 0, or 4 and 40 times too
       large. Learning rates and the factors of schedules leave the range of half: everything up to
       2^-25 is 0 in it, and 65520 is infinite. Nothing warns, since the optimizer that runs is a
       valid one.

       The rule of thumb: scalars stay Python floats, that is fp64, until they meet an fp32
       tensor. */
    HC_BUG(
        "field/hyperparameters/betas-truncated-bf16",
        "Adam with beta2 = 0.999 and with beta2 = 0.9999 runs the same trajectory, that of "
        "0.99609.",
        "tenstorrent/tt-metal issue 55935, '[Bounty $1000] moreh_adam / moreh_adamw silently run "
        "different hyperparameters than requested: bf16 truncation turns beta2=0.999 into "
        "0.99609', https://github.com/tenstorrent/tt-metal/issues/55935",
        .show = "beta2, horizon",
        .buggy = {.in = "fp32",
                  .formula = "beta2 = bf16_rz([0.999, 0.9999]); horizon = 1 / (1 - fp32(beta2))",
                  .prints = "0.99609, -, 256 exact, -",
                  .is = "0.99609375 exact, 0.99609375 exact, -, 256 exact"},
        .fixed = {.in = "fp32",
                  .formula = "beta2 = fp32([0.999, 0.9999]); horizon = 1 / (1 - fp32(beta2))",
                  .prints = "-, -, 1000, -",
                  .is = "0.999, 0.9999, -, 1.000e4"},
        .fault = "adam-beta2-in-bf16",
        .lesson =
            "Pass betas as fp32 or fp64: cut to bf16 they are 1 - 2^-8, and rounded to nearest 1."),
    HC_BUG(
        "field/hyperparameters/beta2-rounds-to-1-bf16",
        "LAMB and Adam in bf16 give NaN at step 1: the bias correction 1 - beta2^t is 0.",
        "keras-team/keras PR 21238, 'fix lamb bug', https://github.com/keras-team/keras/pull/21238",
        .formula = "beta2 = 0.999; g = [0.5, 0]; v = g * g * 0.001; v_hat = v / (1 - beta2)",
        .show = "beta2, v_hat",
        .buggy = {.in = "bf16", .prints = "-, -, nan", .is = "1 exact, inf, -"},
        .fixed = {.in = "fp32", .is = "0.999, 0.2500, 0"}, .fault = "adam-beta2-in-bf16",
        .lesson = "Compute 1 - beta^t in fp32 or fp64: bf16's largest number below 1 is 0.996.",
        .correction = "The NaN is said to be v / 0: that is infinite, and its step 0, wherever the "
                      "gradient is not 0; 0 / 0 is NaN."),
    HC_BUG("field/hyperparameters/lr-schedule-in-half",
           "A OneCycle schedule built in half begins with a learning rate of 0 and ends with NaN.",
           "tinygrad/tinygrad PR 2981, 'adjsut div factor to avoid underflow for cifar in fp16', "
           "https://github.com/tinygrad/tinygrad/pull/2981",
           .formula = "max_lr = 1.76 * 58 / 512; initial_lr = max_lr / 1e16\n"
                      "final_div = 4e-15                        # 1 / (1e16 * 0.025)\n"
                      "min_lr = initial_lr / final_div",
           .show = "max_lr, initial_lr, min_lr", .buggy = {.in = "fp16", .is = "0.1993, 0, nan"},
           .fixed = {.in = "fp32", .is = "0.1994, 1.994e-17, 0.004984"},
           .fault = "arithmetic-rate-in-half",
           .lesson = "Build schedules in fp64 and cast the rate of the step: half ends at 6e-8 and "
                     "at 65504."),

    /* Probabilities and schedules near 1: what is left of 1 - p after p was rounded.

       Below 1, fp16 is spaced by 2^-11 and bf16 by 2^-8. A p = 1 - d with d below half of that is
       1, and 1 - p is 0: the noise of the first diffusion steps, the share that dropout keeps, the
       weight of an average. The subtraction is exact; the rounding before it took everything.

       Rule of thumb: store the small number d, or form 1 - p in fp32 before anything is cast. */
    HC_BUG("field/schedule-ends/alphas-cumprod-half",
           "The first diffusion steps add no noise at all in half.",
           "huggingface/diffusers PR 9004, '[bugfix] reduce float value error when adding noise', "
           "https://github.com/huggingface/diffusers/pull/9004",
           .formula = "alpha = 1 - 1e-4; noise = sqrt(1 - alpha)", .show = "alpha, noise",
           .buggy = {.in = "fp16", .is = "1 exact, 0"},
           .fixed = {.in = "fp32", .is = "0.9999, 0.01"}, .fault = "adam-beta2-in-bf16",
           .lesson = "Build the schedule in fp32, and cast the two square roots."),

    /* 1 + tanh(u), where tanh(u) is almost -1.

       GELU is 0.5 x (1 + tanh(u)). For x below -4 the tangent is closer to -1 than a few units of
       its last place, the sum cancels, and what is left is the rounding of the tangent. From some x
       on the sum is 0. It is no question of 16 bits: fp32 is off by a third of the value at -5, and
       loses all of it at -5.2. The sum 1 + tanh(u) is 2 / (1 + e^(-2u)), where nothing cancels, and
       1 + erf(z), of the other GELU, is erfc(-z).

       The rule of thumb: look for sums that are small though their terms are not, and rewrite
       them. */
    HC_BUG("field/cancellation/gelu-tanh-tail-cancel",
           "GELU's negative tail is exactly 0 from x = -6 on, in fp32, too.",
           "tenstorrent/tt-metal issue 56517, '`ttnn.gelu(variant=Tanh)`: the negative tail is "
           "destroyed by the `1 + tanh(u)` cancellation', "
           "https://github.com/tenstorrent/tt-metal/issues/56517",
           .show = "y",
           .buggy = {.in = "fp32",
                     .formula = "x = [-5, -6]; u = sqrt(2 / pi) * (x + 0.044715 * x * x * x); y = "
                                "0.5 * x * (1 + tanh(u))",
                     .is = "-2.98e-7, 0"},
           .fixed = {.in = "fp32",
                     .formula = "x = [-5, -6]; u = sqrt(2 / pi) * (x + 0.044715 * x * x * x); y = "
                                "x / (1 + exp(-2 * u))",
                     .is = "-2.292e-7, -8.44e-11"},
           .lesson = "Write 0.5 x (1 + tanh(u)) as x / (1 + exp(-2u)).",
           .correction = "The report has 0 below -6, with its own tangent: with one that is "
                         "rounded once fp32 has 0 from -5.2 on."),

    /* Random numbers in [0, 1) that are 1.

       A generator makes u < 1 from many random bits and rounds it to the format that was asked for.
       From the midpoint between 1 and the number below it on, rounding to nearest gives 1: in fp16
       that is 1 - 2^-12, so that one draw in 4096 is 1, and in bf16 one in 512. The interval is no
       longer half open, and what relies on that fails: log(1 - u) is -inf, an index floor(n u) is
       n.

       Rule of thumb: draw and transform in fp32, and cast what comes out; or cut u toward zero. */
    HC_BUG(
        "field/random/rand-returns-1",
        "torch.rand in half or bf16 returns 1, though its interval ends before 1.",
        "pytorch/pytorch issue 96947, 'torch.rand can sample the upper bound for lower precision "
        "floating point dtypes on CUDA', https://github.com/pytorch/pytorch/issues/96947; "
        "JuliaMath/BFloat16s.jl issue 71; NVIDIA/Fuser PR 2355",
        .formula =
            "in_fp16 = count(65536, h(i / 65536) == 1); in_bf16 = count(65536, b(i / 65536) == 1)",
        .show = "in_fp16, in_bf16", .buggy = {.in = "fp32 h=fp16 b=bf16", .is = "16, 128"},
        .fixed = {.in = "fp32 h=fp32 b=fp32", .is = "0, 0"}, .fault = "rounding-one-more",
        .lesson = "Cut u toward zero (fp16_rz), or map 1 to 0: one of 4096 draws is 1 in fp16."),
    HC_BUG("field/random/randn-minus-inf", "Normal random numbers in half are sometimes -inf.",
           "tinygrad/tinygrad issue 3611, 'Tensor.rand goes to -inf with default half', "
           "https://github.com/tinygrad/tinygrad/issues/3611; ml-explore/mlx PR 904",
           .formula = "u = 65535 / 65536; r = sqrt(-2 * log(1 - u))", .show = "u, r",
           .buggy = {.in = "fp16", .is = "1 exact, inf"},
           .fixed = {.in = "fp32", .is = "0.99998, 4.71"},
           .lesson = "Transform uniform numbers in fp32, and cast the normal ones."),

    /* The weight of an RMS norm in bf16.

       y = x / rms(x) * w has two products, and implementations differ in what they round: some
       round x / rms to bf16 before the weight, others the product alone; some keep 1 + w instead of
       the weight, and add the 1 in bf16 or in fp32. Each is a defensible choice, at most an ulp or
       so apart in a single entry. A model whose weights were learned with one of them answers
       differently with another, and 1 + w in bf16 forgets what was learned: its numbers above 1 lie
       2^-7 apart.

       So right is here the format's rule of the training, and not the real number: a library that
       computes better than that is the one with the bug. The same holds for a constant that a model
       was trained with in bf16.

       The rule of thumb: do as the training did. If there is a choice, do all of it in fp32 and
       round once. */
    HC_BUG("field/norm-weight/one-plus-weight-bf16",
           "A norm with weight 1 + w loses small learned weights, because the sum is in bf16.",
           "ggml-org/llama.cpp PR 5810, 'Fix Gemma parity issue', "
           "https://github.com/ggml-org/llama.cpp/pull/5810: t + 1 is 4.1250 for t = 3.1406; "
           "vllm-project/vllm PRs 3653, 53203 and 55311; unslothai/unsloth PR 217",
           .formula = "w = bf16([3.141592, 0.05, 0.0039, -0.0019]); g = 1 + cut(w)", .show = "g",
           .buggy = {.in = "fp32 cut=bf16",
                     .prints = "4.1250, -, -, -",
                     .is = "-, 1.046875, 1 exact, 1 exact"},
           .fixed = {.in = "fp32 cut=fp32", .is = "4.1406, 1.0500, 1.0039, 0.9981"},
           .fault = "norm-gain-in-bf16",
           .lesson =
               "Add the 1 in fp32: in bf16 a weight up to 2^-8, or down to -2^-9, acts as 0."),
    HC_BUG(
        "field/norm-weight/rmsnorm-cast-before-weight",
        "The same checkpoint gives other numbers in another library: RMS norm rounds before or "
        "after the weight.",
        "NVIDIA/TransformerEngine issue 1132, 'RMSNorm precision different from HF "
        "implementation', https://github.com/NVIDIA/TransformerEngine/issues/1132; "
        "InternLM/lmdeploy PR 2842; vllm-project/vllm issue 42325",
        .rule = "A Llama checkpoint was trained with x / rms rounded to bf16 before the weight. "
                "One rounding after the weight is nearer to the real number, and not what the "
                "weights were learned with.",
        .formula = "h = 1.09; w = bf16(1.125); y = bf16(cut(h) * w)\n"
                   "x = list(256, 1 + (37 * i + 0.5) / 256)\n"
                   "u = bf16(list(256, 0.75 + i / 512))\n"
                   "differ = count(bf16(cut(x) * u) != bf16(bf16(x) * u))",
        .show = "y, differ / 256", .buggy = {.in = "fp32 cut=fp32", .is = "1.2265625 exact, 28%"},
        .fixed = {.in = "fp32 cut=bf16", .is = "1.234375 exact, 0"},
        .fault = "norm-rounds-before-gain",
        .lesson = "Round where the training rounded: about a quarter of all entries differ by an "
                  "ulp.",
        .also = {{"rmsnorm-weight-in-fp32-not-as-spec",
                  "vllm-project/vllm PR 42379, '[Bugfix] Fix RMSNorm kernels to multiply in "
                  "weight native dtype', https://github.com/vllm-project/vllm/pull/42379: 2 % of "
                  "output tokens are those of the reference; PR 49639 (1,208 of 4,096 elements "
                  "differ); vllm-xpu-kernels PR 536 goes the other way"}}),
    HC_BUG("field/norm-weight/gemma-rounds-after-weight",
           "Gemma's RMS norm, written as Llama's is, rounds too early.",
           "huggingface/transformers PR 29402, 'Gemma bug fixes - Approx GELU, Layernorms, "
           "Sqrt(hd)', https://github.com/huggingface/transformers/pull/29402, and issue 33133; "
           "google/gemma_pytorch PR 67",
           .rule = "Gemma multiplies by 1 + w in fp32 and rounds once, after the weight.",
           .formula = "h = 1.09; w = bf16(0.125); y = bf16(cut(h) * (1 + fp32(w)))", .show = "y",
           .buggy = {.in = "fp32 cut=bf16", .is = "1.234375 exact"},
           .fixed = {.in = "fp32 cut=fp32", .is = "1.2265625 exact"},
           .lesson = "Two models may need two orders of the same operations: keep both.",
           .fault = "norm-rounds-before-gain"),
    HC_BUG(
        "field/norm-weight/gemma-normalizer-55.5",
        "Embeddings of Gemma are too small by 0.13 %: they are multiplied by the root of 3072 in "
        "fp32.",
        "huggingface/transformers PR 29402, 'Gemma bug fixes - Approx GELU, Layernorms, "
        "Sqrt(hd)', https://github.com/huggingface/transformers/pull/29402: sqrt(3072) = 55.4256 "
        "becomes 55.5; PR 37109 (Gemma 3); google/gemma_pytorch PR 67",
        .rule = "Gemma was trained with the root rounded to bf16: 55.5 is right, and the better "
                "number is the bug.",
        .formula = "root = cut(sqrt(3072)); x = 2 * fp32(root)", .show = "root, x",
        .buggy = {.in = "fp32 cut=fp32", .prints = "55.4256, -", .is = "-, 110.851"},
        .fixed = {.in = "fp32 cut=bf16", .prints = "55.5 exact, -", .is = "-, 111 exact"},
        .lesson = "Ask of a constant in which format a model was trained with it.",
        .fault = "norm-gain-in-bf16"),
};

HC_CASES(field_numbers_near_one, cases);
