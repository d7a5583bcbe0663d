/* Trainings whose steps are captured as a graph and replayed. */
#include <string.h>

#include "train/run/testing.h"

TestSuite(trainer_capture, .init = open_data, .fini = remove_folder);

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
