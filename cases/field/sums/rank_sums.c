/* A sum over ranks in bf16.

   bf16 has 8 bits: from 256 on its numbers are 2 apart, and 256 + 1 is 256. Gradients that are
   added up over ranks in bf16 lose whatever is below half an ulp of the partial sum, and the more
   ranks there are the more is lost: from some number of ranks on nothing arrives. A setting that
   asks for sums in fp32 helps only if every sum takes it; with two kinds of parallelism there are
   two sums.

   The rule of thumb: test the setting with 256 on one rank and 1 on another. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/rank-sums/reduce-dtype-misses-tp",
           "With reduce_dtype=fp32 some gradients are still summed in bf16 over tensor-parallel "
           "ranks: 256 and 1 give 256.",
           "pytorch/pytorch issue 190626, '[FSDP2] MixedPrecisionPolicy reduce_dtype is not "
           "applied to the TP-mesh Partial -> Replicate gradient all-reduce', "
           "https://github.com/pytorch/pytorch/issues/190626, and its PR 190627; issue 106395 "
           "(stable on 96 GPUs, unstable on 384)",
           .formula = "tp = 256 + acc(1); few = sum(96, acc(1)); many = sum(384, acc(1))",
           .show = "tp, few, many",
           .buggy = {.in = "fp32 acc=bf16", .prints = "256 exact, 96 exact, 256 exact"},
           .fixed = {.in = "fp32 acc=fp32", .prints = "257 exact, 96 exact, 384 exact"},
           .fault = "sum-in-bf16",
           .lesson = "Sum gradients over ranks in fp32, and check each of the sums: 256 on one "
                     "rank and 1 on another show it."),
};

HC_CASES(field_sums_rank_sums, cases);
