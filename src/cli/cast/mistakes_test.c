/* The inputs that gen prints show every mistake that any input shows, and each mistake is named
   from its answers. */
#include "cli/cast/judge.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const enum hc_format targets[] = {HC_E4M3, HC_E5M2, HC_E4M3FNUZ, HC_E5M2FNUZ, HC_E2M3,
                                         HC_E3M2, HC_E2M1, HC_E8M0,     HC_UE4M3};

enum { TARGETS = sizeof targets / sizeof targets[0] };

/* But for those that are known to show: most do at the first inputs. */
static uint64_t mistakes_that_show(const struct hc_cast_plan *plan, uint32_t input, uint64_t known)
{
    uint32_t want = hc_cast_want(plan, input);
    uint64_t mask = known;
    for (int m = 0; m < hc_cast_mistake_count && hc_cast_is_agreed(plan, input); m++)
        if (!(known >> m & 1) && !hc_cast_same(plan, want, hc_cast_mistaken(plan, m, input)))
            mask |= (uint64_t)1 << m;
    return mask;
}

static uint64_t shown_by_inputs(const struct hc_cast_plan *plan)
{
    size_t count = 0;
    uint32_t *inputs = hc_cast_inputs(plan, &count);
    uint64_t mask = 0;
    cr_assert(inputs && count > 500);
    for (size_t i = 0; i < count; i++) {
        cr_assert(i == 0 || inputs[i] > inputs[i - 1]);
        cr_assert(hc_cast_is_agreed(plan, inputs[i]));
        mask = mistakes_that_show(plan, inputs[i], mask);
    }
    free(inputs);
    return mask;
}

static void expect_all_shown(const struct hc_cast_plan *plan, uint64_t anywhere)
{
    uint64_t hidden = anywhere & ~shown_by_inputs(plan);
    for (int m = 0; m < hc_cast_mistake_count; m++)
        cr_expect(!(hidden >> m & 1), "%s from %s, saturate %d: no input shows that %s",
                  hc_formats[plan->to].name, hc_formats[plan->from].name, (int)plan->saturate,
                  hc_cast_mistakes[m].what);
}

Test(cast_inputs, of_16_bits_show_what_all_65536_show)
{
    for (int t = 0; t < 8 * TARGETS; t++)
        for (int from = HC_BF16; from <= HC_FP16; from++) {
            struct hc_cast_plan plan = {.to = targets[t / 8],
                                        .from = (enum hc_format)from,
                                        .direction = (enum hc_direction)(t / 2 % 4),
                                        .saturate = t % 2 == 1};
            uint64_t anywhere = 0;
            for (uint32_t i = 0; i < 65536; i++)
                anywhere = mistakes_that_show(&plan, i, anywhere);
            expect_all_shown(&plan, anywhere);
        }
}

/* One input in 2^17 - 1, which walks over all exponents and fractions, and half of bf16. */
Test(cast_inputs, of_32_bits_show_what_65535_others_show)
{
    for (int t = 0; t < 2 * TARGETS; t++) {
        struct hc_cast_plan plan = {.to = targets[t / 2], .from = HC_FP32, .saturate = t % 2 == 1};
        uint64_t anywhere = 0;
        for (uint64_t i = 0; i < (uint64_t)1 << 32; i += 131071)
            anywhere = mistakes_that_show(&plan, (uint32_t)i, anywhere);
        for (uint32_t i = 0; i < 65536; i += 2)
            anywhere = mistakes_that_show(&plan, i << 16, anywhere);
        expect_all_shown(&plan, anywhere);
    }
}

/* Part of the contract with those who write emulators: into e4m3 each of these shows. */
Test(cast_inputs, show_the_mistakes_that_are_known)
{
    static const char *const known[] = {
        "it rounds ties away from zero",
        "it rounds ties toward zero",
        "it truncates",
        "it flushes subnormal results to 0",
        "it forgets the bits behind the first one cut off",
        "it decides about overflow before rounding",
        "it sees an overflow only from one step beyond the largest number on",
        "it makes an overflow of the tie between the largest number and overflow",
        "it rounds by way of fp16",
        "it rounds by way of bf16",
        "it loses the carry: a fraction of all ones becomes 0, and the exponent stays",
        "it makes the largest number of NaN",
        "it makes +0 of -0",
        "it makes the smallest number of its half, which is a tie",
        "it makes the smallest number of what is just below its half",
        "it saturates",
    };
    struct hc_cast_plan plan = {.to = HC_E4M3, .from = HC_FP32};
    uint64_t shown = shown_by_inputs(&plan);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        int m = 0;
        while (m < hc_cast_mistake_count && strcmp(hc_cast_mistakes[m].what, known[i]) != 0)
            m++;
        cr_assert_lt(m, hc_cast_mistake_count, "%s", known[i]);
        cr_expect(shown >> m & 1, "%s", known[i]);
    }
}

/* Whether two mistakes give the same answers. */
static bool alike(const struct hc_cast_plan *plan, const uint32_t *inputs, size_t count, int a,
                  int b)
{
    for (size_t i = 0; i < count; i++)
        if (!hc_cast_same(plan, hc_cast_mistaken(plan, a, inputs[i]),
                          hc_cast_mistaken(plan, b, inputs[i])))
            return false;
    return true;
}

Test(cast_judge, names_each_mistake_from_its_answers)
{
    static const struct hc_cast_plan plans[] = {
        {.to = HC_E4M3, .from = HC_FP32},
        {.to = HC_E5M2, .from = HC_FP16, .saturate = true},
        {.to = HC_E5M2FNUZ, .from = HC_BF16},
        {.to = HC_E2M1, .from = HC_FP32},
        {.to = HC_E8M0, .from = HC_BF16},
        {.to = HC_E4M3, .from = HC_FP32, .direction = HC_TOWARD_ZERO},
        {.to = HC_E4M3, .from = HC_BF16, .direction = HC_UPWARD, .saturate = true},
        {.to = HC_E5M2, .from = HC_FP32, .direction = HC_DOWNWARD},
        {.to = HC_UE4M3, .from = HC_FP16, .direction = HC_DOWNWARD},
    };
    int named = 0;
    for (size_t t = 0; t < sizeof plans / sizeof plans[0]; t++) {
        size_t count = 0;
        uint32_t *inputs = hc_cast_inputs(&plans[t], &count);
        cr_assert_not_null(inputs);
        for (int m = 0; m < hc_cast_mistake_count; m++) {
            struct hc_cast_judge judge;
            int first = 0;
            cr_assert(hc_cast_judge_open(&judge, &plans[t]));
            for (size_t i = 0; i < count; i++)
                (void)hc_cast_judge_add(&judge, inputs[i],
                                        hc_cast_mistaken(&plans[t], m, inputs[i]));
            cr_assert(judge.alone >> m & 1);
            cr_expect_eq(judge.wrong > 0, judge.possible >> m & 1);
            while (!(judge.alone >> first & 1))
                first++;
            cr_expect(alike(&plans[t], inputs, count, first, m), "%s: %s, not %s",
                      hc_formats[plans[t].to].name, hc_cast_mistakes[m].what,
                      hc_cast_mistakes[first].what);
            named += judge.wrong > 0;
            hc_cast_judge_close(&judge);
        }
        free(inputs);
    }
    cr_expect_gt(named, 150, "%d", named);
}
