/* Ranks that are threads, each with a GPU of the stand-ins for CUDA and NCCL. */
#include "train/parallel/reduction.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#ifdef HC_NCCL_PLUGIN

#include "comm/nccl/testing.h"
#include "kernels/cuda/standin/blocks.h"
#include "train/update/recipe_fields.h"

enum { RANKS = 4, COUNTS = 3 };

static const int64_t counts[COUNTS] = {5, 64, 1};

/* What is averaged, and what comes out. */
struct trial {
    const char *recipe;
    int shards;
    bool applies;
};

static double contribution(int rank, int64_t i)
{
    return (double)((rank + 1) * (i % 7 - 3));
}

static void put(char *data, enum hc_format format, int64_t i, double value)
{
    uint64_t bits = hc_encode(format, value, 0, HC_NEAREST);
    memcpy(data + i * hc_formats[format].bytes, &bits, (size_t)hc_formats[format].bytes);
}

static double get(const char *data, enum hc_format format, int64_t i)
{
    uint64_t bits = 0;
    memcpy(&bits, data + i * hc_formats[format].bytes, (size_t)hc_formats[format].bytes);
    return hc_decode(format, bits);
}

/* The backend finds its libraries once for all threads. */
static enum hc_status open_queue(struct hc_device *device, int number)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    (void)pthread_mutex_lock(&lock);
    hc_standin_take_device(number);
    device->backend = hc_backend_by_name("cuda");
    enum hc_status status = device->backend->open(device->backend, &device->queue, 1);
    (void)pthread_mutex_unlock(&lock);
    return status;
}

/* Contributions are integers of at most 12; their sums and averages are exact in every format. */
static enum hc_status average(struct hc_comm *comm, const struct trial *trial,
                              struct hc_device *device, const struct hc_recipe *recipe)
{
    struct hc_gradient gradients[COUNTS];
    char host[64 * 4];
    struct hc_on_device *r = NULL;
    enum hc_status status = HC_OK;
    for (int p = 0; p < COUNTS; p++) {
        enum hc_format format = p == 1 ? recipe->norm : recipe->model;
        gradients[p] = (struct hc_gradient){.format = format,
                                            .held = hc_wrapper_held(recipe, format),
                                            .count = counts[p],
                                            .data = hc_device_memory_unset(device, 256)};
        for (int64_t i = 0; i < counts[p]; i++)
            put(host, format, i, contribution(comm->rank, i));
        status = device->backend->upload(device->queue, gradients[p].data, host, sizeof host);
    }
    if (status == HC_OK)
        status = hc_on_device_open(&r, recipe, comm, trial->shards, device, gradients, COUNTS);
    if (status == HC_OK && trial->applies != (r != NULL))
        status = hc_fail(HC_INVALID, "it is %sthere", r ? "" : "not ");
    for (int step = 0; step < 2 && status == HC_OK && r; step++)
        status = hc_on_device_average(r);
    for (int p = 0; p < COUNTS && status == HC_OK && r; p++) {
        status = device->backend->download(device->queue, host, gradients[p].data, sizeof host);
        for (int64_t i = 0; i < counts[p] && status == HC_OK; i++)
            if (get(host, gradients[p].format, i) != contribution(0, i) * 2.5)
                status = hc_fail(HC_INVALID, "gradient %d, element %d is %g", p, (int)i,
                                 get(host, gradients[p].format, i));
    }
    hc_on_device_close(r);
    for (int p = 0; p < COUNTS; p++)
        hc_device_release(device, gradients[p].data, 256);
    return status;
}

static enum hc_status run_trial(struct hc_comm *comm, void *context)
{
    const struct trial *trial = context;
    struct hc_device device = {0};
    struct hc_recipe recipe;
    char name[HC_RECIPE_NAME];
    enum hc_status status = hc_recipe_read(&recipe, name, trial->recipe, strlen(trial->recipe));
    if (status == HC_OK)
        status = open_queue(&device, comm->rank);
    if (status == HC_OK)
        status = average(comm, trial, &device, &recipe);
    hc_device_end(&device);
    if (device.queue)
        device.backend->close(device.queue);
    return status;
}

static enum hc_status run(const char *standin, struct trial *trial)
{
    use_standin(standin);
    (void)setenv("CUDA_HOME", HC_STANDIN, 1);
    (void)setenv("HALFCHECK_CUDA_PLUGIN", HC_STANDIN "/standin.so", 1);
    return hc_comm_threads(RANKS, run_trial, trial);
}

static void expect(const char *recipe, int shards, bool applies)
{
    struct trial trial = {recipe, shards, applies};
    enum hc_status status = run("by_thread=1", &trial);
    cr_expect_eq(status, HC_OK, "%s: %s", recipe, status == HC_OK ? "" : hc_message());
    cr_expect_str_empty(hc_standin_nccl_finding());
}

/* The second average is of equal contributions, which it leaves as they are. */
Test(on_device, averages_where_the_gradients_lie)
{
    expect("fp32+algorithm=library", RANKS, true);
    expect("amp+algorithm=library", RANKS, true);
    expect("amp+algorithm=library+reduce=fp16", RANKS, true);
    expect("amp+algorithm=library+wrapper=torch-ddp", RANKS, true);
    expect("fp16-pure+algorithm=library+wrapper=apex-ddp+predivide=4", RANKS, true);
    expect("amp-bf16+algorithm=library+wrapper=torch-ddp+reduce=bf16", RANKS, true);
}

Test(on_device, a_lost_link_is_a_line_and_no_hang)
{
    struct trial trial = {"fp32+algorithm=library", RANKS, true};
    cr_expect_eq(run("by_thread=1,async=1", &trial), HC_DEVICE);
    cr_expect_not_null(strstr(hc_message(), "nccl: while ranks exchanged numbers: "), "%s",
                       hc_message());
    cr_expect_str_empty(hc_standin_nccl_finding());
}

Test(on_device, leaves_stated_orders_and_several_shards_to_the_host)
{
    expect("amp", RANKS, false);
    expect("amp+algorithm=ring", RANKS, false);
    expect("amp+algorithm=library", 2 * RANKS, false);
}

#endif
