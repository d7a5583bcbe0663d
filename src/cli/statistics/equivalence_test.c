#include "cli/statistics/equivalence.h"

#include <criterion/criterion.h>
#include <math.h>

#include "cli/statistics/significance.h"

static const struct hc_equivalence_question *within(double margin)
{
    static struct hc_equivalence_question question;
    question = (struct hc_equivalence_question){.margin = margin};
    return &question;
}

/* Student (1908), The probable error of a mean, section IX: hours of sleep gained with two drugs;
   R's t.test gives t = -4.0621, p = 0.002833, 95 % interval -2.4598858 .. -0.7001142. */
static const double drug1[] = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
static const double drug2[] = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};

Test(equivalence, students_own_pairs_give_his_result)
{
    struct hc_difference d = hc_paired(drug1, drug2, 10, within(0.5));
    double error = d.deviation / sqrt(10);
    cr_assert_float_eq(d.mean, -1.58, 1e-12);
    cr_assert_float_eq(d.mean / error, -4.0621, 5e-5);
    cr_assert_float_eq(2 * hc_t_below(d.mean / error, 9), 0.002833, 5e-7);
    cr_assert_float_eq(d.mean - hc_t_quantile(.975, 9) * error, -2.4598858, 5e-8);
    cr_assert_float_eq(d.mean + hc_t_quantile(.975, 9) * error, -0.7001142, 5e-8);
    cr_assert_eq(d.verdict, HC_DIFFERENT);
}

/* With mean 0 and error e both tests have t = margin / e. */
Test(equivalence, tost_decides_as_the_90_percent_interval_does)
{
    static const double zero[4] = {0, 0, 0, 0};
    static const double even[4] = {1, -1, 1, -1};
    double error = sqrt(4.0 / 3) / 2;
    double edge = 2.353363 * error; /* t of .95 with 3 degrees */
    cr_assert_eq(hc_paired(even, zero, 4, within(edge * 1.001)).verdict, HC_EQUIVALENT);
    cr_assert_eq(hc_paired(even, zero, 4, within(edge * 0.999)).verdict, HC_UNDECIDED);
    cr_assert_float_eq(hc_paired(even, zero, 4, within(edge)).p, 0.05, 1e-6);
    cr_assert_float_eq(hc_paired(even, zero, 4, within(edge)).high, edge, 1e-6);
    for (double margin = 0.05; margin < 4; margin += 0.05) {
        struct hc_difference d = hc_paired(drug1, drug2, 10, within(margin));
        cr_assert_eq(d.verdict == HC_EQUIVALENT, d.p < 0.05);
        cr_assert_eq(d.verdict == HC_DIFFERENT, d.high < -margin);
    }
}

Test(equivalence, no_verdict_from_fewer_than_two_pairs_or_from_nan)
{
    static const double a[] = {1, NAN};
    static const double b[] = {0.5, 1};
    cr_assert_eq(hc_paired(a, b, 0, within(9)).verdict, HC_UNDECIDED);
    cr_assert_eq(hc_paired(a, b, 1, within(9)).verdict, HC_UNDECIDED);
    cr_assert_eq(hc_paired(a, b, 1, within(9)).mean, 0.5);
    cr_assert_eq(hc_paired(a, b, 2, within(9)).verdict, HC_UNDECIDED);
}

Test(equivalence, equal_differences_need_no_luck)
{
    static const double a[] = {1, 2, 3};
    static const double b[] = {0.5, 1.5, 2.5};
    cr_assert_eq(hc_paired(a, a, 3, within(0.1)).verdict, HC_EQUIVALENT);
    cr_assert_eq(hc_paired(a, b, 3, within(0.6)).verdict, HC_EQUIVALENT);
    cr_assert_eq(hc_paired(a, b, 3, within(0.4)).verdict, HC_DIFFERENT);
    cr_assert_eq(hc_paired(a, b, 3, within(0.4)).p, 1);
}

/* The same numbers as two sets of people: R's t.test gives t = -1.8608, df = 17.776, p = 0.07939
   and the 95 % interval -3.3654832 .. 0.2054832. */
Test(equivalence, students_numbers_without_their_pairs_give_welchs_result)
{
    struct hc_equivalence_question q = {.margin = 0.5, .level = 0.025};
    struct hc_difference d = hc_welch(drug1, 10, drug2, 10, &q);
    cr_assert_float_eq(d.mean / d.error, -1.8608, 5e-5);
    cr_assert_float_eq(d.freedom, 17.776, 5e-4);
    cr_assert_float_eq(2 * hc_t_below(d.mean / d.error, d.freedom), 0.07939, 5e-6);
    cr_assert_float_eq(d.low, -3.3654832, 5e-8);
    cr_assert_float_eq(d.high, 0.2054832, 5e-8);
    cr_assert_eq(d.verdict, HC_UNDECIDED);
}

Test(equivalence, sets_of_one_run_are_never_decided)
{
    struct hc_equivalence_question q = {.margin = 9};
    cr_assert_eq(hc_welch(drug1, 1, drug2, 10, &q).verdict, HC_UNDECIDED);
    cr_assert_eq(hc_welch(drug1, 10, drug2, 1, &q).verdict, HC_UNDECIDED);
    cr_assert(isnan(hc_welch(drug1, 0, drug2, 10, &q).mean));
    cr_assert_eq(hc_welch(drug1, 2, drug2, 2, &q).verdict, HC_EQUIVALENT);
}

/* With 100 images a spread of 0 is luck: three pairs that differ by 1 image each are taken for
   1 +- 0.5 and so do not show that the difference is below 1.4. */
Test(equivalence, whole_numbers_of_images_are_not_more_certain_than_half_an_image)
{
    static const double a[] = {91, 92, 93};
    static const double b[] = {90, 91, 92};
    struct hc_equivalence_question q = {.margin = 1.4};
    cr_assert_eq(hc_paired(a, b, 3, &q).verdict, HC_EQUIVALENT);
    q.grain = 1;
    cr_assert_eq(hc_paired(a, b, 3, &q).verdict, HC_UNDECIDED);
    cr_assert_eq(hc_paired(a, b, 3, &q).deviation, 0.5);
    cr_assert_eq(hc_paired(a, a, 3, &q).verdict, HC_EQUIVALENT);
    static const double flat[] = {91, 91, 91};
    cr_assert_eq(hc_welch(flat, 3, flat, 3, &q).deviation, 0.5);
}
