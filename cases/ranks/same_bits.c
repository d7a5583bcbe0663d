/* Trainings and gradients on several ranks against those on one. */
#include <math.h>
#include <stdio.h>

#include "cases/fixture/apart.h"
#include "cases/fixture/passes.h"
#include "cases/fixture/rank_training.h"
#include "train/update/recipe_fields.h"

/* One training, on one rank and on several.

   With the deterministic recipe a batch is cut into eight shards whatever the
   number of ranks is, and gradients are added in one fixed tree over the
   shards, in fp32. So 1, 2, 4 and 8 ranks must give the same bits: every weight
   after every call of the optimizer, on every rank, every loss and every scale.
   With another order of the sum they do not, and the last case shows that. */

enum { SHARDS = 8 };

static const struct hc_rank_trouble none = {.infinity = -1};

/* With a scale so small that nothing overflows by itself. */
static bool read(struct hc_check *check, const char *text, struct hc_recipe *recipe, char *name)
{
    enum hc_status status = hc_recipe_read(recipe, name, text, strlen(text));
    if (status == HC_OK && recipe->scaler.rule != HC_SCALER_NONE)
        recipe->scaler.initial = 1024;
    return hc_check_ok(check, status);
}

/* Between the first step and the last one. */
static void claim_moved(struct hc_check *check, const struct hc_rank_training *t)
{
    int step = t->calls[0] / HC_TRAINING_STEPS;
    hc_claim_true(check, "the weights have moved",
                  step > 0 && t->weights[0][0] != t->weights[0][t->calls[0] - step]);
}

static void same(struct hc_check *check)
{
    struct hc_recipe recipe;
    char name[HC_RECIPE_NAME];
    struct hc_rank_training *one = hc_check_memory(check, sizeof *one);
    struct hc_rank_training *several = hc_check_memory(check, sizeof *several);
    if (!read(check, hc_check_case(check)->data, &recipe, name) ||
        !hc_rank_train(check, &recipe, 1, none, one))
        return;
    claim_moved(check, one);
    for (int ranks = 2; ranks <= SHARDS; ranks *= 2) {
        char what[32];
        (void)snprintf(what, sizeof what, "%d ranks", ranks);
        if (!hc_rank_train(check, &recipe, ranks, none, several))
            return;
        if (hc_rank_claim_ended(check, several))
            hc_rank_claim_same(check, what, one, several, ranks);
    }
}

/* In step 1 the unscaling of one rank finds an infinity. All ranks must leave
 * that step out. */
static void one_finds(struct hc_check *check)
{
    enum { RANKS_SAME_BITS = 4, STEP = 1 };
    struct hc_recipe recipe;
    char name[HC_RECIPE_NAME];
    struct hc_rank_training *one = hc_check_memory(check, sizeof *one);
    struct hc_rank_training *several = hc_check_memory(check, sizeof *several);
    if (!read(check, "amp+shards=8", &recipe, name) ||
        !hc_rank_train(check, &recipe, 1, (struct hc_rank_trouble){.infinity = STEP}, one))
        return;
    hc_claim_value(check, "one rank skips", 1, (double)one->result.skipped);
    hc_claim_value(check, "one rank halves", 512, one->result.final_scale);
    for (int rank = 0; rank < RANKS_SAME_BITS; rank += RANKS_SAME_BITS - 1) {
        char what[32];
        (void)snprintf(what, sizeof what, "rank %d finds", rank);
        if (!hc_rank_train(check, &recipe, RANKS_SAME_BITS,
                           (struct hc_rank_trouble){rank, STEP, false}, several))
            return;
        if (hc_rank_claim_ended(check, several))
            hc_rank_claim_same(check, what, one, several, RANKS_SAME_BITS);
    }
}

/* A rank alone that rounds at each addition along a ring. The first step's loss
   is that of the same weights, and the sums after it are not. */
static void other_bits(struct hc_check *check)
{
    struct hc_recipe recipe;
    char name[HC_RECIPE_NAME];
    struct hc_rank_training *two = hc_check_memory(check, sizeof *two);
    struct hc_rank_training *eight = hc_check_memory(check, sizeof *eight);
    if (!read(check, hc_check_case(check)->data, &recipe, name) ||
        !hc_rank_train(check, &recipe, 2, none, two) ||
        !hc_rank_train(check, &recipe, SHARDS, none, eight))
        return;
    if (!hc_rank_claim_ended(check, two) || !hc_rank_claim_ended(check, eight))
        return;
    int last = two->calls[0] - 1;
    hc_claim_true(check, "as many calls of the optimizer",
                  last >= 0 && two->calls[0] == eight->calls[0]);
    hc_claim_bits(check, "loss of the first step", HC_FP32, hc_fp32_bits(two->loss[0]),
                  hc_fp32_bits(eight->loss[0]));
    hc_claim_true(check, "2 and 8 ranks end with other weights",
                  two->weights[0][last] != eight->weights[0][last]);
    for (int r = 1; r < SHARDS; r++)
        hc_claim_true(check, "all of 8 ranks have the same",
                      eight->weights[r][last] == eight->weights[0][last]);
}

/* Ranks train; and what rank 0 sends arrives with another bit on rank 2. Nothing may be trained on
   that. */
static void named(struct hc_check *check)
{
    enum { RANKS_SAME_BITS = 4 };
    const struct hc_rank_trouble trouble = {.rank = 2, .infinity = -1, .bit = true};
    struct hc_recipe recipe;
    char name[HC_RECIPE_NAME];
    struct hc_rank_training *t = hc_check_memory(check, sizeof *t);
    if (!read(check, "fp32+shards=8", &recipe, name) ||
        !hc_rank_train(check, &recipe, RANKS_SAME_BITS, none, t) || !hc_rank_claim_ended(check, t))
        return;
    claim_moved(check, t);
    if (!hc_rank_train(check, &recipe, RANKS_SAME_BITS, trouble, t))
        return;
    hc_say(check, "%s", t->status == HC_OK ? t->result.reason : t->line);
    hc_claim_true(check, "it did not learn, and says so", t->status == HC_OK && !t->result.learned);
    hc_claim_value(check, "steps", 0, (double)t->result.steps);
    hc_claim_true(check, "the rank is named", strstr(t->result.reason, "rank 2 ") != NULL);
    hc_claim_true(check, "and what differs", strstr(t->result.reason, " than rank 0") != NULL);
}

/* Each wrapper's own buckets, formats and divisions, with as many shards as ranks. */
static void together(struct hc_check *check)
{
    enum { RANKS_SAME_BITS = 4 };
    static const char *const recipes[] = {"amp+wrapper=apex-ddp",
                                          "apex-O2+wrapper=apex-ddp-delayed+predivide=2",
                                          "amp+wrapper=torch-ddp+reduce=fp16",
                                          "amp-bf16+wrapper=fsdp2+reduce=bf16",
                                          "amp+wrapper=horovod",
                                          "fp32+algorithm=halving"};
    struct hc_rank_training *t = hc_check_memory(check, sizeof *t);
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        struct hc_recipe recipe;
        char name[HC_RECIPE_NAME];
        if (!read(check, recipes[i], &recipe, name) ||
            !hc_rank_train(check, &recipe, RANKS_SAME_BITS, none, t) ||
            !hc_rank_claim_ended(check, t))
            return;
        claim_moved(check, t);
        hc_rank_claim_together(check, recipes[i], t, RANKS_SAME_BITS);
    }
}

static const char tree[] =
    "the fixed tree of op/collective.h: the same expression for any number of "
    "ranks that share the same leaves";

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

enum { SHARDS_LAYERS = HC_PASSES_SHARDS, LOOKED_AT = 48 };

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
        hc_claim_within(check, "real gradients of all images, and of all shards",
                        want.hi / SHARDS_LAYERS, real.value, 0x1p-50 * want.magnitude);
        hc_claim_within(check, "gradient of one rank with all images", want.hi,
                        hc_tensor_get(&whole.out[out], i),
                        hc_passes_bound(check, &whole, out, i, &want));
    }
}

static const struct hc_all_reduce ways[] = {
    {HC_COLLECTIVE_TREE, HC_FP32, 1, SHARDS_LAYERS, false},
    {HC_COLLECTIVE_RING, HC_FP32, 1, SHARDS_LAYERS, false},
    {HC_COLLECTIVE_HALVING, HC_BF16, SHARDS_LAYERS, 1, true},
    {HC_COLLECTIVE_RING, HC_FP16, 2, 0.5 * SHARDS_LAYERS, false}};

/* Averages that are wrong, of the gradients g of each shard. */
enum wrong { LEFT_OUT, TWICE, AGAIN, ANOTHERS, OTHER_COUNT, ALONE, WRONGS };

static const char *const wrongs[WRONGS] = {
    "the last rank is left out",
    "the last rank is added twice",
    "a bucket is summed once more after it has been averaged",
    "the last rank has the first one's images",
    "the sum is divided by one less",
    "what the first rank has is not averaged"};

static double wrong_average(enum wrong wrong, const double g[SHARDS_LAYERS])
{
    double sum = 0;
    for (int s = 0; s < SHARDS_LAYERS; s++)
        sum += g[s];
    switch (wrong) {
    case LEFT_OUT:
        return (sum - g[SHARDS_LAYERS - 1]) / SHARDS_LAYERS;
    case TWICE:
        return (sum + g[SHARDS_LAYERS - 1]) / SHARDS_LAYERS;
    case AGAIN:
        return sum / SHARDS_LAYERS * SHARDS_LAYERS;
    case ANOTHERS:
        return (sum - g[SHARDS_LAYERS - 1] + g[0]) / SHARDS_LAYERS;
    case OTHER_COUNT:
        return sum / (SHARDS_LAYERS - 1);
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
        double g[SHARDS_LAYERS];
        hc_claim_within(check, name, real.value, hc_tensor_get(&call.out[HC_ALL_REDUCE_OUT], i),
                        bound);
        for (int s = 0; s < SHARDS_LAYERS; s++)
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
    {.name = "ranks/same-bits-fp32",
     .title = "a batch in eight shards trains to the same bits on 1, 2, 4 and 8 ranks under fp32",
     .source = tree,
     .level = HC_STANDARD,
     .run = same,
     .data = "fp32+shards=8"},
    {.name = "ranks/same-bits-amp",
     .title = "a batch in eight shards trains to the same bits on 1, 2, 4 and 8 ranks under amp",
     .source = tree,
     .level = HC_STANDARD,
     .run = same,
     .data = "amp+shards=8"},
    {.name = "ranks/same-bits-amp-bf16",
     .title =
         "a batch in eight shards trains to the same bits on 1, 2, 4 and 8 ranks under amp-bf16",
     .source = tree,
     .level = HC_STANDARD,
     .run = same,
     .data = "amp-bf16+shards=8"},
    {.name = "ranks/same-bits-apex-O2",
     .title =
         "a batch in eight shards trains to the same bits on 1, 2, 4 and 8 ranks under apex-O2",
     .source = tree,
     .level = HC_STANDARD,
     .run = same,
     .data = "apex-O2+shards=8"},
    {.name = "ranks/one-finds",
     .title = "an infinity that one of four ranks finds skips the step on all "
              "and halves every "
              "scale",
     .source = "facebookresearch/fairscale issue 180, '[OSS] Handle torch AMP auto "
               "skip inf/nan "
               "steps', https://github.com/facebookresearch/fairscale/issues/180; "
               "pytorch/pytorch "
               "PR 76918",
     .level = HC_STANDARD,
     .run = one_finds},
    {.name = "ranks/stay-together",
     .title = "under every wrapper all ranks have the same weights after every step",
     .source = "Li and others, PyTorch Distributed: Experiences on Accelerating Data Parallel "
               "Training, VLDB 2020, 3.1: replicas that start alike and apply the same gradients "
               "stay alike",
     .level = HC_STANDARD,
     .run = together},
    {.name = "ranks/other-weights-named",
     .title = "a rank that begins with another bit in its weights is named, and no step is taken",
     .source = "horovod/horovod issue 672, 'Train model on 4-gpu, the model parameters from "
               "different devices are different', https://github.com/horovod/horovod/issues/672; "
               "allenai/OLMo-core PR 319",
     .level = HC_STANDARD,
     .run = named},
    {.name = "ranks/other-order-other-bits",
     .title = "round a ring the bits depend on the number of ranks, and are "
              "the same on all",
     .source = "NVIDIA/nccl issue 1055; pytorch/pytorch PR 125190",
     .level = HC_STANDARD,
     .run = other_bits,
     .data = "fp32+shards=8+algorithm=ring"},
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

HC_CASES(ranks_same_bits, cases);
