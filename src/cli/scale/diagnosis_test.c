/* Whose answers these are: every rule's answers to another rule's trace are told apart from the
   right ones and named. */
#include "cli/scale/diagnosis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/scale/testing.h"

/* Judges the answers of `others` to the trace of `asked`. */
static const char *diagnosed(const struct hc_scale_plan *asked, const struct hc_scale_plan *others,
                             const struct hc_wrong_rounding *rounding)
{
    static struct hc_scale_oracle right, wrong;
    static char text[HC_SCALE_DIAGNOSIS];
    struct hc_scale_trace trace;
    cr_assert(hc_scale_trace_make(asked, &trace));
    struct hc_scale_answers a = {.wrong = -1};
    a.got = malloc((size_t)trace.lines * sizeof *a.got);
    cr_assert_not_null(a.got);
    hc_scale_begin(&right, asked);
    hc_scale_begin(&wrong, others);
    wrong.round = rounding ? rounding->round : NULL;
    for (; a.count < trace.lines; a.count++) {
        const uint32_t *words = trace.words + (ptrdiff_t)a.count * trace.width;
        struct hc_scale_answer want = hc_scale_next(&right, words);
        a.got[a.count] = hc_scale_next(&wrong, words);
        if (a.wrong < 0 && hc_scale_differs(asked, &want, &a.got[a.count]) >= 0)
            a.wrong = a.count;
    }
    text[0] = '\0';
    cr_expect(a.wrong >= 0, "no line tells them apart");
    if (a.wrong >= 0)
        hc_scale_diagnose(asked, &trace, &a, text);
    free(a.got);
    free(trace.words);
    return text;
}

static void expect_named(const char *asked, const char *other,
                         const struct hc_wrong_rounding *rounding)
{
    struct hc_scale_plan plan = scale_plan(asked, NULL, 0);
    struct hc_scale_plan others = scale_plan(other, NULL, 0);
    const char *text = diagnosed(&plan, &others, rounding);
    char name[96];
    (void)snprintf(name, sizeof name, "scale/%s%s%s", other, rounding ? " with " : "",
                   rounding ? rounding->name : "");
    cr_expect_not_null(strstr(text, name), "%s: answers of %s: '%s'", asked, other, text);
    cr_expect_eq(strncmp(text, "this is ", 8), 0, "%s: answers of %s: '%s'", asked, other, text);
    cr_expect_not_null(strstr(text, "which explains all "), "%s", text);
}

static const char *base_of(enum hc_scale_kind kind)
{
    return kind == HC_SCALE_OF_E8M0   ? "mx-rp"
           : kind == HC_SCALE_OF_FP32 ? "te-current"
                                      : "nvfp4-te";
}

/* 0/0 is -NaN on x86 and +NaN on a GPU. */
Test(diagnosis, one_nan_is_as_good_a_scale_as_another)
{
    const struct hc_scale_answer positive = {.scale = 0x7f, .free = UINT32_MAX};
    const struct hc_scale_answer negative = {.scale = 0xff, .free = UINT32_MAX};
    const struct hc_scale_answer largest = {.scale = 0x7e, .free = UINT32_MAX};
    struct hc_scale_plan levels = scale_plan("nvfp4-torchao", NULL, 0),
                         power = scale_plan("mx-rp", NULL, 0);
    cr_expect_eq(hc_scale_differs(&levels, &positive, &negative), -1);
    cr_expect_eq(hc_scale_differs(&levels, &positive, &largest), 0);
    cr_expect_eq(hc_scale_differs(&power, &positive, &negative), 0);
}

/* Elements are fp32 here, where te-block-fp32 is te-current. */
Test(diagnosis, every_other_rule_is_told_apart_and_named)
{
    for (int r = HC_SCALE_GIVEN + 1; r < HC_SCALE_RULE_COUNT; r++) {
        const char *base = base_of(hc_scale_rules[r].kind);
        const char *rule = hc_scale_rules[r].name;
        if (strcmp(rule, base) != 0 && strcmp(rule, "te-block-fp32") != 0)
            expect_named(base, rule, NULL);
    }
    for (int r = 1; r < HC_DELAYED_RULE_COUNT; r++)
        expect_named("te-delayed", hc_delayed_rules[r].name, NULL);
}

Test(diagnosis, variants_of_torchao_are_told_apart)
{
    expect_named("mx-even", "torchao-even", NULL);
    expect_named("mx-even", "torchao-0.18-even", NULL);
    expect_named("mx-floor", "torchao-0.18-floor", NULL);
    expect_named("mx-ceil", "torchao-0.18-ceil", NULL);
    expect_named("mx-te", "torchao-rceil", NULL);
    expect_named("mx-te", "torchao-0.18-rceil", NULL);
}

/* Under mx-floor the largest elements saturate. e2m1 has nothing beyond its largest number. */
Test(diagnosis, every_wrong_rounding_is_named)
{
    for (int i = 0; hc_wrong_roundings[i].name; i++) {
        expect_named("mx-floor", "mx-floor", &hc_wrong_roundings[i]);
        if (strcmp(hc_wrong_roundings[i].name, "no saturation") != 0)
            expect_named("nvfp4-te", "nvfp4-te", &hc_wrong_roundings[i]);
    }
}

/* The likeliest mistake with a ring of amaxes. */
Test(diagnosis, a_window_of_one_more_or_one_less_is_named)
{
    static const int windows[] = {3, 4, 5, 16, 1024};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
        for (int more = -1; more <= 1; more += 2) {
            struct hc_scale_plan plan = scale_plan("te-delayed", NULL, windows[i]);
            struct hc_scale_plan others = scale_plan("te-delayed", NULL, windows[i] + more);
            const char *text = diagnosed(&plan, &others, NULL);
            char says[96];
            (void)snprintf(says, sizeof says,
                           "this is scale/te-delayed with --window %d, which explains all ",
                           windows[i] + more);
            cr_expect_not_null(strstr(text, says), "%d %+d: '%s'", windows[i], more, text);
        }
}
