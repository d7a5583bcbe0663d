/* The ops of training steps on host, against exact: of a Darknet, and of a small GPT. */
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <time.h>

#include "bench.h"
#include "benches/inner/calls.h"
#include "benches/inner/subject.h"
#include "op/later.h"
#include "op/params.h"

enum { IMAGES = 8 };
enum { HEADS = 64, LENGTH = 128, DEPTH = 32, TOKENS = 2048, WIDTH = 128, GATES = 352, BYTES = 256 };

static void on_host(void *context)
{
    enum hc_status status = hc_subject_run(&((struct hc_subject *)context)[0]);
    assert(status == HC_OK);
    (void)status;
}

static void on_exact(void *context)
{
    enum hc_status status = hc_subject_run(&((struct hc_subject *)context)[1]);
    assert(status == HC_OK);
    (void)status;
}

/* Elements of one of its tensors, n of them, a second. */
static void time_both(struct hc_bench_run *run, const struct hc_call *call, double n)
{
    struct hc_subject sides[2] = {0};
    void (*const works[])(void *) = {on_host, on_exact};
    double seconds[2];
    if (hc_subject_open(&sides[0], hc_backend_by_name("host"), call, 1) == HC_OK &&
        hc_subject_open(&sides[1], hc_backend_by_name("exact"), call, 1) == HC_OK) {
        hc_bench_time(works, 2, sides, 5, 0.1, seconds);
        hc_bench_rate(run, &(struct hc_rate){.what = hc_formats[call->in[HC_FIRST].format].name,
                                             .rate = n / seconds[0],
                                             .unit = "elements/s",
                                             .against = "exact",
                                             .other = n / seconds[1]});
    } else {
        hc_bench_skip(run, hc_message());
    }
    hc_subject_close(&sides[0]);
    hc_subject_close(&sides[1]);
}

static void compare(struct hc_bench_run *run, hc_make_call *make)
{
    static const enum hc_format formats[] = {HC_FP32, HC_FP16};
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        struct hc_call call = make(formats[f], IMAGES);
        time_both(run, &call, (double)hc_tensor_count(&call.in[HC_FIRST]));
    }
}

static void cast(struct hc_bench_run *run)
{
    compare(run, hc_cast_call);
}

static void conv(struct hc_bench_run *run)
{
    compare(run, hc_conv_call);
}

static void filter(struct hc_bench_run *run)
{
    compare(run, hc_conv_filter_call);
}

static void norm(struct hc_bench_run *run)
{
    compare(run, hc_bn_train_call);
}

static void adam(struct hc_bench_run *run)
{
    compare(run, hc_adamw_call);
}

/* The ops of a small GPT: 16 rows of 128 tokens, width 128, 4 heads, gates of 352, 256 bytes. */

typedef struct hc_call make_call(enum hc_format format);

static void in_both(struct hc_bench_run *run, enum hc_op op, make_call *make)
{
    static const enum hc_format formats[] = {HC_FP32, HC_BF16};
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        struct hc_call call = make(formats[f]);
        call.op = op;
        hc_params_usual(op, &call.params);
        time_both(run, &call, (double)hc_tensor_count(&call.out[HC_FIRST]));
    }
}

static struct hc_call attention(enum hc_format format)
{
    struct hc_tensor x = hc_tensor3(format, HEADS, LENGTH, DEPTH, NULL);
    return (struct hc_call){.in = {x, x, x}, .out = {x, hc_tensor2(HC_FP32, HEADS, LENGTH, NULL)}};
}

static struct hc_call attention_backward(enum hc_format format)
{
    struct hc_tensor x = hc_tensor3(format, HEADS, LENGTH, DEPTH, NULL);
    return (struct hc_call){.in = {x, x, x, x, hc_tensor2(HC_FP32, HEADS, LENGTH, NULL), x},
                            .out = {x, x, x}};
}

static struct hc_call swiglu_backward(enum hc_format format)
{
    struct hc_tensor x = hc_tensor2(format, TOKENS, GATES, NULL);
    return (struct hc_call){.in = {x, x, x}, .out = {x, x}};
}

static struct hc_call embedding_backward(enum hc_format format)
{
    return (struct hc_call){
        .in = {hc_tensor2(format, TOKENS, WIDTH, NULL), hc_tensor1(HC_I32, TOKENS, NULL)},
        .out = {hc_tensor2(format, BYTES, WIDTH, NULL)}};
}

static struct hc_call rotary_halves(enum hc_format format)
{
    struct hc_tensor table = hc_tensor2(HC_FP32, LENGTH, DEPTH, NULL);
    struct hc_tensor x = hc_tensor3(format, HEADS, LENGTH, DEPTH, NULL);
    return (struct hc_call){.in = {x, table, table}, .out = {x}};
}

static void forward(struct hc_bench_run *run)
{
    in_both(run, HC_OP_attention, attention);
}

static void backward(struct hc_bench_run *run)
{
    in_both(run, HC_OP_attention_backward, attention_backward);
}

/* Of one row of text of 1024 tokens, eight heads of 64: beside PyTorch's in
   benches/pytorch/attention.py. Processor time of all threads says more than the clock of a machine
   that has other work. */
enum { LONG_HEADS = 8, LONG = 1024, LONG_DEPTH = 64, CALLS = 20 };

static void time_long(struct hc_bench_run *run, bool back)
{
    static const enum hc_format formats[] = {HC_FP32, HC_BF16};
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        struct hc_tensor x = hc_tensor3(formats[f], LONG_HEADS, LONG, LONG_DEPTH, NULL);
        struct hc_tensor lse = hc_tensor2(HC_FP32, LONG_HEADS, LONG, NULL);
        struct hc_call call = {.op = HC_OP_attention, .in = {x, x, x}, .out = {x, lse}};
        if (back)
            call = (struct hc_call){
                .op = HC_OP_attention_backward, .in = {x, x, x, x, lse, x}, .out = {x, x, x}};
        struct hc_subject host = {0};
        double least = (double)INFINITY;
        hc_params_usual(call.op, &call.params);
        enum hc_status status = hc_subject_open(&host, hc_backend_by_name("host"), &call, 1);
        for (int i = 0; status == HC_OK && i < CALLS; i++) {
            clock_t start = clock();
            status = hc_subject_run(&host);
            least = fmin(least, (double)(clock() - start) / CLOCKS_PER_SEC);
        }
        if (status == HC_OK)
            hc_bench_rate(run, &(struct hc_rate){.what = hc_formats[formats[f]].name,
                                                 .rate = 1 / least,
                                                 .unit = "calls/core-s"});
        else
            hc_bench_skip(run, hc_message());
        hc_subject_close(&host);
    }
}

static void long_forward(struct hc_bench_run *run)
{
    time_long(run, false);
}

static void long_backward(struct hc_bench_run *run)
{
    time_long(run, true);
}

static void gates(struct hc_bench_run *run)
{
    in_both(run, HC_OP_swiglu_backward, swiglu_backward);
}

static void table(struct hc_bench_run *run)
{
    in_both(run, HC_OP_embedding_backward, embedding_backward);
}

static void turn(struct hc_bench_run *run)
{
    in_both(run, HC_OP_rotary_halves, rotary_halves);
}

static const struct hc_bench benches[] = {
    {.name = "op/cast", .title = "fp32 into the format, host against exact", .run = cast},
    {.name = "op/conv2d",
     .title = "3x3 convolution of 16x16x64 images, host against exact",
     .run = conv},
    {.name = "op/conv2d_bwd_filter",
     .title = "its filters' gradient, host against exact",
     .run = filter},
    {.name = "op/bn_train",
     .title = "batch norm over batch statistics, host against exact",
     .run = norm},
    {.name = "op/adamw",
     .title = "AdamW on masters in the format, host against exact",
     .run = adam},
    {.name = "op/attention",
     .title = "causal attention, 64 heads of 128 x 32, host against exact",
     .run = forward},
    {.name = "op/attention_backward", .title = "its gradient, host against exact", .run = backward},
    {.name = "op/attention-long",
     .title = "causal attention, 8 heads of 1024 x 64, host alone",
     .run = long_forward},
    {.name = "op/attention_backward-long", .title = "its gradient", .run = long_backward},
    {.name = "op/swiglu_backward",
     .title = "swiglu's gradient, 2048 x 352, host against exact",
     .run = gates},
    {.name = "op/embedding_backward",
     .title = "the gradient of 256 rows of 128, of 2048, host against exact",
     .run = table},
    {.name = "op/rotary_halves",
     .title = "turned pairs, 64 heads of 128 x 32, host against exact",
     .run = turn},
};

const struct hc_bench_table hc_benches_ops;
const struct hc_bench_table hc_benches_ops = {benches, sizeof benches / sizeof benches[0]};
