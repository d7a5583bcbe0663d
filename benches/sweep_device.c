/* The exhaustive sweeps on a device, in inputs a second. The goal is that each takes under a
   second. */
#include <stdio.h>

#include "bench.h"
#include "check/sweep/sweep.h"
#include "check/check_inner.h"

struct subject {
    struct hc_check check;
    enum hc_op op;
};

static void conversions(void *context)
{
    struct subject *s = context;
    for (int d = 0; d < HC_DIRECTION_COUNT; d++)
        hc_sweep_from_fp32(&s->check, HC_FP16, (enum hc_direction)d);
    hc_check_end(&s->check);
}

static void pairs(void *context)
{
    struct subject *s = context;
    hc_sweep_pairs(&s->check, s->op, HC_FP16);
    hc_check_end(&s->check);
}

/* Each has a queue of its own, so that none uses what another has computed. */
static void measure(struct hc_bench_run *run, const char *what, enum hc_op op,
                    void (*work)(void *context), double inputs)
{
    const struct hc_backend *backend = hc_bench_backend(run);
    struct subject s = {.op = op};
    double seconds;
    s.check.backend = backend;
    s.check.exact = hc_backend_by_name("exact");
    s.check.level = HC_EXHAUSTIVE;
    if (hc_backend_open(backend, &s.check.queue, 0) != HC_OK) {
        hc_bench_skip(run, hc_message());
        return;
    }
    hc_bench_time(&work, 1, &s, 1, 0, &seconds);
    if (s.check.result.verdict == HC_PASS)
        hc_bench_rate(
            run, &(struct hc_rate){.what = what, .rate = inputs / seconds, .unit = "inputs/s"});
    else
        hc_bench_skip(run, s.check.result.note);
    backend->close(s.check.queue);
}

static void sweeps(struct hc_bench_run *run)
{
    static const enum hc_op ops[] = {HC_OP_add, HC_OP_mul, HC_OP_div};
    const struct hc_backend *backend = hc_bench_backend(run);
    if (backend->host_memory || backend->on_request) {
        hc_bench_skip(run, "for devices");
        return;
    }
    measure(run, "fp32 to fp16, 4 directions", HC_OP_cast, conversions, 0x1p34);
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        measure(run, hc_ops[ops[i]].name, ops[i], pairs, 0x1p32);
}

static const struct hc_bench benches[] = {
    {.name = "sweep/device",
     .title = "all conversions of fp32 into fp16, all pairs of an operation, checked on the device",
     .run = sweeps,
     .on_any = true},
};

const struct hc_bench_table hc_benches_sweep_device;
const struct hc_bench_table hc_benches_sweep_device = {benches, 1};
