/* Bugs of casts: where there is one, in which direction, how many, and when. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    /* Formats that were not asked for.

       Autocast chooses a format by the operation, whatever the operands have. That has three
       corners. A product runs in 16 bits though both operands were cast to fp32 just before it. An
       operation in place, a.add_(b), does not run under autocast at all, and what it writes has a's
       format. And code that repeats a forward pass for the backward pass, to save memory, must
       restore the format of the first one, not the default.

       The rule of thumb: ask a result for its format. To compute in fp32 switch autocast off
       there. */
    HC_BUG(
        "field/autocast/checkpoint-recompute-dtype",
        "With activation checkpointing under bf16 autocast the loss is finite and gradients are "
        "inf.",
        "pytorch/pytorch issue 71124, 'Activation checkpointing breaks bfloat16 AMP', "
        "https://github.com/pytorch/pytorch/issues/71124; facebookresearch/fairscale issue 1199; "
        "pytorch/pytorch issues 141896, 148831 and 159359; NVIDIA/TransformerEngine issue 787",
        .formula = "x = 250; w = 400\n"
                   "forward = bf16(x * w)             # the loss is computed from this\n"
                   "again = act(act(x) * act(w))      # and the gradient from this\n"
                   "gradient = 1e-3 * fp32(again)",
        .show = "forward, again, gradient",
        .buggy = {.in = "fp32 act=fp16", .prints = "-, -, inf", .is = "-, inf, -"},
        .fixed = {.in = "fp32 act=bf16"}, .fault = "gemm-result-in-half",
        .lesson = "Recompute in the format of the first forward pass: what is finite in bf16 may "
                  "be infinite in half."),
    HC_BUG(
        "field/autocast/autocast-downcasts-explicit-fp32",
        "x.float() @ y.float() is still bf16 under autocast: all image positions collapse, and "
        "pictures have a single colour.",
        "huggingface/diffusers PR 13922, 'Fix `Ideogram4MRoPE` collapsing under `torch.autocast` "
        "(compute rotary in float32)', https://github.com/huggingface/diffusers/pull/13922, and "
        "issue 13920",
        .formula = "position = list(512, fp32(65536 + i))   # .float() has its effect\n"
                   "angle = fp32(mm(position)) * fp32(mm(0.5))",
        .show = "distinct(position), distinct(angle), angle[1] - angle[0], angle[256] - angle[0], "
                "angle[257] - angle[0]",
        .buggy = {.in = "fp32 mm=bf16", .is = "-, -, 0, 0, -"}, .fixed = {.in = "fp32 mm=fp32"},
        .correction = "The thread says that all positions of a grid up to 512 wide become 65536: "
                      "rounding to nearest does that up to 65792, and those above become 66048.",
        .fault = "gemm-weights-in-bf16",
        .lesson = "A cast before a product is no protection; wrap it in autocast(enabled=False)."),
    HC_BUG("field/autocast/autocast-inplace",
           "Inside autocast a.add_(b) keeps a in half where a + b is fp32: the sum stops growing.",
           "PyTorch documentation, torch.amp, Op Eligibility: 'In-place variants and calls that "
           "explicitly supply an out=... Tensor ... won't go through autocasting', "
           "https://pytorch.org/docs/stable/amp.html; pytorch/pytorch issue 63292",
           .formula = "a = kept(0); b = 0.25", .each = "a = kept(fp32(a) + b)", .steps = 4096,
           .show = "a", .buggy = {.in = "fp32 kept=fp16", .is = "512 exact"},
           .fixed = {.in = "fp32 kept=fp32", .is = "1024 exact"}, .curve = "a",
           .fault = "axpy-through-half",
           .lesson = "Sum into an fp32 tensor: an operation in place computes in fp32 and stores "
                     "in the format of what it writes to."),

    /* Casts that do not round to the nearest number.

       fp32 to bf16 looks like a shift: the upper 16 bits are the bf16 number. To drop the lower 16
       bits is a rounding toward zero. It is off by up to a whole ulp and not half of one, and
       always in the same direction: by half an ulp on the average, so that whatever is cast at each
       step shrinks at each step. A cast to the nearest, ties to even, has no such drift. The same
       happens at the lower end of half, where all between 2^-25 and 2^-24 belongs to 2^-24 and a
       cast that cuts says 0.

       Rule of thumb: test a cast with three numbers: a little below the midpoint of two
       neighbours, the midpoint, and a little above. What rounding/fp32-to-bf16 does is to take
       all numbers. */
    HC_BUG(
        "field/cast-direction/bf16-cast-truncates",
        "Weights shrink: a cast to bf16 drops the lower 16 bits of a float.",
        "stillwater-sc/universal PR 1134, 'fix(bfloat16): round float conversion to nearest-even "
        "(RNE) instead of truncating', https://github.com/stillwater-sc/universal/pull/1134; "
        "tt-metal PR 19882; tinygrad PR 11848; ROCm/flash-attention issue 78",
        .show = "y, mean_ulp",
        .buggy = {.in = "fp32",
                  .formula = "x = [0.2691408770292272, 3.14, 1e-8]; y = bf16_rz(x); many = "
                             "list(1024, 1 + i / 16384); mean_ulp = tree(bf16_rz(many) - many) / 8",
                  .prints = "0.267578125 exact, -, -, -",
                  .is = "-, 3.125 exact, 9.95351e-9, -0.5"},
        .fixed = {.in = "fp32",
                  .formula = "x = [0.2691408770292272, 3.14, 1e-8]; y = bf16(x); many = list(1024, "
                             "1 + i / 16384); mean_ulp = tree(bf16(many) - many) / 8",
                  .prints = "0.26953125 exact, -, -, -",
                  .is = "-, 3.140625 exact, 1.00117e-8, 0"},
        .fault = "cast-upper-bits",
        .lesson = "Round to nearest: to cut is to be off by half an ulp on the average."),
    HC_BUG("field/cast-direction/half-cast-truncates-subnormal",
           "A double just above 2^-25 becomes 0 in half, though 2^-24 is nearer.",
           "petamoriken/float16 issue 952, 'conversions to float16 are incorrect for very small "
           "numbers', https://github.com/petamoriken/float16/issues/952",
           .show = "y",
           .buggy = {.in = "fp64",
                     .formula = "x = 2^-25 * (1 + 2^-52); y = fp16_rz(x)",
                     .prints = "0"},
           .fixed = {.in = "fp64",
                     .formula = "x = 2^-25 * (1 + 2^-52); y = fp16(x)",
                     .prints = "5.96e-8"},
           .fault = "cast-subnormals-cut",
           .lesson =
               "Round subnormal results to nearest, too: only up to 2^-25 is half's 0 right."),
    HC_BUG("field/cast-direction/rmsnorm-residual-truncated",
           "The residual stream shrinks with depth: a norm cuts what it adds.",
           "ROCm/aiter issue 5151, 'rmsnorm2d_fwd_with_add truncates fp32->bf16 on gfx942, biasing "
           "residual_out and compounding across layers', "
           "https://github.com/ROCm/aiter/issues/5151; aiter PR 1978",
           .formula = "x = 1", .steps = 72, .show = "x", .curve = "x",
           .buggy = {.in = "fp32",
                     .each = "u := 0.02 * (step * 0.618034 - floor(step * 0.618034))\n"
                             "x = fp32(bf16_rz(x + u))",
                     .is = "1.4765625 exact"},
           .fixed = {.in = "fp32",
                     .each = "u := 0.02 * (step * 0.618034 - floor(step * 0.618034))\n"
                             "x = fp32(bf16(x + u))",
                     .is = "1.703125 exact"},
           .no_bound =
               "A bound allows half an ulp for each of 72 roundings. Casts that cut lose just that "
               "on the average: the worst case of one is the usual case of the other.",
           .frozen = "2026-11-27 8bfb2da1", .fault = "cast-upper-bits",
           .lesson = "Round to nearest: 72 casts that cut lose 36 ulps on the average, those that "
                     "round lose a few."),

    /* Two roundings in a row, through a format in between.

       The first rounding can move a number onto the midpoint between two numbers of the second
       format. The second rounding then sees a tie and goes to the even one, though the number
       itself lay beside the midpoint and its neighbour on the other side was nearer. The result is
       off by more than half an ulp, but for few numbers, so that a random test hardly meets one.

       For sums, products, quotients and roots of numbers of p bits a second rounding does no harm
       if the format in between has 2p + 2 bits or more, as fp32 has for fp16 and bf16. For a cast,
       whose operand has more bits than that, it does.

       Rule of thumb: cast from the widest format that you have, once. */
    HC_BUG("field/double-rounding/double-rounding-bf16",
           "A double becomes the wrong bf16 number, because it goes through float.",
           "JuliaMath/BFloat16s.jl issue 78, 'Avoid double rounding', "
           "https://github.com/JuliaMath/BFloat16s.jl/issues/78; JuliaLang/julia PR 57809, 'Fix "
           "fptrunc Float64 -> Float16 rounding through Float32'",
           .formula = "x = 1 + 2^-8 + 2^-30; y = bf16(via(x))", .show = "y",
           .buggy = {.in = "fp64 via=fp32", .is = "1 exact"},
           .fixed = {.in = "fp64 via=fp64", .is = "1.0078125 exact"},
           .fault = "cast-bf16-through-fp32",
           .lesson = "Round a double to bf16 in one step: float(x) is the tie 1 + 2^-8 here."),
    HC_BUG("field/double-rounding/e4m3-double-rounding-bf16",
           "A float becomes the wrong E4M3 number, because it goes through bf16.",
           "MurrellGroup/Microfloats.jl PR 25, 'Rounding modes and per-call overflow override for "
           "conversions', https://github.com/MurrellGroup/Microfloats.jl/pull/25; pytorch/ao issue "
           "4725, https://github.com/pytorch/ao/issues/4725",
           .formula = "x = 1.31640625; y = e4m3(via(x))", .show = "y",
           .buggy = {.in = "fp32 via=bf16", .prints = "1.25 exact"},
           .fixed = {.in = "fp32 via=fp32", .prints = "1.375 exact"},
           .fault = "cast-e4m3-through-bf16",
           .lesson = "Round to fp8 from fp32: bf16(x) is 1.3125 here, midway from 1.25 to 1.375."),
    HC_BUG(
        "field/double-rounding/onednn-fp8-through-fp16",
        "A float becomes the wrong e4m3 number, because it goes through fp16.",
        "uxlfoundation/oneDNN PR 2361, 'doc: clarify conversions can be impacted by "
        "double-rounding', https://github.com/uxlfoundation/oneDNN/pull/2361; openvino PR 28501 "
        "does so by intention; 1,040,384 inputs of fp32 differ (reports/packages/cast_onednn.py)",
        .formula = "x = 2^-10 + 2^-33; y = fp32(e4m3(via(x)))", .show = "y",
        .buggy = {.in = "fp32 via=fp16", .is = "0"},
        .fixed = {.in = "fp32 via=fp32", .is = "0.001953125 exact"},
        .fault = "cast-e4m3-through-fp16",
        .lesson =
            "Two roundings are not one: what is a hair above a midpoint of fp8 lies on it in fp16.",
        .also = {{"triton-fp8-double-rounding",
                  "triton-lang/triton PR 2583, 'Prevent double rounding when doing f32 -> fp8', "
                  "https://github.com/triton-lang/triton/pull/2583"}}),
    HC_BUG("field/double-rounding/e8m0-via-bf16-double-rounding",
           "The scale of an MXFP8 block is twice too large, because its amax goes through bf16.",
           "pytorch/ao PR 4725, 'Refine MXFP8 CUDA quantization semantics', "
           "https://github.com/pytorch/ao/pull/4725, a review's remark: 'fp32->bf16->e8m0 can "
           "round some fp32 values across the threshold'",
           .formula = "s = scale(mx-floor, e4m3, via(511.5))", .show = "s",
           .buggy = {.in = "fp32 via=bf16", .is = "2 exact"},
           .fixed = {.in = "fp32 via=fp32", .is = "1 exact"},
           .lesson =
               "Take the exponent of the fp32 number: 511.5 has 8, and bf16 makes 512 of it."),

    /* A cast before the operation that magnifies its error.

       A rounding to bf16 is off by up to 2^-8 of the number, one to half by 2^-11. That is little
       as long as the number is used as it is. But the argument of a cosine is an angle: what counts
       is its error in radians, and 1000 radians have errors of several. The argument of an
       exponential is the same: e^(x + d) is e^d times e^x, so that an absolute error of x becomes a
       relative one. And the base of a counter is an offset of everything that is counted from it.
       The result may be rounded to 16 bits without harm; what goes in may not.

       The rule of thumb: the cast comes after cos, sin, exp or the addition of a base, not
       before. */
    HC_BUG("field/early-casts/rope-half-large-angle",
           "Rotary embeddings in half: the cosine is wrong by 0.78.",
           "EleutherAI/gpt-neox issue 1003, 'RotaryEmbedding computation is wrong for certain "
           "position/feature pairs in reduced precision (both fp16 and bfloat)', "
           "https://github.com/EleutherAI/gpt-neox/issues/1003; NVIDIA/Megatron-LM PR 531; "
           "huggingface/transformers PR 29285",
           .formula = "freq = 10000^(-2/32); angle = 1857 * freq; worst = cos(2008 * freq)",
           .show = "angle, cos(angle), worst",
           .buggy = {.in = "fp16", .prints = "1045 exact, -, -", .is = "-, -0.408, 0.5625"},
           .fixed = {.in = "fp32", .prints = "1044.2678, -, -", .is = "-, 0.3067, -0.2194"},
           .lesson = "Compute angles and cosines in fp32, and cast the cosines."),
    HC_BUG("field/early-casts/rope-inv-freq-bf16-phase",
           "Long contexts lose their order: the frequencies of a rotary embedding were cast to "
           "bf16 before they were multiplied by the position.",
           "Modalities/modalities PR 462, 'Fix rotary frequency precision', "
           "https://github.com/Modalities/modalities/pull/462; NVIDIA-NeMo/Automodel PR 2549; "
           "sgl-project/sglang-jax PR 1473; huggingface/candle PR 3520, "
           "https://github.com/huggingface/candle/pull/3520",
           .formula =
               "freq = 10000^(-1/64); error = cast(freq) - freq; far = cos(fp32(cast(15962)))",
           .show = "511 * error, 2047 * error, far",
           .buggy = {.in = "fp32 cast=bf16", .prints = "-, 2.5, -", .is = "0.625, -, -0.27"},
           .fixed = {.in = "fp32 cast=fp32", .is = "0, 0, -0.908"},
           .lesson = "Keep frequencies and positions in fp32; 15962 itself is 15936 in bf16.",
           .correction = "candle PR 3520 has bf16 step by 16 at 15962, to 15968, and cos(15962) = "
                         "-0.547 and cos(15968) = -0.882: it steps by 64, to 15936, and the "
                         "cosines are -0.908 and -0.755."),
    HC_BUG(
        "field/early-casts/ssm-a-log-exp-in-bf16",
        "Mamba forgets at the wrong rate, because A = -exp(A_log) is computed in bf16.",
        "state-spaces/mamba PR 923, 'Cast A_log to float32 before exp in Mamba2Simple.forward', "
        "https://github.com/state-spaces/mamba/pull/923; ml-explore/mlx-lm PR 1028",
        .formula =
            "a_log = 1.7890625; a = -exp(act(a_log)); dt = 10 / 5.98384; kept = exp(dt * fp32(a))",
        .show = "a, kept", .buggy = {.in = "fp32 act=bf16", .is = "-5.96875 exact, 4.66e-5"},
        .fixed = {.in = "fp32 act=fp32", .is = "-5.98384, 4.54e-5"}, .fault = "loss-logits-in-bf16",
        .lesson = "A_log.float() before exp: of a decay by e^-10, 2.6 % are wrong here.",
        .correction = "A in bf16 is said to be off by 2^-9 of itself, and a decay by e^-10 by 2 %: "
                      "it is up to 2^-8 and 4 %."),
    HC_BUG("field/early-casts/arange-scalar-vs-vector-path",
           "torch.arange(241, 273, dtype=bfloat16) has 256 three times: half of its second vector "
           "is wrong.",
           "pytorch/pytorch issue 137774, 'torch.arange bf16 results are not accurate', "
           "https://github.com/pytorch/pytorch/issues/137774, and PR 178334, 'Fix arange "
           "half-precision scalar/vectorized inconsistency', "
           "https://github.com/pytorch/pytorch/pull/178334",
           .formula = "base = cut(257); x = list(16, bf16(fp32(base) + i)); wrong = count(16, x[i] "
                      "!= bf16(257 + i))",
           .show = "x[0], x[1], x[2], wrong",
           .buggy = {.in = "fp32 cut=bf16",
                     .prints = "256 exact, 256 exact, 258 exact, -",
                     .is = "-, -, -, 8 exact"},
           .fixed = {.in = "fp32 cut=fp32",
                     .prints = "256 exact, 258 exact, -, -",
                     .is = "-, -, 260 exact, 0"},
           .lesson = "Add base and lane in fp32 and round the sum; 257 is no bf16 number."),
};

HC_CASES(field_numbers_casts, cases);
