/* Bugs that need a loop to show. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    /* Averages over steps that stand still.

       An exponential average moves by (1 - d) times the distance to its target, a thousandth or
       less. In bf16 a thousandth of a number is below half an ulp of it, in half a ten-thousandth
       is, and the average keeps its value; where d itself is rounded to 1 it cannot do anything
       else. Written as d * a + (1 - d) * t it may still drift, since the rounded d and 1 - d need
       not add up to 1. What stands still is not marked as such: the number is a fine number, only
       old.

       The rule of thumb: keep averages in fp32. They stall there, too, but only a distance of
       2^-24 / (1 - d) from the target: 1.49994 in the place of 1.5 with d = 0.999. */
    HC_BUG(
        "field/averages/exp-avg-sq-bf16-stall",
        "Adam's second moment in bf16 never comes down from its first value: steps are too small.",
        "decoderesearch/SAELens PR 728, a comment (explained variance 0.6161, with fp32 0.7267), "
        "https://github.com/decoderesearch/SAELens/pull/728; whitecircle/halo PR 30; "
        "Nerogar/OneTrainer issue 1005; NVIDIA/Model-Optimizer PR 738 (MMLU 59 %, with fp32 72 %)",
        .formula = "v = 1e-6; g = 1e-4", .each = "v = 0.999 * v + 0.001 * g * g", .steps = 2000,
        .show = "v, g / sqrt(v)", .curve = "v",
        .buggy = {.in = "fp32/bf16", .is = "9.98e-7, 0.100"}, .fault = "adam-variance-in-bf16",
        .fixed = {.in = "fp32", .is = "1.44e-7, 0.2637"},
        .lesson = "Keep v in fp32, or round it at random: a thousandth of it is less than half an "
                  "ulp in bf16."),
    HC_BUG("field/averages/ema-frozen-half", "The average of half or bf16 weights never changes.",
           "d8ahazard/sd_dreambooth_extension PR 1417, 'Ema fp32', "
           "https://github.com/d8ahazard/sd_dreambooth_extension/pull/1417; PaddlePaddle/PaddleMIX "
           "PR 515; konpatp/diffae issue 16; OpenNMT/OpenNMT-py PR 1294; keras-team/keras PR 21238",
           .formula = "ema = 1; w = 0", .each = "ema = 0.9999 * ema + 1e-4 * w", .steps = 2000,
           .show = "ema", .curve = "ema", .buggy = {.in = "fp16", .is = "1 exact"},
           .fault = "running-statistics-in-half", .fixed = {.in = "fp32", .is = "0.8187"},
           .lesson = "Keep the average in fp32: 0.9999 is 1 in half, and 0.999 is 1 in bf16."),
    HC_BUG("field/averages/ema-lerp-vs-mul",
           "Two ways to write the same average differ in half: one stands still, the other runs "
           "ahead.",
           "d8ahazard/sd_dreambooth_extension PR 1415, 'Use float32 for EMA model', "
           "https://github.com/d8ahazard/sd_dreambooth_extension/pull/1415",
           .formula = "lerp = 1; up = 1; down = 2; t = 1.5",
           .each = "lerp += 0.001 * (t - lerp); up = 0.999 * up + 0.001 * t\n"
                   "down = 0.999 * down + 0.001 * t",
           .steps = 500, .show = "lerp, up, down", .curve = "up",
           .buggy = {.in = "fp16", .is = "1.0117, 1.488, 2 exact"},
           .fixed = {.in = "fp32", .is = "1.1968, 1.1968, 1.8032"},
           .fault = "running-statistics-in-half",
           .lesson = "Keep averages in fp32. In half (each operation rounded) the second form "
                     "moves only upward, since half(0.999) + half(0.001) is more than 1."),
    HC_BUG(
        "field/averages/momentum-buffer-half",
        "A momentum buffer in half is 28 % too small for small gradients, and 0 for smaller ones.",
        "tinygrad/tinygrad PR 10387, 'use float32 for sgd momentum', "
        "https://github.com/tinygrad/tinygrad/pull/10387, which gives no figure",
        .formula = "g := 1e-7; h := 2.9e-8    # fp32 gradients\n"
                   "r = 1e-7                  # one that is stored as the buffer is\n"
                   "m = 0; n = 0; both = 0",
        .each = "m = 0.9 * m + g; n = 0.9 * n + h; both = 0.9 * both + r", .steps = 200,
        .show = "m, n, both", .curve = "m",
        .buggy = {.in = "fp32/fp16", .is = "7.15e-7, 0, 9.54e-7"},
        .fixed = {.in = "fp32", .is = "1.00e-6, 2.90e-7, 1.00e-6"}, .fault = "sgd-momentum-in-half",
        .lesson = "Keep momentum in fp32: half's small numbers lie 6e-8 apart. A gradient in half "
                  "hides it: 1e-7 becomes 1.19e-7, and the sum of two errors is -5 %."),

    /* A loss scale that is halved to zero.

       A scaler without a floor halves at every overflow. If the overflows do not come from the
       scale they never end: from 2^16, fp64 (a Python float) has 1090 halvings until its smallest
       number, 2^-1074, and fp32 (torch's tensor) has 165 until 2^-149. The next halving is a tie
       between that number and 0, and goes to the even one: 0. Then unscaling multiplies by 1 / 0.

       The rule of thumb: a floor of 1, and an error after some overflows in a row. What the
       scaler does then is scaler/overflows-without-end and scaler/zero-and-infinite-scales. */
    HC_BUG("field/halvings/loss-scale-to-zero",
           "Gradient overflow at every step: the loss scale sinks to 2.0237e-320, then to 0, and "
           "the run ends in ZeroDivisionError.",
           "Junjue-Wang/FactSeg issue 6, 'Gradient overflow and loss scale reduction problem', "
           "https://github.com/Junjue-Wang/FactSeg/issues/6; NVIDIA/apex issues 654 and 834",
           .formula = "scale = 65536; at_1078 = 0",
           .each = "scale = max(scale / 2, least); at_1078 = select(step == 1078, scale, at_1078)",
           .steps = 1091, .show = "at_1078, scale, 1 / scale",
           .buggy = {.in = "fp64",
                     .with = "least := 0",
                     .prints = "2.0237e-320, 0, -",
                     .is = "-, -, inf"},
           .fixed = {.in = "fp64", .with = "least := 1", .is = "1, 1, 1"},
           .fault = "scaler-floor-ignored",
           .lesson = "Give the scale a floor of 1, and stop after some overflows in a row."),

    /* Updates below half an ulp of the weight.

       A weight in 16 bits is rounded at each step. An update below half the distance to its
       neighbour is rounded away, and so is the next one: a thousand steps do no more than one. Near
       1 that limit is 2^-9 downwards and 2^-8 upwards in bf16, and 2^-12 and 2^-11 in half;
       everywhere it is some 1/256 or 1/2048 of the weight, and the steps of an optimizer are
       smaller. Loops that look at the loss alone see a plateau. The same holds for whatever else is
       added to a bf16 weight once: a LoRA adapter that is merged, or a delta under a factor that
       ramps up.

       The rule of thumb: weights that are added to are fp32 (masters), or are rounded
       stochastically, or have a compensation; master/, stochastic/ and field/lost-masters show
       those. */
    HC_BUG(
        "field/lost-updates/update-below-half-ulp-bf16",
        "bf16 weights do not move at all: after 100 steps 0 of 768 have changed.",
        "workofart/ml-by-hand PR 85, 'Create FP32 master copy of weights for mixed-precision "
        "training', https://github.com/workofart/ml-by-hand/pull/85; pytorch/ao PR 1124; "
        "huggingface/blog PR 3386; tianweiy/CausVid issue 19; hp-l33/AiM issue 10",
        .formula = "master = 1", .each = "master = master - 6e-4; w = bf16(master)", .steps = 100,
        .show = "w", .buggy = {.in = "bf16", .is = "1 exact"},
        .fixed = {.in = "fp32", .is = "0.94"}, .curve = "w", .fault = "masters-in-bf16",
        .lesson =
            "Keep fp32 masters and cast copies of them: near 1 bf16 loses updates up to 2^-9.",
        .also =
            {{"lora-merge-bf16",
              "huggingface/peft issue 1388, 'merge_and_unload() raises the loss of accuracy when "
              "inference', https://github.com/huggingface/peft/issues/1388: a delta of 1e-3 added "
              "once; meta-pytorch/torchtune issue 1101; unslothai/unsloth issue 3091"},
             {"warmup-vanishing-bf16",
              "kyegomez/SingLoRA issue 6, '[BUG] ramp up steps cause vanishing updates in bf16', "
              "https://github.com/kyegomez/SingLoRA/issues/6: a delta under t / T"}}),
    HC_BUG("field/lost-updates/moe-expert-bias-cast-bf16",
           "The bias of an expert stands still: its buffer was cast to bf16 with the module.",
           "NVIDIA/Megatron-LM issue 1482, '[BUG] TopKRouter expert_bias get wrong dtype when "
           "updated', https://github.com/NVIDIA/Megatron-LM/issues/1482, which shows the format "
           "and no figure",
           .formula = "bias = 0.5", .each = "bias += 1e-3", .steps = 100, .show = "bias",
           .curve = "bias", .buggy = {.in = "bf16", .is = "0.5 exact"},
           .fixed = {.in = "fp32", .is = "0.600"}, .frozen = "2026-11-27 7c2bf76e",
           .fault = "masters-in-bf16",
           .lesson =
               "Look at a buffer's format after the module was wrapped: from 0.5 on bf16 loses "
               "updates of 1e-3."),

    /* A state that is carried from token to token.

       Linear attention and state-space layers keep a state h = g h + u, with a g just below 1. In
       fp32 it forgets slowly, as it was meant to. Rounded to bf16 at each token it stops where u -
       (1 - g) h is half an ulp of it: the state is full long before it should be, and what comes
       later is not seen. A factor of u that is rounded before it meets the state is off by the same
       part at each token, so that the error does not average out.

       The rule of thumb: what lives longer than a token is fp32, and so is all that is added to
       it. */
    HC_BUG("field/recurrent-state/gdn-state-written-in-input-dtype",
           "The output collapses into repetition after some tokens.",
           "ollama/ollama issue 15865, 'mlxrunner: gated_delta_step kernel writes recurrent state "
           "in InT (bf16) instead of StT (fp32)', https://github.com/ollama/ollama/issues/15865, "
           "and PR 15870; NVIDIA/TensorRT-Model-Connect PR 725",
           .formula = "h = 0", .each = "h = fp32(state(0.999 * h + 0.001))", .steps = 3000,
           .show = "h", .curve = "h", .buggy = {.in = "fp32 state=bf16", .is = "0.25 exact"},
           .fixed = {.in = "fp32 state=fp32", .is = "0.9503"}, .frozen = "2026-11-27 30357997",
           .fault = "running-statistics-in-half",
           .lesson = "Write the state in the format in which it is summed."),
    HC_BUG(
        "field/recurrent-state/gdn-beta-roundtrip-bf16",
        "The state drifts from the reference, and the longer the context the further.",
        "sgl-project/sglang issue 38975, 'GDN packed decode and KDA replay decode round "
        "sigmoid(beta) through bf16; recurrent-state drift accumulates with context length', "
        "https://github.com/sgl-project/sglang/issues/38975",
        .formula = "b = 1.307; beta = fp32(cut(1 / (1 + exp(-b)))); h = 0",
        .each = "h = 0.999 * h + 0.001 * beta", .steps = 3000, .show = "beta, h",
        .buggy = {.in = "fp32 cut=bf16", .is = "0.78515625 exact, 0.7461"},
        .fixed = {.in = "fp32 cut=fp32", .is = "0.78701, 0.7479"}, .frozen = "2026-11-27 a526daf6",
        .lesson = "Keep a gate in fp32 from its sigmoid to its product: the same rounding at each "
                  "token does not average out."),

    /* A sum that takes itself for a term.

       Gradients of microbatches are added in a buffer, and buffers are added over ranks. A
       reduction whose input is its output adds the buffer to itself where the group has one rank,
       at each microbatch: the first gradient is doubled N times. No format is involved, and no
       number is out of the ordinary.

       The rule of thumb: compare the gradient of one batch in N microbatches with that of the whole
       batch. */
    HC_BUG(
        "field/doubled-buffer/megatron-fsdp-grads-doubled",
        "Gradients are too large by 2^N after N microbatches.",
        "NVIDIA/Megatron-LM issue 6660, '[Megatron-FSDP] Gradients doubled every microbatch (2^N "
        "amplification) when a grad buffer DP group has size 1', "
        "https://github.com/NVIDIA/Megatron-LM/issues/6660",
        .formula = "first = 0; buffer = 0", .steps = 4, .show = "first, buffer",
        .buggy = {.in = "fp32",
                  .each = "first = select(step == 1, 1, first); buffer += 1\n"
                          "first += first; buffer += buffer",
                  .is = "16 exact, 30 exact"},
        .fixed = {.in = "fp32",
                  .each = "first = select(step == 1, 1, first); buffer += 1",
                  .is = "1 exact, 4 exact"},
        .frozen = "2026-11-27 fa5c04c7", .fault = "rank-counted-twice",
        .lesson = "A reduction over one rank changes nothing: test groups of one."),

    /* A norm that is not the norm, but an epsilon.

       x / max(|x|, eps) has length 1 only while |x| is above eps. Below, the epsilon takes the
       place of the norm, and what should be a direction shrinks with x. Muon's Newton-Schulz
       iteration then begins far below the singular values for which its polynomial was made: it
       multiplies small ones by 3.4445 a step, and six steps (a factor of 1670) do not reach 1.
       Nothing is infinite or NaN; the update is only too small, and all the more so the smaller the
       gradient.

       The singular values of a large random matrix have the density sqrt(4 - x^2) / pi on [0, 2]
       (the quarter circle). The four nodes above 0 of Gauss's rule for the whole circle have its
       even moments up to x^14, and a norm needs even ones alone: they give that of the report's
       random 2048 x 2048 matrix to its three digits.

       The rule of thumb: an epsilon that guards a division by 0 belongs near the smallest number
       of the format (1e-30 in fp32), not near what is usual in it. */
    HC_BUG("field/norm-floor/newton-schulz-eps-floor",
           "Muon's update collapses to 0 without a word for small gradients.",
           "NVIDIA-NeMo/Emerging-Optimizers issue 229, 'newton_schulz silently degenerates "
           "(non-orthogonal output) for small-norm inputs due to F.normalize eps floor', "
           "https://github.com/NVIDIA-NeMo/Emerging-Optimizers/issues/229, and PR 230",
           .formula = "node = list(4, 2 * cos(pi * (i + 1) / 9))  # singular values\n"
                      "sine = list(4, sin(pi * (i + 1) / 9)); share = 4 / 9 * sine * sine\n"
                      "in1 = 1e-9; s = in1 / max(in1, eps) / sqrt(2048) * node\n"
                      "in2 = 1e-10; t = in2 / max(in2, eps) / sqrt(2048) * node",
           .each = "s = s * (3.4445 - s * s * (4.775 - 2.0315 * s * s))\n"
                   "t = t * (3.4445 - t * t * (4.775 - 2.0315 * t * t))\n"
                   "out1 = sqrt(2048 * sum(share * s * s))\n"
                   "out2 = sqrt(2048 * sum(share * t * t))",
           .steps = 6, .show = "out1, out2",
           .buggy = {.in = "fp32", .with = "eps := 1e-7", .prints = "16.1, 1.67"},
           .fixed = {.in = "fp32", .with = "eps := 1e-30"},
           .lesson = "Let such an epsilon be 1e-30: it is there for 0 alone."),
};

HC_CASES(field_steps_loops, cases);
