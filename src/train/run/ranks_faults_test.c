/* Ranks that fail, or go another way: the others notice, and nobody waits for ever. Faults are
   planted in the kernels of one rank. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "tensor_file/tensor_file.h"
#include "train/data/loader.h"
#include "train/run/state.h"
#include "train/run/testing.h"
#include "train/update/recipe_fields.h"
#include "train/update/update.h"

TestSuite(ranks_faults, .init = open_data, .fini = remove_folder, .timeout = 300);

enum { RANKS = 4, MOST = 1 << 18, MOMENTS = 24 };

static int sick_rank = 2;
static _Thread_local bool sick; /* this thread is that rank */

static long calls; /* of the sick rank */

static long fails_at; /* call that fails; 0: none */

static long updates_at; /* the first call of an update */

static struct hc_backend faulty;

/* The kernel that stands in for an op's, and the ops that it is planted in. */
static hc_kernel *genuine[HC_OP_ROOM];

static enum hc_status failing(struct hc_queue *queue, const struct hc_call *call)
{
    if (sick && ++calls == fails_at)
        return hc_fail(HC_DEVICE, "the fan is on fire");
    if (sick && updates_at == 0 && call->op == HC_OP_rates)
        updates_at = calls;
    return genuine[call->op](queue, call);
}

static enum hc_status (*genuine_upload)(struct hc_queue *, void *, const void *, size_t);
static enum hc_status (*genuine_download)(struct hc_queue *, void *, const void *, size_t);

static enum hc_status failing_upload(struct hc_queue *queue, void *to, const void *from,
                                     size_t bytes)
{
    if (sick && ++calls == fails_at)
        return hc_fail(HC_DEVICE, "the fan is on fire");
    return genuine_upload(queue, to, from, bytes);
}

static enum hc_status failing_download(struct hc_queue *queue, void *to, const void *from,
                                       size_t bytes)
{
    if (sick && ++calls == fails_at)
        return hc_fail(HC_DEVICE, "the fan is on fire");
    return genuine_download(queue, to, from, bytes);
}

/* Sees no infinity. */
static enum hc_status blind(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = genuine[call->op](queue, call);
    if (sick)
        *(float *)call->out[HC_UNSCALE_NEW_FOUND_INF].data = 0;
    return status;
}

/* An infinity in one gradient of the sick rank's shard, once. */
static enum hc_status overflowing(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = genuine[call->op](queue, call);
    if (sick && ++calls == fails_at)
        hc_tensor_set(&call->out[HC_CONV_BWD_FILTER_DW], 0, (double)INFINITY);
    return status;
}

/* A weight that is one unit in the last place off. Later steps may round that away. */
static enum hc_status straying(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = genuine[call->op](queue, call);
    const struct hc_optimizer_slots *slots = hc_optimizer_slots(call->op);
    float *w = call->out[slots->new_w].data;
    if (sick && ++calls == fails_at)
        w[0] = nextafterf(w[0], 2);
    return status;
}

static void plant(hc_kernel *kernel, int op, long at)
{
    faulty = *hc_backend_by_name("exact");
    memcpy(genuine, faulty.kernel, sizeof genuine);
    for (int o = 0; o < HC_OP_COUNT; o++)
        if (faulty.kernel[o] && (op < 0 || op == o))
            faulty.kernel[o] = kernel;
    calls = 0;
    fails_at = at;
}

struct job {
    struct hc_train_options options;
    struct hc_train_result result[RANKS];
    enum hc_status status[RANKS];
    char line[RANKS][512];
};

static enum hc_status work(struct hc_comm *comm, void *context)
{
    struct job *job = context;
    int r = comm->rank;
    struct hc_train_options o = job->options;
    o.comm = comm;
    sick = r == sick_rank;
    job->status[r] = hc_train(&o, &job->result[r]);
    (void)snprintf(job->line[r], sizeof job->line[r], "%s", hc_message());
    return HC_OK;
}

static const struct hc_recipe *recipe(const char *text)
{
    static struct hc_recipe read;
    static char name[HC_RECIPE_NAME];
    cr_assert_eq(hc_recipe_read(&read, name, text, strlen(text)), HC_OK, "%s", hc_message());
    return &read;
}

static struct job job;

static void run(const char *text)
{
    memset(&job, 0, sizeof job);
    job.options = options("fp32");
    job.options.recipe = recipe(text);
    job.options.backend = &faulty;
    job.options.checkpoint_every = 3;
    cr_assert_eq(hc_comm_threads(RANKS, work, &job), HC_OK, "%s", hc_message());
}

static void plant_transfers(long at)
{
    plant(failing, HC_OP_COUNT, at);
    genuine_upload = faulty.upload;
    genuine_download = faulty.download;
    faulty.upload = failing_upload;
    faulty.download = failing_download;
}

static void all_fail(long at, long all, const char *line)
{
    run("amp");
    for (int r = 0; r < RANKS; r++) {
        cr_assert(job.status[r] != HC_OK && job.status[r] == job.status[0],
                  "call %ld of %ld, rank %d: %s", at, all, r, job.line[r]);
        cr_assert_str_eq(job.line[r], line, "call %ld, rank %d", at, r);
        cr_assert_eq(job.result[r].says, r == 0);
    }
}

/* At whatever call a rank fails, all ranks end with its line, and rank 0 is the one to say it. */
Test(ranks_faults, a_rank_that_fails_anywhere_ends_all_with_its_line)
{
    plant(failing, -1, 0);
    run("amp");
    cr_assert_eq(job.status[0], HC_OK, "%s", job.line[0]);
    long all = calls;
    cr_assert_gt(all, 500);
    cr_assert_gt(updates_at, 20);
    /* The update's first call: the others are on their way to agree on what they have found. */
    const long update = updates_at;
    for (int i = 0; i < MOMENTS; i++) {
        long at = i == 0 ? update : 1 + i * (all - 1) / (MOMENTS - 1);
        plant(failing, -1, at);
        all_fail(at, all, "rank 2: the fan is on fire");
    }
}

/* Transfers are where ranks give and take: the state at the start, losses, evaluations. */
Test(ranks_faults, a_rank_that_fails_in_a_transfer_ends_all_with_its_line)
{
    for (int s = 0; s < 2; s++) {
        sick_rank = 3 * s;
        plant_transfers(0);
        run("amp");
        cr_assert_eq(job.status[0], HC_OK, "%s", job.line[0]);
        long all = calls;
        cr_assert_gt(all, 100);
        for (int i = 0; i < MOMENTS; i++) {
            long at = i < MOMENTS / 2 ? 1 + 9 * i : 1 + i * (all - 1) / (MOMENTS - 1);
            plant_transfers(at);
            all_fail(at, all, s ? "rank 3: the fan is on fire" : "the fan is on fire");
        }
    }
    sick_rank = 2;
}

/* Nobody but rank 0 has files, and its failure is everybody's too. */
Test(ranks_faults, a_folder_that_rank_0_cannot_write_to_ends_all)
{
    plant(failing, -1, 0);
    memset(&job, 0, sizeof job);
    job.options = options("amp");
    job.options.backend = &faulty;
    job.options.out = "/proc/nothing";
    cr_assert_eq(hc_comm_threads(RANKS, work, &job), HC_OK, "%s", hc_message());
    for (int r = 0; r < RANKS; r++) {
        cr_assert_eq(job.status[r], HC_IO);
        cr_assert(strncmp(job.line[r], "cannot write /proc/nothing/", 27) == 0, "%s", job.line[r]);
    }
}

Test(ranks_faults, an_infinity_on_one_rank_skips_the_step_on_all)
{
    static const char *const texts[] = {"amp+shards=4", "apex-O2+shards=4",
                                        "fastai-1.0.61+shards=4"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        plant(overflowing, HC_OP_conv2d_bwd_filter, 30);
        run(texts[t]);
        cr_assert_eq(job.status[0], HC_OK, "%s", job.line[0]);
        cr_assert_eq(job.result[0].steps, 10, "%s", job.result[0].reason);
        for (int r = 1; r < RANKS; r++)
            cr_assert_eq(job.result[r].final_scale, job.result[0].final_scale);
        cr_assert_lt(job.result[0].final_scale, 65537);
        cr_assert(job.result[0].skipped == 1 || t == 2, "%s: %lld", texts[t],
                  (long long)job.result[0].skipped);
    }
}

/* Under a constant scale nothing is skipped: all ranks get the same NaN. */
Test(ranks_faults, an_infinity_under_a_constant_scale_spoils_all_ranks_alike)
{
    plant(overflowing, HC_OP_conv2d_bwd_filter, 30);
    run("fastai-004b+shards=4");
    cr_assert_eq(job.status[0], HC_OK, "%s", job.line[0]);
    cr_assert_eq(job.result[0].steps, 10, "%s", job.result[0].reason);
    cr_assert(job.result[0].diverged);
}

Test(ranks_faults, a_rank_that_sees_no_infinity_is_told_by_the_others)
{
    static unsigned char want[MOST];
    static unsigned char got[MOST];
    plant(failing, -1, 0);
    run("amp+shards=4+loss_scale=1e36");
    cr_assert_gt(job.result[0].skipped, 0);
    size_t size = read_file("checkpoint", want, MOST);
    plant(blind, HC_OP_unscale, 0);
    run("amp+shards=4+loss_scale=1e36");
    cr_assert_eq(job.result[0].steps, 10, "%s", job.result[0].reason);
    cr_assert_eq(read_file("checkpoint", got, MOST), size);
    cr_assert_eq(memcmp(want, got, size), 0);
}

/* The checkpoint before it stays. */
Test(ranks_faults, a_rank_with_other_weights_is_named_and_nothing_is_kept)
{
    static unsigned char before[MOST];
    static unsigned char after[MOST];
    plant(failing, -1, 0);
    run("amp");
    size_t size = read_file("checkpoint", before, MOST);
    plant(straying, HC_OP_adamw, 3); /* one call in each step */
    run("amp");
    for (int r = 0; r < RANKS; r++) {
        cr_assert_eq(job.status[r], HC_OK);
        cr_assert(!job.result[r].learned && job.result[r].steps == 3, "%lld %s",
                  (long long)job.result[r].steps, job.result[r].reason);
        cr_assert(strncmp(job.result[r].reason, "rank 2 has another ", 19) == 0, "%s",
                  job.result[r].reason);
    }
    cr_assert_eq(read_file("checkpoint", after, MOST), size);
    cr_assert_eq(memcmp(before, after, size), 0);
}

/* A sharded run, step by step by hand: its checkpoint is what the net, the update and a few lines
   of additions make of the whole batches' rows. Nothing of train/parallel is used here. */

TestSuite(ranks_by_hand, .init = open_data, .fini = remove_folder);

enum {
    BATCH = 16,
    SHARDS = 4,
    ROWS = BATCH / SHARDS,
    MAX_NUMBERS = 1 << 14,
    PIXELS = 32 * 32 * 3,
    STEPS = 10
};

struct hand {
    struct hc_device device;
    struct hc_net *net;
    struct hc_update *update;
};

static void open_hand(struct hand *hand, const struct hc_recipe *recipe)
{
    const struct hc_backend *exact = hc_backend_by_name("exact");
    *hand = (struct hand){.device = {.backend = exact}};
    cr_assert_eq(exact->open(exact, &hand->device.queue, 1), HC_OK);
    cr_assert_eq(hc_net_open(&hand->net, &hand->device, &hc_darknet_tiny, data.classes, ROWS, 11),
                 HC_OK);
    cr_assert_eq(hc_model_open(&hand->update, &hand->device, hand->net, recipe), HC_OK, "%s",
                 hc_message());
    hc_update_seed(hand->update, 11);
}

static void close_hand(struct hand *hand)
{
    hc_update_close(hand->update);
    hc_net_close(hand->net);
    hc_device_end(&hand->device);
    hand->device.backend->close(hand->device.queue);
}

/* Of one parameter: ((g0 + g1) + (g2 + g3)) / 4, in fp32, or in fp64 where the gradients are. */
static double average(enum hc_format format, const double g[SHARDS])
{
    if (format == HC_FP64)
        return ((g[0] + g[1]) + (g[2] + g[3])) / 4;
    float left = (float)g[0] + (float)g[1];
    float right = (float)g[2] + (float)g[3];
    float sum = left + right;
    return (double)(sum / 4);
}

static double gradients[SHARDS][3 * HC_MAX_LAYERS][MAX_NUMBERS];

static void collect(struct hand *hand, int shard)
{
    for (int p = 0; p < hc_update_parameters(hand->update); p++) {
        struct hc_tensor t = hc_update_tensor(hand->update, HC_STATE_GRADIENT, p);
        cr_assert_leq(hc_tensor_count(&t), MAX_NUMBERS);
        for (int64_t i = 0; i < hc_tensor_count(&t); i++)
            gradients[shard][p][i] = hc_tensor_get(&t, i);
    }
}

static void give_average(struct hand *hand, bool sums)
{
    for (int p = 0; p < hc_update_parameters(hand->update); p++) {
        struct hc_tensor t = hc_update_tensor(hand->update, HC_STATE_GRADIENT, p);
        for (int64_t i = 0; i < hc_tensor_count(&t); i++) {
            double g[SHARDS];
            for (int s = 0; s < SHARDS; s++)
                g[s] = gradients[s][p][i];
            hc_tensor_set(&t, i, average(t.format, g) * (sums ? 4 : 1));
        }
    }
}

static unsigned char statistics[2 * HC_MAX_LAYERS][2048];

static void move_statistics(struct hand *hand, bool back)
{
    for (int s = 0; s < hc_net_plan(hand->net)->statistics; s++) {
        struct hc_tensor t = hc_parameter_tensor(hc_net_statistics(hand->net)[s]);
        cr_assert_leq(hc_tensor_bytes(&t), sizeof statistics[s]);
        memcpy(back ? t.data : statistics[s], back ? statistics[s] : t.data, hc_tensor_bytes(&t));
    }
}

/* One step on a whole batch, whose mean loss comes back; its statistics are those of the first
   shard. */
static float step(struct hand *hand, const struct hc_batch *batch, struct hc_rates rates, bool sums)
{
    struct hc_tensor scale = hc_update_scale(hand->update);
    double losses = 0;
    for (int s = 0; s < SHARDS; s++) {
        float loss;
        int right;
        cr_assert_eq(hc_net_train(hand->net, batch->images + (ptrdiff_t)s * ROWS * PIXELS,
                                  batch->labels + (ptrdiff_t)s * ROWS, &scale, &loss, &right),
                     HC_OK);
        losses += (double)loss / SHARDS;
        collect(hand, s);
        if (s == 0)
            move_statistics(hand, false);
    }
    move_statistics(hand, true);
    give_average(hand, sums);
    cr_assert_eq(hc_update_step(hand->update, rates.lr, rates.beta1), HC_OK);
    return (float)losses;
}

/* The losses of steps.csv, its third column. */
static void compare_losses(const char *recipe, const float *want, int64_t n)
{
    char path[200];
    char line[1 << 14];
    float got;
    (void)snprintf(path, sizeof path, "%s/steps.csv", folder);
    FILE *file = fopen(path, "r");
    cr_assert(file && fgets(line, sizeof line, file));
    for (int64_t s = 0; s < n; s++) {
        cr_assert(fgets(line, sizeof line, file) && sscanf(line, "%*[^,],%*[^,],%f", &got) == 1);
        cr_assert_float_eq(got, want[s], 1e-6F * want[s], "%s: step %lld has the loss %g, not %g",
                           recipe, (long long)s, (double)got, (double)want[s]);
    }
    (void)fclose(file);
}

/* Every tensor of the state, as the checkpoint has it and as it came about by hand. */
static void compare(struct hand *hand, const char *recipe)
{
    char path[200];
    struct hc_tensor_file file;
    static unsigned char room[8 * MAX_NUMBERS];
    struct hc_state_rows *rows = hc_state_list(hand->net, hand->update);
    (void)snprintf(path, sizeof path, "%s/checkpoint", folder);
    cr_assert_eq(hc_tensor_file_read(&file, path), HC_OK, "%s", hc_message());
    for (int i = 0; i < rows->count; i++) {
        const struct hc_tensor *got = hc_tensor_file_find(&file, rows->row[i].name);
        struct hc_tensor here = rows->row[i].tensor;
        cr_assert(got && hc_tensor_bytes(&here) <= sizeof room, "%s", rows->row[i].name);
        here.data = room;
        cr_assert_eq(hc_torch_upload(&hand->device, got, &here), HC_OK);
        cr_assert_eq(memcmp(room, rows->row[i].tensor.data, hc_tensor_bytes(&here)), 0,
                     "%s: another %s", recipe, rows->row[i].name);
    }
    hc_tensor_file_close(&file);
    free(rows);
}

static void check(const char *text, int ranks)
{
    struct hc_recipe recipe;
    char name[HC_RECIPE_NAME];
    struct hand hand;
    struct hc_loader *loader;
    struct hc_train_result result;
    struct hc_batch_stream stream = {.set = &data, .train = true, .batch = BATCH, .seed = 11};
    cr_assert_eq(hc_recipe_read(&recipe, name, text, strlen(text)), HC_OK, "%s", hc_message());
    struct hc_train_options o = options("fp32");
    o.recipe = &recipe;
    cr_assert_eq(hc_train_ranks(&o, ranks, &result), HC_OK, "%s", hc_message());
    open_hand(&hand, &recipe);
    cr_assert_eq(hc_loader_open(&stream, 0, &loader), HC_OK);
    float losses[STEPS];
    cr_assert_eq(result.steps, STEPS, "%s", result.reason);
    for (int64_t s = 0; s < STEPS; s++)
        losses[s] =
            step(&hand, hc_loader_next(loader), hc_one_cycle(3e-3, STEPS, s), recipe.sum_loss);
    compare(&hand, text);
    compare_losses(text, losses, STEPS);
    hc_loader_close(loader);
    close_hand(&hand);
}

Test(ranks_by_hand, a_step_is_the_average_over_the_shards_of_its_batch)
{
    check("fp32+shards=4", 1);
    check("amp+shards=4", 2);
    check("apex-O2+shards=4", 4);
    check("bf16-pure", 4); /* as many shards as ranks */
}

Test(ranks_by_hand, stale_gradients_parameters_apart_sums_and_fp64_too)
{
    check("fastai-1.0.61+shards=4", 2);
    check("fastai-1.0.61-flat+shards=4+clip=0.1+group_rates=0.1/1", 1);
    check("fp64+shards=4", 2);
    check("sum-loss-fp16+shards=4", 4);
    check("fp16-bn32+apart=true+shards=4", 2);
}
