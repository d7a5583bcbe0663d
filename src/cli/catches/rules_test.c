/* Each rule against numbers whose verdict is known from elsewhere. Those of numpy.allclose and of
   the cosine were computed once with numpy 2.4.6 in fp64 (numpy.allclose(got, want);
   got @ want / (norm(got) * norm(want))). Those of torch follow from its documented formula,
   |actual - expected| <= atol + rtol * |expected|, with the documented tolerances, and two are
   PyTorch's own: test/test_testing.py, test_default_tolerance_selection_mismatching_dtypes (0.99 is
   near 1 in bf16, and is not in fp64), and the example of assert_close in which NaN is not near
   NaN. Those of msProbe follow from its check_accuracy. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "cli/catches/rules.h"

#define INF          ((double)INFINITY)
#define NOT_A_NUMBER ((double)NAN)

enum { TORCH, NUMPY, FLASH, RELATIVE, COSINE, PROBE, BOUND };

/* An arm of one or two values, and whether the rule accepts it. */
struct known {
    int rule;
    bool accepted;
    enum hc_format format;
    int count;
    double got[2];
    double want[2];
    double more; /* the half implementation's value, or the bound */
};

static const struct known all[] = {
    {TORCH, true, HC_BF16, 1, {0.99}, {1}, 0},
    {TORCH, false, HC_FP64, 1, {0.99}, {1}, 0},
    {TORCH, false, HC_FP64, 1, {NOT_A_NUMBER}, {NOT_A_NUMBER}, 0},
    {TORCH, true, HC_FP16, 1, {1.001}, {1}, 0},
    {TORCH, false, HC_FP16, 1, {1.0011}, {1}, 0},
    {TORCH, true, HC_BF16, 1, {1.016}, {1}, 0},
    {TORCH, false, HC_BF16, 1, {1.0161}, {1}, 0},
    {TORCH, true, HC_FP32, 1, {1.000011}, {1}, 0},
    {TORCH, false, HC_FP32, 1, {1.000012}, {1}, 0},
    {TORCH, true, HC_FP32, 1, {1000.0012}, {1000}, 0},
    {TORCH, false, HC_FP32, 1, {1000.0014}, {1000}, 0},
    {TORCH, true, HC_FP64, 1, {1.00000019}, {1}, 0},
    {TORCH, false, HC_FP64, 1, {1.00000021}, {1}, 0},
    {TORCH, true, HC_FP16, 1, {9e-6}, {0}, 0},
    {TORCH, false, HC_FP16, 1, {0}, {2e-5}, 0},
    {TORCH, true, HC_FP16, 1, {0}, {-0.0}, 0},
    {TORCH, true, HC_FP16, 1, {INF}, {INF}, 0},
    {TORCH, false, HC_FP16, 1, {INF}, {-INF}, 0},
    {TORCH, false, HC_FP16, 1, {INF}, {65504}, 0},
    {TORCH, false, HC_FP16, 1, {65504}, {INF}, 0},
    {TORCH, false, HC_FP16, 1, {NOT_A_NUMBER}, {0}, 0},
    {TORCH, true, HC_E4M3, 1, {1}, {1}, 0},
    {TORCH, false, HC_E4M3, 1, {1}, {1.0001}, 0},
    {TORCH, false, HC_FORMAT_COUNT, 1, {2048}, {2049}, 0},
    {TORCH, true, HC_FORMAT_COUNT, 1, {2049}, {2049}, 0},
    {TORCH, true, HC_FORMAT_COUNT, 1, {0.5}, {0.50000005}, 0},
    {NUMPY, true, HC_FP64, 1, {1.00001}, {1}, 0},
    {NUMPY, false, HC_FP64, 1, {1.0000101}, {1}, 0},
    {NUMPY, false, HC_FP16, 1, {2048}, {4096}, 0},
    {NUMPY, false, HC_FP16, 1, {NOT_A_NUMBER}, {NOT_A_NUMBER}, 0},
    {NUMPY, false, HC_FP16, 1, {NOT_A_NUMBER}, {1}, 0},
    {NUMPY, true, HC_FP16, 1, {INF}, {INF}, 0},
    {NUMPY, true, HC_FP16, 1, {-INF}, {-INF}, 0},
    {NUMPY, false, HC_FP16, 1, {INF}, {-INF}, 0},
    {NUMPY, false, HC_FP16, 1, {INF}, {1e38}, 0},
    {NUMPY, false, HC_FP16, 1, {65504}, {INF}, 0},
    {NUMPY, true, HC_FP16, 1, {0}, {-0.0}, 0},
    {NUMPY, true, HC_FP16, 1, {0}, {1e-8}, 0},
    {NUMPY, false, HC_FP16, 1, {0}, {2e-8}, 0},
    {NUMPY, true, HC_FP16, 1, {1e-8}, {0}, 0},
    {NUMPY, false, HC_FP16, 1, {1.1e-8}, {0}, 0},
    {NUMPY, false, HC_FP16, 1, {-1}, {1}, 0},
    {NUMPY, false, HC_FP32, 2, {1, 2}, {1, 2.1}, 0},
    {NUMPY, true, HC_FP32, 2, {1, 2}, {1, 2}, 0},
    {FLASH, true, HC_FP32, 1, {1.5}, {1}, 1.25}, /* twice the error of half */
    {FLASH, false, HC_FP32, 1, {1.5625}, {1}, 1.25},
    {FLASH, true, HC_FP32, 1, {1}, {1}, 1},
    {FLASH, false, HC_FP32, 1, {1.0000001}, {1}, 1},
    {FLASH, true, HC_FP32, 1, {0.5}, {1}, 1.25},
    {FLASH, false, HC_FP32, 1, {NOT_A_NUMBER}, {1}, 1.25},
    {FLASH, false, HC_FP32, 1, {1}, {1}, NOT_A_NUMBER},
    {FLASH, true, HC_FP32, 1, {INF}, {1}, INF},
    {FLASH, false, HC_FP32, 1, {NOT_A_NUMBER}, {1}, INF},
    {FLASH, false, HC_FP32, 1, {INF}, {1}, 2},
    {RELATIVE, true, HC_FP16, 1, {1.001}, {1}, 0},
    {RELATIVE, false, HC_FP16, 1, {1.0011}, {1}, 0},
    {RELATIVE, true, HC_FP16, 1, {0}, {0}, 0},
    {RELATIVE, true, HC_FP16, 1, {-0.0}, {0}, 0},
    {RELATIVE, false, HC_FP16, 1, {1e-30}, {0}, 0},
    {RELATIVE, false, HC_FP16, 1, {0}, {1e-30}, 0},
    {RELATIVE, false, HC_FP16, 1, {NOT_A_NUMBER}, {NOT_A_NUMBER}, 0},
    {RELATIVE, true, HC_FP16, 1, {INF}, {INF}, 0},
    {RELATIVE, false, HC_FP16, 1, {INF}, {1}, 0},
    {COSINE, true, HC_FP16, 1, {2048}, {4096}, 0}, /* numpy: 1 */
    {COSINE, false, HC_FP16, 1, {-1}, {1}, 0},     /* -1 */
    {COSINE, false, HC_FP16, 1, {0}, {1}, 0},
    {COSINE, false, HC_FP16, 1, {1}, {0}, 0},
    {COSINE, true, HC_FP16, 1, {0}, {0}, 0},
    {COSINE, false, HC_FP16, 1, {NOT_A_NUMBER}, {1}, 0},
    {COSINE, false, HC_FP16, 1, {INF}, {1}, 0},
    {COSINE, true, HC_FP16, 1, {INF}, {INF}, 0},
    {COSINE, false, HC_FP16, 1, {INF}, {-INF}, 0},
    {COSINE, true, HC_FP64, 1, {1e200}, {1e200}, 0},
    {COSINE, true, HC_FP64, 1, {1e-200}, {1e-200}, 0},
    {COSINE, true, HC_FP32, 2, {1, 1}, {1, 1.3}, 0},   /* 0.9916 */
    {COSINE, false, HC_FP32, 2, {1, 0.15}, {1, 0}, 0}, /* 0.9889 */
    {COSINE, false, HC_FP32, 2, {3, 4}, {4, 3}, 0},    /* 0.96 */
    {COSINE, false, HC_FP32, 2, {1, 0}, {0, 1}, 0},    /* 0 */
    {COSINE, true, HC_FP32, 2, {INF, 1}, {INF, 2}, 0},
    {COSINE, false, HC_FP32, 2, {INF, 1}, {INF, -2}, 0},
    {PROBE, true, HC_FP16, 1, {2}, {1}, 0}, /* cosine 1, error 1 */
    {PROBE, false, HC_FP16, 1, {2.01}, {1}, 0},
    {PROBE, false, HC_FP16, 1, {-0.0001}, {0.0001}, 0},
    {PROBE, false, HC_FP16, 1, {NOT_A_NUMBER}, {1}, 0},
    {PROBE, false, HC_FP16, 1, {INF}, {1}, 0},
    {PROBE, true, HC_FP16, 1, {INF}, {INF}, 0},
    {PROBE, true, HC_FP16, 1, {0}, {0}, 0},
    {PROBE, false, HC_FP16, 1, {0}, {0.5}, 0},
    {PROBE, true, HC_FP32, 2, {1, 1}, {1, 1.3}, 0}, /* cosine 0.9916, error 0.3 */
    {PROBE, false, HC_FP32, 2, {3, 4}, {4, 3}, 0},  /* cosine 0.96, error 1 */
    {PROBE,
     true,
     HC_FP32,
     2,
     {0.0003, 0.0004},
     {0.0004, 0.0003},
     0}, /* cosine 0.96, error 0.0001 */
    {BOUND, true, HC_FP32, 1, {1.25}, {1}, 0.25},
    {BOUND, false, HC_FP32, 1, {1.375}, {1}, 0.25},
    {BOUND, true, HC_FP32, 1, {1}, {1}, 0},
    {BOUND, true, HC_FP32, 1, {0.75}, {1}, 0.25},
    {BOUND, true, HC_FP32, 1, {-0.0}, {0}, 0},
    {BOUND, false, HC_FP32, 1, {NOT_A_NUMBER}, {1}, 0.25},
    {BOUND, false, HC_FP32, 1, {INF}, {1}, 0.25},
    {BOUND, true, HC_FP32, 1, {INF}, {INF}, 0},
};

static struct hc_judged_arm arm_of(const struct known *k)
{
    struct hc_judged_arm arm = {.count = k->count, .has_half = k->rule == FLASH};
    for (int i = 0; i < k->count; i++)
        arm.value[i] = (struct hc_judged_value){.format = k->format,
                                                .got = k->got[i],
                                                .want = k->want[i],
                                                .real = k->want[i],
                                                .rad = k->more,
                                                .half = k->more};
    return arm;
}

typedef enum hc_judgement judge(const struct hc_judged_arm *arm);

/* How many verdicts on the rows of a rule are not the known ones. */
static int wrong_verdicts(int rule, judge *judge, bool tell)
{
    int wrong = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct hc_judged_arm arm = arm_of(&all[i]);
        bool differs = all[i].rule == rule && (judge(&arm) == HC_ACCEPTED) != all[i].accepted;
        wrong += differs;
        cr_expect(!differs || !tell, "%s, row %zu: got %.9g, want %.9g", hc_rules[rule].name, i,
                  all[i].got[0], all[i].want[0]);
    }
    return wrong;
}

Test(rules, each_rule_gives_the_verdicts_that_are_known)
{
    static const char *const names[] = {"torch", "numpy", "flash", "1e-3", "cos", "probe", "bound"};
    for (int r = 0; r < HC_CATCH_RULES; r++) {
        cr_assert_str_eq(hc_rules[r].name, names[r]);
        cr_assert_leq(strlen(hc_rules[r].name), 5);
        cr_assert_eq(wrong_verdicts(r, hc_rules[r].judge, true), 0);
    }
}

/* Rules with a defect each. */
static double relative, absolute;
static double factor = 2;
static bool nan_is_near_nan;
static bool infinity_is_large;

static enum hc_judgement wrong_close(const struct hc_judged_arm *arm)
{
    for (int i = 0; i < arm->count; i++) {
        double got = arm->value[i].got;
        double want = arm->value[i].want;
        bool nans = nan_is_near_nan && isnan(got) && isnan(want);
        bool large = infinity_is_large && isinf(got) && fabs(want) >= 65504;
        if (!nans && !large && !hc_is_close(got, want, relative, absolute))
            return HC_REFUSED;
    }
    return HC_ACCEPTED;
}

static enum hc_judgement wrong_flash(const struct hc_judged_arm *arm)
{
    const struct hc_judged_value *v = &arm->value[0];
    bool refused = fabs(v->got - v->real) > factor * fabs(v->half - v->real);
    return refused ? HC_REFUSED : HC_ACCEPTED;
}

static enum hc_judgement wrong_cosine(const struct hc_judged_arm *arm)
{
    return fabs(hc_cosine(arm)) > 0.99 ? HC_ACCEPTED : HC_REFUSED;
}

Test(rules, a_wrong_rule_is_seen)
{
    relative = 1e-5;
    absolute = 1e-8;
    cr_assert_eq(wrong_verdicts(NUMPY, wrong_close, false), 0);
    nan_is_near_nan = true;
    cr_assert_gt(wrong_verdicts(NUMPY, wrong_close, false), 0);
    nan_is_near_nan = false;
    infinity_is_large = true;
    cr_assert_gt(wrong_verdicts(NUMPY, wrong_close, false), 0);
    infinity_is_large = false;
    absolute = 0;
    cr_assert_gt(wrong_verdicts(NUMPY, wrong_close, false), 0);
    absolute = 1e-8;
    relative = 1e-3;
    cr_assert_gt(wrong_verdicts(NUMPY, wrong_close, false), 0);
    cr_assert_gt(wrong_verdicts(TORCH, wrong_close, false), 0);
    cr_assert_gt(wrong_verdicts(RELATIVE, wrong_close, false), 0);
    cr_assert_gt(wrong_verdicts(FLASH, wrong_flash, false), 0, "NaN is accepted");
    factor = 3;
    cr_assert_gt(wrong_verdicts(FLASH, wrong_flash, false), 1);
    cr_assert_gt(wrong_verdicts(COSINE, wrong_cosine, false), 0);
    for (int r = 0; r < HC_CATCH_RULES; r++) /* no rule passes for another one */
        for (int other = 0; other < HC_CATCH_RULES; other++)
            if (r != other && r != FLASH && r != BOUND)
                cr_expect_gt(wrong_verdicts(r, hc_rules[other].judge, false), 0, "%s for %s",
                             hc_rules[other].name, hc_rules[r].name);
}

Test(rules, a_cosine_is_that_of_numpy)
{
    static const struct {
        double got[2];
        double want[2];
        double cosine;
    } rows[] = {{{1, 1}, {1, 1.3}, 0.9916004111862217},
                {{1, 1}, {1, 1.2}, 0.995893206467704},
                {{3, 4}, {4, 3}, 0.96},
                {{1, 0}, {0, 1}, 0},
                {{3e300, 4e300}, {4e-300, 3e-300}, 0.96}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hc_judged_arm arm = {.count = 2};
        for (int k = 0; k < 2; k++)
            arm.value[k] = (struct hc_judged_value){.got = rows[i].got[k], .want = rows[i].want[k]};
        cr_expect_float_eq(hc_cosine(&arm), rows[i].cosine, 1e-14, "%zu", i);
    }
}

Test(rules, expected_is_the_real_number_rounded_once)
{
    cr_expect_eq(hc_expected(HC_FP16, 2049, true), 2048);
    cr_expect_eq(hc_expected(HC_FP32, 2049, true), 2049);
    cr_expect_eq(hc_expected(HC_BF16, 1.0039, true), 1.0);
    cr_expect_eq(hc_expected(HC_FORMAT_COUNT, 0.1, true), 0.1);
    cr_expect_eq(hc_expected(HC_FP16, 1e5, true), 1e5);
    cr_expect_eq(hc_expected(HC_FP16, 1e5, false), INF);
    cr_expect_eq(hc_expected(HC_FP16, 1e-8, true), 1e-8);
    cr_expect_eq(hc_expected(HC_FP16, 1e-8, false), 0);
    cr_expect_eq(hc_expected(HC_E4M3, 1e5, true), 1e5);
}

Test(rules, a_negative_control_may_be_rounded_once_and_no_other_arm)
{
    struct hc_judged_arm arm = {
        .count = 1,
        .value = {{.format = HC_FP16, .got = 2048, .want = 2048, .real = 2049, .rad = 0}}};
    cr_assert_eq(hc_rules[BOUND].judge(&arm), HC_REFUSED);
    arm.control = true;
    cr_assert_eq(hc_rules[BOUND].judge(&arm), HC_ACCEPTED);
    arm.value[0].got = 2050;
    cr_assert_eq(hc_rules[BOUND].judge(&arm), HC_REFUSED);
}

Test(rules, without_a_half_implementation_flashattention_says_nothing)
{
    struct hc_judged_arm arm = {.count = 1, .value = {{.got = 1, .real = 1}}};
    cr_assert_eq(hc_rules[FLASH].judge(&arm), HC_NOT_APPLIED);
}
