/* Gradients of shards against those of the whole batch, layer by layer.

   A batch is cut into four shards, one for each rank. The gradient of a weight over the whole batch
   is a sum over all its images, and what ranks make together is that sum, divided by their number:
   each shard's gradient, as an op computed it, averaged by an all-reduce. So the average may be as
   far from the real gradient of all images, in MPFR, as

     (the sum over shards of the op's own bound) / shards + the bound of the all-reduce,

   the second around the average of the gradients that it was given. What flows into a layer's op
   was made by the ops before it, so that errors do not add up over layers. Batch norm has
   statistics of its own in each shard; what its gradients are sums of are the rows of all shards
   with their statistics.

   A bound says something only if wrong averages miss it. Those that data parallel training has
   gone wrong by are made beside the right one, and for each a layer's bound must be missed. */
#include <math.h>

#include "cases/fixture/apart.h"
#include "cases/fixture/passes.h"

enum { SHARDS = HC_PASSES_SHARDS, LOOKED_AT = 48 };

/* One rank and several compute the same sum in other orders. Both lie within their bounds of it. */
static void claim_whole(const struct hc_passes *b, int p, int64_t n)
{
    struct hc_check *check = b->check;
    struct hc_call whole;
    int out = b->maker[0][p].out;
    int64_t apart = hc_apart(n, LOOKED_AT);
    if (!hc_passes_whole(b, p, &whole) || hc_do(check, &whole) != HC_OK)
        return;
    for (int64_t i = 0; i < n; i += apart) {
        struct hc_real_average real = hc_passes_real(b, p, i);
        struct hc_exact want = hc_reference_value(&whole, out, i);
        hc_claim_within(check, "real gradients of all images, and of all shards", want.hi / SHARDS,
                        real.value, 0x1p-50 * want.magnitude);
        hc_claim_within(check, "gradient of one rank with all images", want.hi,
                        hc_tensor_get(&whole.out[out], i),
                        hc_passes_bound(check, &whole, out, i, &want));
    }
}

static const struct hc_all_reduce ways[] = {{HC_COLLECTIVE_TREE, HC_FP32, 1, SHARDS, false},
                                            {HC_COLLECTIVE_RING, HC_FP32, 1, SHARDS, false},
                                            {HC_COLLECTIVE_HALVING, HC_BF16, SHARDS, 1, true},
                                            {HC_COLLECTIVE_RING, HC_FP16, 2, 0.5 * SHARDS, false}};

/* Averages that are wrong, of the gradients g of each shard. */
enum wrong { LEFT_OUT, TWICE, AGAIN, ANOTHERS, OTHER_COUNT, ALONE, WRONGS };

static const char *const wrongs[WRONGS] = {
    "the last rank is left out",
    "the last rank is added twice",
    "a bucket is summed once more after it has been averaged",
    "the last rank has the first one's images",
    "the sum is divided by one less",
    "what the first rank has is not averaged"};

static double wrong_average(enum wrong wrong, const double g[SHARDS])
{
    double sum = 0;
    for (int s = 0; s < SHARDS; s++)
        sum += g[s];
    switch (wrong) {
    case LEFT_OUT:
        return (sum - g[SHARDS - 1]) / SHARDS;
    case TWICE:
        return (sum + g[SHARDS - 1]) / SHARDS;
    case AGAIN:
        return sum / SHARDS * SHARDS;
    case ANOTHERS:
        return (sum - g[SHARDS - 1] + g[0]) / SHARDS;
    case OTHER_COUNT:
        return sum / (SHARDS - 1);
    default:
        return g[0];
    }
}

static void claim_parameter(const struct hc_passes *b, const struct hc_all_reduce *how, int p)
{
    struct hc_check *check = b->check;
    const char *name = hc_net_parameters(b->net)[p]->name;
    struct hc_call call = {
        .op = HC_OP_all_reduce, .in = {[HC_ALL_REDUCE_X] = b->rows[p]}, .params.all_reduce = *how};
    int64_t n = b->rows[p].shape[1];
    int64_t apart = hc_apart(n, LOOKED_AT);
    bool seen[WRONGS] = {false};
    if (hc_ranks_average(check, name, how, b->rows[p], &call.out[HC_ALL_REDUCE_OUT]) != HC_OK)
        return;
    for (int64_t i = 0; i < n; i += apart) {
        struct hc_real_average real = hc_passes_real(b, p, i);
        struct hc_exact given = hc_reference_value(&call, HC_ALL_REDUCE_OUT, i);
        double bound = real.strayed + hc_passes_bound(check, &call, HC_ALL_REDUCE_OUT, i, &given);
        double g[SHARDS];
        hc_claim_within(check, name, real.value, hc_tensor_get(&call.out[HC_ALL_REDUCE_OUT], i),
                        bound);
        for (int s = 0; s < SHARDS; s++)
            g[s] = hc_tensor_get(&b->rows[p], s * n + i);
        for (int w = 0; w < WRONGS; w++)
            seen[w] |= fabs(wrong_average((enum wrong)w, g) - real.value) > bound;
    }
    for (int w = 0; w < WRONGS; w++)
        hc_claim_true(check, wrongs[w], seen[w]);
    if (how == ways)
        claim_whole(b, p, n);
}

static void layers(struct hc_check *check)
{
    struct hc_passes *b = hc_check_memory(check, sizeof *b);
    struct hc_recipe recipe = *hc_recipe_by_name(hc_check_case(check)->data);
    recipe.scaler.initial = recipe.scaler.rule ? 128 : 0;
    if (hc_passes_run(b, check, &recipe))
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
            for (int p = 0; p < hc_update_parameters(b->update); p++)
                claim_parameter(b, &ways[w], p);
    hc_passes_close(b);
}

static const char source[] =
    "Li and others, PyTorch Distributed: Experiences on Accelerating Data Parallel Training, VLDB "
    "2020: averaging gradients is training on the whole batch";

static const struct hc_case cases[] = {
    {.name = "ranks/layers-fp32",
     .title = "the average of four ranks' gradients in fp32 is within its ops' bounds of the whole "
              "batch's gradient, in each layer, and wrong averages are not",
     .source = source,
     .run = layers,
     .data = "fp32"},
    {.name = "ranks/layers-amp",
     .title = "the average of four ranks' gradients in half is within its ops' bounds of the whole "
              "batch's gradient, in each layer, and wrong averages are not",
     .source = source,
     .run = layers,
     .data = "amp"},
    {.name = "ranks/layers-amp-bf16",
     .title = "the average of four ranks' gradients in bf16 is within its ops' bounds of the whole "
              "batch's gradient, in each layer, and wrong averages are not",
     .source = source,
     .run = layers,
     .data = "amp-bf16"},
};

HC_CASES(ranks_layers, cases);
