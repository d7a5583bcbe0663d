/* The evaluation: what sums of ones come to, how formats meet, what an arm stores, and errors. */
#include <criterion/criterion.h>
#include <math.h>
#include <mpfr.h>
#include <stdint.h>

#include "formula/evaluate.h"
#include "formula/evaluation.h"
#include "formula/testing.h"
#include "num/mpfr_test.h"

/* From 2048 on, half's numbers are two apart, and 2048 + 1 is a tie that goes to 2048. A sum of
   threes moves by 4 from 4096 on (4096 + 3 = 4099 -> 4100), and so on: 7316 by exact integers in
   sum_of_threes below. */
static int sum_of_threes(void)
{
    int sum = 0;
    for (int i = 0; i < 2000; i++) {
        int next = sum + 3;
        int ulp = next < 2048 ? 1 : next < 4096 ? 2 : 4;
        int down = next / ulp * ulp;
        int rest = next - down;
        bool up = 2 * rest > ulp || (2 * rest == ulp && down / ulp % 2 == 1);
        sum = up ? down + ulp : down;
    }
    return sum;
}

Test(evaluate, sums_in_half_stop_or_drift_where_integers_say)
{
    cr_assert_eq(sum_of_threes(), 7316);
    cr_assert_eq(want_in("fp16", "sum(2000, 3)"), sum_of_threes());
    cr_assert_eq(want_in("fp16", "sum(4096, 1)"), 2048);
    cr_assert_eq(want_in("fp16", "tree(4096, 1)"), 4096);
    cr_assert_eq(want_in("bf16", "sum(4096, 1)"), 256);
    cr_assert_eq(want_in("fp32", "sum(4096, 1)"), 4096);
    cr_assert_eq(want_in("fp16", "tree(2000, 3)"), 6000);
}

/* PyTorch's promotion of floating-point tensors (torch.promote_types). */
Test(evaluate, formats_promote_as_in_torch)
{
    static const char *const names[] = {"fp64", "fp32", "bf16", "fp16"};
    static const enum hc_format formats[] = {HC_FP64, HC_FP32, HC_BF16, HC_FP16};
    struct trial t = begin("fp16", "x = 1.5");
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            char text[64];
            (void)snprintf(text, sizeof text, "%s(x) * %s(x)", names[i], names[j]);
            int wider = i < j ? i : j;
            enum hc_format want = i == j ? formats[i] : wider >= 2 ? HC_FP32 : formats[wider];
            const struct hc_value *v = value_of(&t, text);
            cr_assert_eq(v->format, want, "%s", text);
            cr_assert_eq(v->want[0], 2.25);
            (void)snprintf(text, sizeof text, "select(x > 0, %s(x), %s(x))", names[i], names[j]);
            cr_assert_eq(value_of(&t, text)->format, want, "%s", text);
        }
    finish(&t);
}

Test(evaluate, a_constant_takes_the_format_of_what_it_meets_and_is_rounded_once)
{
    struct trial t = begin("fp32", "x = fp16(1); y = 1; third := 1 / 3");
    cr_assert_eq(want_of(&t, "x * third"), 0x1.554p-2);
    cr_assert_eq(want_of(&t, "y * third"), (double)(1.0f / 3.0f));
    cr_assert_eq(value_of(&t, "third")->format, HC_FP32);
    cr_assert_eq(want_of(&t, "fp64(third)"), 1.0 / 3.0);
    /* 1 + 2^-11 + 2^-30: rounded to fp32 first it would be a tie in half. */
    cr_assert_eq(want_of(&t, "fp16(1 + 2^-11 + 2^-30)"), 1 + 0x1p-10);
    cr_assert_eq(want_of(&t, "sqrt(2)"), (double)sqrtf(2));
    finish(&t);
}

Test(evaluate, constants_are_real_numbers)
{
    struct trial t = begin("fp64", "c := 1 - 0.999^1000; lr := 0.5 * (1 + cos(pi / 3))");
    struct hc_real *want = hc_real_new(0);
    struct hc_real *one = hc_real_new(1);
    hc_real_set_text(want, "0.999");
    (void)hc_real_pow(want, want, 1000);
    (void)hc_real_sub(want, one, want);
    cr_assert_eq(want_of(&t, "c"), hc_real_double(want));
    cr_assert_eq(want_of(&t, "lr"), 0.75);
    cr_assert_eq(want_of(&t, "2^0.5"), sqrt(2));
    cr_assert_eq(want_of(&t, "sum(4, 2^-i)"), 1.875);
    hc_real_free(want);
    hc_real_free(one);
    finish(&t);
}

Test(evaluate, an_arm_with_a_storage_rounds_what_is_assigned)
{
    struct trial t = begin("fp32/fp16", "x = 2049; y = 0.1; z = x + 1");
    cr_assert_eq(hc_evaluation_value(t.e, 0)->format, HC_FP16);
    cr_assert_eq(want_of(&t, "x"), 2048);
    cr_assert_eq(want_of(&t, "y"), 0x1.998p-4);
    cr_assert_eq(value_of(&t, "x + 1")->format, HC_FP32);
    cr_assert_eq(want_of(&t, "x + 1"), 2049);
    cr_assert_eq(want_of(&t, "z"), 2048);
    cr_assert_eq(value_of(&t, "x")->format, HC_FP16);
    finish(&t);
}

Test(evaluate, a_value_keeps_its_format_in_an_arm_without_storage)
{
    struct trial t = begin("fp16 acc=fp32", "x = 300; y = acc(x) * x; z = x * x; k = acc(0.1)");
    cr_assert_eq(want_of(&t, "y"), 90000);
    cr_assert_eq(value_of(&t, "y")->format, HC_FP32);
    cr_assert_eq(want_of(&t, "z"), INFINITY);
    cr_assert_eq(want_of(&t, "k"), (double)0.1f);
    finish(&t);
}

Test(evaluate, casts_go_in_all_directions)
{
    cr_assert_eq(want_in("fp32", "bf16_ru(1.001)"), 1 + 0x1p-7);
    cr_assert_eq(want_in("fp32", "bf16_rd(1.001)"), 1);
    cr_assert_eq(want_in("fp32", "fp16_rz(-1e9)"), -65504);
    cr_assert_eq(want_in("fp32", "fp16_rz(1e400)"), 65504);
    cr_assert_eq(want_in("fp32", "fp16_ru(1e-400)"), 0x1p-24);
    cr_assert_eq(want_in("fp32", "e5m2(60000)"), 57344);
    cr_assert(isnan(want_in("fp32", "e4m3(1000)")));
    cr_assert_eq(want_in("fp32", "tf32(1 + 2^-11 + 2^-20)"), 1 + 0x1p-10);
    struct trial t = begin("fp32", "x = 1");
    cr_assert_eq(value_of(&t, "tf32(x)")->format, HC_FP32);
    finish(&t);
}

/* A truth and a count have no format: 301 is no number of bf16. From 1 to 2 the numbers of bf16 are
   2^-7 apart, and above twice as far: 1 + 129 * 2^-7 is a tie that goes to 2, and 1 + 299 * 2^-7
   one that goes to 428 * 2^-7. */
Test(evaluate, truths_and_counts_keep_out_of_formats)
{
    struct trial t = begin("bf16", "x = list(300, 1 + i * 2^-7); b = distinct(x)");
    cr_assert_eq(want_of(&t, "distinct(x)"), 129 + 86);
    cr_assert_eq(value_of(&t, "distinct(x)")->format, HC_FORMAT_COUNT);
    cr_assert_eq(want_of(&t, "count(300, i > 10)"), 289);
    cr_assert_eq(want_of(&t, "1 - (x[1] > 1)"), 0);
    cr_assert_eq(want_of(&t, "count(300, 1) + 1"), 301);
    cr_assert_eq(value_of(&t, "x[0] + count(300, 1)")->format, HC_BF16);
    cr_assert_eq(want_of(&t, "len(x)"), 300);
    cr_assert_eq(want_of(&t, "sum(300, x[i] > 2)"), 170);
    finish(&t);
}

Test(evaluate, lists_meet_element_by_element)
{
    struct trial t = begin("fp32", "x = [1, 2.5, -3]; y = x * x - 1; m = min(x)");
    const struct hc_value *v = value_of(&t, "y");
    cr_assert(v->list && v->n == 3);
    cr_assert(v->want[0] == 0 && v->want[1] == 5.25 && v->want[2] == 8);
    cr_assert_eq(want_of(&t, "m"), -3);
    cr_assert_eq(want_of(&t, "max(x)"), 2.5);
    cr_assert_eq(want_of(&t, "prod(x)"), -7.5);
    cr_assert_eq(want_of(&t, "sum(3, x[2 - i] * x[i])"), -3 + 6.25 - 3);
    cr_assert_eq(want_of(&t, "sum(j: 3, sum(i: 3, x[i] * x[j]))"), 0.25);
    cr_assert_eq(want_of(&t, "sum(3, sum(x))"), 1.5);
    cr_assert_eq(want_of(&t, "distinct([1, 1, 2, inf, nan, nan])"), 4);
    finish(&t);
}

Test(evaluate, conditions_are_pythons)
{
    struct trial t = begin("fp32", "x = 3; y = [-1, 0, 2]; n = nan; z = 0");
    cr_assert_eq(want_of(&t, "1 if x > 2 else 5"), 1);
    cr_assert_eq(want_of(&t, "1 if x > 4 else 5 if x > 2 else 7"), 5);
    cr_assert_eq(want_of(&t, "(1 if z else 2) + 10"), 12);
    cr_assert_eq(want_of(&t, "1 < x < 4"), 1);
    cr_assert_eq(want_of(&t, "1 < x < 3"), 0);
    cr_assert_eq(want_of(&t, "1 < x <= 3 < 4 < 4"), 0);
    cr_assert_eq(want_of(&t, "4 > x >= 3 > z == 0"), 1);
    cr_assert_eq(want_of(&t, "x and z or x"), 1);
    cr_assert_eq(want_of(&t, "x and (z or not x)"), 0);
    cr_assert_eq(want_of(&t, "not x == 3"), 0);
    cr_assert_eq(want_of(&t, "n and not z"), 1);
    cr_assert_eq(want_of(&t, "not n"), 0);
    const struct hc_value *v = value_of(&t, "y if y > 0 else 0");
    cr_assert(v->n == 3 && v->want[0] == 0 && v->want[1] == 0 && v->want[2] == 2);
    finish(&t);
}

/* Exact where the format has the exact result, and otherwise as the operations one by one. */
Test(evaluate, means_and_softmax_are_the_operations_that_they_are_made_of)
{
    static const char *const arms[] = {"fp16", "bf16", "fp32", "fp64"};
    for (int a = 0; a < 4; a++) {
        struct trial t =
            begin(arms[a], "x = [1, -2.5, 3.3, 7.7]; e = exp(x - max(x)); w = e / sum(e)");
        cr_assert_eq(want_of(&t, "mean([1, 2, 6])"), 3);
        cr_assert_eq(want_of(&t, "mean(5, i)"), 2);
        cr_assert_eq(want_of(&t, "mean(x)"), want_of(&t, "sum(x) / 4"));
        double want[4];
        for (int i = 0; i < 4; i++)
            want[i] = value_of(&t, "w")->want[i];
        const struct hc_value *got = value_of(&t, "softmax(x)");
        cr_assert_eq(got->n, 4);
        for (int i = 0; i < 4; i++)
            cr_assert_eq(got->want[i], want[i], "%s, %d", arms[a], i);
        cr_assert_eq(want_of(&t, "softmax(4, 7)"), 0.25);
        finish(&t);
    }
    /* In fp16 4096 + 1 is 4096, and the number of 70000 terms is infinite. */
    cr_assert_eq(want_in("fp16", "mean(4096, 1)"), 0.5);
    cr_assert_eq(want_in("fp16", "mean(70000, 0)"), 0);
}

Test(evaluate, the_largest_of_many_is_one_of_them)
{
    struct trial t = begin("fp16", "x = 3; y = [1, 9]");
    cr_assert_eq(want_of(&t, "max(x, 1, 7, 2)"), 7);
    cr_assert_eq(want_of(&t, "min(x, 1, 7, -2, 5)"), -2);
    cr_assert(isnan(want_of(&t, "maximum(x, 1, nan, 2)")));
    const struct hc_value *v = value_of(&t, "max(y, x, 2)");
    cr_assert(v->n == 2 && v->want[0] == 3 && v->want[1] == 9);
    finish(&t);
}

Test(evaluate, round_takes_the_even_one_of_two)
{
    struct trial t = begin("fp16", "x = [0.5, 1.5, 2.5, -0.5, -1.5, 2.75, 1000.25]");
    static const double want[] = {0, 2, 2, -0.0, -2, 3, 1000};
    const struct hc_value *v = value_of(&t, "round(x)");
    for (int i = 0; i < 7; i++)
        cr_assert(v->want[i] == want[i] && signbit(v->want[i]) == signbit(want[i]), "%d", i);
    cr_assert_eq(v->rad[0], 0);
    finish(&t);
}

/* Errors stand where the reader looks. */
Test(evaluate, an_error_has_a_place_and_a_sentence)
{
    static const struct {
        const char *text;
        const char *place;
        const char *what;
    } rows[] = {
        {"e4m3(x) + 1", "e4m3(x) + 1", "e4m3 has no arithmetic: cast it first, fp32(x)"},
        {"sum(4, e5m2(x))", "e5m2(x)", "e5m2 has no arithmetic: cast it first, fp32(x)"},
        {"exp(e5m2(x))", "exp(e5m2(x))", "e5m2 has no arithmetic: cast it first, fp32(x)"},
        {"y[3]", "3", "this has to be an integer from 0 to 2, and it is 3"},
        {"y[0.5]", "0.5", "this has to be an integer, and it is 0.5"},
        {"y[-1]", "-1", "this has to be an integer from 0 to 2, and it is -1"},
        {"sum(2000000, 1)", "2000000",
         "this has to be an integer from 1 to 1048576, and it is 2000000"},
        {"sum(0, 1)", "0", "this has to be an integer from 1 to 1048576, and it is 0"},
        {"sum(j: 8, sum(1e6, 1))", "sum(1e6, 1)",
         "the sums of one step have more than 4194304 terms"},
        {"x[0]", "x", "this is a number, and not a list"},
        {"y + [1, 2]", "y + [1, 2]", "a list of 3 elements meets one of 2"},
        {"[y, 1]", "y", "an element of a list is a number, and this is a list"},
        {"sum(x)", "x", "sum of one operand takes a list, and this is a number"},
        {"sum(3, y)", "y", "a term is a number, and this is a list"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trial t = begin("fp32", "x = 1; y = [1, 2, 3]");
        const struct hc_block *block = block_of(&t, rows[i].text, true);
        struct hc_formula_error error = {.what = ""};
        enum hc_evaluated done;
        cr_assert_null(hc_evaluation_show(t.e, block, 0, 0, &done, &error), "%s", rows[i].text);
        cr_assert_eq(done, HC_EVALUATED_WRONGLY);
        cr_assert_str_eq(error.what, rows[i].what, "%s: %s", rows[i].text, error.what);
        cr_assert_eq(error.at, strstr(block->text, rows[i].place) - block->text, "%s",
                     rows[i].text);
        cr_assert_eq((size_t)error.length, strlen(rows[i].place), "%s", rows[i].text);
        cr_assert_eq(want_of(&t, "x"), 1); /* and the evaluation goes on */
        finish(&t);
    }
}

Test(evaluate, the_step_is_a_constant)
{
    struct trial t = begin("fp32", "s = 0");
    loop(&t, "s += step; c := 1 - 0.5^step", 10);
    cr_assert_eq(want_of(&t, "s"), 55);
    cr_assert_eq(want_of(&t, "c"), 1 - 0x1p-10);
    finish(&t);
}

/* Sums of more than one block of terms, by closed forms. */
Test(evaluate, a_long_sum_has_the_terms_of_a_short_one)
{
    struct trial t = begin("fp64", "x = list(10000, i); y = x; x = 1");
    cr_assert_eq(want_of(&t, "sum(10000, i)"), 49995000);
    cr_assert_eq(want_of(&t, "tree(10000, i * i)"), 333283335000);
    cr_assert_eq(want_of(&t, "sum(4097, 1)"), 4097);
    cr_assert_eq(want_of(&t, "distinct(10000, floor(i / 4))"), 2500);
    cr_assert_eq(want_of(&t, "sum(8193, y[i] - y[8192 - i])"), 0);
    cr_assert_eq(want_of(&t, "sum(5000, sum(2, i))"), 5000);
    cr_assert_eq(want_of(&t, "sum(1, i + 3)"), 3);
    cr_assert_eq(value_of(&t, "list(1, i)")->n, 1);
    cr_assert_eq(want_of(&t, "x"), 1);
    finish(&t);
}

/* As in torch, min and max are NaN if an operand is, and NaN is true. */
Test(evaluate, nan_stays)
{
    struct trial t = begin("fp16", "x = nan; y = 1");
    cr_assert(isnan(want_of(&t, "min(x, y)")) && isnan(want_of(&t, "min(y, x)")));
    cr_assert(isnan(want_of(&t, "max(x, y)")) && isnan(want_of(&t, "max([1, x, 2])")));
    cr_assert_eq(want_of(&t, "select(x, 2, 3)"), 2);
    cr_assert_eq(want_of(&t, "x != x"), 1);
    cr_assert_eq(want_of(&t, "(x == x) + (x < y) + (x >= y)"), 0);
    cr_assert_eq(want_of(&t, "isnan(x) - isfinite(x) + isinf(y / 0)"), 2);
    finish(&t);
}

/* 300 squared is beyond half, 257 is no number of bf16, and e4m3 stays narrower than both. */
Test(evaluate, narrow_computes_in_the_arms_arithmetic_where_a_formula_widens)
{
    static const char formula[] = "x = 300; y = fp32(x) * float(x); z = acc(x) * acc(x); "
                                  "b = bf16(x) + x; e = fp32(e4m3(17))";
    const double inf = (double)INFINITY;
    const double want[2][4] = {{90000, 90000, 600, 16}, {inf, inf, 600, 16}};
    for (int narrow = 0; narrow < 2; narrow++) {
        struct trial t =
            begin_with("fp16 acc=fp32", formula, (struct hc_evaluation_options){.narrow = narrow});
        static const char *const names[] = {"y", "z", "b", "e"};
        for (int i = 0; i < 4; i++) {
            cr_expect_eq(want_of(&t, names[i]), want[narrow][i], "%s: %g", names[i],
                         want_of(&t, names[i]));
            cr_expect_eq(value_of(&t, names[i])->format, narrow ? HC_FP16 : HC_FP32);
        }
        finish(&t);
    }
}

/* Constants that carry a radius: it is a number, and it bounds what it should. */

static double radius_of(const char *text, double want)
{
    struct hc_arm arm;
    struct hc_formula_error error;
    struct hc_evaluation_options options = {0};
    struct hc_program *program = hc_program_new();
    const struct hc_block *block = hc_program_parse(program, text, false, &error);
    cr_assert(block && hc_arm_read("fp64", &arm) == HC_OK);
    struct hc_evaluation *e = hc_evaluation_open(program, &arm, &options);
    cr_assert_eq(hc_evaluation_run(e, block, 0, &error), HC_EVALUATED);
    const struct hc_value *w = hc_evaluation_value(e, block->statement[block->count - 1].name);
    cr_assert_eq(w->want[0], want, "%s: %a", text, w->want[0]);
    double rad = fmax(w->rad[0], w->real_rad[0]);
    hc_evaluation_close(e);
    hc_program_free(program);
    return rad;
}

/* 1/3 - 1/3 is a 0 of which 256 bits do not know that it is one. */
Test(constant, a_power_of_an_uncertain_zero_has_a_radius)
{
    double rad = radius_of("c := (1/3 - 1/3)^2; w = c", 0);
    cr_assert(rad > 0 && rad < 0x1p-500, "%g", rad);
    cr_assert_eq(radius_of("c := (1/3 - 1/3)^-2; w = c", INFINITY), INFINITY);
    cr_assert_lt(radius_of("c := (1/3)^2; w = c", 0x1.c71c71c71c71cp-4), 0x1p-56);
}

/* Only the last element is uncertain, and it is far from the others. */
Test(constant, a_count_of_constants_that_coincide_is_certain)
{
    cr_assert_eq(radius_of("w = distinct([1, 1, 1/3])", 2), 0);
}

/* The definition of every operation against MPFR itself, on random operands of each format. MPFR
   computes with 4600 bits, which hold any sum and product exactly, and rounds by its own means. */

enum { BITS = 4600, TRIALS = 400 };

static uint64_t state = 1;

static uint64_t random_bits(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 11 ^ state << 40;
}

/* Numbers of all sizes; every fourth is near 1, and every tenth an infinity, a zero or a NaN. */
static double random_number(enum hc_format format)
{
    static const double ends[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1};
    uint64_t bits = random_bits();
    if (bits % 10 == 0)
        return hc_round(format, ends[bits / 10 % 6]);
    if (bits % 4 == 0)
        return hc_round(format, 1 + ldexp((double)(int32_t)(bits >> 20), -34));
    return hc_decode(format, random_bits() >> (64 - hc_formats[format].bytes * 8));
}

/* 1 / sqrt(a): of -0 it is -inf. */
static int reciprocal_root(mpfr_t y, mpfr_srcptr a, mpfr_rnd_t rounding)
{
    mpfr_sqrt(y, a, rounding);
    return mpfr_ui_div(y, 1, y, rounding);
}

/* 1 / (1 + e^-a) = (1 + tanh(a / 2)) / 2. Where that would lose its bits, e^a is near enough: the
   next term of the series is e^2a. */
static int logistic(mpfr_t y, mpfr_srcptr a, mpfr_rnd_t rounding)
{
    if (mpfr_cmp_si(a, -1300) < 0)
        return mpfr_exp(y, a, rounding);
    mpfr_div_2ui(y, a, 1, rounding);
    mpfr_tanh(y, y, rounding);
    mpfr_add_ui(y, y, 1, rounding);
    return mpfr_div_2ui(y, y, 1, rounding);
}

static const struct {
    enum hc_function f;
    int (*one)(mpfr_t, mpfr_srcptr, mpfr_rnd_t);
    int (*two)(mpfr_t, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
    long bits;
} rows[] = {
    {HC_FN_add, NULL, mpfr_add, BITS},
    {HC_FN_sub, NULL, mpfr_sub, BITS},
    {HC_FN_mul, NULL, mpfr_mul, BITS},
    {HC_FN_div, NULL, mpfr_div, 1000},
    {HC_FN_sqrt, mpfr_sqrt, NULL, 1000},
    {HC_FN_fma, NULL, NULL, BITS},
    {HC_FN_exp, mpfr_exp, NULL, 400},
    {HC_FN_log, mpfr_log, NULL, 400},
    {HC_FN_log1p, mpfr_log1p, NULL, 400},
    {HC_FN_tanh, mpfr_tanh, NULL, 400},
    {HC_FN_cos, mpfr_cos, NULL, 400},
    {HC_FN_sin, mpfr_sin, NULL, 400},
    {HC_FN_erf, mpfr_erf, NULL, 400},
    {HC_FN_negate, mpfr_neg, NULL, 400},
    {HC_FN_abs, mpfr_abs, NULL, 400},
    {HC_FN_floor, mpfr_rint_floor, NULL, 400},
    {HC_FN_round, mpfr_rint_roundeven, NULL, 400},
    {HC_FN_rsqrt, reciprocal_root, NULL, 1000},
    {HC_FN_sigmoid, logistic, NULL, 4000},
    {HC_FN_power, NULL, mpfr_pow, 1000},
    {HC_FN_cast, mpfr_set, NULL, 400},
};

static struct hc_scratch scratch;

static void open_scratch(void)
{
    for (int k = 0; k < HC_MAX_OPERANDS; k++)
        scratch.operand[k] = hc_real_new_bits(0, 64);
    scratch.result = hc_real_new_bits(0, HC_REFERENCE_PRECISION);
    scratch.narrow_sum = hc_real_new_bits(0, HC_NARROW_SUM_BITS);
    scratch.fp64_sum = hc_real_new_bits(0, HC_FP64_SUM_BITS);
}

static void check(size_t row, const struct hc_operation *operation, const double *x)
{
    mpfr_t a[3];
    mpfr_t y;
    mpfr_init2(y, rows[row].bits);
    for (int k = 0; k < 3; k++) {
        mpfr_init2(a[k], 53);
        mpfr_set_d(a[k], x[k], MPFR_RNDN);
    }
    if (rows[row].one)
        rows[row].one(y, a[0], MPFR_RNDN);
    else if (rows[row].two)
        rows[row].two(y, a[0], a[1], MPFR_RNDN);
    else
        mpfr_fma(y, a[0], a[1], a[2], MPFR_RNDN);
    mpfr_round_into(y, operation->format, operation->direction);
    double want = mpfr_get_d(y, MPFR_RNDN);
    double got = hc_define(&scratch, operation, x).value;
    bool same = isnan(want) ? isnan(got) : want == got && signbit(want) == signbit(got);
    cr_assert(same, "%s(%a, %a, %a) in %s: %a, not %a", hc_functions[operation->function].name,
              x[0], x[1], x[2], hc_formats[operation->format].name, want, got);
    for (int k = 0; k < 3; k++)
        mpfr_clear(a[k]);
    mpfr_clear(y);
}

Test(define, every_function_is_mpfr_s_rounded_once)
{
    static const enum hc_format formats[] = {HC_FP64, HC_FP32, HC_BF16, HC_FP16};
    open_scratch();
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (int f = 0; f < 4; f++)
            for (int trial = 0; trial < TRIALS; trial++) {
                struct hc_operation operation = {NULL,       rows[row].f, formats[f],
                                                 HC_NEAREST, false,       false};
                double x[3];
                for (int k = 0; k < 3; k++)
                    x[k] = random_number(formats[f]);
                check(row, &operation, x);
            }
}

Test(define, casts_between_all_formats_are_mpfr_s_in_all_directions)
{
    size_t row = sizeof rows / sizeof *rows - 1;
    open_scratch();
    for (int from = HC_FP64; from <= HC_E5M2; from++)
        for (int to = HC_FP64; to <= HC_E5M2; to++)
            for (int direction = 0; direction < HC_DIRECTION_COUNT; direction++)
                for (int trial = 0; trial < 100; trial++) {
                    struct hc_operation operation = {
                        NULL,  HC_FN_cast, (enum hc_format)to, (enum hc_direction)direction,
                        false, false};
                    double x[3] = {random_number((enum hc_format)from), 0, 0};
                    check(row, &operation, x);
                }
}

/* (1 + 2^-52)^(2^-300) is 1 + 2^-352, of which 256 bits have the 1 alone. */
Test(define, a_power_next_to_a_number_is_not_exact)
{
    open_scratch();
    struct hc_operation power = {NULL, HC_FN_power, HC_FP64, HC_NEAREST, false, false};
    cr_assert_not(hc_define(&scratch, &power, (double[3]){1 + 0x1p-52, 0x1p-300, 0}).exact);
    cr_assert(hc_define(&scratch, &power, (double[3]){1, 0x1p-300, 0}).exact);
    power.direction = HC_UPWARD;
    cr_assert_eq(hc_define(&scratch, &power, (double[3]){1 + 0x1p-52, 0x1p-300, 0}).value,
                 1 + 0x1p-52);
}

/* All of fp16 and bf16: 256 bits are on the same side of every middle as four times as many. */
Test(define, sigmoid_and_rsqrt_are_right_for_all_numbers_of_16_bits)
{
    static const enum hc_function functions[] = {HC_FN_sigmoid, HC_FN_rsqrt};
    open_scratch();
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (int f = 0; f < 2; f++)
            for (uint32_t bits = 0; rows[row].f == functions[f] && bits < 65536; bits += 3) {
                enum hc_format format = bits % 2 ? HC_FP16 : HC_BF16;
                struct hc_operation o = {NULL, functions[f], format, HC_NEAREST, false, false};
                check(row, &o, (double[3]){hc_decode(format, bits), 0, 0});
            }
}

/* 3^40 by integers is 12157665459056928801 = 0xa8b8b452291fe821. */
Test(define, a_power_is_rounded_once)
{
    cr_assert_eq(want_in("fp64", "fp64(3)**40"), (double)0xa8b8b452291fe821);
    cr_assert_eq(want_in("fp32", "fp32(3)**40"), (double)(float)0xa8b8b452291fe821);
    cr_assert_eq(want_in("fp16", "fp16(3)^-1"), 0x1.554p-2);
    cr_assert_eq(want_in("bf16", "bf16(1)**1001"), 1);
    cr_assert_eq(want_in("bf16", "bf16(-1)**1001"), -1); /* bf16 has 1000 and 1004 */
    cr_assert_eq(want_in("fp16", "pow(fp16(2), 0.5)"), want_in("fp16", "sqrt(fp16(2))"));
    /* (1 + 2^-10)^2 = 1 + 2^-9 + 2^-20 is above a tie of fp16 by 2^-20; squared twice it would be
       rounded twice. */
    struct trial t = begin("fp16", "x = 1 + 2^-10; k = 3");
    cr_assert_eq(want_of(&t, "x**4"), 1 + 0x1p-8);
    cr_assert_eq(want_of(&t, "2**k"), 8);
    cr_assert_eq(want_of(&t, "0.5**k * k**2"), 1.125);
    cr_assert(isnan(want_of(&t, "(-x)**0.5")));
    cr_assert_eq(value_of(&t, "x**4")->format, HC_FP16);
    cr_assert_eq(value_of(&t, "fp32(k)**x")->format, HC_FP32);
    finish(&t);
}

/* 2^127 + 2^-149 has 277 bits; 2^127 + ulp/2 + 2^-149 is no tie. */
Test(define, a_sum_sees_the_smallest_addend)
{
    open_scratch();
    struct hc_operation fma = {NULL, HC_FN_fma, HC_FP32, HC_NEAREST, false, false};
    struct hc_operation sub = {NULL, HC_FN_sub, HC_FP64, HC_NEAREST, false, false};
    cr_assert_eq(hc_define(&scratch, &fma, (double[3]){0x1.001p+60, 0x1.001p+60, 0x1p-149}).value,
                 0x1.002002p+120);
    cr_assert_eq(hc_define(&scratch, &fma, (double[3]){0x1.001p+60, 0x1.001p+60, -0x1p-149}).value,
                 0x1.002p+120);
    struct hc_defined y = hc_define(&scratch, &sub, (double[3]){0x1p1000, 0x1p-1074, 0});
    cr_assert(y.value == 0x1p1000 && !y.exact);
}
