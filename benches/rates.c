/* The rates of a backend's ops against the best that the device does, measured in turns: bytes
   moved against a copy, operations against a large matrix product in the same format. */
#include <stdio.h>

#include "bench.h"
#include "benches/inner/calls.h"
#include "benches/inner/subject.h"

enum { MOST_FORMATS = 4 };

/* An op in some formats. */
struct row {
    hc_make_call *make;
    enum hc_format formats[MOST_FORMATS];
    int count;
};

/* A set of ops that are compared with `yardstick`, by the work that `amount` counts. */
struct sheet {
    const struct row *rows;
    int count;
    hc_make_call *yardstick;
    double (*amount)(const struct hc_call *call);
    const char *unit;
    const char *against;
};

/* The size of the calls: large enough to fill a device and to exceed its cache, small enough for
   the other backends to be done in a second. */
struct size {
    int64_t elements; /* images of sheets that move bytes */
    int64_t products; /* images of sheets that multiply */
    int times;
};

static struct size size_of(const struct hc_backend *backend)
{
    if (backend->on_request)
        return (struct size){1, 2, 1};
    return backend->host_memory ? (struct size){64, 128, 1} : (struct size){4096, 1024, 10};
}

struct pair {
    struct hc_subject op;
    struct hc_subject yardstick;
    enum hc_status status; /* the first that was not HC_OK */
};

static void note(struct pair *pair, enum hc_status status)
{
    if (pair->status == HC_OK)
        pair->status = status;
}

static void run_op(void *context)
{
    struct pair *pair = context;
    note(pair, hc_subject_run(&pair->op));
}

static void run_yardstick(void *context)
{
    struct pair *pair = context;
    note(pair, hc_subject_run(&pair->yardstick));
}

static void measure(struct hc_bench_run *run, const struct sheet *sheet, const struct row *row,
                    enum hc_format format)
{
    const struct hc_backend *backend = hc_bench_backend(run);
    struct size size = size_of(backend);
    int64_t n = sheet->amount == hc_call_bytes ? size.elements : size.products;
    struct hc_call call = row->make(format, n);
    struct hc_call best = sheet->yardstick(format, n);
    struct pair pair = {.status = HC_OK};
    void (*const works[])(void *) = {run_op, run_yardstick};
    double seconds[2];
    char what[64];
    (void)snprintf(what, sizeof what, "%s %s", hc_ops[call.op].name, hc_formats[format].name);
    note(&pair, hc_subject_open(&pair.op, backend, &call, size.times));
    if (pair.status == HC_OK)
        note(&pair, hc_subject_open(&pair.yardstick, backend, &best, size.times));
    if (pair.status == HC_OK)
        hc_bench_time(works, 2, &pair, 3, 0.05, seconds);
    if (pair.status == HC_OK)
        hc_bench_rate(run,
                      &(struct hc_rate){.what = what,
                                        .rate = size.times * sheet->amount(&call) / seconds[0],
                                        .unit = sheet->unit,
                                        .against = sheet->against,
                                        .other = size.times * sheet->amount(&best) / seconds[1]});
    else
        hc_bench_skip(run, hc_message());
    hc_subject_close(&pair.op);
    hc_subject_close(&pair.yardstick);
}

static void measure_all(struct hc_bench_run *run, const struct sheet *sheet)
{
    for (int r = 0; r < sheet->count; r++)
        for (int f = 0; f < sheet->rows[r].count; f++)
            measure(run, sheet, &sheet->rows[r], sheet->rows[r].formats[f]);
}

static void bytes(struct hc_bench_run *run)
{
    static const struct row rows[] = {
        {hc_cast_call, {HC_FP16, HC_BF16}, 2},
        {hc_unscale_call, {HC_FP16}, 1},
        {hc_sum_call, {HC_FP32, HC_FP16}, 2},
        {hc_leaky_call, {HC_FP32, HC_FP16}, 2},
        {hc_leaky_bwd_call, {HC_FP32, HC_FP16}, 2},
        {hc_bn_infer_call, {HC_FP32, HC_FP16}, 2},
        {hc_bn_train_call, {HC_FP32, HC_FP16}, 2},
        {hc_bn_bwd_call, {HC_FP32, HC_FP16}, 2},
        {hc_bn_leaky_train_call, {HC_FP32, HC_FP16}, 2},
        {hc_bn_leaky_bwd_call, {HC_FP32, HC_FP16}, 2},
        {hc_sgd_call, {HC_FP32, HC_FP16}, 2},
        {hc_adamw_call, {HC_FP32, HC_FP16}, 2},
    };
    measure_all(run, &(struct sheet){rows, sizeof rows / sizeof rows[0], hc_copy_call,
                                     hc_call_bytes, "bytes/s", "a copy"});
}

static void operations(struct hc_bench_run *run)
{
    static const struct row rows[] = {
        {hc_conv_call, {HC_FP32, HC_TF32, HC_FP16, HC_BF16}, 4},
        {hc_conv_data_call, {HC_FP32, HC_TF32, HC_FP16, HC_BF16}, 4},
        {hc_conv_filter_call, {HC_FP32, HC_TF32, HC_FP16, HC_BF16}, 4},
    };
    measure_all(run, &(struct sheet){rows, sizeof rows / sizeof rows[0], hc_gemm_call,
                                     hc_call_operations, "FLOP/s", "gemm"});
}

static const struct hc_bench benches[] = {
    {.name = "rate/bytes",
     .title = "what ops move, each tensor counted once, against a copy on the same device",
     .run = bytes,
     .on_any = true},
    {.name = "rate/operations",
     .title = "what 3x3 convolutions of 16x16x64 images reach, against a large gemm in the same "
              "format on the same device",
     .run = operations,
     .on_any = true},
};

const struct hc_bench_table hc_benches_rates;
const struct hc_bench_table hc_benches_rates = {benches, sizeof benches / sizeof benches[0]};
