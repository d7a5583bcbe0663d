#include "define/plain.h"
#include "define/testing.h"

/* The plain results of a text whose inputs are drawn, in the order of `return`. */
static void plain_of(const char *text, double *got)
{
    struct hc_definition *d = defined(text);
    struct hc_instance in = drawn_instance(d, HC_FP32, NULL);
    struct hc_tensor out[HC_MAX_DEFINED_TENSORS];
    for (int i = 0; i < d->results; i++) {
        out[i] = hc_instance_tensor(&in, d->result[i]);
        out[i].data = calloc((size_t)hc_tensor_count(&out[i]) + 1, 8);
    }
    cr_assert_eq(hc_define_plain(&in, out, NULL), HC_OK, "%s", hc_message());
    for (int i = 0; i < d->results; i++) {
        for (int64_t k = 0; k < hc_tensor_count(&out[i]); k++)
            *got++ = hc_tensor_get(&out[i], k);
        free(out[i].data);
    }
    free_inputs(&in);
    hc_definition_free(d);
}

Test(plain, sums_go_from_the_first_term_to_the_last_and_round_each_time)
{
    double got[6] = {0};
    plain_of("op f(x[n, c])\ny[n] = sum(c: 16777216 + c)\nz[n] = sum(c: x[n,c] - x[n,c])\n"
             "return y, z\n",
             got);
    /* 2^24 + (2^24 + 1) is 2^25 in fp32, then 2^25 + 2^24 + 2 and so on: c goes from 0 to 3. */
    float want = 16777216;
    for (int c = 1; c < 4; c++)
        want += (float)16777216 + (float)c;
    cr_expect_eq(got[0], (double)want, "%.0f", got[0]);
}

Test(plain, absent_elements_take_no_part_and_are_0_as_results)
{
    double got[16] = {0};
    plain_of("op f(x[n])\ny[n] = 1 + 0*x[n]     where n != 1\ns = sum(n: y[n])\nm = mean(n: y[n])\n"
             "return y, s, m\n",
             got);
    cr_expect_eq(got[0], 1);
    cr_expect_eq(got[1], 0);
    cr_expect_eq(got[2], 1);
    cr_expect_eq(got[3], 2);
    cr_expect_eq(got[4], 1);
}

Test(plain, a_scan_reads_its_element_before_and_its_start)
{
    double got[3] = {0};
    plain_of("op f(x[t])\nh[-1] = 5\nscan t: h[t] = 2 * h[t-1] + 0*x[t]\nreturn h\n", got);
    cr_expect_eq(got[0], 10);
    cr_expect_eq(got[1], 20);
    cr_expect_eq(got[2], 40);
}

Test(plain, the_default_of_an_option_is_computed_before_it_is_rounded)
{
    double got[1] = {0};
    plain_of("op f(x; b = 0.999, c = 1 - b)\ny = c + 0*x\nreturn y\n", got);
    cr_expect_eq(got[0], (double)0.001F, "%.9g", got[0]);
}

Test(value, an_element_that_may_be_absent_binds_nothing_that_is_computed_from_it)
{
    /* Rounding may turn the comparison around, and so y may be there or not. */
    struct hc_definition *d = defined("op f(x[n])\na[n] = exp(x[n])\n"
                                      "b[n] = 7 where a[n] * (1 / a[n]) <= 1\ny[n] = 2 * b[n]\n"
                                      "return y\n");
    struct hc_instance in = drawn_instance(d, HC_FP32, NULL);
    struct hc_evaluator *evaluator = hc_evaluator_new(&in);
    struct hc_defined_value y = value_at(evaluator, d->result[0], 0);
    cr_expect(isinf(y.rad), "%g", y.rad);
    hc_evaluator_free(evaluator);
    free_inputs(&in);
    hc_definition_free(d);
}

/* The radius of the first result's first element. */
static double radius_of(const char *text, double *want)
{
    struct hc_definition *d = defined(text);
    struct hc_instance in = drawn_instance(d, HC_FP32, NULL);
    struct hc_evaluator *evaluator = hc_evaluator_new(&in);
    struct hc_defined_value y = value_at(evaluator, d->result[0], 0);
    *want = y.want.hi;
    hc_evaluator_free(evaluator);
    free_inputs(&in);
    hc_definition_free(d);
    return y.rad;
}

Test(value, argmax_is_a_place_where_no_rounding_and_no_tie_can_turn_it_around)
{
    double want;
    double got[1] = {0};
    const char *sure = "op f(x[n])\ny = argmax(n: 3*n - n*n) + 0*x[argmax(n: 3*n - n*n - n/2)]\n"
                       "return y\n";
    /* 0, 2, 2: of equal ones any is right; and 0, 1.5, 1 has one largest. */
    cr_expect(isinf(radius_of(sure, &want)));
    cr_expect_eq(want, 1);
    cr_expect_eq(
        radius_of("op f(x[n])\ny = argmax(n: 3*n - n*n - n/2) + 0*x[0]\nreturn y\n", &want), 0);
    cr_expect_eq(want, 1);
    plain_of("op f(x[n])\ny = argmax(n: 3*n - n*n - n/2) + 0*x[0]\nreturn y\n", got);
    cr_expect_eq(got[0], 1);
    /* exp and log give the numbers back but for roundings. */
    cr_expect(
        isinf(radius_of("op f(x[n])\ny = argmax(n: log(exp(1 + 0*n*x[n])))\nreturn y\n", &want)));
    /* What is read at the place is not judged either, and what does not read it is. */
    cr_expect(isinf(radius_of("op f(x[n])\nm = argmax(n: 0*x[n])\ny = 2*m\nreturn y, m\n", &want)));
    cr_expect_eq(
        radius_of("op f(x[n])\nm = argmax(n: 0*x[n])\ny = 2 + 0*x[0]\nreturn y, m\n", &want), 0);
    cr_expect(isinf(radius_of("op f(x[n])\ny = argmax(n: x[n] where n < 0)\nreturn y\n", &want)));
}

/* Products and quotients may be reassociated, so that a part of one may overflow or underflow where
   the text's own order does not: PyTorch's gradient of an RMSNorm takes a sum times the third power
   of the reciprocal root first. */
Test(value, a_product_is_bounded_by_what_every_grouping_of_it_gives)
{
    double want;
    cr_expect(isinf(radius_of("op f(x[n])\ny = 1e30 * 1e-30 * 1e30 + 0*x[0]\nreturn y\n", &want)));
    cr_expect(
        isinf(radius_of("op f(x[n])\ny = 1e30 / 1e30 * 1e30 / 1e-9 + 0*x[0]\nreturn y\n", &want)));
    /* 1 / 1e-39 overflows, and 1 / 3e38 is subnormal. */
    cr_expect(isinf(radius_of("op f(x[n])\ny = 1e-39 / 1e-39 + 0*x[0]\nreturn y\n", &want)));
    double rad = radius_of("op f(x[n])\ny = 2e38 / 3e38 + 0*x[0]\nreturn y\n", &want);
    cr_expect(rad > 2e38 * 0x1p-150 && rad < 0x1p-20, "%g", rad);
    /* 1e-60 is 0 in fp32. */
    rad = radius_of("op f(x[n])\ny = 1e-30 * 1e30 * 1e-30 + 0*x[0]\nreturn y\n", &want);
    cr_expect(rad >= 1e-30 && rad < 1e-29, "%g", rad);
    /* A number that an equation or a sum has is one factor. */
    rad = radius_of("op f(x[n])\na = 1e30 * 1e-30 + 0*x[0]\ny = a * 1e30\nreturn y\n", &want);
    cr_expect(rad > 0 && rad < 1e24, "%g", rad);
    rad = radius_of("op f(x[n])\ny = 1e10 * 1e-10 * 1e10 + 0*x[0]\nreturn y\n", &want);
    cr_expect(rad > 0 && rad < 1e4, "%g", rad);
}
