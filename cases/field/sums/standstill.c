/* Sums that lose their terms. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    /* Sums that stand still.

       A term is lost when it is at most half an ulp of the sum so far: half has 11 bits, so 2048 +
       1 is 2048 again, and bf16 has 8, so 256 + 1 is 256. From there on nothing that is not larger
       arrives, however many terms follow. The place depends on the size of the terms: terms of 0.01
       stop at 32 in half and at 4 in bf16. Before that place the sum is wrong already, in either
       direction, because each term is rounded to the ulp of the sum: threes are added as fours.

       The rule of thumb: a sum in n bits is good for some 2^(n/2) terms in order. Accumulate in
       fp32, or pairwise, and round the result once. */
    HC_BUG(
        "field/stagnation/sum-ones-2048",
        "The sum of 4096 ones in half is 2048, and their mean 0.5.",
        "huggingface/candle PR 3718, 'Accumulate f16/bf16 sum reductions in f32 (fix saturation on "
        "long axes)', https://github.com/huggingface/candle/pull/3718; numpy/numpy issue 22208; "
        "candle PRs 3717 and 3765; ml-explore/mlx PR 3909; cactus-compute/cactus PR 344",
        .formula = "s = sum(4096, acc(1)); mean = s / 4096", .show = "s, mean",
        .buggy = {.in = "fp16 acc=fp16", .prints = "2048 exact, 0.5 exact"},
        .fixed = {.in = "fp16 acc=fp32", .prints = "4096 exact, 1 exact"},
        .lesson = "Accumulate in fp32 and round once: a half sum stops where the term is half an "
                  "ulp of it.",
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
        .lesson = "Add pairwise where a sum must stay in half: partial sums stay small, and so do "
                  "their ulps.",
        .fault = "sum-in-fp16"),
    HC_BUG(
        "field/stagnation/avgpool-window-half",
        "Average pooling over 255 x 63 numbers between 0 and 1 gives 0.127441, not 0.5.",
        "ROCm/MIOpen issue 2109, '[pooling] FP16 precision issue (averaging mode)', "
        "https://github.com/ROCm/MIOpen/issues/2109 (over 255 x 255 numbers it is 0.0314941); "
        "MIOpen issue 2160; huggingface/candle PR 3717",
        .formula = "s = sum(16065, acc(0.618034 * i - floor(0.618034 * i)))\n"
                   "mean = fp16(s / 16065)",
        .show = "s, mean",
        .buggy = {.in = "fp16 acc=fp16", .prints = "-, 0.127441", .is = "2048 exact, -"},
        .fixed = {.in = "fp16 acc=fp32", .is = "8030.6, 0.500"},
        .lesson =
            "Sum a pooling window in fp32: in half the mean of n such numbers is at most 2048 / n.",
        .fault = "pool-in-bf16"),
    HC_BUG("field/stagnation/embedding-grad-half",
           "A frequent word's embedding gets a gradient of 32 where it should be 125.",
           "apache/mxnet issue 17703, 'Need to use safe accumulation for calculating the gradient "
           "of Embedding + Take', https://github.com/apache/mxnet/issues/17703; mxnet PR 18385; "
           "tenstorrent/tt-metal PR 53386",
           .formula = "g = sum(12500, acc(0.01)); short = sum(1000, other(0.01))",
           .show = "g, short",
           .buggy = {.in = "fp32 acc=fp16 other=bf16", .prints = "32 exact, -", .is = "-, 4 exact"},
           .fixed = {.in = "fp32 acc=fp32 other=fp32", .is = "125, 10"},
           .lesson = "Add the gradients of one row in fp32: how often a word occurs has no limit."),
    HC_BUG(
        "field/stagnation/grad-accum-bf16",
        "With gradient accumulation in bf16 training diverges: 4096 gradients of 1e-3 sum to 0.5.",
        "deepspeedai/DeepSpeed issue 2768, '[REQUEST] FP32 gradient accumulation during BF16 "
        "training in ZeRO2/ZeRO3', https://github.com/deepspeedai/DeepSpeed/issues/2768; "
        "NVIDIA/Megatron-LM issues 372 and 502; linkedin/Liger-Kernel PR 830",
        .formula = "grad = 0", .each = "grad += 1e-3", .steps = 4096, .show = "grad",
        .buggy = {.in = "bf16", .is = "0.5 exact"}, .fixed = {.in = "fp32", .is = "4.096"},
        .curve = "grad", .lesson = "Accumulate micro-batches into an fp32 main_grad."),
    HC_BUG("field/stagnation/flce-grad-weight-rounded-per-chunk",
           "The gradient of the head gets worse the smaller the chunks are.",
           "linkedin/Liger-Kernel PR 1391, 'Add FP32 accumulation option to fused scaled cross "
           "entropy', https://github.com/linkedin/Liger-Kernel/pull/1391 (1.34 times the error at "
           "16 chunks, 7.31 at 1024); axolotl PR 1601; allenai/OLMo-core PR 370",
           .formula = "few = sum(16, acc(0.06)); many = sum(1024, acc(0.06 / 64))",
           .show = "few, many",
           .buggy = {.in = "fp32 acc=bf16", .is = "0.953125 exact, 0.25 exact"},
           .fixed = {.in = "fp32 acc=fp32", .is = "0.960, 0.960"}, .frozen = "2026-11-27 786b2968",
           .fault = "sum-in-bf16",
           .lesson = "Sum chunks in fp32: each is rounded into the sum, and there are many."),
    HC_BUG(
        "field/stagnation/cumsum-half",
        "The cumulative sum of numbers between 0 and 1 rises to 2048 and stays there.",
        "pytorch/pytorch issue 180150, 'float16 cumsum GPU 11-15x less accurate', "
        "https://github.com/pytorch/pytorch/issues/180150; numpy/numpy issue 24443, 'BUG: Cumsum "
        "for float16 gives the wrong result', https://github.com/numpy/numpy/issues/24443",
        .formula = "c = 0", .each = "x := step * 0.618034 - floor(step * 0.618034); c += x",
        .steps = 8192, .show = "c", .buggy = {.in = "fp16", .is = "2048 exact"},
        .fixed = {.in = "fp32", .is = "4096"}, .curve = "c",
        .lesson = "Keep a running sum in fp32, and round what is written, not what is carried."),
    HC_BUG("field/stagnation/conv-wgrad-bf16-batches",
           "bf16 convolutions fail 236 tests of weight gradients, and only with batches above 1.",
           "ROCm/rocm-libraries PR 5859, 'bf16 WrW convolution: inter-batch accumulation in bf16 "
           "fix', https://github.com/ROCm/rocm-libraries/pull/5859; Theano PR 6457",
           .formula = "n16 = sum(16, dw(0.1)) / 16    # of 16 images, with beta = 1\n"
                      "n64 = sum(64, dw(0.1)) / 64\n"
                      "n256 = sum(256, dw(0.1)) / 256; n512 = sum(512, dw(0.1)) / 512",
           .show = "n16, n64, n256, n512",
           .buggy = {.in = "fp32 dw=bf16", .is = "0.101, 0.096, 0.115, 0.0625"},
           .fixed = {.in = "fp32 dw=fp32", .is = "0.100, 0.100, 0.100, 0.100"},
           .lesson = "Test gradients with a large batch: each image is rounded into dw, and the "
                     "error grows with their number.",
           .fault = "conv2d-filter-blocks-in-fp16"),

    /* A large square that swallows small ones.

       bf16 has fp32's range and 8 bits. Its sums of squares overflow hardly earlier than fp32's,
       but one outlier of 16 has the square 256, of which a square of 1 is half an ulp and is lost,
       however many follow. The norm is then that of the outlier alone, and too small. What is
       divided by it comes out too large: by 41 % where the lost squares add up to as much as the
       outlier's. Layers with massive activations are of this kind, and so are ranks of which one
       has most of the gradient.

       The rule of thumb: sum squares in fp32, whatever the format of what is squared. In bf16 a
       square below 1/512 of the sum before it is nothing. */
    HC_BUG("field/swallowed-squares/rmsnorm-sumsq-in-bf16",
           "Hidden states of deep layers drift away from the reference: RMS norm sums its squares "
           "in bf16.",
           "sgl-project/sglang PR 27540, '[gemma4] Compute RMSNorm in fp32 to fix deep-layer "
           "hidden-state divergence vs HF', https://github.com/sgl-project/sglang/pull/27540 "
           "(cosine at layer 58: 0.513, and 0.999 with fp32)",
           .formula = "x = list(1024, select(i == 0, 32, 1)); s = sum(acc(x) * acc(x))\n"
                      "rms = sqrt(fp32(s) / 1024)",
           .show = "s, rms, x[1] / rms",
           .buggy = {.in = "fp32 acc=bf16", .is = "1024 exact, 1 exact, 1 exact"},
           .fixed = {.in = "fp32 acc=fp32", .is = "2047 exact, 1.4139, 0.7073"},
           .fault = "norm-in-bf16",
           .lesson = "Take the mean of squares in fp32: beside an outlier of 32 (summed first) "
                     "1023 ones are nothing in bf16."),
    HC_BUG("field/swallowed-squares/norm-allreduce-bf16",
           "The gradient norm is wrong where the ranks' norms are summed in bf16.",
           "NVIDIA-NeMo/Automodel PR 825, 'fix: Cast norm to fp32 in clip_grad_norm', "
           "https://github.com/NVIDIA-NeMo/Automodel/pull/825",
           .formula = "norm = list(8, select(i == 0, 16, 1)); s = sum(acc(norm) * acc(norm))\n"
                      "largest = fp32(acc(1e19)) * fp32(acc(1e19))",
           .show = "s, sqrt(fp32(s)), largest",
           .buggy = {.in = "fp32 acc=bf16", .is = "256 exact, 16 exact, 1.0e38"},
           .fixed = {.in = "fp32 acc=fp32", .is = "263 exact, 16.217, 1.00e38"},
           .fault = "norm-in-bf16",
           .lesson = "Cast each rank's norm to fp32 before it is squared and summed.",
           .correction = "The report names overflow and underflow as the cause of its NaN. bf16 "
                         "has fp32's range, where squares end at 1.8e19 for both: what the cast to "
                         "fp32 repairs is the rounding."),

    /* A variance in one pass.

       E[x^2] - E[x]^2 needs one pass over the data and is the variance of real numbers. In a format
       it is the difference of two numbers of the size of the mean's square, each with an error of
       about half an ulp of it. With a mean of 5 and a deviation of 0.1 these are 25 and the
       variance 0.01: bf16's numbers at 25 lie 0.125 apart. What is left is 0, or negative, and 1 /
       sqrt of it is huge or NaN. Epsilon does not help against -0.6. Two passes, the mean first and
       then the mean of (x - mean)^2, lose only what the format loses of the data.

       The rule of thumb: one pass loses 2 log2(mean / deviation) bits, here 11, which is all
       that half has. Subtract the mean first, or use Welford's updates; fp32 alone only moves
       the limit. */
    HC_BUG("field/one-pass-variance/var-ex2-ex-2",
           "Batch norm in training gives NaN for data with mean 5 and standard deviation 0.1.",
           "tenstorrent/tt-metal issue 45968, '`batch_norm` (training): catastrophic variance "
           "cancellation', https://github.com/tenstorrent/tt-metal/issues/45968; "
           "tensorflow/tensorflow issue 118701, 'XLA FusedBatchNormV3 produces negative variance "
           "and NaN output'; google/objax issue 182; microsoft/onnxruntime issue 21935 (fp32)",
           .formula = "x = list(64, 4.9 + 0.2 * (i - 2 * floor(i / 2))); mean = sum(x) / 64\n"
                      "one_pass = sum(x * x) / 64 - mean * mean\n"
                      "inverse = 1 / sqrt(one_pass + 1e-5)\n"
                      "two_passes = sum((x - mean) * (x - mean)) / 64",
           .show = "mean, one_pass, inverse, two_passes",
           .buggy = {.in = "bf16", .is = "5, -0.625, nan, 0.008"},
           .fixed = {.in = "fp32", .is = "5.000, 0.0100, 10.0, 0.0100"}, .fault = "norm-one-pass",
           .lesson = "Take the variance in two passes and in fp32; the sums here are in order."),
};

HC_CASES(field_sums_standstill, cases);
