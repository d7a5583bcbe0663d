/* Logits that were rounded in one place and not in another.

   The probability of a word is exp(z - lse), where lse is the logarithm of a sum over all words. An
   error of d in z becomes a factor of exp(d). bf16 has 8 bits: a logit near 10 is off by up to
   1/32, one near 160 by up to 1/2. That hardly matters while the same numbers are used everywhere,
   because errors common to z and lse cancel. It matters when one pass rounds and the other does
   not: a forward pass in bf16 and a backward pass in fp32, a target logit and its sum, a sampler
   and a trainer.

   The rule of thumb: logits leave the last product in fp32, and both sides of a difference come
   from the same numbers. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/logits/ce-forward-bf16-backward-fp32",
           "The gradient of the cross-entropy is wrong at its peak, the more so the larger the "
           "logits are.",
           "marin-community/marin PR 8217, '[levanter] Accumulate fused cross-entropy logits in "
           "float32', https://github.com/marin-community/marin/pull/8217 (measured: 1.2 % at a "
           "logit of 5 to 38.6 % at 160; below is the most that is possible)",
           .formula = "z = 5.015624 * [1, 2, 4, 8, 16, 32]    # half an ulp of bf16 off\n"
                      "lse = fp32(forward(z))    # the backward pass has z itself\n"
                      "peak_error = exp(z - lse) - 1",
           .show = "peak_error",
           .buggy = {.in = "fp32 forward=bf16", .prints = "1.6%, 3.2%, 6.4%, 13.3%, 28.4%, 64.9%"},
           .fixed = {.in = "fp32 forward=fp32", .prints = "0, 0, 0, 0, 0, 0"},
           .lesson = "Give both passes the same logits; preferred_element_type=float32 in the "
                     "forward product, too.",
           .fault = "loss-logits-in-bf16"),
    HC_BUG(
        "field/logits/logprob-positive-bf16", "Log-probabilities are positive: +0.03 to +0.125.",
        "AI-Hypercomputer/maxtext PR 5231, 'RL logprob parity: FP32 logit accumulation, clamping, "
        "and multi-band tracking', https://github.com/AI-Hypercomputer/maxtext/pull/5231; "
        "huggingface/transformers issue 31267; OpenRLHF PR 634",
        .formula = "z = 8.03126 * [1, 2, 4]; lse = z + log1p(exp(-10))\n"
                   "logp = fp32(target(z)) - lse",
        .show = "logp", .buggy = {.in = "fp32 target=bf16", .prints = "0.031, 0.062, 0.125"},
        .fixed = {.in = "fp32 target=fp32", .prints = "-4.6e-5, -4.6e-5, -4.6e-5"},
        .correction = "Logits that are all bf16 cannot do it, since rounding keeps order: the "
                      "target's logit was rounded, and those in the sum were not.",
        .fault = "loss-target-in-bf16",
        .lesson = "Take the target's logit and the sum from the same numbers; clamping to 0 hides "
                  "only half of the error."),
    HC_BUG("field/logits/fused-ce-intermediate-in-input-buffer",
           "A fused cross-entropy gives another gradient for bf16 logits than for the same numbers "
           "in fp32.",
           "NVIDIA/TransformerEngine PR 3193, 'Fix the numerical issue with the Fused CE loss', "
           "https://github.com/NVIDIA/TransformerEngine/pull/3193; NVIDIA/Megatron-LM PR 7339",
           .formula = "p = 1 / 64000    # 64000 equal logits; gradients go where they lay\n"
                      "other = buffer(p); right = buffer(p - 1)\n"
                      "total = 63999 * fp32(other) + fp32(right)    # of the gradient",
           .show = "other, total",
           .buggy = {.in = "fp32 buffer=bf16", .prints = "1.562e-5, -5.6e-4"},
           .fixed = {.in = "fp32 buffer=fp32", .prints = "1.5625e-5, -"},
           .lesson = "What one kernel leaves for the next has a format of its own: the input's "
                     "buffer saves memory and rounds.",
           .fault = "loss-gradient-through-half"),
    HC_BUG("field/logits/rl-logprob-bf16-mismatch",
           "Trainer and sampler with the same weights disagree in log-probabilities, and RL runs "
           "collapse.",
           "ServiceNow/Fast-LLM PR 525, 'Tool: evaluate layer-wise numerical-error propagation', "
           "https://github.com/ServiceNow/Fast-LLM/pull/525; arXiv 2510.26788; OpenRLHF issue 1155",
           .formula = "x = list(8, 1.41 + 0.1 * i); trainer = sum(x); sampler = tree(x)\n"
                      "ratio = exp(fp32(trainer) - fp32(sampler))",
           .show = "trainer, sampler, ratio",
           .buggy = {.in = "bf16", .prints = "14 exact, 14.0625 exact, 0.939"},
           .fixed = {.in = "fp16", .prints = "14.086, 14.078, 1.008"},
           .lesson =
               "Use half where sampler and trainer must agree: two orders of one sum differ by "
               "ulps, and half's are 8 times smaller than bf16's."),
};

HC_CASES(field_sums_logits, cases);
