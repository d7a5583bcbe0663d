/* Infinities and NaN: what is open where a NaN is compared, or where a derived gradient has the
   difference of two infinities; and that a NaN which is hidden is wrong everywhere else. */
#include <stdio.h>

#include "define/gradient/adjoint.h"
#include "define/library.h"
#include "define/testing.h"

static const double nan_ = (double)NAN;
static const double inf_ = (double)INFINITY;

/* How y[0] of a text is judged whose inputs x and w have one element each. */
static enum answer answer_of(const char *equation, double x, double w, double got)
{
    char text[512];
    (void)snprintf(text, sizeof text, "op f(x[n], w[n])\naxis m = N\n%s\nreturn y\n", equation);
    return judged(element_of(text, HC_FP32, 1, &x, &w), HC_FP32, got);
}

/* The step of Lion: numpy's and PyTorch's sign of a NaN is NaN, and a select takes a branch. */
Test(specials, either_branch_and_nan_are_right_where_a_nan_is_compared)
{
    const char *const sign = "s[n] = select(x[n] > 0, 1, select(x[n] < 0, -1, 0))\n"
                             "y[n] = w[n] - 0.125 * s[n]";
    const double right[] = {1, 0.875, 1.125, nan_};
    const double wrong[] = {0, 1.5, inf_, -inf_};
    for (int i = 0; i < 4; i++) {
        cr_expect_neq(answer_of(sign, nan_, 1, right[i]), WRONG, "%g", right[i]);
        cr_expect_eq(answer_of(sign, nan_, 1, wrong[i]), WRONG, "%g", wrong[i]);
    }
    cr_expect_eq(answer_of(sign, 3, 1, 0.875), RIGHT);
    cr_expect_eq(answer_of(sign, 3, 1, 1.125), WRONG);
    cr_expect_eq(answer_of(sign, 3, 1, nan_), WRONG);
    static const char *const relu[] = {"y[n] = select(x[n] > 0, x[n], 0) * w[n]",
                                       "y[n] = select(not (x[n] > 0), 0, x[n]) * w[n]",
                                       "y[n] = select(x[n] <= 0 or w[n] >= 5, 0, x[n]) * w[n]",
                                       "y[n] = select(x[n] >= 0 and w[n] < 5, x[n], 0) * w[n]",
                                       "y = sum(n: select(any(m: x[m] > 0), x[n], 0) * w[n])"};
    for (int i = 0; i < 5; i++) {
        cr_expect_neq(answer_of(relu[i], nan_, 1, nan_), WRONG, "%s", relu[i]);
        cr_expect_neq(answer_of(relu[i], nan_, 1, 0), WRONG, "%s", relu[i]);
        cr_expect_eq(answer_of(relu[i], nan_, 1, 1), WRONG, "%s", relu[i]);
    }
}

/* Of two forms that are both right, each may make NaN of an infinity, and none makes a number. */
Test(specials, what_both_of_either_make_of_an_infinity_or_a_nan_is_demanded)
{
    const char *const mean = "y[n] = either(x[n] / 2 + w[n] / 2, w[n] - (w[n] - x[n]) / 2)";
    const double both[][2] = {{inf_, 1}, {-inf_, 1}, {nan_, 1}, {1, nan_}};
    const double one[][2] = {{1, inf_}, {inf_, inf_}, {-inf_, -inf_}};
    for (int i = 0; i < 4; i++) {
        double x = both[i][0], w = both[i][1];
        cr_expect_eq(answer_of(mean, x, w, x + w), RIGHT, "%g %g", x, w);
        cr_expect_eq(answer_of(mean, x, w, 1), WRONG, "%g %g", x, w);
        cr_expect_eq(answer_of(mean, x, w, isnan(x + w) ? inf_ : nan_), WRONG, "%g %g", x, w);
    }
    for (int i = 0; i < 3; i++) {
        double x = one[i][0], w = one[i][1];
        cr_expect_neq(answer_of(mean, x, w, w), WRONG, "%g %g", x, w);
        cr_expect_eq(answer_of(mean, x, w, nan_), RIGHT, "%g %g", x, w);
        cr_expect_eq(answer_of(mean, x, w, 1), WRONG, "%g %g", x, w);
    }
}

/* What an expert ranks is open where a score is NaN, and not where enough others are above it. */
Test(specials, a_rank_is_open_by_as_much_as_there_are_nans)
{
    const char *const text = "op f(x[n], w[n])\naxis m = N\n"
                             "r[n] = count(m: x[m] > x[n])\ny[n] = w[n] where r[n] < 1\n"
                             "return y\n";
    const double w[] = {7, 8, 9, 10, 11};
    const double beaten[] = {1, nan_, 2, 3, 4};
    const double first[] = {2, nan_, 1, 0, 0};
    struct hc_defined_element e = element_of(text, HC_FP32, 5, beaten, w);
    cr_expect_eq(judged(e, HC_FP32, 0), RIGHT);
    cr_expect_eq(judged(e, HC_FP32, 7), WRONG);
    e = element_of(text, HC_FP32, 5, first, w);
    cr_expect_eq(judged(e, HC_FP32, 0), NOT_JUDGED);
    cr_expect_eq(judged(e, HC_FP32, 7), NOT_JUDGED);
}

Test(specials, a_nan_that_is_hidden_is_wrong_where_the_text_has_one)
{
    static const char *const texts[] = {
        "y[n] = max(x[n], 0) * w[n]",
        "y[n] = select(x[n] > 0, x[n], exp(x[n]) - 1) * w[n]",
        "y[n] = select(abs(x[n]) < 1, x[n] * x[n], abs(x[n])) * w[n]",
        "y[n] = x[n] * w[n]",
        "y[n] = x[n] / sum(m: x[m]) * w[n]",
        "e[n] = exp(x[n] - max(m: x[m]))\ny[n] = e[n] / sum(m: e[m]) * w[n]",
        "h[n] = shift max(m: x[m])\ne[n] = exp(x[n] - h[n])\ny[n] = e[n] / sum(m: e[m]) * w[n]",
    };
    for (int i = 0; i < 7; i++) {
        cr_expect_eq(answer_of(texts[i], nan_, 1, nan_), RIGHT, "%s", texts[i]);
        cr_expect_eq(answer_of(texts[i], nan_, 1, 0), WRONG, "%s", texts[i]);
        cr_expect_eq(answer_of(texts[i], nan_, 1, inf_), WRONG, "%s", texts[i]);
    }
}

/* One NaN among the scores makes all weights NaN, whatever the shift is. An infinity does so with
   the maximum for a shift, and not with another one. */
Test(specials, a_softmax_that_hides_a_nan_is_wrong_and_an_infinity_is_open)
{
    const char *const text = "op f(x[n], w[n])\naxis m = N\nh = shift max(n: x[n])\n"
                             "e[n] = exp(x[n] - h)\ny[n] = e[n] / sum(m: e[m]) * w[n]\n"
                             "return y\n";
    const double w[] = {1, 1, 1};
    const double a_nan[] = {1, nan_, 2};
    const double infinite[] = {1, inf_, 2};
    struct hc_defined_element e = element_of(text, HC_FP32, 3, a_nan, w);
    cr_expect_eq(judged(e, HC_FP32, nan_), RIGHT);
    cr_expect_eq(judged(e, HC_FP32, 0), WRONG);
    cr_expect_eq(judged(e, HC_FP32, 0.25), WRONG);
    e = element_of(text, HC_FP32, 3, infinite, w);
    cr_expect_eq(judged(e, HC_FP32, nan_), NOT_JUDGED);
    cr_expect_eq(judged(e, HC_FP32, 0), NOT_JUDGED);
}

/* So is what another shift may save, what a mask may skip, and what may be left out of a sum. */
Test(specials, a_nan_that_a_right_order_may_not_meet_is_open)
{
    const double x[] = {1, nan_};
    const double ones[] = {1, 1};
    static const char *const texts[] = {
        "h = shift max(n: x[n])\ny[n] = (x[n] - h) - (w[n] - h)",
        "p[n] = exp(select(n < 1, -inf, 0))\ny = sum(n: p[n] * w[n] * x[1 - n])",
        "y = sum(n: w[n]) + sum(n: x[n] where n == 1 and w[n] * 1.1 >= 1.1)"};
    for (int i = 0; i < 3; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "op f(x[n], w[n])\n%s\nreturn y\n", texts[i]);
        struct hc_defined_element e = element_of(text, HC_FP32, 2, x, ones);
        cr_expect_neq(judged(e, HC_FP32, i), WRONG, "%s", text);
        cr_expect_neq(judged(e, HC_FP32, nan_), WRONG, "%s", text);
    }
}

Test(specials, what_a_nan_surely_decides_is_judged)
{
    const char *const asked = "y[n] = select(isnan(x[n]), 0, select(x[n] > 0, 1, -1)) + w[n]";
    cr_expect_eq(answer_of(asked, nan_, 1, 1), RIGHT);
    cr_expect_eq(answer_of(asked, nan_, 1, 2), WRONG);
    cr_expect_eq(answer_of(asked, nan_, 1, nan_), WRONG);
    const char *const unequal = "y[n] = select(x[n] != x[n], 0, 1) + w[n]";
    cr_expect_eq(answer_of(unequal, nan_, 1, 1), RIGHT);
    cr_expect_eq(answer_of(unequal, nan_, 1, 2), WRONG);
    const char *const decided = "y[n] = select(x[n] > 0 and w[n] > 5, 0, 1) + w[n]";
    cr_expect_eq(answer_of(decided, nan_, 1, 2), RIGHT);
    cr_expect_eq(answer_of(decided, nan_, 1, 1), WRONG);
    cr_expect_eq(answer_of(decided, nan_, 1, nan_), WRONG);
    /* A comparison that rounding may reverse is one of numbers, and makes none. */
    const char *const border = "y[n] = select(x[n] * 1.1 > w[n] * 1.1, 0, 1)";
    cr_expect_neq(answer_of(border, 1, 1, 0), WRONG);
    cr_expect_neq(answer_of(border, 1, 1, 1), WRONG);
    cr_expect_eq(answer_of(border, 1, 1, nan_), WRONG);
}

/* How element 0 of the first gradient of a definition is judged, with inputs of one element. */
static enum answer gradient_answer(const char *text, const double *inputs, double got)
{
    struct hc_definition *forward = defined(text);
    char *gradient = NULL;
    cr_assert_eq(hc_adjoint_text(forward, &gradient), HC_OK, "%s", hc_message());
    struct hc_definition *d = defined(gradient);
    struct hc_instance in = drawn_instance(d, HC_FP32, NULL);
    for (int i = 0; i < d->inputs && i < 3; i++) {
        for (int k = 0; k < in.input[i].rank; k++)
            in.input[i].shape[k] = 1;
        hc_tensor_set(&in.input[i], 0, inputs[i]);
    }
    cr_assert_eq(hc_instance_bind(&in), HC_OK, "%s", hc_message());
    struct hc_evaluator *evaluator = hc_evaluator_new(&in);
    struct hc_defined_element e = {.value = value_at(evaluator, d->result[0], 0)};
    hc_evaluator_free(evaluator);
    free_inputs(&in);
    hc_definition_free(d);
    hc_definition_free(forward);
    free(gradient);
    return judged(e, HC_FP32, got);
}

/* dy (up + exp(-gate) y) s is NaN where up is infinite and gate negative; dy up (s (1 + gate (1 -
   s))) is an infinity. */
Test(specials, an_infinity_is_right_where_a_derived_gradient_has_the_difference_of_two)
{
    const char *const swiglu = hc_library_find("swiglu");
    const double infinite[] = {-2, inf_, 1};
    cr_expect_neq(gradient_answer(swiglu, infinite, -inf_), WRONG);
    cr_expect_neq(gradient_answer(swiglu, infinite, nan_), WRONG);
    cr_expect_eq(gradient_answer(swiglu, infinite, 0), WRONG);
    cr_expect_eq(gradient_answer(swiglu, infinite, -3), WRONG);
    /* A NaN that was there before stays one. */
    const double nan_up[] = {-2, nan_, 1};
    cr_expect_eq(gradient_answer(swiglu, nan_up, nan_), RIGHT);
    cr_expect_eq(gradient_answer(swiglu, nan_up, -inf_), WRONG);
    const double nan_dy[] = {-2, inf_, nan_};
    cr_expect_eq(gradient_answer(swiglu, nan_dy, -inf_), WRONG);
    /* So does one that a forward equation makes. */
    const char *const square =
        "op f(x[n], w[n])\ns[n] = x[n] - w[n]\ny[n] = s[n] * s[n]\nreturn y\n";
    const double two[] = {inf_, inf_, 1};
    cr_expect_eq(gradient_answer(square, two, nan_), RIGHT);
    cr_expect_eq(gradient_answer(square, two, inf_), WRONG);
    cr_expect_eq(gradient_answer(square, two, 0), WRONG);
}

Test(specials, a_text_that_is_no_gradient_means_its_own_grouping)
{
    const char *const text = "y[n] = w[n] * 2 - x[n] * w[n]";
    cr_expect_eq(answer_of(text, 3, inf_, nan_), RIGHT);
    cr_expect_eq(answer_of(text, 3, inf_, -inf_), WRONG);
}

/* What reads such a number has an infinity, NaN, or any number. */
Test(specials, what_is_computed_from_an_open_infinity_is_open)
{
    static const char *const texts[] = {"y[n] = exp(d[n])", "y[n] = 1 / d[n]",
                                        "y[n] = max(d[n], 0)", "y = max(n: d[n])"};
    for (int i = 0; i < 4; i++) {
        char text[256];
        double x = inf_;
        double w = 3;
        (void)snprintf(text, sizeof text,
                       "op f(x[n], w[n]: gradient)\nd[n] = w[n] * (2 * x[n] - x[n])\n%s\n"
                       "return y\n",
                       texts[i]);
        struct hc_defined_element e = element_of(text, HC_FP32, 1, &x, &w);
        cr_expect_eq(judged(e, HC_FP32, 0), NOT_JUDGED, "%s", text);
        cr_expect_eq(judged(e, HC_FP32, nan_), NOT_JUDGED, "%s", text);
        cr_expect_eq(judged(e, HC_FP32, inf_), NOT_JUDGED, "%s", text);
    }
    double x = inf_;
    double w = 3;
    struct hc_defined_element e =
        element_of("op f(x[n], w[n]: gradient)\ny = 2 * sum(n: w[n] * (2 * x[n] - x[n]))\n"
                   "return y\n",
                   HC_FP32, 1, &x, &w);
    cr_expect_eq(judged(e, HC_FP32, inf_), NOT_JUDGED);
    cr_expect_eq(judged(e, HC_FP32, nan_), RIGHT);
    cr_expect_eq(judged(e, HC_FP32, 5), WRONG);
}
