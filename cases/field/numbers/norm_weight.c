/* The weight of an RMS norm in bf16.

   y = x / rms(x) * w has two products, and implementations differ in what they round: some round x
   / rms to bf16 before the weight, others the product alone; some keep 1 + w instead of the
   weight, and add the 1 in bf16 or in fp32. Each is a defensible choice, at most an ulp or so
   apart in a single entry. A model whose weights were learned with one of them answers differently
   with another, and 1 + w in bf16 forgets what was learned: its numbers above 1 lie 2^-7 apart.

   The rule of thumb: do as the training did. If there is a choice, do all of it in fp32 and round
   once. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/norm-weight/one-plus-weight-bf16",
           "A norm with weight 1 + w loses small learned weights, because the sum is in bf16.",
           "ggml-org/llama.cpp PR 5810, 'Fix Gemma parity issue', "
           "https://github.com/ggml-org/llama.cpp/pull/5810: t + 1 is 4.1250 for t = 3.1406; "
           "vllm-project/vllm PRs 3653, 53203 and 55311; unslothai/unsloth PR 217",
           .formula = "w = bf16([3.141592, 0.05, 0.0039, -0.0019]); g = 1 + cut(w)", .show = "g",
           .buggy = {.in = "fp32 cut=bf16", .prints = "4.1250, 1.046875, 1 exact, 1 exact"},
           .fixed = {.in = "fp32 cut=fp32", .prints = "4.1406, 1.0500, 1.0039, 0.9981"},
           .fault = "norm-gain-in-bf16",
           .lesson =
               "Add the 1 in fp32: in bf16 a weight up to 2^-8, or down to -2^-9, acts as 0."),
    HC_BUG(
        "field/norm-weight/rmsnorm-cast-before-weight",
        "The same checkpoint gives other numbers in another library: RMS norm rounds before or "
        "after the weight.",
        "NVIDIA/TransformerEngine issue 1132, 'RMSNorm precision different from HF "
        "implementation', https://github.com/NVIDIA/TransformerEngine/issues/1132; "
        "huggingface/transformers PR 29402 and issue 33133 (Llama rounds before the weight, "
        "Gemma after); InternLM/lmdeploy PR 2842; vllm-project/vllm issue 42325",
        .formula = "h = 1.09; w = bf16(1.125); y = bf16(cut(h) * w)\n"
                   "x = list(256, 1 + (37 * i + 0.5) / 256)\n"
                   "u = bf16(list(256, 0.75 + i / 512))\n"
                   "differ = count(bf16(cut(x) * u) != bf16(x * u))",
        .show = "cut(h), y, differ / 256",
        .buggy = {.in = "fp32 cut=bf16", .prints = "1.09375, 1.234375 exact, 28%"},
        .fixed = {.in = "fp32 cut=fp32", .prints = "1.09, 1.2265625 exact, 0"},
        .fault = "norm-rounds-before-gain",
        .lesson =
            "Round where the training rounded: about a quarter of all entries differ by an ulp."),
};

HC_CASES(field_numbers_norm_weight, cases);
