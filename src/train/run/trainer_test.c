#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "train/run/trainer.h"

static struct hc_dataset data;
static char folder[] = "/tmp/halfcheck-trainer-XXXXXX";

static void open_data(void)
{
    struct hc_data_options options = {
        .classes = NULL, .seed = 5, .train_per_class = 8, .test_per_class = 4};
    cr_assert_eq(hc_dataset_open(&options, &data), HC_OK, "%s", hc_message());
    cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
    static const char *const names[] = {"steps.csv", "epochs.csv", "gradients.csv", "checkpoint"};
    char path[200];
    for (int i = 0; i < 4; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)remove(path);
    }
    (void)rmdir(folder);
    hc_dataset_close(&data);
}

TestSuite(trainer, .init = open_data, .fini = remove_folder);

static struct hc_train_options options(const char *recipe)
{
    return (struct hc_train_options){.recipe = hc_recipe_by_name(recipe),
                                     .network = &hc_darknet_tiny,
                                     .data = &data,
                                     .backend = hc_backend_by_name("exact"),
                                     .epochs = 2,
                                     .batch = 16,
                                     .seed = 11,
                                     .out = folder};
}

static size_t read_file(const char *name, unsigned char *to, size_t most)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    size_t n = fread(to, 1, most, file);
    cr_assert(n < most);
    (void)fclose(file);
    return n;
}

static bool kill_at_seven(const struct hc_progress *progress, void *context)
{
    (void)context;
    return progress->step < 7 || kill(getpid(), SIGKILL) == 0;
}

static void train_and_be_killed(struct hc_train_options o)
{
    struct hc_train_result result;
    int status;
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        o.progress = kill_at_seven;
        _exit((int)hc_train(&o, &result));
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* 5 steps an epoch; checkpoints after steps 3, 5, 6, 9, 10. Killed after step 7, with a row of
   steps.csv that the last checkpoint does not know, and gone on with in another call. */
Test(trainer, a_killed_run_resumes_to_the_same_bits)
{
    static const char *const recipes[] = {"amp", "adamw16", "fp32"};
    static unsigned char want[1 << 20];
    static unsigned char got[1 << 20];
    static unsigned char want_steps[1 << 17];
    static unsigned char got_steps[1 << 17];
    for (int r = 0; r < 3; r++) {
        struct hc_train_result result;
        struct hc_train_options o = options(recipes[r]);
        o.checkpoint_every = 3;
        cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
        cr_assert_eq(result.steps, 10);
        size_t size = read_file("checkpoint", want, sizeof want);
        size_t steps = read_file("steps.csv", want_steps, sizeof want_steps);
        train_and_be_killed(o);
        o.resume = true;
        cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
        cr_assert(result.finished);
        cr_assert_eq(read_file("checkpoint", got, sizeof got), size);
        cr_assert_eq(read_file("steps.csv", got_steps, sizeof got_steps), steps);
        cr_assert_arr_eq(got_steps, want_steps, steps, "%s", recipes[r]);
        cr_assert_arr_eq(got, want, size, "%s", recipes[r]);
    }
}

Test(trainer, a_checkpoint_of_another_recipe_is_refused)
{
    struct hc_train_result result;
    struct hc_train_options o = options("fp32");
    o.epochs = 1;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    o.recipe = hc_recipe_by_name("amp-bf16");
    o.resume = true;
    cr_assert_eq(hc_train(&o, &result), HC_INVALID);
    cr_assert(strstr(hc_message(), "recipe"), "%s", hc_message());
}

Test(trainer, a_run_that_learns_says_so_and_one_that_does_not_says_why)
{
    struct hc_train_result result;
    struct hc_train_options o = options("fp32");
    o.out = NULL;
    o.epochs = 10;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    cr_assert(result.learned, "%s", result.reason);
    cr_assert_str_empty(result.reason);

    o.max_lr = 1e-12;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    cr_assert(result.finished);
    cr_assert_not(result.learned);
    cr_assert(strstr(result.reason, "is not below 0.9 ln(classes) = 2.072"), "%s", result.reason);

    o.recipe = hc_recipe_by_name("fp16-pure");
    o.max_lr = 3e-3;
    o.epochs = 21;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    cr_assert(result.finished);
    cr_assert_not(result.learned);
    cr_assert(result.reason[0]);
}

/* 2^40 + 2^20 is an fp32 number whose nine first digits are another one's in fp64. */
Test(trainer, steps_have_their_scales_exactly)
{
    static unsigned char rows[1 << 15];
    struct hc_train_result result;
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    struct hc_train_options o = options("amp");
    recipe.scaler.initial = 0x1.00001p40F;
    o.recipe = &recipe;
    o.epochs = 1;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    rows[read_file("steps.csv", rows, sizeof rows - 1)] = '\0';
    const char *row = strstr((const char *)rows, "\n0,0,");
    cr_assert_not_null(row);
    const char *scale = strchr(row + 5, ',') + 1;
    cr_assert_eq(strtod(scale, NULL), 0x1.00001p40, "%.40s", scale);
}

static bool stop_at_three(const struct hc_progress *progress, void *context)
{
    ++*(int *)context;
    return progress->step < 3;
}

Test(trainer, progress_can_stop_it)
{
    struct hc_train_result result;
    struct hc_train_options o = options("fp32");
    int calls = 0;
    o.progress = stop_at_three;
    o.context = &calls;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    cr_assert_eq(calls, 3);
    cr_assert_eq(result.steps, 3);
    cr_assert_not(result.finished);
    cr_assert(isnan(result.accuracy));
}

Test(trainer, a_full_disk_ends_it_with_the_files_name)
{
    struct hc_train_result result;
    struct hc_train_options o = options("fp32");
    char path[200];
    char want[300];
    (void)snprintf(path, sizeof path, "%s/steps.csv", folder);
    (void)snprintf(want, sizeof want, "%s: No space left on device", path);
    cr_assert_eq(symlink("/dev/full", path), 0);
    cr_assert_eq(hc_train(&o, &result), HC_IO);
    cr_assert_str_eq(hc_message(), want);
}

static const struct hc_network minute = {.name = "minute",
                                         .side = 32,
                                         .channels = 3,
                                         .width = 2,
                                         .groups = 1,
                                         .blocks = {1},
                                         .strides = {2}};

/* Four steps of four images an epoch. */
static struct hc_train_options emulated(const struct hc_backend *backend)
{
    struct hc_train_options o = options("amp");
    o.backend = backend;
    struct hc_data_options small = {
        .classes = "airplane,dog", .seed = 5, .train_per_class = 8, .test_per_class = 2};
    hc_dataset_close(&data);
    cr_assert_eq(hc_dataset_open(&small, &data), HC_OK, "%s", hc_message());
    o.network = &minute;
    o.batch = 4;
    o.measure_every = 5;
    return o;
}

struct outcome {
    unsigned char checkpoint[1 << 18];
    unsigned char steps[1 << 15];
    size_t checkpoint_size;
    size_t steps_size;
    struct hc_train_result result;
};

static void train_to(struct hc_train_options o, struct outcome *to)
{
    cr_assert_eq(hc_train(&o, &to->result), HC_OK, "%s", hc_message());
    cr_assert(to->result.finished);
    to->checkpoint_size = read_file("checkpoint", to->checkpoint, sizeof to->checkpoint);
    to->steps_size = read_file("steps.csv", to->steps, sizeof to->steps);
}

static void same_outcome(const struct outcome *want, const struct outcome *got)
{
    cr_assert_eq(got->checkpoint_size, want->checkpoint_size);
    cr_assert_arr_eq(got->checkpoint, want->checkpoint, want->checkpoint_size);
    cr_assert_eq(got->steps_size, want->steps_size);
    cr_assert_arr_eq(got->steps, want->steps, want->steps_size);
}

/* Steps 1 to 4, 6 and 7 are replayed; 0 and 5 are measured. */
Test(trainer, a_captured_step_gives_the_bits_of_one_that_is_queued_each_time_also_resumed)
{
    static struct outcome queued;
    static struct outcome captured;
    struct hc_backend plain = *hc_backend_by_name("cuda-emulated");
    struct hc_train_options o = emulated(&plain);
    plain.capture = NULL;
    train_to(o, &queued);
    cr_assert_str_eq(queued.result.captured, "not captured: the backend has no graphs");
    o.backend = hc_backend_by_name("cuda-emulated");
    o.checkpoint_every = 3;
    train_to(o, &captured);
    cr_assert_str_eq(captured.result.captured, "captured");
    same_outcome(&queued, &captured);
    memset(&captured, 0, sizeof captured);
    train_and_be_killed(o);
    o.resume = true;
    train_to(o, &captured);
    cr_assert_str_eq(captured.result.captured, "captured");
    same_outcome(&queued, &captured);
}

static const struct hc_backend *right;

/* Waits for the device in the middle of a step, as no captured step may. */
static enum hc_status looks(struct hc_queue *queue, const struct hc_call *call)
{
    float seen;
    enum hc_status status = right->kernel[HC_OP_xent](queue, call);
    return status == HC_OK ? right->download(queue, &seen, call->out[0].data, sizeof seen) : status;
}

Test(trainer, what_cannot_be_captured_is_queued_each_time_and_says_why)
{
    static struct outcome captured;
    static struct outcome queued;
    right = hc_backend_by_name("cuda-emulated");
    struct hc_backend bad = *right;
    struct hc_train_options o = emulated(right);
    o.epochs = 1;
    train_to(o, &captured);
    bad.kernel[HC_OP_xent] = looks;
    o.backend = &bad;
    train_to(o, &queued);
    cr_assert(strstr(queued.result.captured, "not captured: "), "%s", queued.result.captured);
    cr_assert(strstr(queued.result.captured, "download"), "%s", queued.result.captured);
    same_outcome(&captured, &queued);
}

/* DeepSpeed's rule under ZeRO: at its floor it raises, at the second overflow in a row. */
Test(trainer, a_scaler_that_gives_up_ends_the_run_and_says_so)
{
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    struct hc_train_options o = options("amp");
    recipe.scaler = (struct hc_scaler){.rule = HC_SCALER_DEEPSPEED_0171, .initial = 1};
    o.recipe = &recipe;
    o.max_lr = 1e6;
    o.out = NULL;
    struct hc_train_result result;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    cr_assert(result.finished && !result.learned);
    cr_assert_not_null(strstr(result.reason, "the scaler gave up by step"), "%s", result.reason);
    cr_assert_eq(result.final_scale, 1);
}
