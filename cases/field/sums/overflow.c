/* Sums that leave their format. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    /* Sums that leave the format.

       Half ends at 65504, and a sum reaches that long before its terms do: 64 x 64 grey values,
       three numbers of 40000, the logarithms of 50265 probabilities. A mean fails although it is as
       large as its terms, because the sum comes before the division; and where partial sums of both
       signs overflow, the result is NaN. The count itself may be too large: 65536 as half is
       infinite, and whatever is divided by it is 0.

       A sum in order often stands still at 2048 before it can overflow. Kernels that add pairwise,
       in blocks, or in fp32 with a cast at the end get as far as infinity.

       The rule of thumb: sum and divide in fp32 and round the mean; or divide before the sum. */
    HC_BUG("field/sum-overflow/mean-overflow", "The mean of three numbers of 40000 is inf in half.",
           "pytorch/pytorch issue 44350, '`mean` and `var` overflow on CPU and GPU', "
           "https://github.com/pytorch/pytorch/issues/44350; numpy/numpy issues 7930 and 22448; "
           "huggingface/candle PR 3765; tracel-ai/burn PR 4769",
           .formula = "mean = fp16(sum(3, acc(40000)) / 3)", .show = "mean",
           .buggy = {.in = "fp16 acc=fp16", .prints = "inf"},
           .fixed = {.in = "fp16 acc=fp32", .is = "40000 exact"},
           .lesson = "Divide before the cast to half: the mean fits where the sum does not."),
    HC_BUG("field/sum-overflow/uint8-normalise-half",
           "The mean of a 64 x 64 image of uint8 is inf once the image is float16.",
           "numpy/numpy issue 8133, 'np.ma.mean(img) broken for np.float16 type', "
           "https://github.com/numpy/numpy/issues/8133",
           .formula = "row = tree(64, acc(126.73388671875)); mean = tree(64, row) / 4096",
           .show = "row, mean",
           .buggy = {.in = "fp16 acc=fp16", .prints = "-, inf", .is = "8112 exact, -"},
           .fixed = {.in = "fp16 acc=fp32", .is = "8111, 126.734"},
           .correction = "The thread gives 65536 as the largest number of half: it is 65504.",
           .lesson =
               "Normalise images in fp32, or by constants: statistics need more than their data."),
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
           .buggy = {.in = "fp32 size=fp16", .prints = "-, 0", .is = "inf, -"},
           .fixed = {.in = "fp32 size=fp32", .is = "65536 exact, 0.5 exact"},
           .fault = "loss-rows-in-half",
           .lesson = "Keep counts as integers, or in fp32: half counts to 2048 and ends at 65504."),
    HC_BUG(
        "field/sum-overflow/label-smoothing-vocab-sum",
        "The loss is inf or NaN with label smoothing and evaluation in half.",
        "huggingface/transformers issue 10674, '[trainer] loss = NaN with label_smoothing and "
        "full-fp16 eval', https://github.com/huggingface/transformers/issues/10674, and PR 10815",
        .formula = "b = tree(1117, acc(-17.2)); s = tree(45, b)    # 50265 words\n"
                   "smoothed = -s / 50265",
        .show = "s, smoothed",
        .buggy = {.in = "fp16 acc=fp16", .prints = "-, inf", .is = "-inf, -"},
        .fixed = {.in = "fp16 acc=fp32", .is = "-8.6e5, 17.2"},
        .lesson = "Give the sum over a vocabulary its own format: log_probs.sum(-1, "
                  "dtype=torch.float32) costs nothing.",
        .fault = "loss-in-half"),
    HC_BUG(
        "field/sum-overflow/mask2former-bce-sum",
        "Mask2Former's matcher fails in the first steps: its cost matrix is inf.",
        "huggingface/transformers issue 25938, 'Mask2Former HungarianMatcherMaks2Former overflow "
        "on bad initial state when using 16-bit autocast', "
        "https://github.com/huggingface/transformers/issues/25938, and PR 26086",
        .formula = "ce = fp16(log1p(exp(2)) / before)    # at a logit of -2\n"
                   "b = tree(227, fp32(ce)); product = fp16(tree(535, b))    # 121445 points\n"
                   "cost = fp32(product) / after",
        .show = "ce, cost",
        .buggy = {.in = "fp32",
                  .with = "before := 1; after := 121445",
                  .prints = "-, inf",
                  .is = "2.127, -"},
        .fixed = {.in = "fp32", .with = "before := 121445; after := 1", .is = "1.75e-5, 2.13"},
        .lesson = "Divide before a product that sums in 16 bits, not after it."),
    HC_BUG("field/sum-overflow/logsumexp-sum-ones-check",
           "A check for NaN reports one in a tensor without: it looks at the tensor's sum.",
           "tracel-ai/burn issue 4109, 'CUDA fp16 values becoming INF', "
           "https://github.com/tracel-ai/burn/issues/4109, and issue 5026, 'contains_nan() can "
           "false-positive on finite f16 CUDA tensors'",
           .formula = "b = tree(256, acc(1)); up = tree(256, b); down = tree(256, -b)",
           .show = "up, up + down, isnan(up + down)",
           .buggy = {.in = "fp16 acc=fp16", .is = "inf, nan, 1 exact"},
           .fixed = {.in = "fp16 acc=fp32", .is = "65536 exact, 0, 0"},
           .lesson = "Look at each element: any(isnan(x)) needs no sum, and a sum may overflow."),

    /* Squares and cubes that leave half.

       Half ends at 65504, the square of 256 and the cube of 40.3. So squares leave it long before
       the numbers do: an area of 257 x 257 pixels, a norm of 5000, the product of two squared
       norms. What comes next hides the infinity: x / inf is 0, inf / inf is NaN, and tanh(inf) is
       1, so that an output is fine and its gradient is not.

       The rule of thumb: whatever has a power above 1 is computed in fp32; or divide first, by
       the largest number or by the norm. */
    HC_BUG("field/squares/grad-norm-overflow",
           "The norm of all gradients is inf with 5000 on each device, and each step is skipped.",
           "facebookresearch/fairscale PR 263, 'Resolve issue where grad norms because inf with "
           "OSS / fp16', https://github.com/facebookresearch/fairscale/pull/263; "
           "NVIDIA-NeMo/Automodel PR 825; facebookresearch/fairseq issues 2384 and 4555",
           .formula = "norm = 5000; total = sqrt(sum(8, norm * norm))", .show = "total",
           .buggy = {.in = "fp16", .prints = "inf"}, .fixed = {.in = "fp32", .is = "14142"},
           .lesson = "Cast norms to fp32 before they are squared, also those that only arrive from "
                     "other devices.",
           .fault = "norm-squares-in-half"),
    HC_BUG("field/squares/cosine-sim-zero",
           "cosine_similarity(a, a) is 0 in half, for a = torch.randn(512).",
           "pytorch/pytorch issue 69512, 'Inconsistent behavior of cosine_similarity between fp16 "
           "and fp32 inputs', https://github.com/pytorch/pytorch/issues/69512; issue 65298",
           .formula = "a = list(512, select(sin(i) < 0, -1, 1)); w = sum(a * a)\n"
                      "similarity = sum(a * a) / sqrt(w * w)",
           .show = "w, w * w, similarity",
           .buggy = {.in = "fp16", .prints = "-, -, 0", .is = "512 exact, inf, -"},
           .fixed = {.in = "fp32", .prints = "-, -, 1 exact", .is = "512 exact, 262144 exact, -"},
           .lesson =
               "Divide by one norm and then by the other; their product needs twice the range."),
    HC_BUG("field/squares/box-area-overflow",
           "The IoU of a box of 257 x 257 pixels with itself is NaN in half: NMS keeps all boxes.",
           "pytorch/vision PR 3383, 'Fix NMS and IoU overflows for fp16', "
           "https://github.com/pytorch/vision/pull/3383; issue 3371 (37 boxes where fp32 keeps "
           "one); PRs 3385 and 9175; open-mmlab/mmdetection PR 4889",
           .formula = "area = 257 * acc(257); union = area + area - area; iou = area / union",
           .show = "area, iou",
           .buggy = {.in = "fp16 acc=fp16", .prints = "-, nan", .is = "inf, -"},
           .fixed = {.in = "fp16 acc=fp32", .is = "66049 exact, 1 exact"},
           .lesson = "Compute areas in fp32: half ends at some 255 x 256 pixels."),
    HC_BUG(
        "field/squares/gelu-cube-overflow",
        "GELU by tanh has finite outputs and NaN gradients in half at 256.",
        "facebookresearch/fairseq issue 2235, 'gelu_accurate: nan gradient with fp16. add an inner "
        "cast to float32?', https://github.com/facebookresearch/fairseq/issues/2235",
        .formula = "x = [40.34375, 147.75, 147.875, 256]; a = 0.7978845608; cube = x * x * x\n"
                   "t = tanh(a * (x + 0.044715 * cube)); y = 0.5 * x * (1 + t)\n"
                   "d = 0.5 * x * (1 - t * t) * a\n"
                   "grad = 0.5 * (1 + t) + d + d * 0.044715 * (3 * (x * x))",
        .show = "cube[0], y[3], grad",
        .buggy = {.in = "fp16",
                  .prints = "-, -, -, -, -, nan",
                  .is = "inf, 256 exact, 1 exact, 1 exact, nan, -"},
        .fixed = {.in = "fp32", .is = "65664, 256, 1, 1, 1, 1"},
        .correction = "The report blames the cube, which overflows from 40.34375 on; the gradient "
                      "is NaN only where 3 x^2 overflows, too, from 147.875 on.",
        .lesson =
            "Cast to fp32 inside of the function, and test gradients at both ends of the range."),

    /* A norm layer that leaves half.

       Half ends at 65504, and so 256 is the first number whose square is infinite in it. A norm, a
       variance or a mean of squares needs squares of activations that are well inside half's range.
       Where a square or the sum of them is infinite, the quotient x / norm is 0: a layer gives
       zeros, or its bias, for finite inputs, without a message. Kernels that square in half and
       accumulate in fp32 do not escape, since infinity is what they accumulate.

       The rule of thumb: cast to fp32 before the square, not after it. In half a root of a mean
       of squares is safe up to 255 for one number, and up to 255 / sqrt(n) for n of one size. */
    HC_BUG("field/norm-overflow/groupnorm-square-in-half",
           "Group norm in fp16 has an infinite variance, although its sums are in fp32.",
           "neuroneural/brainchop-cli PR 56, 'fix(meshnet): compute fp16 GroupNorm variance in f32 "
           "to prevent overflow', https://github.com/neuroneural/brainchop-cli/pull/56 "
           "(activations up to 375 and 940); ml-explore/mlx issue 4228, 'InstanceNorm FP16 "
           "variance overflow collapses finite feature maps'",
           .formula = "x = [940, 375, 256, 255.875]; s = fp32(sq(x) * sq(x)); v = sum(s) / 4",
           .show = "s, v, x[0] / sqrt(v)",
           .buggy = {.in = "fp32 sq=fp16", .is = "inf, inf, inf, 65472, inf, 0"},
           .fixed = {.in = "fp32 sq=fp32", .is = "883600, 140625, 65536, 65472, -, 1.749"},
           .fault = "norm-variance-in-half",
           .lesson = "Cast to fp32 before the square: an fp32 accumulator comes too late."),
    HC_BUG(
        "field/norm-overflow/rmsnorm-sum-overflow",
        "RMS norm in half gives zeros or NaN, although each square is finite.",
        "nntrainer/nntrainer issue 3935, '[CausalLM] FP16 Overflow in "
        "rms_norm_wrt_width_fp16_intrinsic', https://github.com/nntrainer/nntrainer/issues/3935; "
        "microsoft/onnxruntime PR 29043, 'Fix simplified layer norm fp16 overflow'; "
        "xlite-dev/LeetCUDA PR 335, 'bugfix: fix layernorm & rmsnorm f16 overflow'",
        .formula = "x = 8; in_order = sum(1024, x * x); in_pairs = tree(1024, x * x)\n"
                   "y = x / sqrt(in_order / 1024)",
        .show = "x * x, in_order, in_pairs, y", .buggy = {.in = "fp16", .is = "64, inf, inf, 0"},
        .fixed = {.in = "fp32", .is = "64, 65536, 65536, 1"}, .fault = "norm-squares-in-half",
        .lesson = "Sum squares in fp32: 1024 squares of 8 are 65536, in any order."),
    HC_BUG("field/norm-overflow/weight-norm-half",
           "weight_norm in half gives weights that are all 0.",
           "PyTorch forums 11815, 'Training with Half Precision', a question that nobody answered: "
           "'Is it the same situation with weight norm? It should use float32?'",
           .formula = "v = list(64, 32); g = 1; norm = sqrt(sum(v * v))",
           .show = "norm, g * v[0] / norm", .buggy = {.in = "fp16", .is = "inf, 0"},
           .fixed = {.in = "fp32", .is = "256, 0.125"}, .fault = "norm-squares-in-half",
           .lesson = "Take norms of weights in fp32: that of 64 weights of 32 is inf in half."),

    /* Activations that half cannot hold.

       Models that were trained in bf16 or fp32 may have activations beyond 65504. A product of
       matrices sums them in fp32 without harm, and the cast of its result to half makes an infinity
       of them. The NaN comes later, and another operation is blamed: a norm divides inf by inf, a
       loss subtracts inf from inf, an optimizer's eps is enlarged in vain. Clamping removes the
       symptom and keeps the error.

       The rule of thumb: look for the first inf, not for the first NaN. Such a layer needs bf16
       or fp32 for its output, or smaller weights. */
    HC_BUG("field/activations/t5-ffn-overflow",
           "T5 in fp16 gives a NaN loss after 34 iterations: one activation is 66246.39.",
           "huggingface/transformers issue 5651, 'T5 fp16 overflow in forward (T5DenseReluDense)', "
           "https://github.com/huggingface/transformers/issues/5651; issues 4287, 4586, 9295, "
           "11461 and 14189; PRs 10956 and 19229",
           .formula = "h = [wo(66246.3906), wo(100)]; x = fp32(h)\n"
                      "norm = sqrt((x[0] * x[0] + x[1] * x[1]) / 2); y = x / norm",
           .show = "h, y",
           .buggy = {.in = "fp32 wo=fp16", .prints = "inf, -, -, -", .is = "-, 100 exact, nan, 0"},
           .fixed = {.in = "fp32 wo=fp32",
                     .prints = "66246.39, -, -, -",
                     .is = "-, 100 exact, 1.41421, 0.00213"},
           .lesson =
               "Keep wo's output in fp32 or bf16: T5 was trained in bf16 and reaches beyond 65504.",
           .fault = "gemm-result-in-half"),
    HC_BUG("field/activations/clamp-only-inf",
           "Clamping T5's infinite activations ends the NaNs, and leaves them 2.6 % too small.",
           "huggingface/transformers PR 9487, '[T5] enable T5 fp16', "
           "https://github.com/huggingface/transformers/pull/9487",
           .formula = "h = act(66246.3906); limit = act(65504 - 1000)\n"
                      "y = fp32(select(isinf(h), limit, h))",
           .show = "limit, y, 1 - y / 66246.3906",
           .buggy = {.in = "fp32 act=fp16", .is = "64512 exact, 64512 exact, 2.6%"},
           .fixed = {.in = "fp32 act=fp32", .is = "64504 exact, 66246.39, 0"},
           .correction = "The code says max - 1000 = 64504, which is no half: it clamps to 64512.",
           .lesson = "Clamping hides an overflow; keep the residual stream in fp32 or bf16.",
           .fault = "dot-saturates"),
    HC_BUG(
        "field/activations/linear-overflow-then-ce",
        "NaN in SoftmaxCrossEntropy in float16, and a larger eps for Adam does not cure it.",
        "chainer/chainer PR 6738, 'Use larger eps in mnist example', "
        "https://github.com/chainer/chainer/pull/6738: 'I found that Linear leads to infinity'",
        .formula = "z = [out(sum(784, 100)), out(sum(784, 90))]; m = max(z)\n"
                   "loss = log(sum(exp(z - m))) + m - z[1]",
        .show = "z, loss",
        .buggy = {.in = "fp32 out=fp16", .prints = "-, -, nan", .is = "inf, inf, -"},
        .fixed = {.in = "fp32 out=fp32", .is = "78400 exact, 70560 exact, 7840"},
        .lesson =
            "Look for the first operation that gives inf; the one that reports NaN comes later."),
    HC_BUG("field/activations/fc-int8-dequant-order-half",
           "Long prompts give garbled text: two scales are multiplied in the wrong order.",
           "openvinotoolkit/openvino PR 34528, 'Fix FP16 overflow in FC dynamic quantization', "
           "https://github.com/openvinotoolkit/openvino/pull/34528: 1016 * 127 is infinite where "
           "0.54 to 2,048 is right",
           .show = "y",
           .buggy = {.in = "fp16",
                     .formula = "n = 1016; weight = 127; input = 2048 / 129032\n"
                                "y = n * weight * input",
                     .prints = "inf"},
           .fixed = {.in = "fp16",
                     .formula = "n = 1016; weight = 127; input = 2048 / 129032\n"
                                "y = n * (weight * input)",
                     .prints = "2048"},
           .frozen = "2026-11-27 cd6f351b",
           .lesson = "Multiply the two scales first: their product is small, and the sum of "
                     "codes is not."),
    HC_BUG("field/activations/residual-stream-half-overflow",
           "From layer 35 on the output is noise: the residual stream has left half.",
           "ROCm/hip-ep PR 168, 'fix(gemm,qmoe,gqa,matmul): unblock gpt-oss-120b end-to-end', "
           "https://github.com/ROCm/hip-ep/pull/168 (58,820 + 33,760 = 92,580); "
           "microsoft/onnxruntime issue 26732 (Gemma 3)",
           .formula = "stream = 58820; branch = 33760; y = stream + branch", .show = "y",
           .buggy = {.in = "fp16", .prints = "inf"},
           .fixed = {.in = "fp32", .prints = "92580 exact"}, .frozen = "2026-11-27 89597f6c",
           .lesson = "Keep the residual stream in fp32 or bf16: it grows with depth.",
           .fault = "gemm-result-in-half"),
    HC_BUG(
        "field/activations/awq-scale-overflows-half-accumulator",
        "Inference is infinite after AWQ: scales moved from the weights to the activations.",
        "openvinotoolkit/nncf PR 3586, 'Aanuf/awq fix fp16 overflow', "
        "https://github.com/openvinotoolkit/nncf/pull/3586: a limit of a quarter of 65504 on the "
        "scaled output",
        .formula = "y = fp32(out(sum(32, s * 600)))", .show = "y, y / s",
        .buggy = {.in = "fp32 out=fp16", .with = "s := 4", .is = "inf, inf"},
        .fixed = {.in = "fp32 out=fp16", .with = "s := 16376 / 19200", .is = "16376, 19200"},
        .frozen = "2026-11-27 67e854aa",
        .lesson = "A scale that helps codes may cost the accumulator its range: bound the "
                  "scaled output, too."),

    /* Exponentials and their logarithms.

       exp(x) leaves half above 11.09 and is 0 below -17.33; fp32 ends at 88.7 and -103.97. A
       softmax without the subtraction of the largest score overflows on one side. The logarithm of
       a softmax fails on the other: a probability of e^-17.4 is 0 in half, and its logarithm -inf,
       though -17.4 is a number that half holds well.

       The rule of thumb: never take exp and then log. log_softmax(x) = x - max - log(sum(exp(x -
       max))) needs no small number at all. */
    HC_BUG("field/softmax/exp-overflow-11.09",
           "CLIP gives NaN as soon as the learned logit_scale has grown: exp is inf in half.",
           "openai/CLIP PR 530, 'Clamp logit_scale to prevent numerical instability', "
           "https://github.com/openai/CLIP/pull/530; issue 46; UKPLab/sentence-transformers issue "
           "2774; facebookresearch/xformers issue 96 and PR 98",
           .formula = "logit_scale = [4.605, 11.08, 11.09]; scale = exp(logit_scale)",
           .show = "scale", .buggy = {.in = "fp16", .is = "100, 64736 exact, inf"},
           .fixed = {.in = "fp32", .is = "100.0, 64861, 65513"}, .fault = "loss-plain-exponentials",
           .lesson = "Clamp a learned temperature, as CLIP's paper does at 100, and take its "
                     "exponential in fp32."),
    HC_BUG("field/softmax/log-of-softmax",
           "Sudden overflows in fp16 and all steps skipped: the loss takes log(softmax(x)).",
           "NVIDIA/apex issue 379, 'Log function causes floating point underflow/ gradient "
           "overflow', https://github.com/NVIDIA/apex/issues/379",
           .show = "loss",
           .buggy = {.in = "fp16",
                     .formula = "x = [0, -15, -17.3, -17.4]; e = exp(x); s = sum(e)\n"
                                "loss = -log(e / s)",
                     .is = "0, 15.02, 16.64, inf"},
           .fixed = {.in = "fp16",
                     .formula = "x = [0, -15, -17.3, -17.4]; e = exp(x); s = sum(e)\n"
                                "loss = log(s) - x",
                     .is = "0, 15.00, 17.30, 17.41"},
           .fault = "loss-log-of-softmax",
           .lesson = "Take log_softmax: the same half gives the loss to 11 bits where no "
                     "exponential is rounded to 0."),
    HC_BUG(
        "field/softmax/kl-softmax-bf16-cancels",
        "The better a draft model is, the noisier its gradient becomes.",
        "vllm-project/speculators PR 788, 'fix(loss): compute divergence losses in float32 under "
        "bf16 training', https://github.com/vllm-project/speculators/pull/788 (3.0 % at an "
        "acceptance of 0.88, 19.4 % at 0.98; the vectors of 32,000 are not in the report)",
        .formula = "z = list(8, i / 2); odd = list(8, i - 2 * floor(i / 2))\n"
                   "e = exp(z - 3.5); p = fp32(cut(e / sum(e)))\n"
                   "e = exp(z + 0.5 * odd - 4); far = p - fp32(cut(e / sum(e)))\n"
                   "e = exp(z + 0.02 * odd - 3.52); near = p - fp32(cut(e / sum(e)))",
        .show = "far[7], near[7], near[1]",
        .buggy = {.in = "fp32 cut=bf16", .is = "-0.0703, -0.00391, -2.44e-4"},
        .fixed = {.in = "fp32 cut=fp32", .is = "-0.0699, -0.00302, -1.50e-4"},
        .frozen = "2026-11-27 3f13a86a",
        .lesson = "Take both softmaxes in fp32: the gradient of a divergence is their difference, "
                  "and it cancels as training succeeds.",
        .fault = "loss-gradient-through-half"),
    HC_BUG("field/softmax/softplus-exp-half-cliff",
           "Softplus and Mish are 0, or infinite, for large inputs.",
           "apple/coremltools issue 2687, 'Softplus on Apple Neural Engine has a hard fp16 "
           "discontinuity at x ~ 10.4 (output drops to 0)', "
           "https://github.com/apple/coremltools/issues/2687; sbryngelson/ANEForge issue 113",
           .show = "y",
           .buggy = {.in = "fp16",
                     .formula = "x = [10, 11, 11.5, 20]; y = log(1 + exp(x))",
                     .is = "10 exact, 11 exact, inf, inf"},
           .fixed = {.in = "fp16",
                     .formula = "x = [10, 11, 11.5, 20]; y = max(x, 0) + log1p(exp(-abs(x)))",
                     .is = "10 exact, 11 exact, 11.5 exact, 20 exact"},
           .frozen = "2026-11-27 4802523f",
           .lesson = "Write softplus as max(x, 0) + log1p(exp(-|x|)).",
           .correction = "The engine gives 0 from 10.408 on. Half alone gives infinity, from 11.09 "
                         "on: the 0 and the lower cliff are the engine's own.",
           .fault = "loss-plain-exponentials"),
    HC_BUG("field/softmax/softmax-cast-after-or-inside",
           "Two spellings of one softmax differ, and the difference grows with depth.",
           "pytorch/pytorch issue 123911, 'torch.softmax(inp, dtype=float32).to(float16) is not "
           "equivalent to torch.softmax(inp) for fp16 input', "
           "https://github.com/pytorch/pytorch/issues/123911 (0.1 to 0.2 after 20 to 30 layers)",
           .show = "p[0], p[1]",
           .buggy = {.in = "fp16",
                     .formula = "x = list(8, 0.7 * i); e = exp(x - max(x)); p = e / sum(e)",
                     .is = "0.0037651, 0.0075760"},
           .fixed = {.in = "fp32",
                     .formula = "x = fp32(fp16(list(8, 0.7 * i)))\n"
                                "e = exp(x - max(x)); p = fp16(e / sum(e))",
                     .is = "0.0037670, 0.0075874"},
           .no_bound =
               "The real numbers are those of the inputs before they were rounded to half, and "
               "that rounding moves a probability further than the two spellings are apart.",
           .frozen = "2026-11-27 8784279f",
           .lesson = "Round a softmax once, where it is stored; say which spelling a model was "
                     "trained with.",
           .fault = "loss-in-half"),
};

HC_CASES(field_sums_overflow, cases);
