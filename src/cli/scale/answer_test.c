/* What of an answer is judged: every scale, and every code but those that say nothing. */
#include "cli/scale/answer.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "cli/scale/testing.h"
#include "num/bits.h"

enum { N = HC_SCALE_BLOCK };

static struct hc_scale_answer answer_to(const struct hc_scale_plan *plan, const uint32_t *words)
{
    static struct hc_scale_oracle oracle;
    hc_scale_begin(&oracle, plan);
    return hc_scale_next(&oracle, words);
}

static void fill(uint32_t words[N], uint32_t bits)
{
    for (int i = 0; i < N; i++)
        words[i] = bits;
}

/* Changes one code after the other, and the scale: whether the difference is found, and where. */
static void expect_judged(const struct hc_scale_plan *plan, const struct hc_scale_answer *want,
                          uint32_t free)
{
    const char *rule = hc_scale_plan_rule(plan);
    struct hc_scale_answer got = *want;
    cr_expect_eq(hc_scale_differs(plan, want, &got), -1, "%s: right codes are refused", rule);
    for (int i = 0; i < hc_scale_block(plan); i++) {
        bool is_free = free >> i & 1;
        got = *want;
        got.code[i] ^= 1; /* 7e and 7f, too, are two things */
        cr_expect_eq(hc_scale_differs(plan, want, &got), is_free ? -1 : 1 + i,
                     "%s: code %d of the scale %02x", rule, i, (unsigned)want->scale);
    }
    got = *want;
    got.scale ^= 1;
    cr_expect_eq(hc_scale_differs(plan, want, &got), 0, "%s: its scale", rule);
}

/* 2^-130 is 2^-3 times 2^-127, the smallest scale: 20 in e4m3. Under torchao 0.18's FLOOR, EVEN and
   CEIL it is divided by 2^-126, and under its RCEIL by 1. DeepGEMM's scales end at 1e-4 / 448. */
Test(scale_answer, codes_under_the_smallest_scale_are_judged)
{
    static const struct {
        const char *rule;
        uint32_t scale;
        uint8_t code;
    } rows[] = {{"mx-floor", 0, 0x20},
                {"mx-even", 0, 0x20},
                {"mx-rp", 0, 0x20},
                {"mx-ceil", 0, 0x20},
                {"mx-nearest", 0, 0x20},
                {"mx-floor-div", 0, 0x20},
                {"mx-te", 0, 0x20},
                {"mx-cublas", 0, 0x20},
                {"torchao-even", 0, 0x20},
                {"torchao-rceil", 0, 0x20},
                {"torchao-0.18-floor", 0, 0x18},
                {"torchao-0.18-even", 0, 0x18},
                {"torchao-0.18-ceil", 0, 0x18},
                {"torchao-0.18-rceil", 0, 0x00},
                {"deepgemm-ue8m0", 0x69, 0x00}};
    uint32_t words[N];
    fill(words, hc_fp32_bits(0x1p-130F));
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct hc_scale_plan plan = scale_plan(rows[r].rule, "e4m3", 0);
        struct hc_scale_answer want = answer_to(&plan, words);
        cr_expect_eq(want.scale, rows[r].scale, "%s: %02x", rows[r].rule, (unsigned)want.scale);
        for (int i = 0; i < N; i++)
            cr_expect_eq(want.code[i], rows[r].code, "%s: %02x", rows[r].rule, want.code[i]);
        expect_judged(&plan, &want, 0);
    }
}

/* Ones, and a NaN that their maximum drops: under 2^-8 ones are 256, 78 in e4m3; under 2^-2 they
   are 4, 6 in e2m1, which has no NaN, so that what becomes of one is nobody's claim. DeepGEMM's
   scale of a NaN is 2^127. */
Test(scale_answer, numbers_beside_a_nan_are_judged_where_the_scale_is_a_number)
{
    static const struct {
        const char *rule, *codes;
        uint32_t scale, free;
        uint8_t code;
    } rows[] = {{"mx-te", "e4m3", 0x77, 0, 0x78},
                {"mx-cublas", "e4m3", 0x77, 0, 0x78},
                {"mx-te", "e2m1", 0x7d, 1u << 5, 6},
                {"mx-cublas", "e2m1", 0x7d, 1u << 5, 6},
                {"deepgemm-ue8m0", "e4m3", 0xfe, 0, 0}};
    uint32_t words[N];
    fill(words, hc_fp32_bits(1));
    words[5] = 0x7fc00000;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct hc_scale_plan plan = scale_plan(rows[r].rule, rows[r].codes, 0);
        struct hc_scale_answer want = answer_to(&plan, words);
        cr_expect_eq(want.scale, rows[r].scale, "%s: %02x", rows[r].rule, (unsigned)want.scale);
        for (int i = 0; i < N; i++)
            cr_expect(want.code[i] == rows[r].code || i == 5, "%s: %02x", rows[r].rule,
                      want.code[i]);
        expect_judged(&plan, &want, rows[r].free);
    }
}

/* One NaN is as good as another, and nothing else is. */
Test(scale_answer, a_nan_must_come_back_as_a_nan)
{
    static const uint8_t codes[] = {0x7f, 0xff, 0x7e, 0xfe, 0x00, 0x80, 0x78};
    struct hc_scale_plan plan = scale_plan("mx-te", "e4m3", 0);
    uint32_t words[N];
    fill(words, hc_fp32_bits(1));
    words[N - 1] = 0xffc00000;
    struct hc_scale_answer want = answer_to(&plan, words);
    for (size_t i = 0; i < sizeof codes; i++) {
        struct hc_scale_answer got = want;
        got.code[N - 1] = codes[i];
        cr_expect_eq(hc_scale_differs(&plan, &want, &got), i < 2 ? -1 : N, "%02x", codes[i]);
    }
}

/* Where a NaN is the maximum, the scale is NaN, and codes under it decode to NaN whatever they
   are. */
Test(scale_answer, codes_under_a_scale_that_is_nan_are_not_judged)
{
    static const char *const rules[] = {"mx-rp", "mx-floor", "torchao-rceil", "torchao-0.18-floor"};
    uint32_t words[N];
    fill(words, hc_fp32_bits(1));
    words[5] = 0x7fc00000;
    for (int r = 0; r < 4; r++) {
        struct hc_scale_plan plan = scale_plan(rules[r], "e4m3", 0);
        struct hc_scale_answer want = answer_to(&plan, words);
        cr_expect_eq(want.scale, 0xff, "%s: %02x", rules[r], (unsigned)want.scale);
        expect_judged(&plan, &want, UINT32_MAX);
    }
}

/* -0 is a zero of either sign under TransformerEngine's rule of two levels, whose kernel and
   reference disagree, and -0 under torchao's. What a negative number is rounded to is -0 under
   both, and no other code is a zero. */
Test(scale_answer, minus_zero_may_lose_its_sign_where_the_sources_disagree)
{
    static const char *const rules[] = {"nvfp4-te", "nvfp4-torchao"};
    static const uint32_t words[] = {0x40c00000, 0x80000000, 0, 0xbdcccccd, 0x3dcccccd, 0x40c00000};
    uint32_t line[1 + N / 2] = {0};
    memcpy(line, words, sizeof words);
    for (int r = 0; r < 2; r++) {
        static const uint8_t codes[] = {0x8, 0x0, 0x8, 0x0, 0x7};
        struct hc_scale_plan plan = scale_plan(rules[r], NULL, 0);
        struct hc_scale_answer want = answer_to(&plan, line);
        for (int i = 0; i < 5; i++) {
            bool is_free = r == 0 && i == 0;
            struct hc_scale_answer got = want;
            cr_expect_eq(want.code[i], codes[i], "%s: %x", rules[r], want.code[i]);
            got.code[i] ^= 8;
            cr_expect_eq(hc_scale_differs(&plan, &want, &got), is_free ? -1 : 1 + i, "%s: %d",
                         rules[r], i);
            got.code[i] ^= 1;
            cr_expect_eq(hc_scale_differs(&plan, &want, &got), 1 + i, "%s: %d", rules[r], i);
        }
    }
}

/* TransformerEngine's scale of an infinite tensor is 1: the infinite element's block has 448, the
   largest, and blocks of finite numbers their own. */
Test(scale_answer, an_infinite_tensor_is_scaled_by_1_under_transformer_engine)
{
    uint32_t line[1 + N / 2] = {0x7f800000, 0xff800000, 0x44a80000};
    struct hc_scale_plan plan = scale_plan("nvfp4-te", NULL, 0);
    struct hc_scale_answer want = answer_to(&plan, line);
    cr_expect_eq(want.scale, 0x7e);
    cr_expect(want.code[0] == 0xf && want.code[1] == 0x5, "%x %x", want.code[0], want.code[1]);
    line[1] = 0x40c00000;
    line[2] = 0xc0400000;
    want = answer_to(&plan, line);
    cr_expect_eq(want.scale, 0x38);
    cr_expect(want.code[0] == 0x7 && want.code[1] == 0xd, "%x %x", want.code[0], want.code[1]);
}

/* torchao's factor fl(fl(1/p) / b) overflows in tiny tensors, and 0 times it is NaN. */
static bool is_infinite_factor(const struct hc_scale_plan *plan, const uint32_t *words, uint32_t b)
{
    float p = hc_fp32_value(words[0]) / 2688;
    return plan->rule == HC_SCALE_NVFP4_TORCHAO && isinf(1 / p / (float)hc_decode(HC_UE4M3, b));
}

/* The codes that say nothing, by the words and the scale: all under a NaN; and what was a NaN, or
   becomes one by the factor, in a format without one. */
static uint32_t free_codes(const struct hc_scale_plan *plan, const uint32_t *words, uint32_t scale)
{
    int n = hc_scale_block(plan);
    bool has_levels = n < N;
    bool zeros = has_levels && is_infinite_factor(plan, words, scale);
    uint32_t free = 0;
    if (scale == (has_levels ? 0x7f : 0xff))
        return (uint32_t)(((uint64_t)1 << n) - 1);
    for (int i = 0; i < n && hc_formats[plan->codes].special == HC_SPECIAL_NONE; i++) {
        float x = hc_fp32_value(words[has_levels + i]);
        free |= (uint32_t)(isnan(x) || (zeros && x == 0)) << i;
    }
    return free;
}

static void expect_free(const struct hc_scale_plan *plan)
{
    static struct hc_scale_oracle oracle;
    struct hc_scale_trace trace;
    cr_assert(hc_scale_trace_make(plan, &trace));
    hc_scale_begin(&oracle, plan);
    for (int line = 0; line < trace.lines; line++) {
        const uint32_t *words = trace.words + (ptrdiff_t)line * trace.width;
        struct hc_scale_answer a = hc_scale_next(&oracle, words);
        uint32_t want = free_codes(plan, words, a.scale);
        cr_expect_eq(a.free, want, "%s, line %d: %08x, not %08x", hc_scale_plan_rule(plan),
                     line + 1, (unsigned)a.free, (unsigned)want);
    }
    free(trace.words);
}

Test(scale_answer, of_a_whole_trace_only_such_codes_are_free)
{
    for (int r = HC_SCALE_GIVEN + 1; r < HC_SCALE_RULE_COUNT; r++) {
        const char *rule = hc_scale_rules[r].name;
        struct hc_scale_plan plan = scale_plan(rule, NULL, 0);
        if (hc_scale_block(&plan) > 0)
            expect_free(&plan);
        if (hc_scale_block(&plan) == N) {
            plan = scale_plan(rule, "e2m1", 0);
            expect_free(&plan);
        }
    }
}
