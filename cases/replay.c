#include "cases/replay.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Where the steps of a replay lie in the backend's memory: what step i leaves is what step i + 1 finds. */
struct tape {
    struct hc_device device;
    float *scale;    /* [steps + 1] */
    int32_t *counts; /* [steps + 1, HC_COUNTS] */
    float *found;    /* [steps] */
};

struct hc_scaler_memory hc_scaler_fresh(enum hc_scaler_rule rule)
{
    return (struct hc_scaler_memory){.scale = hc_scalers[rule].initial};
}

static enum hc_status begin(struct tape *tape, struct hc_check *check,
                            const struct hc_scaler_memory *start, const unsigned char *found,
                            int64_t steps)
{
    const struct hc_backend *backend = tape->device.backend;
    struct hc_queue *queue = tape->device.queue;
    size_t n = (size_t)steps + 1;
    float *flags = hc_check_memory(check, n * sizeof *flags);
    for (int64_t i = 0; i < steps; i++)
        flags[i] = found[i] ? 1 : 0;
    tape->scale = hc_device_memory(&tape->device, n * sizeof *tape->scale);
    tape->counts = hc_device_memory(&tape->device, n * sizeof start->counts);
    tape->found = hc_device_memory(&tape->device, n * sizeof *tape->found);
    if (!tape->scale || !tape->counts || !tape->found)
        return HC_NO_MEMORY;
    enum hc_status status = backend->upload(queue, tape->scale, &start->scale, sizeof start->scale);
    if (status == HC_OK)
        status = backend->upload(queue, tape->counts, start->counts, sizeof start->counts);
    if (status == HC_OK)
        status = backend->upload(queue, tape->found, flags, n * sizeof *flags);
    return status;
}

static enum hc_status step(struct tape *tape, const struct hc_scaler_update *rule, int64_t i)
{
    int32_t *counts = tape->counts + i * HC_COUNTS;
    struct hc_call call = {.op = HC_OP_scaler_update,
                           .in = {hc_tensor1(HC_FP32, 1, tape->scale + i),
                                  hc_tensor1(HC_I32, HC_COUNTS, counts),
                                  hc_tensor1(HC_FP32, 1, tape->found + i)},
                           .out = {hc_tensor1(HC_FP32, 1, tape->scale + i + 1),
                                   hc_tensor1(HC_I32, HC_COUNTS, counts + HC_COUNTS)},
                           .params.scaler = *rule};
    return hc_device_run(&tape->device, &call);
}

static enum hc_status end(struct tape *tape, struct hc_check *check, int64_t steps,
                          struct hc_scaler_memory *after)
{
    const struct hc_backend *backend = tape->device.backend;
    struct hc_queue *queue = tape->device.queue;
    size_t n = (size_t)steps;
    float *scale = hc_check_memory(check, (n + 1) * sizeof *scale);
    int32_t *counts = hc_check_memory(check, (n + 1) * sizeof after->counts);
    enum hc_status status = backend->download(queue, scale, tape->scale + 1, n * sizeof *scale);
    if (status == HC_OK)
        status =
            backend->download(queue, counts, tape->counts + HC_COUNTS, n * sizeof after->counts);
    for (size_t i = 0; i < n && status == HC_OK; i++) {
        after[i].scale = scale[i];
        memcpy(after[i].counts, counts + i * HC_COUNTS, sizeof after->counts);
    }
    return status;
}

enum hc_status hc_replay(struct hc_check *check, const struct hc_scaler_update *rule,
                         const struct hc_scaler_memory *start, const unsigned char *found,
                         int64_t steps, struct hc_scaler_memory *after)
{
    struct tape tape = {
        .device = {.backend = hc_check_backend(check), .queue = hc_check_queue(check)}};
    enum hc_status status = begin(&tape, check, start, found, steps);
    for (int64_t i = 0; i < steps && status == HC_OK; i++)
        status = step(&tape, rule, i);
    if (status == HC_OK)
        status = end(&tape, check, steps, after);
    void *const memory[] = {tape.scale, tape.counts, tape.found};
    for (int i = 0; i < 3; i++)
        if (memory[i])
            tape.device.backend->release(tape.device.queue, memory[i]);
    hc_device_end(&tape.device);
    (void)hc_check_ok(check, status);
    return status;
}

/* The step and what it should have been, for a claim's note. */
static void describe(char *text, size_t size, const char *what, int64_t step, double want,
                     double got)
{
    (void)snprintf(text, size, "%s, after step %lld: want 2^%g, got %s%g", what, (long long)step,
                   log2(want), got > 0 && !isinf(got) ? "2^" : "",
                   got > 0 && !isinf(got) ? log2(got) : got);
}

/* A step that raises by its scale alone, `stuck`, is no step either. */
static void claim_counts(struct hc_check *check, enum hc_scaler_rule rule,
                         const struct hc_scaler_memory *last, int64_t steps, int64_t found,
                         bool stuck)
{
    int64_t skipped = hc_scalers[rule].on_found == HC_FOUND_SKIPS ? found + stuck : 0;
    hc_claim_value(check, "steps", (double)steps, last->counts[HC_COUNT_STEPS]);
    hc_claim_value(check, "found", (double)found, last->counts[HC_COUNT_FOUND]);
    hc_claim_value(check, "skipped", (double)skipped, last->counts[HC_COUNT_SKIPPED]);
    hc_claim_value(check, "taken", (double)(steps - skipped), last->counts[HC_COUNT_TAKEN]);
}

void hc_replay_claim(struct hc_check *check, const char *what, enum hc_scaler_rule rule,
                     int64_t interval, const unsigned char *found, int64_t steps)
{
    struct hc_scaler own = {.rule = rule, .interval = (int32_t)interval};
    struct hc_scaler_update params = hc_scaler_params(&own);
    struct hc_scaler_memory start = hc_scaler_fresh(rule);
    struct hc_scaler_memory *after = hc_check_memory(check, (size_t)steps * sizeof *after);
    struct hc_oracle oracle = hc_oracle_start(rule, HC_HELD_SINGLE, HC_LOG2_ZERO, interval);
    char first[160] = "";
    int64_t wrong = 0;
    int64_t overflows = 0;
    int64_t i = 0;
    if (hc_replay(check, &params, &start, found, steps, after) != HC_OK)
        return;
    for (; i < steps && !oracle.gave_up; i++) {
        (void)hc_oracle_step(&oracle, found[i] != 0);
        double want = hc_oracle_scale(&oracle);
        double got = (double)after[i].scale;
        overflows += found[i] != 0;
        if (want != got && wrong++ == 0)
            describe(first, sizeof first, what, i + 1, want, got);
    }
    hc_claim_sweep(check, i, wrong, wrong ? first : NULL);
    hc_claim_value(check, "gave up", oracle.gave_up, after[i - 1].counts[HC_COUNT_GAVE_UP]);
    claim_counts(check, rule, &after[i - 1], i, overflows, oracle.gave_up && !found[i - 1]);
    hc_say(check, "%-28s %6lld steps, %5lld overflows: 2^%g%s", what, (long long)i,
           (long long)overflows, log2((double)after[i - 1].scale),
           oracle.gave_up ? ", and gives up" : "");
}
