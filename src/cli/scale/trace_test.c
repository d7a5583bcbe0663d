/* What the traces hold: a trace that lost a part would still be answered, judged and passed. */
#include "cli/scale/trace.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/scale/testing.h"
#include "num/bits.h"

struct held {
    int nan, infinite, minus_zero;     /* elements, or amaxes */
    int nan_tensors, infinite_tensors; /* lines that begin with such an amax */
    int subnormal, zero, largest;      /* lines with such an amax; largest: fp32's largest number */
};

/* The largest magnitude in a line, NaNs dropped. */
static double amax_of(const uint32_t *words, int n)
{
    double amax = 0;
    for (int i = 0; i < n; i++)
        amax = fmax(amax, fabs((double)hc_fp32_value(words[i])));
    return amax;
}

/* Under a rule of two levels a line begins with the tensor's amax, which is no element. */
static struct held count(const struct hc_scale_trace *t, int first)
{
    struct held h = {0};
    for (int line = 0; line < t->lines; line++) {
        const uint32_t *words = t->words + (ptrdiff_t)line * t->width;
        int nan = 0;
        h.nan_tensors += first && words[0] > 0x7f800000u;
        h.infinite_tensors += first && words[0] == 0x7f800000u;
        for (int i = first; i < t->width; i++) {
            nan += (words[i] & 0x7fffffffu) > 0x7f800000u;
            h.infinite += (words[i] & 0x7fffffffu) == 0x7f800000u;
            h.minus_zero += words[i] == 0x80000000u;
        }
        double amax = amax_of(words + first, t->width - first);
        h.nan += nan;
        h.subnormal += amax > 0 && amax < 0x1p-126;
        h.zero += amax == 0 && nan == 0;
        h.largest += amax == 0x1.fffffep127;
    }
    return h;
}

static bool has_amax(const struct hc_scale_trace *t, int first, double amax)
{
    for (int line = 0; line < t->lines; line++)
        if (amax_of(t->words + (ptrdiff_t)line * t->width + first, t->width - first) == amax)
            return true;
    return false;
}

/* M 2^k, which quotients by M make a power of two of, and its neighbours up to `ulps`. */
static void expect_edges(const struct hc_scale_plan *plan, const struct hc_scale_trace *t,
                         int first, uint32_t ulps)
{
    for (int k = -100; k <= 100; k += 8) {
        double edge = ldexp(hc_format_max(plan->codes), k);
        uint32_t bits = hc_fp32_bits((float)edge);
        cr_expect(has_amax(t, first, edge), "no amax M 2^%d", k);
        for (uint32_t i = 1; i <= ulps; i *= 2)
            cr_expect(has_amax(t, first, (double)hc_fp32_value(bits + i)) &&
                          has_amax(t, first, (double)hc_fp32_value(bits - i)),
                      "no amax %u ulps from M 2^%d", i, k);
    }
}

/* docs/scales.md says that TransformerEngine's blocks of two levels have no NaN, and why. */
Test(scale_trace, of_every_rule_without_a_history_has_the_edges_and_specials)
{
    for (int r = HC_SCALE_GIVEN + 1; r < HC_SCALE_RULE_COUNT; r++) {
        const char *rule = hc_scale_rules[r].name;
        enum hc_scale_kind kind = hc_scale_rules[r].kind;
        bool has_levels = kind == HC_SCALE_OF_LEVELS;
        bool has_nan = r != HC_SCALE_NVFP4_TE;
        struct hc_scale_plan plan = scale_plan(rule, NULL, 0);
        struct hc_scale_trace trace;
        cr_assert(hc_scale_trace_make(&plan, &trace));
        struct held h = count(&trace, has_levels);
        cr_expect_eq(h.nan, has_nan, "%s: %d NaNs", rule, h.nan);
        cr_expect_eq(h.infinite, 1, "%s: %d infinities", rule, h.infinite);
        cr_expect(!has_levels || h.infinite_tensors >= 30, "%s: %d", rule, h.infinite_tensors);
        cr_expect(has_levels && has_nan ? h.nan_tensors >= 30 : h.nan_tensors == 0, "%s: %d", rule,
                  h.nan_tensors);
        cr_expect_eq(h.zero, 1, "%s: %d lines of zeros", rule, h.zero);
        cr_expect_geq(h.subnormal, 7, "%s: %d subnormal amaxes", rule, h.subnormal);
        cr_expect_geq(h.largest, 1, "%s: no amax is fp32's largest number", rule);
        if (kind != HC_SCALE_OF_FP32)
            cr_expect_geq(h.minus_zero, 100, "%s: %d times -0", rule, h.minus_zero);
        else
            cr_expect_eq(h.minus_zero, 0, "%s: %d times -0", rule, h.minus_zero);
        expect_edges(&plan, &trace, has_levels, hc_scale_block(&plan) ? 2 : 64);
        free(trace.words);
    }
}

/* Whether the history can have become usual again: more steps than it has entries with amaxes from
   1/8 to 512, and then an idle one. */
static bool is_usual(const uint32_t *words, int window)
{
    for (int i = 0; i <= window; i++)
        if (words[i] < 0x3e000000u || words[i] >= 0x44000000u)
            return false;
    return words[window + 1] == 0;
}

/* How often the event comes `times` times in a row, and then a usual window. */
static int windows_after(const struct hc_scale_trace *t, uint32_t event, int times, int window)
{
    int found = 0;
    for (int at = 0; at + times + window + 2 <= t->lines; at++) {
        bool is_event = true;
        for (int i = 0; i < times; i++)
            is_event &= t->words[at + i] == event;
        found += is_event && is_usual(t->words + at + times, window);
    }
    return found;
}

/* A tiny amax is the largest of a history only where it fills it. */
Test(scale_trace, of_a_history_has_each_event_and_a_window_after_it)
{
    static const struct {
        uint32_t event;
        bool fills;
    } rows[] = {{0x7f800000, false},
                {0x7fc00000, false},
                {0x7f7fffff, false},
                {0x00000001, true},
                {0x02081cea, true}};
    static const int windows[] = {1, 4, 16};
    for (int r = 0; r < HC_DELAYED_RULE_COUNT; r++)
        for (int w = 0; w < 3; w++) {
            const char *rule = hc_delayed_rules[r].name;
            struct hc_scale_plan plan = scale_plan(rule, NULL, windows[w]);
            struct hc_scale_trace trace;
            cr_assert(hc_scale_trace_make(&plan, &trace));
            struct held h = count(&trace, 0);
            for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
                cr_expect_geq(windows_after(&trace, rows[i].event,
                                            rows[i].fills ? windows[w] + 1 : 1, windows[w]),
                              1, "%s, window %d: no window after %08x", rule, windows[w],
                              rows[i].event);
            cr_expect(h.nan >= 2 && h.infinite >= 2 && h.subnormal >= 4 && h.zero >= 30,
                      "%s: %d NaN, %d infinite, %d subnormal, %d idle", rule, h.nan, h.infinite,
                      h.subnormal, h.zero);
            free(trace.words);
        }
}
