/* The ops of a training step on host, against exact. */
#include <assert.h>
#include <stddef.h>

#include "bench.h"
#include "benches/inner/calls.h"
#include "benches/inner/subject.h"

enum { IMAGES = 8 };

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

static void compare(struct hc_bench_run *run, hc_make_call *make)
{
    static const enum hc_format formats[] = {HC_FP32, HC_FP16};
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        struct hc_call call = make(formats[f], IMAGES);
        struct hc_subject sides[2] = {0};
        void (*const works[])(void *) = {on_host, on_exact};
        double seconds[2];
        double n = (double)hc_tensor_count(&call.in[HC_FIRST]);
        if (hc_subject_open(&sides[0], hc_backend_by_name("host"), &call, 1) == HC_OK &&
            hc_subject_open(&sides[1], hc_backend_by_name("exact"), &call, 1) == HC_OK) {
            hc_bench_time(works, 2, sides, 5, 0.1, seconds);
            hc_bench_rate(run, &(struct hc_rate){.what = hc_formats[formats[f]].name,
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
};

const struct hc_bench_table hc_benches_ops;
const struct hc_bench_table hc_benches_ops = {benches, sizeof benches / sizeof benches[0]};
