/* The sweep over the conversions from fp32. */

#include "check/sweep/breakpoints.h"
#include "check/sweep/strays.h"
#include "check/sweep/sweep.h"
#include "check/sweep/sweep_fp32.h"
#include "check/sweep/sweep_judged.h"
#include "num/bits.h"

enum { RUN_INPUTS = 3 }; /* first, middle and last */

/* The breakpoints of one direction for both signs. */
struct cast {
    enum hc_format to;
    enum hc_direction direction;
    struct hc_breakpoints breakpoints[2];
};

static bool is_nan(const struct cast *cast, uint16_t code)
{
    return (code & 0x7fffu) > cast->breakpoints[0].infinity;
}

/* The run of a code has its number, and that of the NaNs follows infinity's. */
static int run_of(const void *context, uint32_t pattern)
{
    const struct cast *cast = context;
    return hc_breakpoints_code(&cast->breakpoints[pattern >> 31], pattern & 0x7fffffffu);
}

static int compare(const void *context, uint32_t first, int run, const void *got, uint32_t n,
                   struct hc_miss *miss)
{
    const struct cast *cast = context;
    const struct hc_breakpoints *breakpoints = &cast->breakpoints[first >> 31];
    const uint16_t *codes = got;
    uint16_t sign = (uint16_t)(first >> 16 & 0x8000u);
    uint32_t at = 0;
    while (at < n && run <= breakpoints->infinity) {
        uint32_t left = breakpoints->first[run + 1] - ((first + at) & 0x7fffffffu);
        uint32_t stop = left < n - at ? at + left : n;
        uint16_t want = (uint16_t)(sign | run);
        if (hc_strays(want, codes + at, stop - at))
            for (uint32_t i = at; i < stop; i++)
                if (codes[i] != want)
                    hc_miss_note(miss, first + i, want, codes[i]);
        run += stop - at == left;
        at = stop;
    }
    for (; at < n; at++)
        if (!is_nan(cast, codes[at]))
            hc_miss_note(miss, first + at, (uint16_t)(sign | run), codes[at]);
    return run;
}

/* Both ends and the middle of every run: a conversion with a wrong tie, threshold or direction, or
   with a lost bit, is wrong at one of them. */
static enum hc_status runs(struct hc_check *check, const struct cast *cast,
                           const struct hc_fp32_sweep *sweep, uint32_t inputs[HC_FP32_BLOCK],
                           struct hc_miss *miss)
{
    enum hc_status status = HC_OK;
    uint32_t n = 0;
    for (uint32_t sign = 0; sign < 2; sign++) {
        const struct hc_breakpoints *breakpoints = &cast->breakpoints[sign];
        for (uint32_t c = 0; c <= breakpoints->infinity && status == HC_OK; c++) {
            uint32_t first = breakpoints->first[c];
            uint32_t last = breakpoints->first[c + 1] - 1;
            inputs[n++] = sign << 31 | first;
            inputs[n++] = sign << 31 | (first + (last - first) / 2);
            inputs[n++] = sign << 31 | last;
            if (n > HC_FP32_BLOCK - RUN_INPUTS) {
                status = hc_fp32_sweep_some(check, sweep, inputs, n, miss);
                n = 0;
            }
        }
    }
    return status == HC_OK ? hc_fp32_sweep_some(check, sweep, inputs, n, miss) : status;
}

/* A payload with one bit set, at every place: a NaN whose top bits are 0 must not turn infinite. */
static enum hc_status nans(struct hc_check *check, const struct hc_fp32_sweep *sweep,
                           uint32_t inputs[HC_FP32_BLOCK], struct hc_miss *miss)
{
    uint32_t n = 0;
    for (uint32_t sign = 0; sign < 2; sign++)
        for (uint32_t bit = 0; bit < 23; bit++)
            inputs[n++] = sign << 31 | 0x7f800000u | 1u << bit;
    return hc_fp32_sweep_some(check, sweep, inputs, n, miss);
}

/* The units; on a backend that judges results, where they lie. */
static bool units(struct hc_check *check, const struct cast *cast,
                  const struct hc_fp32_sweep *sweep, struct hc_miss *miss)
{
    struct hc_parts parts = hc_parts_of_all(HC_OP_cast, HC_FP32, cast->to, cast->direction);
    uint32_t first[HC_FP32_MAX_UNITS];
    if (!hc_can_judge(hc_check_backend(check)))
        return hc_fp32_sweep_units(check, sweep, miss);
    if (!hc_fp32_sweep_is_whole(sweep)) {
        parts.count = sweep->units;
        parts.size = HC_FP32_UNIT_INPUTS;
        parts.first = first;
        for (int64_t i = 0; i < sweep->units; i++)
            first[i] = hc_fp32_sweep_start(sweep, i);
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
    uint32_t *inputs = hc_check_memory(check, HC_FP32_BLOCK * sizeof *inputs);
    *cast = (struct cast){.to = to, .direction = direction};
    for (int negative = 0; negative < 2; negative++)
        hc_breakpoints_build(&cast->breakpoints[negative], to, direction, negative);
    tell(check, cast);

    struct hc_call call = {.op = HC_OP_cast, .params.cast.direction = direction};
    call.out[HC_OUT].format = to;
    struct hc_fp32_sweep sweep =
        hc_fp32_sweep_of(check, &call, &(struct hc_expected_runs){run_of, compare, cast});
    struct hc_miss miss = {0};
    if (hc_check_ok(check, runs(check, cast, &sweep, inputs, &miss)) &&
        hc_check_ok(check, nans(check, &sweep, inputs, &miss)) && units(check, cast, &sweep, &miss))
        hc_fp32_sweep_claim(check, &sweep, &miss);
}
