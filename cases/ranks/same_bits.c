/* One training, on one rank and on several.

   With the deterministic recipe a batch is cut into eight shards whatever the
   number of ranks is, and gradients are added in one fixed tree over the
   shards, in fp32. So 1, 2, 4 and 8 ranks must give the same bits: every weight
   after every call of the optimizer, on every rank, every loss and every scale.
   With another order of the sum they do not, and the last case shows that. */
#include <stdio.h>

#include "cases/fixture/rank_training.h"
#include "train/update/recipe_fields.h"

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
    enum { RANKS = 4, STEP = 1 };
    struct hc_recipe recipe;
    char name[HC_RECIPE_NAME];
    struct hc_rank_training *one = hc_check_memory(check, sizeof *one);
    struct hc_rank_training *several = hc_check_memory(check, sizeof *several);
    if (!read(check, "amp+shards=8", &recipe, name) ||
        !hc_rank_train(check, &recipe, 1, (struct hc_rank_trouble){.infinity = STEP}, one))
        return;
    hc_claim_value(check, "one rank skips", 1, (double)one->result.skipped);
    hc_claim_value(check, "one rank halves", 512, one->result.final_scale);
    for (int rank = 0; rank < RANKS; rank += RANKS - 1) {
        char what[32];
        (void)snprintf(what, sizeof what, "rank %d finds", rank);
        if (!hc_rank_train(check, &recipe, RANKS, (struct hc_rank_trouble){rank, STEP, false},
                           several))
            return;
        if (hc_rank_claim_ended(check, several))
            hc_rank_claim_same(check, what, one, several, RANKS);
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
    enum { RANKS = 4 };
    const struct hc_rank_trouble trouble = {.rank = 2, .infinity = -1, .bit = true};
    struct hc_recipe recipe;
    char name[HC_RECIPE_NAME];
    struct hc_rank_training *t = hc_check_memory(check, sizeof *t);
    if (!read(check, "fp32+shards=8", &recipe, name) ||
        !hc_rank_train(check, &recipe, RANKS, none, t) || !hc_rank_claim_ended(check, t))
        return;
    claim_moved(check, t);
    if (!hc_rank_train(check, &recipe, RANKS, trouble, t))
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
    enum { RANKS = 4 };
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
            !hc_rank_train(check, &recipe, RANKS, none, t) || !hc_rank_claim_ended(check, t))
            return;
        claim_moved(check, t);
        hc_rank_claim_together(check, recipes[i], t, RANKS);
    }
}

static const char tree[] =
    "the fixed tree of op/collective.h: the same expression for any number of "
    "ranks that share the same leaves";

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
};

HC_CASES(ranks_same_bits, cases);
