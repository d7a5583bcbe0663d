/* Updates below half an ulp of the weight.

   A weight in 16 bits is rounded at each step. An update below half the distance to its neighbour
   is rounded away, and so is the next one: a thousand steps do no more than one. Near 1 that limit
   is 2^-9 downwards and 2^-8 upwards in bf16, and 2^-12 and 2^-11 in half; everywhere it is some
   1/256 or 1/2048 of the weight, and the steps of an optimizer are smaller. Loops that look at the
   loss alone see a plateau. The same holds for whatever else is added to a bf16 weight once: a LoRA
   adapter that is merged, or a delta under a factor that ramps up.

   The rule of thumb: weights that are added to are fp32 (masters), or are rounded stochastically,
   or have a compensation; master/, stochastic/ and field/lost-masters show those. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/lost-updates/update-below-half-ulp-bf16",
           "bf16 weights do not move at all: after 100 steps 0 of 768 have changed.",
           "workofart/ml-by-hand PR 85, 'Create FP32 master copy of weights for mixed-precision "
           "training', https://github.com/workofart/ml-by-hand/pull/85; pytorch/ao PR 1124; "
           "huggingface/blog PR 3386; tianweiy/CausVid issue 19; hp-l33/AiM issue 10",
           .formula = "master = 1", .each = "master = master - 6e-4; w = bf16(master)",
           .steps = 100, .show = "w", .buggy = {.in = "bf16", .prints = "1 exact"},
           .fixed = {.in = "fp32", .prints = "0.94"}, .curve = "w", .fault = "masters-in-bf16",
           .lesson = "Keep fp32 masters and cast copies of them: near 1 bf16 loses updates up to "
                     "2^-9.",
           .also = {{"lora-merge-bf16",
                     "huggingface/peft issue 1388, 'merge_and_unload() raises the loss of accuracy "
                     "when inference', https://github.com/huggingface/peft/issues/1388: a delta of "
                     "1e-3 added once; meta-pytorch/torchtune issue 1101; unslothai/unsloth issue "
                     "3091"},
                    {"warmup-vanishing-bf16",
                     "kyegomez/SingLoRA issue 6, '[BUG] ramp up steps cause vanishing updates in "
                     "bf16', https://github.com/kyegomez/SingLoRA/issues/6: a delta under t / T"}}),
};

HC_CASES(field_steps_lost_updates, cases);
