/* Masks that add a large negative number.

   To hide a position from softmax, a mask adds a number so negative that exp makes it 0. Half ends
   at -65504, so -1e9 is -inf there, and infinity follows other rules: 0 * inf is NaN, and a row
   that is all -inf has -inf - -inf = NaN for each of its elements. The smallest finite number,
   finfo.min, becomes -inf when a score of -16 is added to it. A modest number such as -1e4 leaks:
   scores below it lose against what was masked.

   The rule of thumb: select instead of adding or multiplying, take the softmax in fp32, and say
   what a row of which nothing is left shall give. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/masks/mask-minus-1e9-half",
           "A mask of -1e9 fails in half: 'value cannot be converted to type at::Half without "
           "overflow', or it is -inf.",
           "facebookresearch/fairseq issue 3575, 'Encoder attn_mask encounter error in fp16 mode', "
           "https://github.com/facebookresearch/fairseq/issues/3575; NVIDIA/apex issue 1105; "
           "huggingface/lerobot PR 710; pytorch/benchmark PR 794; google/flax issue 982",
           .formula = "mask = [-1e4, -65519, -65520, -1e8, -1e9]", .show = "mask",
           .buggy = {.in = "fp16", .prints = "-10000 exact, -65504 exact, -inf, -inf, -inf"},
           .fixed = {.in = "fp32", .prints = "-10000, -65519, -65520, -1e8, -1e9"},
           .lesson = "Use masked_fill with torch.finfo(dtype).min, and add nothing to it."),
    HC_BUG("field/masks/mask-inf-times-zero",
           "GPT-2 in mixed precision: attention is NaN where nothing is masked.",
           "openai/gpt-2 PR 122, 'Update mask_attn_weights to work with mixed precision training', "
           "https://github.com/openai/gpt-2/pull/122",
           .formula = "b = [1, 0]; w = 2; w = w * b - large * (1 - b)", .show = "w",
           .buggy = {.in = "fp16", .with = "large := 1e10", .prints = "nan, -inf"},
           .fixed = {.in = "fp16", .with = "large := 1e4", .prints = "2 exact, -10000 exact"},
           .lesson = "Select with where(mask, w, -large): an infinite constant times 0 is NaN."),
    HC_BUG("field/masks/mask-min-plus-negative",
           "A padded row gives NaN after softmax, though the mask is finfo.min and finite.",
           "huggingface/transformers PR 17306, 'Fix -1e4 as attn mask', "
           "https://github.com/huggingface/transformers/pull/17306, and PR 17437; "
           "NVIDIA-NeMo/Automodel PR 2658 (min + min is -inf in bf16, too)",
           .formula = "masked = [-15.9, -16] - 65504; row = [-16, -17, -20] - 65504\n"
                      "e = exp(row - max(row)); p = e / sum(e)",
           .show = "masked, p",
           .buggy = {.in = "fp16", .prints = "-65504 exact, -inf, nan, nan, nan"},
           .fixed = {.in = "fp32", .prints = "-65519.9, -65520, 0.721, 0.265, 0.013"},
           .lesson = "Do not add to finfo.min: set the masked scores to it, or take the softmax in "
                     "fp32."),
    HC_BUG("field/masks/mask-minus-1e4-leaks",
           "With a mask of -1e4 attention goes to the masked position alone.",
           "flashinfer-ai/flashinfer PR 4401, 'fix(attention): handle extreme negative logits in "
           "masked softmax', https://github.com/flashinfer-ai/flashinfer/pull/4401; "
           "huggingface/transformers issue 14859; TransformerLensOrg/TransformerLens PR 366 (-1e5)",
           .formula = "score = [-12000, -12001, mask]\n"
                      "e = exp(score - max(score)); p = e / sum(e)",
           .show = "p", .buggy = {.in = "fp32", .with = "mask := -1e4", .prints = "0, 0, 1 exact"},
           .fixed = {.in = "fp32", .with = "mask := -inf", .prints = "0.731, 0.269, 0"},
           .fault = "loss-mask-leaks",
           .lesson = "Mask with -inf, and guard rows of which nothing is left: no finite number is "
                     "below all scores."),
    HC_BUG("field/masks/softmax-all-masked-row",
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
           .lesson = "Say what such a row gives: safe_softmax makes it zeros; wider formats do not "
                     "help."),
};

HC_CASES(field_sums_masks, cases);
