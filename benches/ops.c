/* Ops of a training step as host does them, against exact: shapes of Darknet-16's third group. */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#include "bench.h"

enum { BATCH = 8, SIDE = 16, CHANNELS = 64, ELEMENTS = BATCH * SIDE * SIDE * CHANNELS };

struct side {
    const struct hc_backend *backend;
    struct hc_queue *queue;
    void *scratch;
};

struct bench {
    struct hc_call call;
    struct side sides[2]; /* host, exact */
};

static void work(struct bench *bench, const struct side *side)
{
    bench->call.scratch = side->scratch;
    enum hc_status status = side->backend->kernel[bench->call.op](side->queue, &bench->call);
    assert(status == HC_OK);
    (void)status;
}

static void on_host(void *context)
{
    struct bench *bench = context;
    work(bench, &bench->sides[0]);
}

static void on_exact(void *context)
{
    struct bench *bench = context;
    work(bench, &bench->sides[1]);
}

static struct hc_tensor activations(enum hc_format format)
{
    return hc_tensor4(format, BATCH, SIDE, SIDE, CHANNELS, NULL);
}

static struct hc_tensor filters(enum hc_format format)
{
    return hc_tensor4(format, CHANNELS, 3, 3, CHANNELS, NULL);
}

static struct hc_call cast_call(enum hc_format format)
{
    struct hc_call call = {.op = HC_OP_cast, .params.cast.direction = HC_NEAREST};
    call.in[0] = hc_tensor1(HC_FP32, ELEMENTS, NULL);
    call.out[0] = hc_tensor1(format, ELEMENTS, NULL);
    return call;
}

static struct hc_call conv_call(enum hc_format format)
{
    struct hc_call call = {.op = HC_OP_conv2d, .params.conv = {.stride = 1, .pad = 1}};
    call.in[0] = call.out[0] = activations(format);
    call.in[1] = filters(format);
    return call;
}

static struct hc_call filter_call(enum hc_format format)
{
    struct hc_call call = {.op = HC_OP_conv2d_bwd_filter, .params.conv = {.stride = 1, .pad = 1}};
    call.in[0] = call.in[1] = activations(format);
    call.out[0] = filters(format);
    return call;
}

static struct hc_call norm_call(enum hc_format format)
{
    struct hc_call call = {.op = HC_OP_bn_train, .params.bn = {1e-5, 0.1, 0.1}};
    call.in[0] = call.out[0] = activations(format);
    for (int i = 1; i < 5; i++)
        call.in[i] = call.out[i] = hc_tensor1(HC_FP32, CHANNELS, NULL);
    return call;
}

static struct hc_call adam_call(enum hc_format format)
{
    struct hc_call call = {.op = HC_OP_adamw, .params.adam = {.beta2 = 0.99, .eps = 1e-8}};
    call.params.adam.arithmetic = format;
    for (int i = 0; i < 4; i++)
        call.in[i] = hc_tensor1(format, ELEMENTS, NULL);
    call.in[4] = hc_tensor1(HC_FP32, 3, NULL);
    for (int i = 0; i < 3; i++)
        call.out[i] = call.in[i ? i + 1 : 0];
    return call;
}

/* Memory for every tensor, and normal numbers in the inputs; learning rate, beta1 and step are those
   of a first step. */
static void fill(struct hc_call *call)
{
    static const double hyper[] = {1e-3, 0.9, 1};
    const struct hc_op_info *op = &hc_ops[call->op];
    for (int i = 0; i < op->inputs + op->outputs; i++) {
        struct hc_tensor *t = i < op->inputs ? &call->in[i] : &call->out[i - op->inputs];
        if (hc_tensor_count(t) == 0 || t->rank == 0)
            continue;
        t->data = aligned_alloc(64, (hc_tensor_bytes(t) + 63) / 64 * 64);
        assert(t->data);
        bool is_hyper = i == 4 && op->class_ == HC_CLASS_OPTIMIZER;
        for (int64_t e = 0; e < hc_tensor_count(t); e++) {
            double x = hc_random_normal(1, (uint64_t)i, (uint64_t)e);
            hc_tensor_put(t, e, is_hyper ? hyper[e] : i == 3 || i == 4 ? x * x : x);
        }
    }
}

static void empty(struct hc_call *call)
{
    for (int i = 0; i < HC_MAX_IN; i++)
        free(call->in[i].data);
    for (int i = 0; i < HC_MAX_OUT; i++)
        free(call->out[i].data);
}

static enum hc_status open_side(struct side *side, const char *name, const struct hc_call *call)
{
    side->backend = hc_backend_by_name(name);
    enum hc_status status = side->backend->open(&side->queue, 0);
    size_t bytes = 0;
    if (status == HC_OK && side->backend->scratch)
        bytes = side->backend->scratch(side->queue, call);
    if (bytes)
        side->scratch = side->backend->allocate(side->queue, bytes);
    return status == HC_OK && bytes && !side->scratch ? HC_NO_MEMORY : status;
}

static void close_side(struct side *side)
{
    if (side->scratch)
        side->backend->release(side->queue, side->scratch);
    if (side->queue)
        side->backend->close(side->queue);
}

static void compare(struct hc_bench_run *run, struct hc_call (*make)(enum hc_format format))
{
    static const enum hc_format formats[] = {HC_FP32, HC_FP16};
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        struct bench bench = {.call = make(formats[f])};
        void (*const works[])(void *) = {on_host, on_exact};
        double seconds[2];
        fill(&bench.call);
        double n = (double)hc_tensor_count(&bench.call.in[0]);
        if (open_side(&bench.sides[0], "host", &bench.call) == HC_OK &&
            open_side(&bench.sides[1], "exact", &bench.call) == HC_OK) {
            hc_bench_time(works, 2, &bench, 5, 0.1, seconds);
            hc_bench_rate(run, &(struct hc_rate){.what = hc_formats[formats[f]].name,
                                                 .rate = n / seconds[0],
                                                 .unit = "elements/s",
                                                 .against = "exact",
                                                 .other = n / seconds[1]});
        } else {
            hc_bench_skip(run, hc_message());
        }
        close_side(&bench.sides[0]);
        close_side(&bench.sides[1]);
        empty(&bench.call);
    }
}

static void cast(struct hc_bench_run *run)
{
    compare(run, cast_call);
}

static void conv(struct hc_bench_run *run)
{
    compare(run, conv_call);
}

static void filter(struct hc_bench_run *run)
{
    compare(run, filter_call);
}

static void norm(struct hc_bench_run *run)
{
    compare(run, norm_call);
}

static void adam(struct hc_bench_run *run)
{
    compare(run, adam_call);
}

static const struct hc_bench benches[] = {
    {"op/cast", "fp32 into the format, host against exact", cast},
    {"op/conv2d", "3x3 convolution of 16x16x64 images, host against exact", conv},
    {"op/conv2d_bwd_filter", "its filters' gradient, host against exact", filter},
    {"op/bn_train", "batch norm over batch statistics, host against exact", norm},
    {"op/adamw", "AdamW on masters in the format, host against exact", adam},
};

const struct hc_bench_table hc_benches_ops;
const struct hc_bench_table hc_benches_ops = {benches, sizeof benches / sizeof benches[0]};
