/* Averages as wrappers make them, and reports of how they went wrong. */
#include <math.h>

#include "case.h"
#include "cases/fixture/training/ranks.h"
#include "train/parallel/wrapper.h"
#include "train/update/recipe_fields.h"

/* What the options of Apex's, PyTorch's and FSDP's wrappers do to the bits of an average.

   Each row of train/parallel/wrapper.c becomes a call of the op all_reduce on ranks whose
   gradients tell orders and roundings apart, and which is held to its bound of the MPFR value. What
   is expected to the bit is counted by hand, or is a ring's sum with each real number rounded into
   its format. */

enum { MOST_RANKS = 1024, MOST_ELEMENTS = 1000 };

/* A gradient of n elements on each rank, and its average. */
struct averaged {
    struct hc_all_reduce how;
    enum hc_format format;
    int ranks;
    int n;
    double x[MOST_RANKS]; /* of every element */
    bool grows;           /* times i + 1, of element i */
    double got[MOST_ELEMENTS];
};

static bool average(struct hc_check *check, const char *recipe, struct averaged *a)
{
    struct hc_recipe r;
    char name[HC_RECIPE_NAME];
    if (!hc_check_ok(check, hc_recipe_read(&r, name, recipe, strlen(recipe))))
        return false;
    struct hc_wrapper wrapper = hc_wrapper_of(&r);
    a->how = hc_wrapper_all_reduce(&wrapper, hc_wrapper_held(&r, a->format), a->ranks, false);
    struct hc_tensor x = hc_check_tensor(check, hc_tensor2(a->format, a->ranks, a->n, NULL));
    struct hc_tensor out = hc_check_vector(check, a->format, a->n);
    struct hc_call call = {.op = HC_OP_all_reduce,
                           .in = {[HC_ALL_REDUCE_X] = x},
                           .out = {[HC_ALL_REDUCE_OUT] = out},
                           .params.all_reduce = a->how};
    for (int r0 = 0; r0 < a->ranks; r0++)
        for (int i = 0; i < a->n; i++)
            hc_tensor_set(&x, (int64_t)r0 * a->n + i, a->x[r0] * (a->grows ? i + 1 : 1));
    if (hc_claim_call(check, &call) != HC_OK)
        return false;
    for (int i = 0; i < a->n; i++)
        a->got[i] = hc_tensor_get(&out, i);
    return true;
}

/* x / d as the contract has it: rounded into fp32, then into the sum's format. */
static double share(const struct hc_all_reduce *how, double x, double d)
{
    double quotient = how->multiplies ? x * hc_round(HC_FP32, 1 / hc_round(HC_FP32, d)) : x / d;
    return d == 1 ? x : hc_round(how->sum, hc_round(HC_FP32, quotient));
}

/* The element of a ring's chunk: from the rank behind the chunk's number around to itself. */
static double defined(const struct averaged *a, int chunk)
{
    double sum = 0;
    for (int k = 0; k < a->ranks; k++) {
        double x = hc_round(a->format, a->x[(chunk + 1 + k) % a->ranks]);
        x = share(&a->how, hc_round(a->how.sum, x), a->how.before);
        sum = k ? hc_round(a->how.sum, sum + x) : x;
    }
    return hc_round(a->format, share(&a->how, sum, a->how.after));
}

/* 1024 equal gradients in half. 1e-5 there is 168 * 2^-24, 1024 times that is exact in fp32; of
   1024 * 100 half has no number. */
static void apex(struct hc_check *check)
{
    static const struct {
        const char *recipe;
        bool large; /* whether 100 is left in the end, and 1e-5 */
        bool small;
    } rows[] = {{"apex-O2+wrapper=apex-ddp", false, true},
                {"apex-O2+wrapper=apex-ddp+predivide=1024", true, false},
                {"apex-O2+wrapper=apex-ddp+predivide=32", true, true},
                {"apex-O2+wrapper=apex-ddp+reduce=fp32", true, true},
                {"apex-O2+wrapper=apex-ddp+predivide=32+algorithm=tree", true, true}};
    struct averaged a = {.format = HC_FP16, .ranks = 1024, .n = 1};
    hc_say(check, "%-52s  %-7s  %s", "average of equal gradients, which are", "100", "1e-5");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double got[2];
        for (int s = 0; s < 2; s++) {
            double g = hc_round(HC_FP16, s ? 1e-5 : 100);
            for (int r = 0; r < a.ranks; r++)
                a.x[r] = g;
            if (!average(check, rows[i].recipe, &a))
                return;
            got[s] = a.got[0];
            if (a.how.algorithm == HC_COLLECTIVE_RING)
                hc_claim_value(check, rows[i].recipe, defined(&a, 0), got[s]);
            if (a.how.algorithm == HC_COLLECTIVE_TREE || a.how.sum == HC_FP32)
                hc_claim_value(check, "equal gradients are their average", s ? got[s] : g, got[s]);
        }
        hc_say(check, "%-52s  %-7g  %g", rows[i].recipe, got[0], got[1]);
        hc_claim_true(check, "100 is left", isfinite(got[0]) == rows[i].large);
        hc_claim_true(check, "1e-5 is left", (got[1] != 0) == rows[i].small);
    }
}

/* 64 ranks and 64 elements, each a chunk of the ring. Rank 0 has 256, the others 1, each times 64:
   the average is 319. In bf16, which from 256 on has every second integer and at 319 rounds up to
   320, the ones are lost one by one if 256 comes first, as in the last chunk, but are 63 before it
   comes last, as in the first. */
static void swallows(struct hc_check *check)
{
    static const struct {
        const char *recipe;
        double first;
        double last;
    } rows[] = {{"amp-bf16+wrapper=fsdp", 320, 256},
                {"amp-bf16+wrapper=fsdp2", 320, 256},
                {"amp-bf16+wrapper=fsdp+reduce=fp32", 320, 320},
                {"amp-bf16+wrapper=torch-ddp", 320, 320},
                {"amp-bf16+wrapper=torch-ddp+reduce=bf16", 320, 256},
                {"bf16-pure+wrapper=torch-ddp", 320, 256},
                {"amp-bf16", 320, 320}};
    struct averaged a = {.format = HC_BF16, .ranks = 64, .n = 64};
    for (int r = 0; r < a.ranks; r++)
        a.x[r] = r ? 64 : 64 * 256;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!average(check, rows[i].recipe, &a))
            return;
        hc_say(check, "%-40s first element %g, last %g", rows[i].recipe, a.got[0], a.got[63]);
        hc_claim_value(check, "the first element", rows[i].first, a.got[0]);
        hc_claim_value(check, "the last element", rows[i].last, a.got[63]);
        for (int c = 0; c < 64 && a.how.algorithm == HC_COLLECTIVE_RING; c++)
            hc_claim_value(check, rows[i].recipe, defined(&a, c), a.got[c]);
    }
}

/* Four ranks in fp32 have 2^24, 1, 1, 1. A parameter of four elements in a bucket of its own has
   each in another chunk; behind four others, in the one bucket of a first step, its elements are in
   the chunks 2 and 3, two in each. Among 2^24's neighbours there is no odd number. */
static void first_step(struct hc_check *check)
{
    static const char recipe[] = "apex-O2+wrapper=apex-ddp";
    struct averaged own = {.format = HC_FP32, .ranks = 4, .n = 4, .x = {0x1p24, 1, 1, 1}};
    struct averaged first = {.format = HC_FP32, .ranks = 4, .n = 8, .x = {0x1p24, 1, 1, 1}};
    int differ = 0;
    if (!average(check, recipe, &own) || !average(check, recipe, &first))
        return;
    for (int i = 0; i < 4; i++) {
        double want = defined(&own, i);
        double joint = defined(&first, (4 + i) / 2);
        hc_say(check, "element %d: %.9g in a bucket of its own, %.9g in the first step's", i,
               own.got[i], first.got[4 + i]);
        hc_claim_value(check, "in a bucket of its own", want, own.got[i]);
        hc_claim_value(check, "in the bucket of the first step", joint, first.got[4 + i]);
        differ += own.got[i] != first.got[4 + i];
    }
    hc_claim_true(check, "a first step has other bits than the next", differ > 0);
    if (!average(check, "apex-O2", &own) || !average(check, "apex-O2", &first))
        return;
    for (int i = 0; i < 4; i++)
        hc_claim_value(check, "a tree's bits are the same wherever", own.got[i], first.got[4 + i]);
}

/* Equal gradients g from 1 to 1000 on n ranks. Sums of these are exact in fp32, and a division
   gives g again; a product with fp32(1 / n), before the sum or after it, need not. */
static void reciprocals(struct hc_check *check)
{
    static const char *const recipes[] = {"fp32", "fp32+wrapper=apex-ddp", "fp32+wrapper=torch-ddp",
                                          "fp32+wrapper=fsdp"};
    static const int ranks[] = {6, 7, 8, 41};
    struct averaged a = {.format = HC_FP32, .n = MOST_ELEMENTS, .grows = true};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) {
            int others = 0;
            a.ranks = ranks[k];
            for (int r = 0; r < a.ranks; r++)
                a.x[r] = 1;
            if (!average(check, recipes[i], &a))
                return;
            for (int g = 1; g <= a.n; g++) {
                struct averaged one = {.how = a.how, .format = a.format, .ranks = a.ranks};
                for (int r = 0; r < a.ranks; r++)
                    one.x[r] = g;
                hc_claim_value(check, recipes[i], a.how.multiplies ? defined(&one, 0) : g,
                               a.got[g - 1]);
                others += a.got[g - 1] != g;
            }
            hc_say(check, "%-24s %2d ranks: %3d of 1000 averages are not the gradient", recipes[i],
                   ranks[k], others);
            hc_claim_true(check, "by a power of two all are the same",
                          others == 0 || (i > 0 && ranks[k] != 8));
        }
}

/* A gradient of 2^-23, two steps of half's smallest, on eight ranks: an eighth of it is 0. */
static void hook_underflows(struct hc_check *check)
{
    static const struct {
        const char *recipe;
        double want;
    } rows[] = {{"fp32+wrapper=torch-ddp", 0x1p-23},
                {"fp32+wrapper=torch-ddp+reduce=bf16", 0x1p-23},
                {"fp32+wrapper=torch-ddp+reduce=fp16", 0},
                {"fp32+wrapper=horovod+reduce=fp16", 0x1p-23},
                {"fp32+reduce=fp16", 0x1p-23}};
    struct averaged a = {.format = HC_FP32, .ranks = 8, .n = 1};
    for (int r = 0; r < a.ranks; r++)
        a.x[r] = 0x1p-23;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!average(check, rows[i].recipe, &a))
            return;
        hc_say(check, "%-36s %g", rows[i].recipe, a.got[0]);
        hc_claim_value(check, rows[i].recipe, rows[i].want, a.got[0]);
    }
}

/* Reports of sums over ranks in bf16, on the op all_reduce and on ranks that are threads. The
   formulas of field/rank-sums and field/swallowed-squares show the same arithmetic by itself, in
   one order. Here it is seen what the order does.

   All numbers are whole, so every sum is exact but for what bf16 cannot hold: it has 8 bits, above
   256 its numbers are 2 apart, and ties go to a multiple of 4. */

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
    {"ranks/apex-predivide",
     "1024 ranks in half: Apex's defaults make 100 infinite, predivide=1024 makes 1e-5 zero; "
     "predivide=32 and allreduce_always_fp32 keep both",
     "NVIDIA/apex @e13873de apex/parallel/distributed.py, gradient_predivide_factor and "
     "allreduce_always_fp32",
     .run = apex},
    {"ranks/bf16-swallows-by-place",
     "64 ranks in bf16: a ring averages 256 and 63 ones to 320 or to 256, by where in the bucket "
     "the element lies; sums in fp32 give 320 everywhere",
     "https://github.com/pytorch/pytorch/issues/106395; pytorch @3ade90a6 "
     "torch/distributed/fsdp/_runtime_utils.py, reduce_dtype",
     .run = swallows},
    {"ranks/first-step-has-other-buckets",
     "Apex and PyTorch reduce the first step in one bucket and the next ones not: a ring's bits "
     "differ between them, a tree's do not",
     "NVIDIA/apex @e13873de apex/parallel/distributed.py, allreduce_fallback while needs_refresh; "
     "pytorch @ad78a7b3 torch/csrc/distributed/c10d/reducer.cpp, rebuild_buckets",
     .run = first_step},
    {"ranks/equal-gradients",
     "averages of equal gradients on 6, 7, 8 and 41 ranks: a division after the sum gives them "
     "again, a product with the reciprocal need not",
     "pytorch @0f57f050 aten/src/ATen/native/cuda/BinaryDivTrueKernel.cu: 'this may lose one bit "
     "of precision compared to computing the division'",
     .run = reciprocals},
    {"ranks/compress-hook-underflows",
     "PyTorch's fp16_compress_hook divides in half before the sum: 2^-23 on eight ranks becomes 0; "
     "bf16 and a division after the sum keep it",
     "pytorch @38dfbe6f torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py, "
     "_compress_hook; https://github.com/pytorch/pytorch/pull/57410",
     .run = hook_underflows},
    {"ranks/sums-in-bf16",
     "bf16 makes 256 of 256 and 1 on two ranks, and round a ring of 384 ranks of as many ones; a "
     "tree counts them all, and fp32 does",
     "pytorch/pytorch issue 190626, '[FSDP2] MixedPrecisionPolicy reduce_dtype is not applied to "
     "the TP-mesh Partial -> Replicate gradient all-reduce', and issue 106395 (stable on 96 GPUs, "
     "unstable on 384); NVIDIA/Megatron-LM issue 6199",
     .run = sums, .data = dtypes},
    {"ranks/norms-in-bf16",
     "squares of the norms of 8 ranks, 256 and seven times 1, are 256, 262 or 264 in bf16 by the "
     "order of the sum, and 263 in fp32",
     "NVIDIA-NeMo/Automodel PR 825, 'fix: Cast norm to fp32 in clip_grad_norm', "
     "https://github.com/NVIDIA-NeMo/Automodel/pull/825",
     .run = sums, .data = squares},
};

HC_CASES(ranks_wrappers, cases);
