/* The sweep over the conversions from fp32 to formats of one byte, to nearest. */

#include "check/sweep/runs8.h"
#include "check/sweep/strays.h"
#include "check/sweep/sweep.h"
#include "check/sweep/sweep_fp32.h"
#include "num/bits.h"

enum { CODES16 = 65536 };

/* The runs for both signs. */
struct sweep {
    enum hc_format to;
    bool saturate;
    struct hc_runs8 runs[2];
};

static int run_of(const void *context, uint32_t pattern)
{
    const struct sweep *sweep = context;
    return hc_runs8_at(&sweep->runs[pattern >> 31], pattern & 0x7fffffffu);
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

static int compare(const void *context, uint32_t first, int run, const void *got, uint32_t n,
                   struct hc_miss *miss)
{
    const struct sweep *sweep = context;
    const struct hc_runs8 *runs = &sweep->runs[first >> 31];
    const uint8_t *codes = got;
    for (uint32_t at = 0, length; at < n; at += length) {
        uint32_t left = runs->first[run + 1] - ((first + at) & 0x7fffffffu);
        length = left < n - at ? left : n - at;
        compare_run(sweep, run, first + at, codes + at, length, miss);
        run += length == left;
    }
    return run;
}

/* Both ends of every run with their neighbours in it, its middle, and a payload with one bit set at
   every place: a conversion with a wrong tie, threshold or special, or with a lost bit, is wrong at
   one of them. A tie is the end of a run; what adds 1/2 in fp32 is wrong at the number before a
   tie. */
static uint32_t gather(const struct sweep *sweep, uint32_t inputs[HC_FP32_BLOCK])
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
    uint32_t *inputs = hc_check_memory(check, HC_FP32_BLOCK * sizeof *inputs);
    *sweep = (struct sweep){.to = to, .saturate = saturate};
    for (int negative = 0; negative < 2; negative++)
        hc_runs8_build(&sweep->runs[negative], to, saturate, negative);
    tell(check, sweep);

    struct hc_call cast = {.op = HC_OP_cast, .params.cast.saturate = saturate};
    cast.out[HC_OUT].format = to;
    struct hc_fp32_sweep all =
        hc_fp32_sweep_of(check, &cast, &(struct hc_expected_runs){run_of, compare, sweep});
    struct hc_miss miss = {0};
    uint32_t n = gather(sweep, inputs);
    if (hc_check_ok(check, hc_fp32_sweep_some(check, &all, inputs, n, &miss)) &&
        hc_fp32_sweep_units(check, &all, &miss))
        hc_fp32_sweep_claim(check, &all, &miss);
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
