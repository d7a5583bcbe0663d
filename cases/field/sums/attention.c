/* Sums under a softmax. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    /* Logits that were rounded in one place and not in another.

       The probability of a word is exp(z - lse), where lse is the logarithm of a sum over all
       words. An error of d in z becomes a factor of exp(d). bf16 has 8 bits: a logit near 10 is off
       by up to 1/32, one near 160 by up to 1/2. That hardly matters while the same numbers are used
       everywhere, because errors common to z and lse cancel. It matters when one pass rounds and
       the other does not: a forward pass in bf16 and a backward pass in fp32, a target logit and
       its sum, a sampler and a trainer.

       The rule of thumb: logits leave the last product in fp32, and both sides of a difference
       come from the same numbers. */
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
           .buggy = {.in = "fp32 forward=bf16", .is = "1.6%, 3.2%, 6.4%, 13.3%, 28.4%, 64.9%"},
           .fixed = {.in = "fp32 forward=fp32", .is = "0, 0, 0, 0, 0, 0"},
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
        .show = "logp",
        .buggy = {.in = "fp32 target=bf16",
                  .prints = "0.03, -, 0.125",
                  .is = "0.031, 0.062, 0.125"},
        .fixed = {.in = "fp32 target=fp32", .is = "-4.6e-5, -4.6e-5, -4.6e-5"},
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
           .show = "other, total", .buggy = {.in = "fp32 buffer=bf16", .is = "1.562e-5, -5.6e-4"},
           .fixed = {.in = "fp32 buffer=fp32", .is = "1.5625e-5, -"},
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
           .buggy = {.in = "bf16", .is = "14 exact, 14.0625 exact, 0.939"},
           .fixed = {.in = "fp16", .is = "14.086, 14.078, 1.008"},
           .lesson = "Use half where sampler and trainer must agree: two orders of one sum differ "
                     "by ulps, and half's are 8 times smaller than bf16's."),
    HC_BUG(
        "field/logits/bf16-logits-depend-on-batch",
        "The same tokens have other log-probabilities in another batch: 8 % of the ratios leave "
        "0.9 to 1.1.",
        "huggingface/trl issue 6789, 'GRPO: vLLM importance-sampling ratio is biased when "
        "top_p/top_k/min_p truncate sampling', a comment of 2026-09-17 (a bf16 trainer in chunks "
        "of 1 and of 8, no sampler: a deviation of 0.0554, at most 0.656), "
        "https://github.com/huggingface/trl/issues/6789",
        .rule = "A sampler is right if it gives what its trainer gives, with the same roundings in "
                "the same order. Nearer to the real number is another model.",
        .formula = "x = list(8, 1.41 + 0.1 * i); trainer = sum(x)\n"
                   "sampler = select(pairs, tree(x), sum(x))\n"
                   "ratio = exp(fp32(trainer) - fp32(sampler))",
        .show = "sampler, ratio",
        .buggy = {.in = "bf16", .with = "pairs := 1", .is = "14.0625 exact, 0.939"},
        .fixed = {.in = "bf16", .with = "pairs := 0", .is = "14 exact, 1 exact"},
        .lesson = "Let both use the same kernels, one order of sums for every batch, or fp32."),
    HC_BUG("field/logits/sampled-logprob-renormalised",
           "Ratios of importance are biased as soon as the sampler cuts the tail.",
           "huggingface/trl issue 6789, 'GRPO: vLLM importance-sampling ratio is biased when "
           "top_p/top_k/min_p truncate sampling', https://github.com/huggingface/trl/issues/6789; "
           "vllm-project/vllm issue 42259",
           .formula = "p = [0.5, 0.3, 0.1, 0.06]    # kept of all words: 0.96\n"
                      "trainer = log(p); sampler = log(p / kept)\n"
                      "d = trainer[1] - sampler[1]; ratio = exp(d)",
           .show = "d, ratio",
           .buggy = {.in = "fp32", .with = "kept := 0.96", .is = "-0.0408, 0.960"},
           .fixed = {.in = "fp32", .with = "kept := 1", .is = "0, 1 exact"},
           .frozen = "2026-11-27 4f9971a7",
           .lesson = "Take both probabilities over the same words: otherwise the logarithm of what "
                     "was kept is in each ratio."),

    /* Masks that add a large negative number.

       To hide a position from softmax, a mask adds a number so negative that exp makes it 0. Half
       ends at -65504, so -1e9 is -inf there, and infinity follows other rules: 0 * inf is NaN, and
       a row that is all -inf has -inf - -inf = NaN for each of its elements. The smallest finite
       number, finfo.min, becomes -inf when a score of -16 is added to it. A modest number such as
       -1e4 leaks: scores below it lose against what was masked.

       The rule of thumb: select instead of adding or multiplying, take the softmax in fp32, and
       say what a row of which nothing is left shall give. */
    HC_BUG("field/masks/mask-minus-1e9-half",
           "A mask of -1e9 fails in half: 'value cannot be converted to type at::Half without "
           "overflow', or it is -inf.",
           "facebookresearch/fairseq issue 3575, 'Encoder attn_mask encounter error in fp16 mode', "
           "https://github.com/facebookresearch/fairseq/issues/3575; NVIDIA/apex issue 1105; "
           "huggingface/lerobot PR 710; pytorch/benchmark PR 794; google/flax issue 982",
           .formula = "mask = [-1e4, -65519, -65520, -1e8, -1e9]", .show = "mask",
           .buggy = {.in = "fp16", .is = "-10000 exact, -65504 exact, -inf, -inf, -inf"},
           .fixed = {.in = "fp32", .is = "-10000, -65519, -65520, -1e8, -1e9"},
           .lesson = "Use masked_fill with torch.finfo(dtype).min, and add nothing to it."),
    HC_BUG("field/masks/mask-inf-times-zero",
           "GPT-2 in mixed precision: attention is NaN where nothing is masked.",
           "openai/gpt-2 PR 122, 'Update mask_attn_weights to work with mixed precision training', "
           "https://github.com/openai/gpt-2/pull/122",
           .formula = "b = [1, 0]; w = 2; w = w * b - large * (1 - b)", .show = "w",
           .buggy = {.in = "fp16", .with = "large := 1e10", .is = "nan, -inf"},
           .fixed = {.in = "fp16", .with = "large := 1e4", .is = "2 exact, -10000 exact"},
           .lesson = "Select with where(mask, w, -large): an infinite constant times 0 is NaN."),
    HC_BUG(
        "field/masks/mask-min-plus-negative",
        "A padded row gives NaN after softmax, though the mask is finfo.min and finite.",
        "huggingface/transformers PR 17306, 'Fix -1e4 as attn mask', "
        "https://github.com/huggingface/transformers/pull/17306, and PR 17437; "
        "NVIDIA-NeMo/Automodel PR 2658 (min + min is -inf in bf16, too)",
        .formula = "masked = [-15.9, -16] - 65504; row = [-16, -17, -20] - 65504\n"
                   "e = exp(row - max(row)); p = e / sum(e)",
        .show = "masked, p",
        .buggy = {.in = "fp16",
                  .prints = "-, -, nan, nan, nan",
                  .is = "-65504 exact, -inf, -, -, -"},
        .fixed = {.in = "fp32", .is = "-65519.9, -65520, 0.721, 0.265, 0.013"},
        .lesson =
            "Do not add to finfo.min: set the masked scores to it, or take the softmax in fp32."),
    HC_BUG("field/masks/mask-minus-1e4-leaks",
           "With a mask of -1e4 attention goes to the masked position alone.",
           "flashinfer-ai/flashinfer PR 4401, 'fix(attention): handle extreme negative logits in "
           "masked softmax', https://github.com/flashinfer-ai/flashinfer/pull/4401; "
           "huggingface/transformers issue 14859; TransformerLensOrg/TransformerLens PR 366 (-1e5)",
           .formula = "score = [-12000, -12001, mask]\n"
                      "e = exp(score - max(score)); p = e / sum(e)",
           .show = "p", .buggy = {.in = "fp32", .with = "mask := -1e4", .is = "0, 0, 1 exact"},
           .fixed = {.in = "fp32", .with = "mask := -inf", .is = "0.731, 0.269, 0"},
           .fault = "loss-mask-leaks",
           .lesson = "Mask with -inf, and guard rows of which nothing is left: no finite number is "
                     "below all scores."),
    HC_BUG(
        "field/masks/softmax-all-masked-row",
        "A row of attention of which all positions are masked is NaN.",
        "pytorch/pytorch PR 131060, 'Add a private _safe_softmax', "
        "https://github.com/pytorch/pytorch/pull/131060; pytorch issues 26098 and 41508; "
        "tracel-ai/burn PR 4697; iree-org/iree issue 24175",
        .show = "p",
        .buggy = {.in = "fp32",
                  .formula = "row = list(3, -inf); e = exp(row - max(row)); p = e / sum(e)",
                  .prints = "nan, nan, nan"},
        .fixed = {.in = "fp32",
                  .formula = "row = list(3, -inf)\n"
                             "e = select(row == -inf, 0, exp(row - max(row)))\n"
                             "p = e / max(sum(e), 1e-30)",
                  .prints = "0, 0, 0"},
        .lesson =
            "Say what such a row gives: safe_softmax makes it zeros; wider formats do not help."),
    HC_BUG(
        "field/masks/mha-fully-masked-row-nan-grad",
        "One row of padding makes the gradients of the whole batch NaN.",
        "pytorch/pytorch PR 189045, 'Fix NaN gradients in nn.MultiheadAttention for fully-masked "
        "rows (#41508)', https://github.com/pytorch/pytorch/pull/189045; ml-explore/mlx PR 2608; "
        "robertknight/rten PR 1321",
        .show = "p[0], grad",
        .buggy = {.in = "fp32",
                  .formula = "row = list(3, -inf); e = exp(row - max(row)); p = e / sum(e)\n"
                             "grad = 0.5 + 0 * p[0]    # nothing comes back from that row",
                  .prints = "nan, nan"},
        .fixed = {.in = "fp32",
                  .formula = "row = list(3, -inf)\n"
                             "e = select(row == -inf, 0, exp(row - max(row)))\n"
                             "p = e / max(sum(e), 1e-30)\n"
                             "grad = 0.5 + 0 * p[0]",
                  .is = "0, 0.5 exact"},
        .frozen = "2026-11-27 245940e7",
        .lesson = "A gradient of 0 does not stop a NaN: give such a row zeros before it "
                  "meets a weight that other rows share."),
};

HC_CASES(field_sums_attention, cases);
