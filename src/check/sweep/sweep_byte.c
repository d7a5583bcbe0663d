/* The sweep over the conversions from fp32 to formats of one byte, to nearest. */
#include <inttypes.h>
#include <math.h>

#include "check/sweep/runs8.h"
#include "check/sweep/strays.h"
#include "check/sweep/sweep.h"
#include "check/sweep/threads.h"
#include "num/bits.h"
#include "num/rng.h"
#include "op/digest.h"

enum {
    BLOCK = 4096, /* inputs and results stay in the first-level cache */
    UNIT = 16,    /* blocks */
    STANDARD_UNITS = 16,
    CODES16 = 65536,
};

#define ALL_UNITS (((int64_t)1 << 32) / (BLOCK * UNIT))

/* The runs for both signs, and where the inputs come from. */
struct sweep {
    enum hc_format to;
    bool saturate;
    struct hc_runs8 runs[2];
    int64_t units; /* ALL_UNITS, or as many seeded ones */
    uint64_t seed;
    uint64_t digest; /* of the sweep (hc_sweep_digest) */
};

/* The memory of one thread. */
struct buffers {
    float in[BLOCK];
    uint8_t out[BLOCK];
};

static struct hc_call call_of(const struct sweep *sweep, struct buffers *buffers, int64_t n)
{
    struct hc_call call = {.op = HC_OP_cast, .params.cast.saturate = sweep->saturate};
    call.in[HC_X] = hc_tensor1(HC_FP32, n, buffers->in);
    call.out[HC_OUT] = hc_tensor1(sweep->to, n, buffers->out);
    return call;
}

/* Compares n results of neighbouring patterns, which are all of that run. e4m3's NaN, which half of
   all inputs become, has either sign. */
static void compare_run(const struct sweep *sweep, int run, uint32_t first, const uint8_t *got,
                        uint32_t n, struct hc_miss *miss)
{
    const struct hc_runs8 *runs = &sweep->runs[first >> 31];
    bool either = runs->nan[run] && hc_formats[sweep->to].special == HC_SPECIAL_FN;
    if (!hc_strays8(runs->code[run], either && hc_formats[sweep->to].sign ? 0x7f : 0xff, got, n))
        return;
    for (uint32_t i = 0; i < n; i++)
        if (!hc_runs8_right(runs, run, sweep->to, got[i]))
            hc_miss_note(miss, first + i, runs->code[run], got[i]);
}

/* Compares a block from `start`, all of one sign, whose first pattern is of that run. Returns the
   run of the pattern behind the block. */
static int compare_block(const struct sweep *sweep, uint32_t start, int run, const uint8_t *got,
                         struct hc_miss *miss)
{
    const struct hc_runs8 *runs = &sweep->runs[start >> 31];
    uint32_t magnitude = start & 0x7fffffffu;
    uint32_t at = 0;
    while (at < BLOCK) {
        uint32_t left = runs->first[run + 1] - (magnitude + at);
        uint32_t n = left < BLOCK - at ? left : BLOCK - at;
        compare_run(sweep, run, start + at, got + at, n, miss);
        at += n;
        run += n == left;
    }
    return run;
}

static uint32_t start_of(const struct sweep *sweep, int64_t unit)
{
    if (sweep->units < ALL_UNITS)
        unit = (int64_t)(hc_random(sweep->seed, 0, (uint64_t)unit) % (uint64_t)ALL_UNITS);
    return (uint32_t)unit * BLOCK * UNIT;
}

static enum hc_status unit(struct hc_check *check, struct hc_queue *queue, int64_t at, void *memory,
                           struct hc_miss *miss, const void *context)
{
    const struct sweep *sweep = context;
    struct buffers *buffers = memory;
    uint32_t start = start_of(sweep, at);
    int run = hc_runs8_at(&sweep->runs[start >> 31], start & 0x7fffffffu);
    struct hc_call call = call_of(sweep, buffers, BLOCK);
    for (int b = 0; b < UNIT; b++, start += BLOCK) {
        int64_t wrong = miss->wrong;
        hc_count_up((uint32_t *)(void *)buffers->in, start, BLOCK);
        enum hc_status status = hc_sweep_call(check, queue, &call);
        if (status != HC_OK)
            return status;
        run = compare_block(sweep, start, run, buffers->out, miss);
        hc_miss_digest(miss, sweep->digest, start, miss->wrong - wrong, &call);
    }
    miss->checked += (int64_t)BLOCK * UNIT;
    return HC_OK;
}

/* Both ends of every run with their neighbours in it, its middle, and a payload with one bit set at
   every place: a conversion with a wrong tie, threshold or special, or with a lost bit, is wrong at
   one of them. A tie is the end of a run; what adds 1/2 in fp32 is wrong at the number before a
   tie. */
static uint32_t gather(const struct sweep *sweep, uint32_t inputs[BLOCK])
{
    uint32_t n = 0;
    for (uint32_t sign = 0; sign < 2; sign++) {
        const struct hc_runs8 *runs = &sweep->runs[sign];
        for (int r = 0; r < runs->count; r++) {
            uint32_t first = runs->first[r];
            uint32_t last = runs->first[r + 1] - 1;
            inputs[n++] = sign << 31 | first;
            inputs[n++] = sign << 31 | (first < last ? first + 1 : first);
            inputs[n++] = sign << 31 | (first + (last - first) / 2);
            inputs[n++] = sign << 31 | (first < last ? last - 1 : last);
            inputs[n++] = sign << 31 | last;
        }
        for (uint32_t bit = 0; bit < 23; bit++)
            inputs[n++] = sign << 31 | 0x7f800000u | 1u << bit;
    }
    return n;
}

static enum hc_status ends(struct hc_check *check, const struct sweep *sweep, struct hc_miss *miss)
{
    struct buffers *buffers = hc_check_memory(check, sizeof *buffers);
    uint32_t *inputs = (uint32_t *)(void *)buffers->in;
    uint32_t n = gather(sweep, inputs);
    struct hc_call call = call_of(sweep, buffers, n);
    uint64_t digest = hc_digest_inputs(&call);
    enum hc_status status = hc_sweep_call(check, hc_check_queue(check), &call);
    if (status == HC_OK)
        miss->digest += hc_digest_outputs(digest, &call);
    for (uint32_t i = 0; i < n && status == HC_OK; i++) {
        const struct hc_runs8 *runs = &sweep->runs[inputs[i] >> 31];
        compare_run(sweep, hc_runs8_at(runs, inputs[i] & 0x7fffffffu), inputs[i], &buffers->out[i],
                    1, miss);
    }
    miss->checked += n;
    return status;
}

/* For `explain`: where the results change, at the codes that matter. */
static void tell(struct hc_check *check, const struct sweep *sweep)
{
    const struct hc_runs8 *runs = &sweep->runs[0];
    hc_say(check, "fp32 to %s, %s: the first positive input of some results",
           hc_formats[sweep->to].name, sweep->saturate ? "saturating" : "not saturating");
    int end = runs->count - 1;
    const int told[] = {1, 2, end / 2, end - 2, end - 1, end};
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++)
        hc_say(check, "    0x%02x = %-12.9g from %.9g (0x%08x) on", runs->code[told[i]],
               hc_decode(sweep->to, runs->code[told[i]]),
               (double)hc_fp32_value(runs->first[told[i]]), runs->first[told[i]]);
}

void hc_sweep_into_byte(struct hc_check *check, enum hc_format to, bool saturate)
{
    struct sweep *sweep = hc_check_memory(check, sizeof *sweep);
    *sweep = (struct sweep){.to = to, .saturate = saturate, .seed = hc_check_seed(check)};
    for (int negative = 0; negative < 2; negative++)
        hc_runs8_build(&sweep->runs[negative], to, saturate, negative);
    static const int64_t units[] = {0, STANDARD_UNITS, ALL_UNITS};
    sweep->units = units[hc_check_level(check)];

    tell(check, sweep);
    struct hc_miss miss = {0};
    struct hc_call call = {.op = HC_OP_cast, .params.cast.saturate = saturate};
    call.in[HC_X] = hc_tensor1(HC_FP32, BLOCK, NULL);
    call.out[HC_OUT] = hc_tensor1(to, BLOCK, NULL);
    sweep->digest = hc_sweep_digest(check, &call);
    if (!hc_check_ok(check, ends(check, sweep, &miss)) ||
        !hc_sweep_run(check, sweep->units, sizeof(struct buffers), unit, sweep, &miss))
        return;
    hc_miss_claim(check, &miss, "%a (0x%08" PRIx64 "): want 0x%02" PRIx64 ", got 0x%02" PRIx64,
                  (double)hc_fp32_value((uint32_t)miss.where), miss.where, miss.want, miss.got);
}

/* fp32 holds all of these inputs, and so its runs say what they become. */
void hc_sweep_16_bits_into_byte(struct hc_check *check, enum hc_format to, bool saturate)
{
    static const enum hc_format sources[] = {HC_FP16, HC_BF16};
    struct hc_runs8 *runs = hc_check_memory(check, 2 * sizeof *runs);
    for (int negative = 0; negative < 2; negative++)
        hc_runs8_build(&runs[negative], to, saturate, negative);
    for (int s = 0; s < 2; s++) {
        struct hc_call call = {.op = HC_OP_cast, .params.cast.saturate = saturate};
        call.in[HC_X] = hc_check_vector(check, sources[s], CODES16);
        call.out[HC_OUT] = hc_check_vector(check, to, CODES16);
        uint32_t *want = hc_check_memory(check, CODES16 * sizeof *want);
        for (uint32_t code = 0; code < CODES16; code++) {
            hc_tensor_set_bits(&call.in[HC_X], code, code);
            uint32_t bits = hc_fp32_bits((float)hc_decode(sources[s], code));
            const struct hc_runs8 *of = &runs[bits >> 31];
            want[code] = of->code[hc_runs8_at(of, bits & 0x7fffffffu)];
        }
        hc_claim_elements(check, &call, want);
    }
}
