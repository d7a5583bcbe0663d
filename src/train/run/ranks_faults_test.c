/* Ranks that fail, or go another way: the others notice, and nobody waits for ever. Faults are
   planted in the kernels of one rank. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "train/run/testing.h"
#include "train/update/recipe_fields.h"

TestSuite(ranks_faults, .init = open_data, .fini = remove_folder, .timeout = 300);

enum { RANKS = 4, MOST = 1 << 18, MOMENTS = 24 };

static int sick_rank = 2;
static _Thread_local bool sick; /* this thread is that rank */
static long calls;              /* of the sick rank */
static long fails_at;           /* call that fails; 0: none */
static long updates_at;         /* the first call of an update */
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
