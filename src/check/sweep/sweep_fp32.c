#include "check/sweep/sweep_fp32.h"

#include <inttypes.h>
#include <string.h>

#include "check/sweep/strays.h"
#include "num/bits.h"
#include "num/rng.h"
#include "op/digest.h"

#define ALL_UNITS (((int64_t)1 << 32) / HC_FP32_UNIT_INPUTS)

/* The memory of one thread. A result has at most two bytes. */
struct buffers {
    float in[HC_FP32_BLOCK];
    uint16_t out[HC_FP32_BLOCK];
};

static struct hc_call call_of(const struct hc_fp32_sweep *sweep, float *in, uint16_t *out,
                              int64_t n)
{
    struct hc_call call = sweep->call;
    call.in[HC_X] = hc_tensor1(HC_FP32, n, in);
    call.out[HC_OUT] = hc_tensor1(call.out[HC_OUT].format, n, out);
    return call;
}

struct hc_fp32_sweep hc_fp32_sweep_of(struct hc_check *check, const struct hc_call *cast,
                                      const struct hc_expected_runs *expected)
{
    static const int64_t units[] = {0, HC_FP32_MAX_UNITS, ALL_UNITS};
    struct hc_fp32_sweep sweep = {.call = *cast,
                                  .expected = *expected,
                                  .units = units[hc_check_level(check)],
                                  .seed = hc_check_seed(check)};
    struct hc_call bare = call_of(&sweep, NULL, NULL, HC_FP32_BLOCK);
    sweep.digest = hc_sweep_digest(check, &bare);
    return sweep;
}

bool hc_fp32_sweep_is_whole(const struct hc_fp32_sweep *sweep)
{
    return sweep->units == ALL_UNITS;
}

uint32_t hc_fp32_sweep_start(const struct hc_fp32_sweep *sweep, int64_t unit)
{
    if (!hc_fp32_sweep_is_whole(sweep))
        unit = (int64_t)(hc_random(sweep->seed, 0, (uint64_t)unit) % (uint64_t)ALL_UNITS);
    return (uint32_t)unit * HC_FP32_UNIT_INPUTS;
}

enum hc_status hc_fp32_sweep_some(struct hc_check *check, const struct hc_fp32_sweep *sweep,
                                  const uint32_t *inputs, uint32_t n, struct hc_miss *miss)
{
    const struct hc_expected_runs *e = &sweep->expected;
    struct buffers *buffers = hc_check_memory(check, sizeof *buffers);
    struct hc_call call = call_of(sweep, buffers->in, buffers->out, n);
    size_t bytes = (size_t)hc_formats[call.out[HC_OUT].format].bytes;
    memcpy(buffers->in, inputs, n * sizeof *inputs);
    uint64_t digest = hc_digest_inputs(&call);
    enum hc_status status = hc_sweep_call(check, hc_check_queue(check), &call);
    if (status == HC_OK)
        miss->digest += hc_digest_outputs(digest, &call);
    for (uint32_t i = 0; i < n && status == HC_OK; i++)
        (void)e->compare(e->context, inputs[i], e->run_of(e->context, inputs[i]),
                         (const char *)buffers->out + i * bytes, 1, miss);
    miss->checked += n;
    return status;
}

static enum hc_status unit(struct hc_check *check, struct hc_queue *queue, int64_t at, void *memory,
                           struct hc_miss *miss, const void *context)
{
    const struct hc_fp32_sweep *sweep = context;
    const struct hc_expected_runs *e = &sweep->expected;
    struct buffers *buffers = memory;
    uint32_t start = hc_fp32_sweep_start(sweep, at);
    int run = e->run_of(e->context, start);
    struct hc_call call = call_of(sweep, buffers->in, buffers->out, HC_FP32_BLOCK);
    for (int b = 0; b < HC_FP32_UNIT; b++, start += HC_FP32_BLOCK) {
        int64_t wrong = miss->wrong;
        hc_count_up((uint32_t *)(void *)buffers->in, start, HC_FP32_BLOCK);
        enum hc_status status = hc_sweep_call(check, queue, &call);
        if (status != HC_OK)
            return status;
        run = e->compare(e->context, start, run, buffers->out, HC_FP32_BLOCK, miss);
        hc_miss_digest(miss, sweep->digest, start, miss->wrong - wrong, &call);
    }
    miss->checked += HC_FP32_UNIT_INPUTS;
    return HC_OK;
}

bool hc_fp32_sweep_units(struct hc_check *check, const struct hc_fp32_sweep *sweep,
                         struct hc_miss *miss)
{
    return hc_sweep_run(check, sweep->units, sizeof(struct buffers), unit, sweep, miss);
}

void hc_fp32_sweep_claim(struct hc_check *check, const struct hc_fp32_sweep *sweep,
                         const struct hc_miss *miss)
{
    int digits = 2 * hc_formats[sweep->call.out[HC_OUT].format].bytes;
    hc_miss_claim(check, miss, "%a (0x%08" PRIx64 "): want 0x%0*" PRIx64 ", got 0x%0*" PRIx64,
                  (double)hc_fp32_value((uint32_t)miss->where), miss->where, digits, miss->want,
                  digits, miss->got);
}
