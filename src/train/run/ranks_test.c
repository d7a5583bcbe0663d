/* Runs whose batches are cut into shards: whatever the number of ranks, they are the same run. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "num/rng.h"
#include "train/run/testing.h"
#include "train/update/recipe_fields.h"

TestSuite(ranks, .init = open_data, .fini = remove_folder, .timeout = 3600);

enum { MOST = 1 << 18, FILES = 4 };

static const char *const names[FILES] = {"checkpoint", "steps.csv", "gradients.csv", "epochs.csv"};

/* The speed, a measurement, is left out. */
static size_t without_speed(unsigned char *text, size_t size)
{
    size_t kept = 0;
    int column = 0;
    for (size_t i = 0; i < size; i++) {
        column = text[i] == '\n' ? 0 : column + (text[i] == ',');
        if (column != 5)
            text[kept++] = text[i];
    }
    return kept;
}

struct outcome {
    struct hc_train_result result;
    size_t size[FILES];
    unsigned char bytes[FILES][MOST];
};

static const struct hc_recipe *recipe(const char *text)
{
    static struct hc_recipe read;
    static char name[HC_RECIPE_NAME];
    cr_assert_eq(hc_recipe_read(&read, name, text, strlen(text)), HC_OK, "%s", hc_message());
    return &read;
}

static struct hc_train_options of(const char *text)
{
    struct hc_train_options o = options("fp32");
    o.recipe = recipe(text);
    o.checkpoint_every = 3;
    return o;
}

static void look(struct outcome *outcome)
{
    for (int i = 0; i < FILES; i++)
        outcome->size[i] = read_file(names[i], outcome->bytes[i], MOST);
    outcome->size[3] = without_speed(outcome->bytes[3], outcome->size[3]);
}

static void train(const struct hc_train_options *o, int ranks, struct outcome *outcome)
{
    cr_assert_eq(hc_train_ranks(o, ranks, &outcome->result), HC_OK, "%s on %d ranks: %s",
                 o->recipe->name, ranks, hc_message());
    cr_assert_eq(outcome->result.steps, 10, "%s", outcome->result.reason);
    look(outcome);
}

static void same(const char *what, int ranks, const struct outcome *want, const struct outcome *got)
{
    for (int i = 0; i < FILES; i++)
        cr_assert(want->size[i] == got->size[i] &&
                      memcmp(want->bytes[i], got->bytes[i], want->size[i]) == 0,
                  "%s on %d ranks: another %s", what, ranks, names[i]);
}

static struct outcome want;
static struct outcome got;

Test(ranks, any_number_of_ranks_trains_to_the_same_bits)
{
    static const char *const texts[] = {"fp32+shards=8", "amp+shards=8", "apex-O2+shards=8",
                                        "amp-bf16+shards=8", "fastai-004b+shards=8"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        struct hc_train_options o = of(texts[t]);
        train(&o, 1, &want);
        for (int ranks = 2; ranks <= 8; ranks *= 2) {
            train(&o, ranks, &got);
            same(texts[t], ranks, &want, &got);
        }
    }
}

static void empty_folder(void)
{
    char path[200];
    for (int i = 0; i < FILES; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)remove(path);
    }
}

static bool there(const char *name)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* Kills the run after so many seconds, if it is not over by then. */
static void kill_after(const struct hc_train_options *o, int ranks, double seconds)
{
    int status;
    struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))};
    struct hc_train_result result;
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0)
        _exit((int)hc_train_ranks(o, ranks, &result));
    while (nanosleep(&time, &time) != 0)
        ;
    (void)kill(child, SIGKILL);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) || WEXITSTATUS(status) == HC_OK, "%d", WEXITSTATUS(status));
}

/* HC_KILLS sets how often each recipe is killed (default 6). */
Test(ranks, a_run_killed_anywhere_goes_on_with_another_number_of_ranks_to_the_same_bits)
{
    static const char *const texts[] = {"amp+shards=8", "fastai-1.0.61-flat+shards=8",
                                        "bf16-sr+shards=8"};
    const char *wish = getenv("HC_KILLS");
    long kills = wish ? strtol(wish, NULL, 10) : 6;
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        struct hc_train_options o = of(texts[t]);
        empty_folder();
        train(&o, 2, &want);
        double seconds = want.result.seconds;
        for (long k = 0; k < kills; k += 2) {
            empty_folder();
            o.resume = false;
            for (int i = 0; i < 2; i++) {
                uint64_t bits = hc_random(1, (uint64_t)k, (uint64_t)i);
                kill_after(&o, 1 << (bits & 3), seconds * (double)(bits >> 40) * 0x1p-24);
                o.resume = there("checkpoint");
            }
            int ranks = 1 << (k / 2 % 4);
            train(&o, ranks, &got);
            same(texts[t], ranks, &want, &got);
        }
    }
}

/* Without shards, or with another order than the tree, ranks are part of what is trained. */
Test(ranks, a_run_whose_bits_depend_on_its_ranks_goes_on_with_as_many_only)
{
    static const struct {
        const char *recipe;
        int ranks, others;
        enum hc_status status;
    } rows[] = {
        {"amp", 2, 4, HC_INVALID},
        {"amp", 1, 2, HC_INVALID},
        {"amp", 2, 1, HC_INVALID},
        {"amp", 2, 2, HC_OK},
        {"amp+shards=8+algorithm=ring", 2, 4, HC_INVALID},
        {"amp+shards=8+algorithm=ring", 4, 4, HC_OK},
        {"amp+shards=8", 2, 4, HC_OK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[400];
        struct hc_train_options o = of(rows[i].recipe);
        train(&o, rows[i].ranks, &want);
        o.resume = true;
        (void)snprintf(line, sizeof line,
                       "%s/checkpoint: its run is on %d rank%s, and this one on %d: its bits "
                       "depend on that, so give it %d",
                       folder, rows[i].ranks, rows[i].ranks > 1 ? "s" : "", rows[i].others,
                       rows[i].ranks);
        enum hc_status status = hc_train_ranks(&o, rows[i].others, &got.result);
        cr_expect_eq(status, rows[i].status, "%s on %d, then on %d: %d", rows[i].recipe,
                     rows[i].ranks, rows[i].others, status);
        if (rows[i].status != HC_OK)
            cr_expect_str_eq(hc_message(), line);
    }
}

/* What rank 0 reads the others get from it: they never look for a file. */
Test(ranks, a_run_that_begins_with_a_file_is_the_same_on_any_number_of_ranks)
{
    char path[200];
    char other[200];
    struct hc_train_options o = of("amp+shards=4");
    train(&o, 1, &want);
    (void)snprintf(path, sizeof path, "%s/checkpoint", folder);
    (void)snprintf(other, sizeof other, "%s/begun", folder);
    cr_assert_eq(rename(path, other), 0);
    o.load = other;
    o.epochs = 4;
    cr_assert_eq(hc_train_ranks(&o, 1, &want.result), HC_OK, "%s", hc_message());
    look(&want);
    cr_assert_eq(hc_train_ranks(&o, 4, &got.result), HC_OK, "%s", hc_message());
    look(&got);
    same("loaded amp", 4, &want, &got);
}

Test(ranks, one_shard_is_the_whole_batch)
{
    struct hc_train_options o = of("amp");
    train(&o, 1, &want);
    o.recipe = recipe("amp+shards=1");
    train(&o, 1, &got);
    for (int i = 1; i < FILES; i++)
        cr_assert(want.size[i] == got.size[i] &&
                      memcmp(want.bytes[i], got.bytes[i], want.size[i]) == 0,
                  "another %s", names[i]);
}

/* 5 batches of the test set, and 8 ranks: three have nothing to evaluate. */
Test(ranks, more_ranks_than_batches_to_evaluate)
{
    struct hc_dataset small;
    struct hc_data_options few = {
        .classes = "airplane,dog", .seed = 5, .train_per_class = 16, .test_per_class = 5};
    cr_assert_eq(hc_dataset_open(&few, &small), HC_OK, "%s", hc_message());
    struct hc_train_options o = of("fp32+shards=8");
    o.data = &small;
    o.epochs = 5;
    train(&o, 1, &want);
    train(&o, 8, &got);
    same("fp32", 8, &want, &got);
    hc_dataset_close(&small);
}

Test(ranks, what_does_not_divide_is_refused_with_a_line)
{
    static const struct {
        const char *recipe;
        int ranks;
        const char *line;
    } wrong[] = {
        {"amp", 3, "a batch of 16 is not divisible into 3 shards"},
        {"amp+shards=4", 8, "4 shards are not divisible among 8 ranks"},
        {"amp+shards=6", 2, "a batch of 16 is not divisible into 6 shards"},
        {"amp+shards=16", 1,
         "a batch of 16 has only one image for each of 16 shards: it needs two"},
        {"amp", 65, "ranks in one process are 1 to 64, not 65"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct hc_train_options o = of(wrong[i].recipe);
        cr_expect_eq(hc_train_ranks(&o, wrong[i].ranks, &got.result), HC_INVALID);
        cr_expect_str_eq(hc_message(), wrong[i].line);
    }
    int64_t step = 3;
    struct hc_train_options o = of("amp+shards=2");
    o.dumps = &step;
    o.dump_count = 1;
    cr_expect_eq(hc_train_ranks(&o, 2, &got.result), HC_INVALID);
    cr_expect_str_eq(hc_message(),
                     "a dump shows a batch in one piece, and this run cuts it into 2 shards");
    struct hc_backend alone = *hc_backend_by_name("exact");
    alone.concurrent = false;
    o.backend = &alone;
    cr_expect_eq(hc_train_ranks(&o, 2, &got.result), HC_INVALID);
    cr_expect_not_null(strstr(hc_message(), "do not work beside each other"), "%s", hc_message());
    for (int i = 0; i < FILES; i++)
        cr_expect(!there(names[i]), "%s was made", names[i]);
}

static struct hc_train_result of_rank_0;

static enum hc_status train_rank(struct hc_comm *comm, void *context)
{
    struct hc_train_options o = *(const struct hc_train_options *)context;
    struct hc_train_result result;
    o.comm = comm;
    enum hc_status status = hc_train(&o, &result);
    if (comm->rank == 0)
        of_rank_0 = result;
    return status;
}

/* A backend that is taken for a device: it makes its batches itself, in its own memory, of which
   nothing is touched but by transfers. */
Test(ranks, a_device_whose_gradients_cross_host_memory_trains_to_the_same_bits)
{
    struct hc_backend device = *hc_backend_by_name("exact");
    struct hc_train_options o = of("amp+shards=4");
    o.measure_every = 1;
    train(&o, 1, &want);
    device.host_memory = false;
    o.backend = &device;
    for (int ranks = 1; ranks <= 4; ranks *= 2) {
        cr_assert_eq(hc_comm_threads(ranks, train_rank, &o), HC_OK, "%s", hc_message());
        cr_assert_eq(of_rank_0.steps, 10, "%s", of_rank_0.reason);
        look(&got);
        same("a device", ranks, &want, &got);
    }
}

/* Runs whose ranks share batch norm. In fp64 they are one rank's run with the whole batch, up to
   rounding. */

TestSuite(ranks_norm, .init = open_data, .fini = remove_folder, .timeout = 3600);

static struct hc_train_result trained(const char *text, int ranks)
{
    struct hc_train_options o = options("fp32");
    struct hc_train_result result;
    o.recipe = recipe(text);
    cr_assert_eq(hc_train_ranks(&o, ranks, &result), HC_OK, "%s on %d ranks: %s", text, ranks,
                 hc_message());
    return result;
}

/* Losses come out in fp32, some 2^-22 of them apart. Batch norm of each rank's own images is
   another function. */
Test(ranks_norm, ranks_that_share_it_train_as_one_rank_with_the_whole_batch)
{
    struct hc_train_result whole = trained("fp64", 1);
    for (int ranks = 1; ranks <= 4; ranks *= 2) {
        struct hc_train_result shared = trained("fp64+norm_sync=true", ranks);
        cr_expect_eq(shared.steps, whole.steps);
        cr_expect_float_eq(shared.train_loss, whole.train_loss, 1e-6, "%d ranks: %.17g, not %.17g",
                           ranks, shared.train_loss, whole.train_loss);
        cr_expect_float_eq(shared.test_loss, whole.test_loss, 1e-6, "%d ranks: %.17g, not %.17g",
                           ranks, shared.test_loss, whole.test_loss);
    }
    struct hc_train_result apart = trained("fp64", 4);
    cr_expect(fabs(apart.train_loss - whole.train_loss) > 1e-4, "%.17g", apart.train_loss);
}

Test(ranks_norm, recipes_with_half_and_loss_scaling_train_too)
{
    static const char *const texts[] = {"amp+norm_sync=true", "amp-bf16+norm_sync=true",
                                        "apex-O2+norm_sync=true", "fp16-bn32+norm_sync=true"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct hc_train_result result = trained(texts[i], 4);
        cr_expect(isfinite(result.train_loss) && result.train_loss > 0, "%s: %g", texts[i],
                  result.train_loss);
    }
}

Test(ranks_norm, several_shards_of_a_rank_are_refused)
{
    struct hc_train_options o = options("fp32");
    struct hc_train_result result;
    o.recipe = recipe("fp32+norm_sync=true+shards=8");
    cr_assert_eq(hc_train_ranks(&o, 2, &result), HC_INVALID);
    cr_assert_str_eq(hc_message(),
                     "batch norm that ranks share takes one shard from each of 2 ranks, not 8 "
                     "shards");
}

/* Of rank 2 of 4, call `fails_at` fails. */
enum { RANKS = 4, SICK = 2 };

static _Thread_local bool sick;
static long calls;
static long fails_at;
static struct hc_backend faulty;

static enum hc_status failing(struct hc_queue *queue, const struct hc_call *call)
{
    if (sick && ++calls == fails_at)
        return hc_fail(HC_DEVICE, "the fan is on fire");
    return hc_backend_by_name("exact")->kernel[call->op](queue, call);
}

static enum hc_status train_norm_rank(struct hc_comm *comm, void *context)
{
    struct hc_train_options o = *(const struct hc_train_options *)context;
    struct hc_train_result result;
    o.comm = comm;
    sick = comm->rank == SICK;
    return hc_train(&o, &result);
}

/* The others wait for it in the middle of a pass, wherever it fails: nobody waits for ever. */
Test(ranks_norm, a_rank_that_fails_within_a_pass_ends_the_others)
{
    struct hc_train_options o = options("fp32");
    o.recipe = recipe("amp+norm_sync=true");
    o.backend = &faulty;
    faulty = *hc_backend_by_name("exact");
    for (int op = 0; op < HC_OP_COUNT; op++)
        faulty.kernel[op] = faulty.kernel[op] ? failing : NULL;
    for (long at = 3; at < 200; at += 11) {
        calls = 0;
        fails_at = at;
        cr_assert_eq(hc_comm_threads(RANKS, train_norm_rank, &o), HC_DEVICE, "call %ld", at);
        cr_assert(strstr(hc_message(), "rank 2: the fan is on fire"), "call %ld: %s", at,
                  hc_message());
    }
}

/* Whole runs under the wrappers of data parallel training. */

TestSuite(wrappers, .init = open_data, .fini = remove_folder);

static bool same_checkpoint(void)
{
    return want.size[0] == got.size[0] && memcmp(want.bytes[0], got.bytes[0], want.size[0]) == 0;
}

Test(wrappers, by_a_tree_train_to_the_same_bits_on_any_number_of_ranks)
{
    static const char *const texts[] = {
        "apex-O2+wrapper=apex-ddp+predivide=4+bucket=500+algorithm=tree+shards=8",
        "amp+wrapper=torch-ddp+reduce=fp16+bucket=4096+algorithm=tree+shards=8",
        "amp-bf16+wrapper=fsdp+algorithm=tree+shards=8"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        struct hc_train_options o = of(texts[t]);
        train(&o, 1, &want);
        for (int ranks = 2; ranks <= 8; ranks *= 2) {
            train(&o, ranks, &got);
            cr_expect(same_checkpoint(), "%s on %d ranks", texts[t], ranks);
        }
    }
}

Test(wrappers, by_a_ring_go_on_to_the_same_bits_on_as_many_ranks)
{
    static const char *const texts[] = {"apex-O2+wrapper=apex-ddp+bucket=500",
                                        "amp-bf16+wrapper=torch-ddp+reduce=bf16"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        struct hc_train_options o = of(texts[t]);
        int status;
        train(&o, 4, &want);
        pid_t child = fork();
        cr_assert_geq(child, 0);
        if (child == 0) {
            o.progress = kill_at_seven;
            _exit((int)hc_train_ranks(&o, 4, &got.result));
        }
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        o.resume = true;
        train(&o, 4, &got);
        cr_expect(same_checkpoint(), "%s", texts[t]);
    }
}

/* A checkpoint holds the recipe's name; losses differ as soon as weights do. */
static bool same_loss(void)
{
    return want.result.train_loss == got.result.train_loss;
}

Test(wrappers, have_other_bits_than_ours_where_they_round_elsewhere)
{
    static const char *const texts[] = {"apex-O2+wrapper=apex-ddp+predivide=8",
                                        "apex-O2+wrapper=fsdp", "apex-O2+wrapper=horovod",
                                        "apex-O2+wrapper=apex-ddp+reduce=fp32+algorithm=tree"};
    struct hc_train_options o = of("apex-O2");
    train(&o, 8, &want);
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        o = of(texts[t]);
        train(&o, 8, &got);
        cr_expect_eq(same_loss(), t == 3, "%s: %a and %a", texts[t], want.result.train_loss,
                     got.result.train_loss);
    }
}

/* Gradients that have their place in half on each rank, and none when they are added up. */
Test(wrappers, skip_the_step_in_which_halves_overflow_when_added)
{
    struct hc_train_options o = of("apex-O2+wrapper=apex-ddp");
    train(&o, 8, &want);
    o = of("apex-O2+wrapper=apex-ddp+predivide=8");
    train(&o, 8, &got);
    cr_expect_gt(want.result.skipped, got.result.skipped);
}
