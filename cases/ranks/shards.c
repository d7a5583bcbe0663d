/* The shards of a rank whose wrapper divides before the sum.

   A rank that works through several shards adds their gradients first, and an all-reduce adds what
   the ranks have. Each shard is divided once, before it is added to anything; the all-reduce must
   not divide again, and nothing may be divided late. The sums are counted here, each real number
   rounded into its format, on numbers of so many exponents that each other order of additions and
   divisions shows. */
#include <math.h>
#include <stdio.h>

#include "check/ranks.h"
#include "case.h"
#include "train/parallel/reduction.h"
#include "train/update/recipe_fields.h"

enum { SHARDS = 8, ELEMENTS = 21 };

static const struct row {
    const char *recipe;
    enum hc_format format; /* of the gradients */
} rows[] = {
    {"fp32+wrapper=torch-ddp+algorithm=tree", HC_FP32},
    {"fp32+wrapper=torch-ddp", HC_FP32},
    {"fp32+wrapper=torch-ddp+reduce=bf16+algorithm=tree", HC_FP32},
    {"apex-O2+wrapper=apex-ddp+predivide=4+algorithm=tree", HC_FP16},
    {"apex-O2+wrapper=apex-ddp+predivide=3", HC_FP16},
    {"amp-bf16+wrapper=fsdp+algorithm=tree", HC_BF16},
    {"amp-bf16+wrapper=fsdp", HC_BF16},
    {"fp32+wrapper=horovod+predivide=2+algorithm=tree", HC_FP32},
};

/* What all ranks share. */
struct job {
    const struct row *row;
    struct hc_recipe recipe;
    struct hc_all_reduce how;
    int ranks;
    double x[SHARDS][ELEMENTS];
    double got[SHARDS][ELEMENTS]; /* of each rank */
};

static enum hc_status average(struct hc_comm *comm, void *context)
{
    struct job *job = context;
    int mine = SHARDS / comm->size;
    float memory[ELEMENTS];
    struct hc_tensor t = hc_tensor1(job->row->format, ELEMENTS, memory);
    struct hc_gradient g = {.format = job->row->format,
                            .held = hc_wrapper_held(&job->recipe, job->row->format),
                            .count = ELEMENTS,
                            .data = memory};
    struct hc_reduction *reduction;
    enum hc_status status = hc_reduction_open(&reduction, &job->recipe, comm, SHARDS, &g, 1);
    if (status != HC_OK)
        return status;
    for (int k = 0; k < mine; k++) {
        for (int i = 0; i < ELEMENTS; i++)
            hc_tensor_set(&t, i, job->x[comm->rank * mine + k][i]);
        hc_reduction_add(reduction, &g);
    }
    status = hc_reduction_finish(reduction, &g, NULL);
    for (int i = 0; i < ELEMENTS; i++)
        job->got[comm->rank][i] = hc_tensor_get(&t, i);
    hc_reduction_close(reduction);
    return status;
}

/* x / d, rounded into fp32, then into the sum's format. */
static double divided(const struct hc_all_reduce *how, double x, double d)
{
    double quotient = how->multiplies ? x * hc_round(HC_FP32, 1 / hc_round(HC_FP32, d)) : x / d;
    return d == 1 ? x : hc_round(how->sum, hc_round(HC_FP32, quotient));
}

static double leaf(const struct job *job, int shard, int i)
{
    return divided(&job->how, hc_round(job->how.sum, job->x[shard][i]), job->how.before);
}

/* Shards first to first + n - 1 in pairs, or one after the other. */
static double added(const struct job *job, bool pairs, int first, int n, int i)
{
    double sum = leaf(job, first, i);
    if (pairs && n > 1)
        return hc_round(job->how.sum, added(job, true, first, n / 2, i) +
                                          added(job, true, first + n / 2, n / 2, i));
    for (int s = 1; s < n; s++)
        sum = hc_round(job->how.sum, sum + leaf(job, first + s, i));
    return sum;
}

/* A ring's chunk of element i: the first ELEMENTS mod R have one more. */
static int chunk_of(const struct job *job, int i)
{
    int chunk = 0;
    int begin = 0;
    for (int c = 0; c < job->ranks; c++) {
        chunk = begin <= i ? c : chunk;
        begin += ELEMENTS / job->ranks + (c < ELEMENTS % job->ranks);
    }
    return chunk;
}

/* The tree is one over all shards. A ring goes over the ranks' sums, from the one behind the
   chunk's number around to itself. */
static double defined(const struct job *job, int i)
{
    int mine = SHARDS / job->ranks;
    double sum = 0;
    if (job->how.algorithm == HC_COLLECTIVE_TREE)
        sum = added(job, true, 0, SHARDS, i);
    for (int k = 0; k < job->ranks && job->how.algorithm == HC_COLLECTIVE_RING; k++) {
        int rank = (chunk_of(job, i) + 1 + k) % job->ranks;
        double own = added(job, false, rank * mine, mine, i);
        sum = k ? hc_round(job->how.sum, sum + own) : own;
    }
    return hc_round(job->row->format, divided(&job->how, sum, job->how.after));
}

/* Numbers of the format, of 12 binades. */
static bool prepare(struct hc_check *check, struct job *job, const struct row *row)
{
    char name[HC_RECIPE_NAME];
    if (!hc_check_ok(check, hc_recipe_read(&job->recipe, name, row->recipe, strlen(row->recipe))))
        return false;
    struct hc_wrapper wrapper = hc_wrapper_of(&job->recipe);
    job->row = row;
    job->how =
        hc_wrapper_all_reduce(&wrapper, hc_wrapper_held(&job->recipe, row->format), SHARDS, false);
    for (uint64_t s = 0; s < SHARDS; s++)
        for (uint64_t i = 0; i < ELEMENTS; i++) {
            double x = hc_random_normal(hc_check_seed(check), s, i);
            int down = (int)(hc_random(hc_check_seed(check), s + SHARDS, i) >> 40) % 12;
            job->x[s][i] = hc_round(row->format, ldexp(x, -down));
        }
    return true;
}

static void shards(struct hc_check *check)
{
    struct job *job = hc_check_memory(check, sizeof *job);
    struct hc_comparisons all = {.what = "averages over shards"};
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        if (!prepare(check, job, &rows[n]))
            return;
        hc_claim_true(check, "it divides before the sum", job->how.before != 1);
        for (job->ranks = 1; job->ranks <= SHARDS; job->ranks *= 2) {
            if (!hc_check_ok(check, hc_check_ranks(check, job->ranks, average, job)))
                return;
            for (int r = 0; r < job->ranks; r++)
                for (int i = 0; i < ELEMENTS; i++) {
                    double want = defined(job, i);
                    all.checked++;
                    if (!(want == job->got[r][i]))
                        hc_comparisons_wrong(&all, "%s, rank %d of %d, element %d: want %a, got %a",
                                             rows[n].recipe, r, job->ranks, i, want,
                                             job->got[r][i]);
                }
        }
    }
    hc_claim_comparisons(check, &all);
}

static const struct hc_case cases[] = {
    {.name = "ranks/shards-are-divided-once",
     .title = "8 shards on 1, 2, 4 and 8 ranks, whose wrapper divides before the sum, have the "
              "average that its definition counts",
     .source =
         "src/op/collective.h; the wrappers' own sources, as halfcheck list wrappers has them",
     .level = HC_QUICK,
     .once = true,
     .run = shards},
};

HC_CASES(ranks_shards, cases);
