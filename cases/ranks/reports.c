/* Reports of sums over ranks in bf16, on the op all_reduce and on ranks that are threads. The
   formulas of field/rank-sums and field/swallowed-squares show the same arithmetic by itself, in
   one order. Here it is seen what the order does.

   All numbers are whole, so every sum is exact but for what bf16 cannot hold: it has 8 bits, above
   256 its numbers are 2 apart, and ties go to a multiple of 4. */
#include "cases/fixture/ranks.h"

/* `ranks` ranks bring `each`, but for one. */
struct sum {
    const char *what;
    struct hc_all_reduce how;
    int ranks;
    int other; /* the rank that brings something else, */
    double others;
    double each;
    double want;
};

#define IN(algorithm, format)                                                                      \
    {                                                                                              \
        HC_COLLECTIVE_##algorithm, HC_##format, 1, 1, false                                        \
    }

/* 256 + 1 is a tie. A ring adds ones one after the other and stands still at 256; a tree adds only
   equal sums, and stands nowhere. */
static const struct sum dtypes[] = {
    {"256 and 1, bf16", IN(TREE, BF16), 2, 0, 256, 1, 256},
    {"256 and 1, fp32", IN(TREE, FP32), 2, 0, 256, 1, 257},
    {"96 ones, bf16 ring", IN(RING, BF16), 96, 0, 1, 1, 96},
    {"384 ones, bf16 ring", IN(RING, BF16), 384, 0, 1, 1, 256},
    {"384 ones, bf16 tree", IN(TREE, BF16), 384, 0, 1, 1, 384},
    {"384 ones, bf16 halving", IN(HALVING, BF16), 384, 0, 1, 1, 384},
    {"384 ones, fp32 ring", IN(RING, FP32), 384, 0, 1, 1, 384},
    {NULL},
};

/* The square 256 of a norm of 16 and seven of 1. The ring of a single number begins at rank 1:
   where that has the 256, each 1 is a tie and is lost; where rank 0 has it, it meets the seven
   others, and 263 is a tie. The tree loses the 1 beside the 256. Halving pairs rank 0 with rank 4,
   and loses as much. */
static const struct sum squares[] = {
    {"bf16 ring, 256 first", IN(RING, BF16), 8, 1, 256, 1, 256},
    {"bf16 ring, 256 last", IN(RING, BF16), 8, 0, 256, 1, 264},
    {"bf16 tree", IN(TREE, BF16), 8, 0, 256, 1, 262},
    {"bf16 halving", IN(HALVING, BF16), 8, 0, 256, 1, 262},
    {"fp32 ring", IN(RING, FP32), 8, 1, 256, 1, 263},
    {"fp32 tree", IN(TREE, FP32), 8, 0, 256, 1, 263},
    {NULL},
};

static void sums(struct hc_check *check)
{
    for (const struct sum *s = hc_check_case(check)->data; s->what; s++) {
        double *x = hc_check_memory(check, (size_t)s->ranks * sizeof *x);
        for (int r = 0; r < s->ranks; r++)
            x[r] = r == s->other ? s->others : s->each;
        double got = hc_ranks_average1(check, s->what, &s->how, HC_FP32, s->ranks, x);
        if (hc_check_is_cut(check))
            return;
        hc_say(check, "%-24s %g", s->what, got);
        hc_claim_value(check, s->what, s->want, got);
    }
}

static const struct hc_case cases[] = {
    {.name = "ranks/sums-in-bf16",
     .title = "bf16 makes 256 of 256 and 1 on two ranks, and round a ring of 384 ranks of as many "
              "ones; a tree counts them all, and fp32 does",
     .source = "pytorch/pytorch issue 190626, '[FSDP2] MixedPrecisionPolicy reduce_dtype is not "
               "applied to the TP-mesh Partial -> Replicate gradient all-reduce', and issue 106395 "
               "(stable on 96 GPUs, unstable on 384); NVIDIA/Megatron-LM issue 6199",
     .run = sums,
     .data = dtypes},
    {.name = "ranks/norms-in-bf16",
     .title = "squares of the norms of 8 ranks, 256 and seven times 1, are 256, 262 or 264 in bf16 "
              "by the order of the sum, and 263 in fp32",
     .source = "NVIDIA-NeMo/Automodel PR 825, 'fix: Cast norm to fp32 in clip_grad_norm', "
               "https://github.com/NVIDIA-NeMo/Automodel/pull/825",
     .run = sums,
     .data = squares},
};

HC_CASES(ranks_reports, cases);
