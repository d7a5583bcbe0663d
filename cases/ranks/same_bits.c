/* A short training by the trainer's own loop, on ranks that are threads,
   watched from below: what each rank's optimizer leaves, call by call. */
#include <stdio.h>
#include <stdlib.h>

#include "cases/fixture/training/ranks.h"
#include "op/digest.h"
#include "train/update/recipe_fields.h"

enum { TRAINING_RANKS = 8, TRAINING_CALLS = 256, TRAINING_STEPS = 4 };

/* What came of it. */
struct rank_training {
    /* Digests of the weights after each call of the optimizer on each rank. */
    uint64_t weights[TRAINING_RANKS][TRAINING_CALLS];
    int calls[TRAINING_RANKS];
    float loss[TRAINING_STEPS]; /* as rank 0 reports it */
    float scale[TRAINING_STEPS];
    int steps;
    struct hc_train_result result; /* rank 0's */
    enum hc_status status;
    char line[200]; /* of the status, if it is not HC_OK */
};

/* What goes wrong on one rank. */
struct rank_trouble {
    int rank;
    int infinity; /* in this step, counted from 0, its unscale finds one that is not there; -1 */
    bool bit;     /* weights that are copied into its memory arrive with another bit */
};

enum { BATCH = 16, IMAGES = BATCH * TRAINING_STEPS };

/* All kinds of layers but a residual one's, with few weights. */
static const struct hc_network network = {.name = "darknet-shards",
                                          .side = 32,
                                          .channels = 3,
                                          .width = 2,
                                          .groups = 1,
                                          .blocks = {1},
                                          .strides = {8}};

struct job {
    struct hc_check *check;
    const struct hc_recipe *recipe;
    const struct hc_dataset *data;
    const struct hc_backend *sound;
    struct hc_backend watched;
    struct rank_trouble trouble;
    struct rank_training *training;
};

/* A kernel gets its queue and its call alone, so the rank whose thread runs it
 * is found here. */
static _Thread_local struct {
    struct job *job;
    int rank;
    int unscaled;
} here;

static enum hc_status see_weights(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_backend *sound = here.job->sound;
    struct rank_training *t = here.job->training;
    const struct hc_tensor *w = &call->out[HC_FIRST];
    size_t bytes = hc_tensor_bytes(w);
    enum hc_status status = sound->kernel[call->op](queue, call);
    void *copy = status == HC_OK && t->calls[here.rank] < TRAINING_CALLS ? malloc(bytes + 1) : NULL;
    if (copy && sound->download(queue, copy, w->data, bytes) == HC_OK)
        t->weights[here.rank][t->calls[here.rank]++] = hc_digest_bytes(1, copy, bytes);
    free(copy);
    return status;
}

static enum hc_status find(struct hc_queue *queue, const struct hc_call *call)
{
    const struct job *job = here.job;
    static const float found = 1;
    enum hc_status status = job->sound->kernel[call->op](queue, call);
    if (status == HC_OK && here.unscaled++ == job->trouble.infinity &&
        (hc_check_rank() < 0 || here.rank == job->trouble.rank))
        status = job->sound->upload(queue, call->out[HC_UNSCALE_NEW_FOUND_INF].data, &found,
                                    sizeof found);
    return status;
}

/* Weights are longer than counts and totals. */
static enum hc_status change_a_bit(struct hc_queue *queue, void *to, const void *from, size_t bytes)
{
    const struct job *job = here.job;
    unsigned char *copy = malloc(bytes + 1);
    if (!copy)
        return hc_fail(HC_NO_MEMORY, "no memory to change a copy");
    memcpy(copy, from, bytes);
    copy[0] ^= here.rank == job->trouble.rank && bytes > 200;
    enum hc_status status = job->sound->upload(queue, to, copy, bytes);
    free(copy);
    return status;
}

/* Without graphs, because their replays would not be seen. */
static void watch(struct job *job)
{
    struct hc_backend *b = &job->watched;
    *b = *job->sound;
    b->capture = NULL;
    b->captured = NULL;
    b->replay = NULL;
    b->forget = NULL;
    if (b->kernel[HC_OP_adamw])
        b->kernel[HC_OP_adamw] = see_weights;
    if (b->kernel[HC_OP_unscale])
        b->kernel[HC_OP_unscale] = find;
    if (job->trouble.bit)
        b->upload = change_a_bit;
}

static bool note(const struct hc_progress *progress, void *context)
{
    struct rank_training *t = context;
    if (progress->evaluated || t->steps >= TRAINING_STEPS)
        return true;
    t->loss[t->steps] = (float)progress->loss;
    t->scale[t->steps++] = (float)progress->scale;
    return true;
}

static enum hc_status train(struct hc_comm *comm, void *context)
{
    struct job *job = context;
    struct hc_train_result result;
    uint64_t seed = hc_check_rank_seed(job->check, comm, hc_check_seed(job->check));
    struct hc_train_options options = {.comm = comm,
                                       .recipe = job->recipe,
                                       .network = &network,
                                       .data = job->data,
                                       .backend = &job->watched,
                                       .threads = 1,
                                       .epochs = 1,
                                       .batch = BATCH,
                                       .max_lr = 1e-2,
                                       .seed = seed,
                                       .measure_every = 1 << 30,
                                       .progress = note,
                                       .context = job->training};
    here.job = job;
    here.rank = comm->rank;
    here.unscaled = 0;
    enum hc_status status = hc_train(&options, &result);
    if (comm->rank == 0)
        job->training->result = result;
    return status;
}

/* Ranks that part company are no fault of the environment. */
static bool rank_claim_ended(struct hc_check *check, const struct rank_training *t)
{
    struct hc_comparisons ended = {.what = "the ranks agree to the end", .checked = 1};
    bool done = t->status == HC_OK && t->result.steps == TRAINING_STEPS;
    if (!done)
        hc_comparisons_wrong(&ended, "%s", t->status == HC_OK ? t->result.reason : t->line);
    hc_claim_comparisons(check, &ended);
    return done;
}

/* A backend without a network's ops lacks these cases for that reason. */
static bool may_be_ranks(struct hc_check *check)
{
    static const enum hc_op needed[] = {HC_OP_conv2d, HC_OP_bn_leaky_train, HC_OP_adamw};
    const struct hc_backend *b = hc_check_backend(check);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!b->kernel[needed[i]])
            return hc_check_ok(check, hc_fail(HC_UNSUPPORTED, "%s: no kernel for %s", b->name,
                                              hc_ops[needed[i]].name));
    if (!b->concurrent || !b->host_memory)
        hc_skip(check, "%s: its queues do not work beside each other, as ranks that are threads do",
                b->name);
    else if (b->nondeterministic)
        hc_skip(check, "%s: the same call may give other bits each time", b->name);
    else
        return true;
    return false;
}

/* Trains a small network under the recipe on so many ranks, of which there are at most as many as
   shards, on images of the synthetic set. A single rank, too, finds the infinity, whatever its
   number is. False if ranks cannot be threads on this backend or after a failure; then the verdict
   is set. */
static bool rank_train(struct hc_check *check, const struct hc_recipe *recipe, int ranks,
                       struct rank_trouble trouble, struct rank_training *training)
{
    struct hc_dataset data = {0};
    struct hc_data_options options = {.classes = "airplane,dog",
                                      .seed = 1,
                                      .train_per_class = IMAGES / 2,
                                      .test_per_class = BATCH / 4};
    struct job job = {
        check, recipe, &data, hc_check_backend(check), .trouble = trouble, .training = training};
    memset(training, 0, sizeof *training);
    hc_check_undigested(check);
    if (!may_be_ranks(check))
        return false;
    watch(&job);
    if (!hc_check_ok(check, hc_dataset_open(&options, &data)))
        return false;
    training->status =
        ranks == 1 ? train(hc_comm_self(), &job) : hc_check_ranks(check, ranks, train, &job);
    hc_dataset_close(&data);
    if (training->status == HC_UNSUPPORTED || training->status == HC_NO_MEMORY)
        return hc_check_ok(check, training->status);
    if (training->status != HC_OK)
        (void)snprintf(training->line, sizeof training->line, "%s", hc_message());
    return true;
}

static void claim_weights(struct hc_comparisons *same, const char *what,
                          const struct rank_training *one, const struct rank_training *several,
                          int rank)
{
    same->checked++;
    if (one->calls[0] == 0 || several->calls[rank] != one->calls[0])
        hc_comparisons_wrong(same, "%s, rank %d: %d calls of the optimizer, not %d", what, rank,
                             several->calls[rank], one->calls[0]);
    for (int c = 0; c < one->calls[0] && c < several->calls[rank]; c++) {
        same->checked++;
        if (one->weights[0][c] != several->weights[rank][c])
            hc_comparisons_wrong(same, "%s, rank %d: other weights after the optimizer's call %d",
                                 what, rank, c);
    }
}

/* Claims that all ranks have rank 0's weights after each call. */
static void rank_claim_together(struct hc_check *check, const char *what,
                                const struct rank_training *training, int ranks)
{
    struct hc_comparisons same = {.what = "weights of a rank, and of rank 0"};
    for (int r = 1; r < ranks; r++)
        claim_weights(&same, what, training, training, r);
    hc_claim_comparisons(check, &same);
}

/* Claims that both left the same weights on all ranks, and that rank 0 reports
 * the same. */
static void rank_claim_same(struct hc_check *check, const char *what,
                            const struct rank_training *one, const struct rank_training *several,
                            int ranks)
{
    struct hc_comparisons same = {.what = "weights of a rank, and of one rank alone"};
    for (int r = 0; r < ranks; r++)
        claim_weights(&same, what, one, several, r);
    hc_claim_comparisons(check, &same);
    hc_claim_value(check, "steps", TRAINING_STEPS, several->steps);
    for (int s = 0; s < several->steps; s++) {
        hc_claim_bits(check, "loss of a step", HC_FP32, hc_fp32_bits(one->loss[s]),
                      hc_fp32_bits(several->loss[s]));
        hc_claim_value(check, "scale after a step", (double)one->scale[s],
                       (double)several->scale[s]);
    }
    hc_claim_value(check, "loss on test images", one->result.test_loss, several->result.test_loss);
    hc_claim_value(check, "skipped steps", (double)one->result.skipped,
                   (double)several->result.skipped);
}

/* One training, on one rank and on several.

   With the deterministic recipe a batch is cut into eight shards whatever the
   number of ranks is, and gradients are added in one fixed tree over the
   shards, in fp32. So 1, 2, 4 and 8 ranks must give the same bits: every weight
   after every call of the optimizer, on every rank, every loss and every scale.
   With another order of the sum they do not, and the last case shows that. */

enum { SHARDS = 8 };

static const struct rank_trouble none = {.infinity = -1};

/* With a scale so small that nothing overflows by itself. */
static bool read(struct hc_check *check, const char *text, struct hc_recipe *recipe, char *name)
{
    enum hc_status status = hc_recipe_read(recipe, name, text, strlen(text));
    if (status == HC_OK && recipe->scaler.rule != HC_SCALER_NONE)
        recipe->scaler.initial = 1024;
    return hc_check_ok(check, status);
}

/* Between the first step and the last one. */
static void claim_moved(struct hc_check *check, const struct rank_training *t)
{
    int step = t->calls[0] / TRAINING_STEPS;
    hc_claim_true(check, "the weights have moved",
                  step > 0 && t->weights[0][0] != t->weights[0][t->calls[0] - step]);
}

static void same(struct hc_check *check)
{
    struct hc_recipe recipe;
    char name[HC_RECIPE_NAME];
    struct rank_training *one = hc_check_memory(check, sizeof *one);
    struct rank_training *several = hc_check_memory(check, sizeof *several);
    if (!read(check, hc_check_case(check)->data, &recipe, name) ||
        !rank_train(check, &recipe, 1, none, one))
        return;
    claim_moved(check, one);
    for (int ranks = 2; ranks <= SHARDS; ranks *= 2) {
        char what[32];
        (void)snprintf(what, sizeof what, "%d ranks", ranks);
        if (!rank_train(check, &recipe, ranks, none, several))
            return;
        if (rank_claim_ended(check, several))
            rank_claim_same(check, what, one, several, ranks);
    }
}

/* In step 1 the unscaling of one rank finds an infinity. All ranks must leave
 * that step out. */
static void one_finds(struct hc_check *check)
{
    enum { RANKS_SAME_BITS = 4, STEP = 1 };
    struct hc_recipe recipe;
    char name[HC_RECIPE_NAME];
    struct rank_training *one = hc_check_memory(check, sizeof *one);
    struct rank_training *several = hc_check_memory(check, sizeof *several);
    if (!read(check, "amp+shards=8", &recipe, name) ||
        !rank_train(check, &recipe, 1, (struct rank_trouble){.infinity = STEP}, one))
        return;
    hc_claim_value(check, "one rank skips", 1, (double)one->result.skipped);
    hc_claim_value(check, "one rank halves", 512, one->result.final_scale);
    for (int rank = 0; rank < RANKS_SAME_BITS; rank += RANKS_SAME_BITS - 1) {
        char what[32];
        (void)snprintf(what, sizeof what, "rank %d finds", rank);
        if (!rank_train(check, &recipe, RANKS_SAME_BITS, (struct rank_trouble){rank, STEP, false},
                        several))
            return;
        if (rank_claim_ended(check, several))
            rank_claim_same(check, what, one, several, RANKS_SAME_BITS);
    }
}

/* A rank alone that rounds at each addition along a ring. The first step's loss
   is that of the same weights, and the sums after it are not. */
static void other_bits(struct hc_check *check)
{
    struct hc_recipe recipe;
    char name[HC_RECIPE_NAME];
    struct rank_training *two = hc_check_memory(check, sizeof *two);
    struct rank_training *eight = hc_check_memory(check, sizeof *eight);
    if (!read(check, hc_check_case(check)->data, &recipe, name) ||
        !rank_train(check, &recipe, 2, none, two) ||
        !rank_train(check, &recipe, SHARDS, none, eight))
        return;
    if (!rank_claim_ended(check, two) || !rank_claim_ended(check, eight))
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
    const struct rank_trouble trouble = {.rank = 2, .infinity = -1, .bit = true};
    struct hc_recipe recipe;
    char name[HC_RECIPE_NAME];
    struct rank_training *t = hc_check_memory(check, sizeof *t);
    if (!read(check, "fp32+shards=8", &recipe, name) ||
        !rank_train(check, &recipe, RANKS_SAME_BITS, none, t) || !rank_claim_ended(check, t))
        return;
    claim_moved(check, t);
    if (!rank_train(check, &recipe, RANKS_SAME_BITS, trouble, t))
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
    struct rank_training *t = hc_check_memory(check, sizeof *t);
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        struct hc_recipe recipe;
        char name[HC_RECIPE_NAME];
        if (!read(check, recipes[i], &recipe, name) ||
            !rank_train(check, &recipe, RANKS_SAME_BITS, none, t) || !rank_claim_ended(check, t))
            return;
        claim_moved(check, t);
        rank_claim_together(check, recipes[i], t, RANKS_SAME_BITS);
    }
}

static const char tree[] = "the fixed tree of op/collective.h: the same expression for any number "
                           "of ranks that share the same leaves";

static const struct hc_case cases[] = {
    {"ranks/same-bits-fp32",
     "a batch in eight shards trains to the same bits on 1, 2, 4 and 8 ranks under fp32", tree,
     .level = HC_STANDARD, .run = same, .data = "fp32+shards=8"},
    {"ranks/same-bits-amp",
     "a batch in eight shards trains to the same bits on 1, 2, 4 and 8 ranks under amp", tree,
     .level = HC_STANDARD, .run = same, .data = "amp+shards=8"},
    {"ranks/same-bits-amp-bf16",
     "a batch in eight shards trains to the same bits on 1, 2, 4 and 8 ranks under amp-bf16", tree,
     .level = HC_STANDARD, .run = same, .data = "amp-bf16+shards=8"},
    {"ranks/same-bits-apex-O2",
     "a batch in eight shards trains to the same bits on 1, 2, 4 and 8 ranks under apex-O2", tree,
     .level = HC_STANDARD, .run = same, .data = "apex-O2+shards=8"},
    {"ranks/one-finds",
     "an infinity that one of four ranks finds skips the step on all and halves every scale",
     "facebookresearch/fairscale issue 180, '[OSS] Handle torch AMP auto skip inf/nan steps', "
     "https://github.com/facebookresearch/fairscale/issues/180; pytorch/pytorch PR 76918",
     .level = HC_STANDARD, .run = one_finds},
    {"ranks/stay-together", "under every wrapper all ranks have the same weights after every step",
     "Li and others, PyTorch Distributed: Experiences on Accelerating Data Parallel Training, VLDB "
     "2020, 3.1: replicas that start alike and apply the same gradients stay alike",
     .level = HC_STANDARD, .run = together},
    {"ranks/other-weights-named",
     "a rank that begins with another bit in its weights is named, and no step is taken",
     "horovod/horovod issue 672, 'Train model on 4-gpu, the model parameters from different "
     "devices are different', https://github.com/horovod/horovod/issues/672; allenai/OLMo-core PR "
     "319",
     .level = HC_STANDARD, .run = named},
    {"ranks/other-order-other-bits",
     "round a ring the bits depend on the number of ranks, and are the same on all",
     "NVIDIA/nccl issue 1055; pytorch/pytorch PR 125190", .level = HC_STANDARD, .run = other_bits,
     .data = "fp32+shards=8+algorithm=ring"},
};

HC_CASES(ranks_same_bits, cases);
