/* The sweep over the conversions from fp32. */
#include <inttypes.h>
#include <string.h>

#include "check/sweep/threads.h"
#include "check/sweep/breakpoints.h"
#include "check/sweep/strays.h"
#include "check/sweep/sweep.h"
#include "check/sweep/sweep_judged.h"
#include "num/bits.h"
#include "num/rng.h"
#include "op/digest.h"

enum {
    BLOCK = 4096, /* inputs and results stay in the first-level cache */
    UNIT = 16,    /* blocks */
    STANDARD_UNITS = 16,
    RUN_INPUTS = 3, /* first, middle and last */
};

#define ALL_UNITS (((int64_t)1 << 32) / (BLOCK * UNIT))

/* The breakpoints of one direction for both signs, and where the inputs come from. */
struct cast {
    enum hc_format to;
    enum hc_direction direction;
    struct hc_breakpoints breakpoints[2];
    int64_t units; /* ALL_UNITS, or as many seeded ones */
    uint64_t seed;
    uint64_t digest; /* of the sweep (hc_sweep_digest) */
};

/* The memory of one thread. */
struct buffers {
    float in[BLOCK];
    uint16_t out[BLOCK];
};

static struct hc_call call_of(const struct cast *cast, struct buffers *buffers, int64_t n)
{
    struct hc_call call = {.op = HC_OP_cast, .params.cast.direction = cast->direction};
    call.in[HC_X] = hc_tensor1(HC_FP32, n, buffers->in);
    call.out[HC_OUT] = hc_tensor1(cast->to, n, buffers->out);
    return call;
}

static bool is_nan(const struct cast *cast, uint16_t code)
{
    return (code & 0x7fffu) > cast->breakpoints[0].infinity;
}

/* Compares a block of neighbouring patterns from `start`, all of one sign, run by run. `code` is
   the code of the first; returns the code of the last. */
static uint32_t compare_block(const struct cast *cast, uint32_t start, uint32_t code,
                              const uint16_t *got, struct hc_miss *miss)
{
    const struct hc_breakpoints *breakpoints = &cast->breakpoints[start >> 31];
    uint32_t sign = start & 0x80000000u;
    uint32_t magnitude = start & 0x7fffffffu;
    uint32_t end = magnitude + BLOCK;
    while (magnitude < end && code <= breakpoints->infinity) {
        uint32_t next = breakpoints->first[code + 1];
        uint32_t stop = next < end ? next : end;
        uint16_t want = (uint16_t)(sign >> 16 | code);
        const uint16_t *run = got + magnitude % BLOCK;
        if (hc_strays(want, run, stop - magnitude))
            for (uint32_t i = 0; i < stop - magnitude; i++)
                if (run[i] != want)
                    hc_miss_note(miss, sign | (magnitude + i), want, run[i]);
        magnitude = stop;
        code += stop == next;
    }
    for (; magnitude < end; magnitude++)
        if (!is_nan(cast, got[magnitude % BLOCK]))
            hc_miss_note(miss, sign | magnitude, code, got[magnitude % BLOCK]);
    return code;
}

static uint32_t start_of(const struct cast *cast, int64_t unit)
{
    if (cast->units < ALL_UNITS)
        unit = (int64_t)(hc_random(cast->seed, 0, (uint64_t)unit) % (uint64_t)ALL_UNITS);
    return (uint32_t)unit * BLOCK * UNIT;
}

static enum hc_status unit(struct hc_check *check, struct hc_queue *queue, int64_t at, void *memory,
                           struct hc_miss *miss, const void *context)
{
    const struct cast *cast = context;
    struct buffers *buffers = memory;
    uint32_t start = start_of(cast, at);
    uint32_t code = hc_breakpoints_code(&cast->breakpoints[start >> 31], start & 0x7fffffffu);
    struct hc_call call = call_of(cast, buffers, BLOCK);
    for (int b = 0; b < UNIT; b++, start += BLOCK) {
        int64_t wrong = miss->wrong;
        hc_count_up((uint32_t *)(void *)buffers->in, start, BLOCK);
        enum hc_status status = hc_sweep_call(check, queue, &call);
        if (status != HC_OK)
            return status;
        code = compare_block(cast, start, code, buffers->out, miss);
        hc_miss_digest(miss, cast->digest, start, miss->wrong - wrong, &call);
    }
    miss->checked += (int64_t)BLOCK * UNIT;
    return HC_OK;
}

/* Converts the inputs gathered so far and compares them with their codes. */
static enum hc_status flush(struct hc_check *check, const struct cast *cast,
                            struct buffers *buffers, const uint16_t *want, uint32_t n,
                            struct hc_miss *miss)
{
    struct hc_call call = call_of(cast, buffers, n);
    uint64_t digest = hc_digest_inputs(&call);
    enum hc_status status = hc_sweep_call(check, hc_check_queue(check), &call);
    if (status == HC_OK)
        miss->digest += hc_digest_outputs(digest, &call);
    for (uint32_t i = 0; i < n && status == HC_OK; i++)
        if (is_nan(cast, want[i]) ? !is_nan(cast, buffers->out[i]) : buffers->out[i] != want[i])
            hc_miss_note(miss, hc_fp32_bits(buffers->in[i]), want[i], buffers->out[i]);
    miss->checked += n;
    return status;
}

/* Both ends and the middle of every run: a conversion with a wrong tie, threshold or direction, or
   with a lost bit, is wrong at one of them. */
static enum hc_status runs(struct hc_check *check, const struct cast *cast, struct hc_miss *miss)
{
    struct buffers *buffers = hc_check_memory(check, sizeof *buffers);
    uint16_t *want = hc_check_memory(check, BLOCK * sizeof *want);
    enum hc_status status = HC_OK;
    uint32_t n = 0;
    for (uint32_t sign = 0; sign < 2; sign++) {
        const struct hc_breakpoints *breakpoints = &cast->breakpoints[sign];
        for (uint32_t c = 0; c <= breakpoints->infinity && status == HC_OK; c++) {
            uint32_t first = breakpoints->first[c];
            uint32_t last = breakpoints->first[c + 1] - 1;
            const uint32_t inputs[RUN_INPUTS] = {first, first + (last - first) / 2, last};
            for (int i = 0; i < RUN_INPUTS; i++, n++) {
                buffers->in[n] = hc_fp32_value(sign << 31 | inputs[i]);
                want[n] = (uint16_t)(sign << 15 | c);
            }
            if (n > BLOCK - RUN_INPUTS) {
                status = flush(check, cast, buffers, want, n, miss);
                n = 0;
            }
        }
    }
    return status == HC_OK ? flush(check, cast, buffers, want, n, miss) : status;
}

/* A payload with one bit set, at every place: a NaN whose top bits are 0 must not turn infinite. */
static enum hc_status nans(struct hc_check *check, const struct cast *cast, struct hc_miss *miss)
{
    struct buffers *buffers = hc_check_memory(check, sizeof *buffers);
    uint16_t *want = hc_check_memory(check, BLOCK * sizeof *want);
    uint32_t n = 0;
    for (uint32_t sign = 0; sign < 2; sign++)
        for (uint32_t bit = 0; bit < 23; bit++, n++) {
            uint32_t bits = sign << 31 | 0x7f800000u | 1u << bit;
            memcpy(&buffers->in[n], &bits, sizeof bits);
            want[n] = (uint16_t)(sign << 15 | (cast->breakpoints[0].infinity + 1u));
        }
    return flush(check, cast, buffers, want, n, miss);
}

/* The units; on a backend that judges results, where they lie. */
static bool blocks(struct hc_check *check, const struct cast *cast, struct hc_miss *miss)
{
    struct hc_parts parts = hc_parts_of_all(HC_OP_cast, HC_FP32, cast->to, cast->direction);
    uint32_t first[STANDARD_UNITS];
    if (!hc_can_judge(hc_check_backend(check)))
        return hc_sweep_run(check, cast->units, sizeof(struct buffers), unit, cast, miss);
    if (cast->units < ALL_UNITS) {
        parts.count = cast->units;
        parts.size = BLOCK * UNIT;
        parts.first = first;
        for (int64_t i = 0; i < cast->units; i++)
            first[i] = start_of(cast, i);
    }
    return hc_parts_run(check, &parts, miss);
}

/* For `explain`: where the results change, at the codes that matter. */
static void tell(struct hc_check *check, const struct cast *cast)
{
    const struct hc_breakpoints *breakpoints = &cast->breakpoints[0];
    uint32_t normal = 1u << (hc_formats[cast->to].precision - 1);
    uint32_t one = (uint32_t)hc_encode(cast->to, 1, 0, HC_NEAREST);
    const uint32_t codes[] = {
        1, 2, normal, one, one + 1, breakpoints->infinity - 1u, breakpoints->infinity};
    hc_say(check, "fp32 to %s, %s: the first positive input of some results",
           hc_formats[cast->to].name, hc_direction_names[cast->direction]);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        hc_say(check, "    0x%04x = %-16.9g from %.9g (0x%08x) on", codes[i],
               hc_decode(cast->to, codes[i]), (double)hc_fp32_value(breakpoints->first[codes[i]]),
               breakpoints->first[codes[i]]);
}

void hc_sweep_from_fp32(struct hc_check *check, enum hc_format to, enum hc_direction direction)
{
    struct cast *cast = hc_check_memory(check, sizeof *cast);
    *cast = (struct cast){.to = to, .direction = direction, .seed = hc_check_seed(check)};
    for (int negative = 0; negative < 2; negative++)
        hc_breakpoints_build(&cast->breakpoints[negative], to, direction, negative);
    static const int64_t units[] = {0, STANDARD_UNITS, ALL_UNITS};
    cast->units = units[hc_check_level(check)];

    tell(check, cast);
    struct hc_miss miss = {0};
    struct hc_call call = {.op = HC_OP_cast, .params.cast.direction = direction};
    call.in[HC_X] = hc_tensor1(HC_FP32, BLOCK, NULL);
    call.out[HC_OUT] = hc_tensor1(to, BLOCK, NULL);
    cast->digest = hc_sweep_digest(check, &call);
    if (!hc_check_ok(check, runs(check, cast, &miss)) ||
        !hc_check_ok(check, nans(check, cast, &miss)) || !blocks(check, cast, &miss))
        return;
    hc_miss_claim(check, &miss, "%a (0x%08" PRIx64 "): want 0x%04" PRIx64 ", got 0x%04" PRIx64,
                  (double)hc_fp32_value((uint32_t)miss.where), miss.where, miss.want, miss.got);
}
