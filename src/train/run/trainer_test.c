#include <math.h>
#include <string.h>

#include "train/run/testing.h"

TestSuite(trainer, .init = open_data, .fini = remove_folder);

/* 5 steps an epoch; checkpoints after steps 3, 5, 6, 9, 10. Killed after step 7, with a row of
   steps.csv that the last checkpoint does not know, and gone on with in another call. */
Test(trainer, a_killed_run_resumes_to_the_same_bits)
{
    static const char *const recipes[] = {"amp", "adamw16", "fp32"};
    static unsigned char want[1 << 20];
    static unsigned char got[1 << 20];
    static unsigned char want_steps[1 << 17];
    static unsigned char got_steps[1 << 17];
    for (int r = 0; r < (getenv("HALFCHECK_SHORT_TESTS") ? 1 : 3); r++) {
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

/* Rows "first,labels,predicted": which of the digits are equal must be the accuracy. */
Test(trainer, the_class_of_each_test_image_is_written_at_the_end_and_agrees_with_the_accuracy)
{
    static unsigned char rows[1 << 12];
    static const char *const recipes[] = {"fp32", "amp-bf16"};
    for (int r = 0; r < 2; r++) {
        struct hc_train_result result;
        struct hc_train_options o = options(recipes[r]);
        o.epochs = 3;
        cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
        rows[read_file("predictions.csv", rows, sizeof rows - 1)] = '\0';
        char labels[101];
        char predicted[101];
        int right = 0;
        cr_assert_eq(sscanf((const char *)rows, "first,labels,predicted 0,%100[0-9],%100[0-9-]",
                            labels, predicted),
                     2, "%s", rows);
        cr_assert_eq(strlen(labels), 40);
        cr_assert_eq(strlen(predicted), 40);
        for (int i = 0; i < 40; i++) {
            cr_assert_eq(labels[i] - '0', data.test.labels[i]);
            right += labels[i] == predicted[i];
        }
        cr_assert_float_eq((double)right / 40, result.accuracy, 1e-12);
    }
}

/* The loss is not finite from the first step on, and so are all logits. */
Test(trainer, an_image_whose_logits_are_nan_has_no_class)
{
    static unsigned char rows[1 << 12];
    struct hc_train_result result;
    struct hc_train_options o = options("fp16-pure");
    o.epochs = 3;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    rows[read_file("predictions.csv", rows, sizeof rows - 1)] = '\0';
    cr_assert_not_null(strstr((const char *)rows, ",----------------------------------------\n"),
                       "%s", rows);
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

/* What a training step gives to the backend cuda, by the count of cuda-counted. */

TestSuite(step_work, .init = open_data, .fini = remove_folder);

enum { NEVER = 1 << 30 };

static struct hc_work given; /* to the last queue that was closed */

static void close_counted(struct hc_queue *queue)
{
    const struct hc_backend *counted = hc_backend_by_name("cuda-counted");
    given = counted->work(queue);
    counted->close(queue);
}

static struct hc_work work_of(const char *recipe, int batch)
{
    struct hc_train_result result;
    struct hc_train_options o = options(recipe);
    struct hc_backend backend = *hc_backend_by_name("cuda-counted");
    backend.close = close_counted;
    struct hc_data_options few = {.seed = 5, .train_per_class = batch, .test_per_class = 1};
    hc_dataset_close(&data);
    cr_assert_eq(hc_dataset_open(&few, &data), HC_OK, "%s", hc_message());
    o.backend = &backend;
    o.network = &hc_darknet16;
    o.batch = batch;
    o.epochs = 1;
    o.measure_every = NEVER;
    o.out = NULL;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    cr_assert_str_eq(result.captured, "captured");
    return result.step_work;
}

/* Batch norm over more than 4,096 rows takes two launches each way, over fewer one. Nothing is
   copied in a step, and nobody waits. */
static void expect_at_most(const char *recipe, int batch, int64_t kernels, double bytes)
{
    struct hc_work work = work_of(recipe, batch);
    cr_expect_leq(work.kernels, kernels, "%s, batch %d: %lld", recipe, batch,
                  (long long)work.kernels);
    cr_expect_eq(work.calls, 71 + 4, "convolutions and products: %lld", (long long)work.calls);
    cr_expect_eq(work.copies, 0);
    cr_expect(work.bytes > bytes / 2 && work.bytes <= bytes, "%s, batch %d: %g bytes", recipe,
              batch, work.bytes);
}

Test(step_work, of_a_captured_step_stays_within_its_launches_and_bytes)
{
    expect_at_most("amp", 64, 80, 0.58e9);
    expect_at_most("amp", 1024, 100, 5.77e9);
    expect_at_most("fp32", 1024, 96, 11.2e9);
}

/* Bytes of the activations and their gradients, each written once and read as often as a step needs
   it that calls a library for its convolutions. A convolution reads its input, and its gradients
   read it and write its gradient. Batch norm reads the convolution's output for the statistics and
   again to write its own; backward it reads that output and the gradient twice and writes one,
   which both gradients of the convolution read: eleven times the output in all. A residual reads
   the skipped side and writes a sum; backward it reads a second gradient and writes their sum. */
static double least_bytes(int batch, double bytes)
{
    struct hc_plan plan;
    double elements = 0;
    hc_plan_make(&hc_darknet16, HC_CLASSES, &plan);
    for (int l = 0; l < plan.layers; l++) {
        const struct hc_layer *layer = &plan.layer[l];
        const struct hc_layer *below = layer->in ? &plan.layer[layer->in - 1] : NULL;
        double in = below ? (double)below->side * below->side * below->channels : 32 * 32 * 3;
        double out = (double)layer->side * layer->side * layer->channels;
        if (layer->kind == HC_LAYER_CONV)
            elements += (below ? 3 : 2) * in + 11 * out;
        else if (layer->kind == HC_LAYER_ADD)
            elements += 4 * out;
    }
    return elements * batch * bytes;
}

Test(step_work, moves_at_most_1_3_times_the_least_bytes)
{
    double ratio = work_of("amp", 1024).bytes / least_bytes(1024, 2);
    cr_expect(ratio >= 1 && ratio <= 1.3, "amp: %g", ratio);
    ratio = work_of("fp32", 1024).bytes / least_bytes(1024, 4);
    cr_expect(ratio >= 1 && ratio <= 1.3, "fp32: %g", ratio);
}

/* A tensor is written by one copy, or cleared by one, however long it is. */
Test(step_work, of_a_whole_training_has_as_many_copies_as_tensors)
{
    (void)work_of("amp", 64);
    cr_expect_leq(given.copies, 1400, "%lld copies", (long long)given.copies);
    (void)work_of("amp", 1024);
    cr_expect_leq(given.copies, 1400, "%lld copies", (long long)given.copies);
}

/* Trainings whose steps are captured as a graph and replayed. */

TestSuite(trainer_capture, .init = open_data, .fini = remove_folder);

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
Test(trainer_capture, a_captured_step_gives_the_bits_of_one_that_is_queued_each_time_also_resumed)
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

static size_t read_dump(int64_t step, unsigned char *to, size_t most)
{
    char name[60];
    (void)snprintf(name, sizeof name, "step-%lld.safetensors", (long long)step);
    return read_file(name, to, most);
}

/* Step 0 comes before the graph, step 2 between its replays, step 5 is measured, too. */
Test(trainer_capture, a_dumped_step_is_taken_out_of_the_graph_and_changes_no_bit)
{
    static const int64_t steps[] = {0, 2, 5};
    static struct outcome without;
    static struct outcome with;
    static unsigned char want[3][1 << 18];
    static unsigned char got[1 << 18];
    size_t size[3];
    struct hc_backend plain = *hc_backend_by_name("cuda-emulated");
    struct hc_train_options o = emulated(&plain);
    plain.capture = NULL;
    o.dumps = steps;
    o.dump_count = 3;
    train_to(o, &with);
    for (int i = 0; i < 3; i++)
        size[i] = read_dump(steps[i], want[i], sizeof want[i]);
    o.backend = hc_backend_by_name("cuda-emulated");
    o.dump_count = 0;
    train_to(o, &without);
    o.dump_count = 3;
    train_to(o, &with);
    cr_assert_str_eq(with.result.captured, "captured");
    same_outcome(&without, &with);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(read_dump(steps[i], got, sizeof got), size[i]);
        cr_expect_eq(memcmp(got, want[i], size[i]), 0, "step %lld", (long long)steps[i]);
    }
}

static const struct hc_backend *right;

/* Waits for the device in the middle of a step, as no captured step may. */
static enum hc_status looks(struct hc_queue *queue, const struct hc_call *call)
{
    float seen;
    enum hc_status status = right->kernel[HC_OP_xent](queue, call);
    return status == HC_OK
               ? right->download(queue, &seen, call->out[HC_XENT_LOSS].data, sizeof seen)
               : status;
}

Test(trainer_capture, what_cannot_be_captured_is_queued_each_time_and_says_why)
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
