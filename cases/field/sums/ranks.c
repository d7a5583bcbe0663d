/* Sums over ranks. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    /* A sum over ranks in bf16.

       bf16 has 8 bits: from 256 on its numbers are 2 apart, and 256 + 1 is 256. Gradients that are
       added up over ranks in bf16 lose whatever is below half an ulp of the partial sum, and the
       more ranks there are the more is lost: from some number of ranks on nothing arrives. A
       setting that asks for sums in fp32 helps only if every sum takes it; with two kinds of
       parallelism there are two sums.

       The rule of thumb: test the setting with 256 on one rank and 1 on another. */
    HC_BUG("field/rank-sums/reduce-dtype-misses-tp",
           "With reduce_dtype=fp32 some gradients are still summed in bf16 over tensor-parallel "
           "ranks: 256 and 1 give 256.",
           "pytorch/pytorch issue 190626, '[FSDP2] MixedPrecisionPolicy reduce_dtype is not "
           "applied to the TP-mesh Partial -> Replicate gradient all-reduce', "
           "https://github.com/pytorch/pytorch/issues/190626, and its PR 190627; issue 106395 "
           "(stable on 96 GPUs, unstable on 384)",
           .formula = "tp = 256 + acc(1); few = sum(96, acc(1)); many = sum(384, acc(1))",
           .show = "tp, few, many",
           .buggy = {.in = "fp32 acc=bf16",
                     .prints = "256 exact, -, -",
                     .is = "-, 96 exact, 256 exact"},
           .fixed = {.in = "fp32 acc=fp32",
                     .prints = "257 exact, -, -",
                     .is = "-, 96 exact, 384 exact"},
           .fault = "sum-in-bf16",
           .lesson = "Sum gradients over ranks in fp32, and check each of the sums: 256 on one "
                     "rank and 1 on another show it."),
    HC_BUG("field/rank-sums/moe-token-counts-bf16",
           "The bias of a router moves the wrong way: tokens are counted in bf16.",
           "NVIDIA/Megatron-LM PR 7081, 'fix(MoE): Preserve exact expert token counts for "
           "expert-bias updates', https://github.com/NVIDIA/Megatron-LM/pull/7081: 64 counts from "
           "608 to 676, not printed themselves, and two orders of adding them",
           .formula = "n = list(64, counts(608 + i + 38 - 60 * floor((i + 38) / 60)))\n"
                      "eager = fp32(sum(n)); graph = fp32(tree(n))\n"
                      "step_eager = bf16(select(eager > 40960, -1e-3, 1e-3))\n"
                      "step_graph = bf16(select(graph > 40960, -1e-3, 1e-3))",
           .show = "eager, graph, step_eager, step_graph",
           .buggy = {.in = "fp32 counts=bf16",
                     .prints = "41216 exact, 40704 exact, -0.0009994507, 0.0009994507"},
           .fixed = {.in = "fp32 counts=fp32",
                     .prints = "40840 exact, 40840 exact, -, -",
                     .is = "-, -, 0.0009994507, 0.0009994507"},
           .frozen = "2026-11-27 24a5024e",
           .lesson =
               "Count in integers: a difference of 120 from the average of 40960 is less than "
               "bf16's spacing there, 256, so that the order of the sum decides.",
           .fault = "sum-in-bf16"),

    /* An average over ranks in half.

       The average of N gradients is a sum and a division. Sum first, and 1024 gradients of 100
       leave half, which ends at 65504, though their average is 100. Divide first, and 1024
       gradients of 1e-5 are 9.8e-9 each, which half rounds to 0. Divide by 32 before the sum and by
       32 after it, and all gradients from 1e-6 to 2000 arrive.

       The rule of thumb: divide by the root of N twice, or sum in fp32 or bf16. A sum in order
       adds errors of its own: 107 in the place of 100 (order/average-over-ranks). */
    HC_BUG("field/rank-average/allreduce-sum-overflow",
           "Gradients are inf with hundreds of GPUs, although they are finite on each.",
           "horovod/horovod issue 1699, 'Average gradients before allreduce', "
           "https://github.com/horovod/horovod/issues/1699; pytorch/pytorch PRs 57410, 59522 and "
           "59576, and issue 78774",
           .formula = "part = 100 / before; in_pairs = tree(1024, part) / after\n"
                      "in_order = sum(1024, part) / after",
           .show = "in_pairs, in_order",
           .buggy = {.in = "fp16", .with = "before := 1; after := 1024", .is = "inf, inf"},
           .fixed = {.in = "fp16",
                     .with = "before := 32; after := 32",
                     .is = "100 exact, 107.125 exact"},
           .fault = "sum-blocks-in-fp16",
           .lesson = "Divide by the root of the number of ranks before the sum, and again after.",
           .correction =
               "An average of 100 is what a half sum in pairs gives; one in order gives 107.125."),
    HC_BUG(
        "field/rank-average/allreduce-prediv-underflow",
        "With many GPUs small gradients vanish, because each is divided before the sum.",
        "facebookresearch/fairscale PR 565, '[FSDP] Add gradient predivide factor to avoid "
        "overflow/underflow with large world size', "
        "https://github.com/facebookresearch/fairscale/pull/565; horovod/horovod PR 1949",
        .formula = "part = 1e-5 / before; in_pairs = tree(1024, part) / after\n"
                   "in_order = sum(1024, part) / after",
        .show = "part, in_pairs, in_order",
        .buggy = {.in = "fp16", .with = "before := 1024; after := 1", .is = "0, 0, 0"},
        .fixed = {.in = "fp16",
                  .with = "before := 32; after := 32",
                  .is = "2.98e-7, 9.54e-6, 8.40e-6"},
        .lesson = "Divide by the root of the number of ranks before the sum, and again after.",
        .correction =
            "1e-5 does not arrive whole: a half sum in pairs gives 9.54e-6, one in order 8.40e-6."),
};

HC_CASES(field_sums_ranks, cases);
