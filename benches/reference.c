/* What the MPFR references cost, against the kernels that they check. */
#include <assert.h>

#include "bench.h"

enum { N = 4096 };

struct subject {
    const struct hc_backend *backend;
    struct hc_queue *queue;
    struct hc_call call;
};

static void kernel(void *context)
{
    const struct subject *s = context;
    enum hc_status status = s->backend->kernel[s->call.op](s->queue, &s->call);
    assert(status == HC_OK);
    (void)status;
}

static void reference(void *context)
{
    const struct subject *s = context;
    for (int64_t i = 0; i < N; i++)
        (void)hc_reference_value(&s->call, 0, i);
}

static void add_in_half(struct hc_bench_run *run)
{
    static uint16_t data[3][N];
    struct subject s = {.backend = hc_backend_by_name("exact"), .call = {.op = HC_OP_add}};
    s.call.in[HC_X] = hc_tensor1(HC_FP16, N, data[0]);
    s.call.in[HC_Y] = hc_tensor1(HC_FP16, N, data[1]);
    s.call.out[HC_OUT] = hc_tensor1(HC_FP16, N, data[2]);
    for (uint64_t i = 0; i < N; i++) {
        hc_tensor_set(&s.call.in[HC_X], (int64_t)i, hc_random_uniform(1, 0, i));
        hc_tensor_set(&s.call.in[HC_Y], (int64_t)i, hc_random_uniform(1, 1, i));
    }
    if (hc_backend_open(s.backend, &s.queue, 1) != HC_OK) {
        hc_bench_skip(run, hc_message());
        return;
    }
    double seconds[2];
    void (*const works[])(void *) = {reference, kernel};
    hc_bench_time(works, 2, &s, 3, 0.05, seconds);
    s.backend->close(s.queue);
    hc_bench_rate(run, &(struct hc_rate){.what = "add fp16",
                                         .rate = N / seconds[0],
                                         .unit = "elements/s",
                                         .against = "exact backend",
                                         .other = N / seconds[1]});
}

static const struct hc_bench benches[] = {
    {.name = "reference/add-fp16",
     .title = "one MPFR reference element against one element on exact",
     .run = add_in_half},
};

const struct hc_bench_table hc_benches_reference;
const struct hc_bench_table hc_benches_reference = {benches, 1};
