/* Sums that leave the format.

   Half ends at 65504, and a sum reaches that long before its terms do: 64 x 64 grey values, three
   numbers of 40000, the logarithms of 50265 probabilities. A mean fails although it is as large as
   its terms, because the sum comes before the division; and where partial sums of both signs
   overflow, the result is NaN. The count itself may be too large: 65536 as half is infinite, and
   whatever is divided by it is 0.

   A sum in order often stands still at 2048 before it can overflow. Kernels that add pairwise, in
   blocks, or in fp32 with a cast at the end get as far as infinity.

   The rule of thumb: sum and divide in fp32 and round the mean; or divide before the sum. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/sum-overflow/mean-overflow", "The mean of three numbers of 40000 is inf in half.",
           "pytorch/pytorch issue 44350, '`mean` and `var` overflow on CPU and GPU', "
           "https://github.com/pytorch/pytorch/issues/44350; numpy/numpy issues 7930 and 22448; "
           "huggingface/candle PR 3765; tracel-ai/burn PR 4769",
           .formula = "mean = fp16(sum(3, acc(40000)) / 3)", .show = "mean",
           .buggy = {.in = "fp16 acc=fp16", .prints = "inf"},
           .fixed = {.in = "fp16 acc=fp32", .prints = "40000 exact"},
           .lesson = "Divide before the cast to half: the mean fits where the sum does not."),
    HC_BUG("field/sum-overflow/uint8-normalise-half",
           "The mean of a 64 x 64 image of uint8 is inf once the image is float16.",
           "numpy/numpy issue 8133, 'np.ma.mean(img) broken for np.float16 type', "
           "https://github.com/numpy/numpy/issues/8133",
           .formula = "row = tree(64, acc(126.73388671875)); mean = tree(64, row) / 4096",
           .show = "row, mean", .buggy = {.in = "fp16 acc=fp16", .prints = "8112 exact, inf"},
           .fixed = {.in = "fp16 acc=fp32", .prints = "8111, 126.734"},
           .correction = "The thread gives 65536 as the largest number of half: it is 65504.",
           .lesson = "Normalise images in fp32, or by constants: statistics need more than their "
                     "data."),
    HC_BUG("field/sum-overflow/reduce-dim-no-fp32",
           "x.sum() is 0 and x.sum(0) is inf for the same eight halves.",
           "pytorch/pytorch issue 2391, 'reductions across dimension for half tensors don't "
           "accumulate in fp32', https://github.com/pytorch/pytorch/issues/2391; issue 74438, "
           "'cuda low-precision reductions on large tensors produce wrong results'",
           .formula = "s = sum(8, acc(select(i < 4, 32000, -32000)))", .show = "s",
           .buggy = {.in = "fp16 acc=fp16", .prints = "inf"},
           .fixed = {.in = "fp16 acc=fp32", .prints = "0"}, .fault = "sum-blocks-in-fp16",
           .lesson = "Test every kernel of a sum: over all, over rows, over columns, and large."),
    HC_BUG("field/sum-overflow/mean-denominator-half",
           "The loss is always 0 since the tensor has more than 65,000 elements.",
           "chelsea0x3b/dfdx issue 748, 'NaN weights after update with half precision', "
           "https://github.com/chelsea0x3b/dfdx/issues/748",
           .formula = "total = 32768; n = size(65536); mean = total / n", .show = "n, mean",
           .buggy = {.in = "fp32 size=fp16", .prints = "inf, 0"},
           .fixed = {.in = "fp32 size=fp32", .prints = "65536 exact, 0.5 exact"},
           .fault = "loss-rows-in-half",
           .lesson = "Keep counts as integers, or in fp32: half counts to 2048 and ends at 65504."),
    HC_BUG("field/sum-overflow/label-smoothing-vocab-sum",
           "The loss is inf or NaN with label smoothing and evaluation in half.",
           "huggingface/transformers issue 10674, '[trainer] loss = NaN with label_smoothing and "
           "full-fp16 eval', https://github.com/huggingface/transformers/issues/10674, and PR "
           "10815",
           .formula = "b = tree(1117, acc(-17.2)); s = tree(45, b)    # 50265 words\n"
                      "smoothed = -s / 50265",
           .show = "s, smoothed", .buggy = {.in = "fp16 acc=fp16", .prints = "-inf, inf"},
           .fixed = {.in = "fp16 acc=fp32", .prints = "-8.6e5, 17.2"},
           .lesson = "Give the sum over a vocabulary its own format: log_probs.sum(-1, "
                     "dtype=torch.float32) costs nothing.",
           .fault = "loss-in-half"),
    HC_BUG(
        "field/sum-overflow/mask2former-bce-sum",
        "Mask2Former's matcher fails in the first steps: its cost matrix is inf.",
        "huggingface/transformers issue 25938, 'Mask2Former HungarianMatcherMaks2Former "
        "overflow on bad initial state when using 16-bit autocast', "
        "https://github.com/huggingface/transformers/issues/25938, and PR 26086",
        .formula = "ce = fp16(log1p(exp(2)) / before)    # at a logit of -2\n"
                   "b = tree(227, fp32(ce)); product = fp16(tree(535, b))    # 121445 points\n"
                   "cost = fp32(product) / after",
        .show = "ce, cost",
        .buggy = {.in = "fp32", .with = "before := 1; after := 121445", .prints = "2.127, inf"},
        .fixed = {.in = "fp32", .with = "before := 121445; after := 1", .prints = "1.75e-5, 2.13"},
        .lesson = "Divide before a product that sums in 16 bits, not after it."),
    HC_BUG("field/sum-overflow/logsumexp-sum-ones-check",
           "A check for NaN reports one in a tensor without: it looks at the tensor's sum.",
           "tracel-ai/burn issue 4109, 'CUDA fp16 values becoming INF', "
           "https://github.com/tracel-ai/burn/issues/4109, and issue 5026, 'contains_nan() can "
           "false-positive on finite f16 CUDA tensors'",
           .formula = "b = tree(256, acc(1)); up = tree(256, b); down = tree(256, -b)",
           .show = "up, up + down, isnan(up + down)",
           .buggy = {.in = "fp16 acc=fp16", .prints = "inf, nan, 1 exact"},
           .fixed = {.in = "fp16 acc=fp32", .prints = "65536 exact, 0, 0"},
           .lesson = "Look at each element: any(isnan(x)) needs no sum, and a sum may overflow."),
};

HC_CASES(field_sums_sum_overflow, cases);
