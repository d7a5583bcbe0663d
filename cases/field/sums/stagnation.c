/* Sums that stand still.

   A term is lost when it is at most half an ulp of the sum so far: half has 11 bits, so 2048 + 1 is
   2048 again, and bf16 has 8, so 256 + 1 is 256. From there on nothing that is not larger arrives,
   however many terms follow. The place depends on the size of the terms: terms of 0.01 stop at 32
   in half and at 4 in bf16. Before that place the sum is wrong already, in either direction,
   because each term is rounded to the ulp of the sum: threes are added as fours.

   The rule of thumb: a sum in n bits is good for some 2^(n/2) terms in order. Accumulate in fp32,
   or pairwise, and round the result once. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG(
        "field/stagnation/sum-ones-2048",
        "The sum of 4096 ones in half is 2048, and their mean 0.5.",
        "huggingface/candle PR 3718, 'Accumulate f16/bf16 sum reductions in f32 (fix saturation "
        "on long axes)', https://github.com/huggingface/candle/pull/3718; numpy/numpy issue "
        "22208; candle PRs 3717 and 3765; ml-explore/mlx PR 3909; cactus-compute/cactus PR 344",
        .formula = "s = sum(4096, acc(1)); mean = s / 4096", .show = "s, mean",
        .buggy = {.in = "fp16 acc=fp16", .prints = "2048 exact, 0.5 exact"},
        .fixed = {.in = "fp16 acc=fp32", .prints = "4096 exact, 1 exact"},
        .lesson = "Accumulate in fp32 and round once: a half sum stops where the term is half "
                  "an ulp of it.",
        .fault = "sum-in-fp16",
        .also = {{"bicubic-backward-2048",
                  "pytorch/pytorch issue 104157, '`interpolate` bicubic mode returns unexpected "
                  "value on CUDA with float16', https://github.com/pytorch/pytorch/issues/104157: "
                  "gradients of 4096 and of 16384 are 2048"}}),
    HC_BUG(
        "field/stagnation/serial-sum-wrong-7316", "The half sum of 2000 threes is 7316, not 6000.",
        "iree-org/iree issue 12606, 'FP16 error when close "
        "iree-codegen-llvmgpu-enable-transform-dialect-jit', "
        "https://github.com/iree-org/iree/issues/12606",
        .show = "s", .buggy = {.in = "fp16", .formula = "s = sum(2000, 3)", .prints = "7316 exact"},
        .fixed = {.in = "fp16", .formula = "s = tree(2000, 3)", .prints = "6000 exact"},
        .lesson = "Add pairwise where a sum must stay in half: partial sums stay small, and so "
                  "do their ulps.",
        .fault = "sum-in-fp16"),
    HC_BUG("field/stagnation/avgpool-window-half",
           "Average pooling over 255 x 63 numbers between 0 and 1 gives 0.127441, not 0.5.",
           "ROCm/MIOpen issue 2109, '[pooling] FP16 precision issue (averaging mode)', "
           "https://github.com/ROCm/MIOpen/issues/2109 (over 255 x 255 numbers it is 0.0314941); "
           "MIOpen issue 2160; huggingface/candle PR 3717",
           .formula = "s = sum(16065, acc(0.618034 * i - floor(0.618034 * i)))\n"
                      "mean = fp16(s / 16065)",
           .show = "s, mean", .buggy = {.in = "fp16 acc=fp16", .prints = "2048 exact, 0.127441"},
           .fixed = {.in = "fp16 acc=fp32", .prints = "8030.6, 0.500"},
           .lesson = "Sum a pooling window in fp32: in half the mean of n such numbers is at most "
                     "2048 / n.",
           .fault = "pool-in-bf16"),
    HC_BUG("field/stagnation/embedding-grad-half",
           "A frequent word's embedding gets a gradient of 32 where it should be 125.",
           "apache/mxnet issue 17703, 'Need to use safe accumulation for calculating the gradient "
           "of Embedding + Take', https://github.com/apache/mxnet/issues/17703; mxnet PR 18385; "
           "tenstorrent/tt-metal PR 53386",
           .formula = "g = sum(12500, acc(0.01)); short = sum(1000, other(0.01))",
           .show = "g, short",
           .buggy = {.in = "fp32 acc=fp16 other=bf16", .prints = "32 exact, 4 exact"},
           .fixed = {.in = "fp32 acc=fp32 other=fp32", .prints = "125, 10"},
           .lesson = "Add the gradients of one row in fp32: how often a word occurs has no limit."),
    HC_BUG(
        "field/stagnation/grad-accum-bf16",
        "With gradient accumulation in bf16 training diverges: 4096 gradients of 1e-3 sum to 0.5.",
        "deepspeedai/DeepSpeed issue 2768, '[REQUEST] FP32 gradient accumulation during BF16 "
        "training in ZeRO2/ZeRO3', https://github.com/deepspeedai/DeepSpeed/issues/2768; "
        "NVIDIA/Megatron-LM issues 372 and 502; linkedin/Liger-Kernel PR 830",
        .formula = "grad = 0", .each = "grad += 1e-3", .steps = 4096, .show = "grad",
        .buggy = {.in = "bf16", .prints = "0.5 exact"}, .fixed = {.in = "fp32", .prints = "4.096"},
        .curve = "grad", .lesson = "Accumulate micro-batches into an fp32 main_grad."),
    HC_BUG("field/stagnation/cumsum-half",
           "The cumulative sum of numbers between 0 and 1 rises to 2048 and stays there.",
           "pytorch/pytorch issue 180150, 'float16 cumsum GPU 11-15x less accurate', "
           "https://github.com/pytorch/pytorch/issues/180150; numpy/numpy issue 24443, 'BUG: "
           "Cumsum for "
           "float16 gives the wrong result', https://github.com/numpy/numpy/issues/24443",
           .formula = "c = 0", .each = "x := step * 0.618034 - floor(step * 0.618034); c += x",
           .steps = 8192, .show = "c", .buggy = {.in = "fp16", .prints = "2048 exact"},
           .fixed = {.in = "fp32", .prints = "4096"}, .curve = "c",
           .lesson = "Keep a running sum in fp32, and round what is written, not what is carried."),
    HC_BUG("field/stagnation/conv-wgrad-bf16-batches",
           "bf16 convolutions fail 236 tests of weight gradients, and only with batches above 1.",
           "ROCm/rocm-libraries PR 5859, 'bf16 WrW convolution: inter-batch accumulation in bf16 "
           "fix', https://github.com/ROCm/rocm-libraries/pull/5859; Theano PR 6457",
           .formula = "n16 = sum(16, dw(0.1)) / 16    # of 16 images, with beta = 1\n"
                      "n64 = sum(64, dw(0.1)) / 64\n"
                      "n256 = sum(256, dw(0.1)) / 256; n512 = sum(512, dw(0.1)) / 512",
           .show = "n16, n64, n256, n512",
           .buggy = {.in = "fp32 dw=bf16", .prints = "0.101, 0.096, 0.115, 0.0625"},
           .fixed = {.in = "fp32 dw=fp32", .prints = "0.100, 0.100, 0.100, 0.100"},
           .lesson = "Test gradients with a large batch: each image is rounded into dw, and the "
                     "error grows with their number.",
           .fault = "conv2d-filter-blocks-in-fp16"),
};

HC_CASES(field_sums_stagnation, cases);
