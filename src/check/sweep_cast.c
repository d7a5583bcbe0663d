/* The sweep over the conversions from fp32. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check/do.h"
#include "check/lanes.h"
#include "check/steps.h"
#include "check/sweep.h"
#include "num/bits.h"
#include "num/rng.h"

enum {
    BLOCK = 16384,
    STANDARD_BLOCKS = 64,
    RUN_INPUTS = 3, /* first, middle and last */
};

#define ALL_BLOCKS ((int64_t)1 << 18)

/* The two staircases of one direction, and where the inputs come from. */
struct cast {
    enum hc_format to;
    enum hc_direction direction;
    struct hc_steps steps[2];
    int64_t blocks; /* ALL_BLOCKS, or as many seeded ones */
    uint64_t seed;
};

/* One lane's memory. */
struct lane {
    float in[BLOCK];
    uint16_t out[BLOCK];
};

static enum hc_status convert(const struct hc_check *check, struct hc_queue *queue,
                              const struct cast *cast, struct lane *lane, int64_t n)
{
    struct hc_call call = {.op = HC_OP_cast, .params.cast.direction = cast->direction};
    call.in[0] = hc_tensor1(HC_FP32, n, lane->in);
    call.out[0] = hc_tensor1(cast->to, n, lane->out);
    return hc_run_call(hc_check_backend(check), queue, &call);
}

static bool is_nan(const struct cast *cast, uint16_t code)
{
    return (code & 0x7fffu) > cast->steps[0].infinity;
}

/* n neighbours that must all give `want`: equal to it, each to the next. */
static bool all_equal(const uint16_t *got, uint32_t n, uint16_t want)
{
    return got[0] == want && memcmp(got, got + 1, (n - 1) * sizeof *got) == 0;
}

/* A block of neighbouring patterns from `start`, all of one sign, run by run. */
static void compare_block(const struct cast *cast, uint32_t start, const uint16_t *got,
                          struct hc_miss *miss)
{
    const struct hc_steps *steps = &cast->steps[start >> 31];
    uint32_t sign = start & 0x80000000u;
    uint32_t magnitude = start & 0x7fffffffu;
    uint32_t end = magnitude + BLOCK;
    uint32_t limit = steps->first[steps->infinity + 1];
    uint32_t code = magnitude < limit ? hc_steps_code(steps, magnitude) : 0;
    while (magnitude < end && magnitude < limit) {
        uint32_t next = steps->first[code + 1] < end ? steps->first[code + 1] : end;
        uint16_t want = (uint16_t)(sign >> 16 | code);
        const uint16_t *run = got + (magnitude & (BLOCK - 1));
        if (!all_equal(run, next - magnitude, want))
            for (uint32_t i = 0; i < next - magnitude; i++)
                if (run[i] != want)
                    hc_miss_note(miss, sign | (magnitude + i), want, run[i]);
        magnitude = next;
        code++;
    }
    for (; magnitude < end; magnitude++)
        if (!is_nan(cast, got[magnitude & (BLOCK - 1)]))
            hc_miss_note(miss, sign | magnitude, steps->infinity + 1u,
                         got[magnitude & (BLOCK - 1)]);
}

static enum hc_status block(struct hc_check *check, struct hc_queue *queue, int64_t unit,
                            void *memory, struct hc_miss *miss, const void *context)
{
    const struct cast *cast = context;
    struct lane *lane = memory;
    if (cast->blocks < ALL_BLOCKS)
        unit = (int64_t)(hc_random(cast->seed, 0, (uint64_t)unit) % (uint64_t)ALL_BLOCKS);
    uint32_t start = (uint32_t)unit * BLOCK;
    for (uint32_t i = 0; i < BLOCK; i++) {
        uint32_t bits = start + i;
        memcpy(&lane->in[i], &bits, sizeof bits);
    }
    enum hc_status status = convert(check, queue, cast, lane, BLOCK);
    if (status != HC_OK)
        return status;
    compare_block(cast, start, lane->out, miss);
    miss->checked += BLOCK;
    return HC_OK;
}

/* Converts the inputs gathered so far and compares them with their codes. */
static enum hc_status flush(struct hc_check *check, const struct cast *cast, struct lane *lane,
                            const uint16_t *want, uint32_t n, struct hc_miss *miss)
{
    enum hc_status status = convert(check, hc_check_queue(check), cast, lane, n);
    for (uint32_t i = 0; i < n && status == HC_OK; i++)
        if (is_nan(cast, want[i]) ? !is_nan(cast, lane->out[i]) : lane->out[i] != want[i])
            hc_miss_note(miss, hc_fp32_bits(lane->in[i]), want[i], lane->out[i]);
    miss->checked += n;
    return status;
}

/* Both ends and the middle of every run: where a conversion that is wrong by a tie, a threshold, a
   direction or a lost bit gives itself away. */
static enum hc_status runs(struct hc_check *check, const struct cast *cast, struct hc_miss *miss)
{
    struct lane *lane = hc_check_memory(check, sizeof *lane);
    uint16_t *want = hc_check_memory(check, BLOCK * sizeof *want);
    enum hc_status status = HC_OK;
    uint32_t n = 0;
    for (uint32_t sign = 0; sign < 2; sign++) {
        const struct hc_steps *steps = &cast->steps[sign];
        for (uint32_t c = 0; c <= steps->infinity && status == HC_OK; c++) {
            uint32_t first = steps->first[c];
            uint32_t last = steps->first[c + 1] - 1;
            const uint32_t inputs[RUN_INPUTS] = {first, first + (last - first) / 2, last};
            for (int i = 0; i < RUN_INPUTS; i++, n++) {
                lane->in[n] = hc_fp32_value(sign << 31 | inputs[i]);
                want[n] = (uint16_t)(sign << 15 | c);
            }
            if (n > BLOCK - RUN_INPUTS) {
                status = flush(check, cast, lane, want, n, miss);
                n = 0;
            }
        }
    }
    return status == HC_OK ? flush(check, cast, lane, want, n, miss) : status;
}

/* A payload with one bit set, at every place: a NaN whose top bits are 0 must not turn infinite. */
static enum hc_status nans(struct hc_check *check, const struct cast *cast, struct hc_miss *miss)
{
    struct lane *lane = hc_check_memory(check, sizeof *lane);
    uint16_t *want = hc_check_memory(check, BLOCK * sizeof *want);
    uint32_t n = 0;
    for (uint32_t sign = 0; sign < 2; sign++)
        for (uint32_t bit = 0; bit < 23; bit++, n++) {
            uint32_t bits = sign << 31 | 0x7f800000u | 1u << bit;
            memcpy(&lane->in[n], &bits, sizeof bits);
            want[n] = (uint16_t)(sign << 15 | (cast->steps[0].infinity + 1u));
        }
    return flush(check, cast, lane, want, n, miss);
}

void hc_sweep_from_fp32(struct hc_check *check, enum hc_format to, enum hc_direction direction)
{
    struct cast *cast = hc_check_memory(check, sizeof *cast);
    *cast = (struct cast){.to = to, .direction = direction, .seed = hc_check_seed(check)};
    for (int negative = 0; negative < 2; negative++)
        hc_steps_build(&cast->steps[negative], to, direction, negative);
    static const int64_t blocks[] = {0, STANDARD_BLOCKS, ALL_BLOCKS};
    cast->blocks = blocks[hc_check_level(check)];

    struct hc_miss miss = {0};
    if (!hc_check_ok(check, runs(check, cast, &miss)) ||
        !hc_check_ok(check, nans(check, cast, &miss)) ||
        !hc_lanes_run(check, cast->blocks, sizeof(struct lane), block, cast, &miss))
        return;
    char first[128] = "";
    if (miss.wrong)
        (void)snprintf(
            first, sizeof first, "%a (0x%08" PRIx64 "): want 0x%04" PRIx64 ", got 0x%04" PRIx64,
            (double)hc_fp32_value((uint32_t)miss.where), miss.where, miss.want, miss.got);
    hc_claim_sweep(check, miss.checked, miss.wrong, miss.wrong ? first : NULL);
}
