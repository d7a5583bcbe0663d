/* What is demanded of an element, and what is not: where roundings are owed, maxima, infinities
   that a mask hides, and variances. */
#include <stdio.h>

#include "define/draw.h"
#include "define/judge.h"
#include "define/plain.h"
#include "define/testing.h"

enum { MOST = 4096 };

Test(demands, an_infinity_that_a_mask_hides_is_left_out_or_makes_nan)
{
    static const char *const texts[] = {
        "op f(x[u], v[u])\np[u] = x[u]   where u < 2\ny = sum(u: p[u] * v[u])\nreturn y\n",
        "op f(x[u], v[u])\ny = sum(u: x[u] * v[u] where u < 2)\nreturn y\n"};
    const double x[] = {1, 2, 3};
    const double v[] = {4, 5, INFINITY};
    const double finite[] = {4, 5, 6};
    for (int i = 0; i < 2; i++) {
        struct hc_defined_element e = element_of(texts[i], HC_FP32, 3, x, v);
        cr_expect_eq(judged(e, HC_FP32, 14), RIGHT);
        cr_expect_eq(judged(e, HC_FP32, (double)NAN), NOT_JUDGED);
        cr_expect_eq(judged(e, HC_FP32, 15), WRONG);
        cr_expect_eq(judged(e, HC_FP32, INFINITY), WRONG);
        e = element_of(texts[i], HC_FP32, 3, x, finite);
        cr_expect_eq(judged(e, HC_FP32, (double)NAN), WRONG);
    }
}

/* So it is where the number that is masked overflows on the way. */
Test(demands, a_number_that_overflows_behind_a_mask_is_left_out_or_makes_nan)
{
    static const char text[] = "op f(x[u], v[u])\np[u] = x[u]   where u < 2\n"
                               "y = sum(u: p[u] * (v[u] * v[u]))\nreturn y\n";
    const double x[] = {1, 2, 3};
    const double v[] = {1, 2, 0x1p100};
    struct hc_defined_element e = element_of(text, HC_FP32, 3, x, v);
    cr_expect_eq(judged(e, HC_FP32, 9), RIGHT);
    cr_expect_eq(judged(e, HC_FP32, (double)NAN), NOT_JUDGED);
    cr_expect_eq(judged(e, HC_FP32, 10), WRONG);
}

Test(demands, a_score_of_minus_infinity_leaves_the_row_to_be_judged)
{
    const double s[] = {0.3, 1.1, -0.7, 0.2};
    const double v[] = {1.5, -2.25, 3, INFINITY};
    const char *text = "op f(s[u], v[u])\n"
                       "z[u] = select(u < 3, s[u] * 1.1, -inf)\n"
                       "m    = %smax(u: z[u])\n"
                       "p[u] = exp(z[u] - m)\n"
                       "y    = sum(u: p[u] * v[u]) / sum(u: p[u])\n"
                       "return y\n";
    const double finite[] = {1.5, -2.25, 3, 4};
    double want = 0;
    double all = 0;
    for (int u = 0; u < 3; u++) {
        want += exp(s[u] * 1.1) * v[u];
        all += exp(s[u] * 1.1);
    }
    for (int shift = 0; shift < 2; shift++) {
        char with[512];
        (void)snprintf(with, sizeof with, text, shift ? "shift " : "");
        double in_fp32[4];
        for (int u = 0; u < 4; u++)
            in_fp32[u] = (double)(float)s[u];
        struct hc_defined_element e = element_of(with, HC_FP32, 4, in_fp32, finite);
        cr_expect_eq(judged(e, HC_FP32, (double)(float)(want / all)), RIGHT);
        cr_expect_eq(judged(e, HC_FP32, want / all * 1.0001), WRONG);
        /* A tile that is masked as a whole may be skipped. */
        e = element_of(with, HC_FP32, 4, in_fp32, v);
        cr_expect_eq(judged(e, HC_FP32, (double)NAN), NOT_JUDGED);
    }
}

Test(demands, a_store_that_is_owed_is_seen_when_it_is_left_out)
{
    const char *text = "op f(x[n], w[n])\nh[n] = %s x[n] * 1.234\ny[n] = h[n] * w[n]\nreturn y\n";
    int seen = 0;
    for (int i = 0; i < 200; i++) {
        char with[256];
        double x = hc_round(HC_BF16, drawn((uint64_t)i));
        double w = hc_round(HC_BF16, drawn((uint64_t)i + 1000));
        float h = (float)x * 1.234F;
        double stored = hc_round(HC_BF16, hc_round(HC_BF16, (double)h) * w);
        double left_out = hc_round(HC_BF16, (double)(h * (float)w));
        (void)snprintf(with, sizeof with, text, "store");
        struct hc_defined_element e = element_of(with, HC_BF16, 1, &x, &w);
        cr_expect_eq(judged(e, HC_BF16, stored), RIGHT, "%g %g", x, w);
        seen += judged(e, HC_BF16, left_out) == WRONG;
        (void)snprintf(with, sizeof with, text, "store?");
        e = element_of(with, HC_BF16, 1, &x, &w);
        cr_expect_eq(judged(e, HC_BF16, stored), RIGHT);
        cr_expect_eq(judged(e, HC_BF16, left_out), RIGHT);
    }
    cr_expect_geq(seen, 40, "%d", seen);
}

Test(demands, a_store_of_what_a_shift_moves_may_fall_either_way)
{
    const char *text = "op f(x[n], w[n])\nm = shift max(n: x[n])\np[n] = store exp(x[n] - m)\n"
                       "y = sum(n: p[n] * w[n]) / sum(n: p[n])\nreturn y\n";
    const double x[] = {0.5, 0.25};
    const double w[] = {1, -1};
    struct hc_defined_element e = element_of(text, HC_BF16, 2, x, w);
    for (int shift = 0; shift < 2; shift++) {
        double p[2];
        for (int i = 0; i < 2; i++)
            p[i] = hc_round(HC_BF16, exp(x[i] - 0.5 - 0.4 * shift));
        cr_expect_eq(judged(e, HC_BF16, hc_round(HC_BF16, (p[0] - p[1]) / (p[0] + p[1]))), RIGHT);
    }
}

Test(demands, a_maximum_has_the_radius_of_the_one_that_it_surely_is)
{
    const double x[] = {1e6};
    const double w[] = {3};
    struct hc_defined_element far = element_of(
        "op f(x[n], w[n])\ny[n] = max(0 - x[n] * 1.1, w[n] * 1.1)\nreturn y\n", HC_FP32, 1, x, w);
    struct hc_defined_element near = element_of(
        "op f(x[n], w[n])\ny[n] = max(x[n] * 1.1, x[n] * 1.1 - w[n] * 0.001)\nreturn y\n", HC_FP32,
        1, x, w);
    struct hc_defined_element all =
        element_of("op f(x[n], w[n])\naxis k = 2\n"
                   "y = max(k: select(k == 0, w[0] * 1.1, 0 - x[0] * 1.1))\nreturn y\n",
                   HC_FP32, 1, x, w);
    cr_expect_lt(far.value.rad, 1e-6, "%g", far.value.rad);
    cr_expect_lt(all.value.rad, 1e-6, "%g", all.value.rad);
    cr_expect_gt(near.value.rad, 0.05, "%g", near.value.rad);
}

/* How a row's variance is computed in fp32. */
static float in_one_pass(const float *x, int64_t n)
{
    float sum = 0;
    float squares = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    return squares / (float)n - sum / (float)n * (sum / (float)n);
}

/* The same, whose sums are of 32 lanes each. */
static float in_one_pass_of_lanes(const float *x, int64_t n)
{
    float sum[32] = {0};
    float squares[32] = {0};
    for (int64_t i = 0; i < n; i++) {
        sum[i % 32] += x[i];
        squares[i % 32] += x[i] * x[i];
    }
    for (int step = 16; step > 0; step /= 2)
        for (int lane = 0; lane < step; lane++) {
            sum[lane] += sum[lane + step];
            squares[lane] += squares[lane + step];
        }
    return squares[0] / (float)n - sum[0] / (float)n * (sum[0] / (float)n);
}

static float in_two_passes(const float *x, int64_t n)
{
    float sum = 0;
    float squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    for (int64_t i = 0; i < n; i++)
        squares += (x[i] - sum / (float)n) * (x[i] - sum / (float)n);
    return squares / (float)n;
}

static float by_welford(const float *x, int64_t n)
{
    float mean = 0;
    float squares = 0;
    for (int64_t i = 0; i < n; i++) {
        float away = x[i] - mean;
        mean += away / (float)(i + 1);
        squares += away * (x[i] - mean);
    }
    return squares / (float)n;
}

/* Of twenty rows of a family, how many are wrong. */
static int wrong_rows(float (*variance)(const float *, int64_t), enum hc_family family, int64_t n)
{
    static float x[MOST];
    struct hc_definition *d = defined("op var(x[d])\nm = mean(d: x[d])\n"
                                      "v = mean(d: (x[d] - m)^2)\nreturn v\n");
    int wrong = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct hc_instance in = {.definition = d, .io = HC_FP32, .freedoms = hc_usual_freedoms};
        struct hc_defined_output output;
        float v;
        in.input[0] = hc_tensor1(HC_FP32, n, x);
        hc_family_draw(&in.input[0], family, 0, seed, 0);
        v = variance(x, n);
        struct hc_tensor got = hc_tensor1(HC_FP32, 1, &v);
        got.rank = 0;
        cr_assert_eq(hc_instance_bind(&in), HC_OK, "%s", hc_message());
        cr_assert_eq(hc_define_judge(&in, d->result[0], &got, true, &output), HC_OK);
        wrong += output.wrong > 0;
    }
    hc_definition_free(d);
    return wrong;
}

Test(demands, a_mean_of_the_squares_less_the_square_of_the_mean_is_no_variance)
{
    const int64_t lengths[] = {17, 32, 129, 512};
    for (int i = 0; i < 4; i++) {
        int64_t n = lengths[i];
        cr_expect_geq(wrong_rows(in_one_pass, HC_FAMILY_FAR, n), 12, "%lld", (long long)n);
        cr_expect_geq(wrong_rows(in_one_pass_of_lanes, HC_FAMILY_FAR, n), 7, "%lld", (long long)n);
    }
    cr_expect_geq(wrong_rows(in_one_pass, HC_FAMILY_FAR, MOST), 5);
}

Test(demands, a_variance_of_two_passes_or_by_welford_is_right_for_every_family)
{
    for (int family = 0; family < HC_FAMILIES; family++) {
        cr_expect_eq(wrong_rows(in_two_passes, (enum hc_family)family, 67), 0, "%s",
                     hc_family_names[family]);
        cr_expect_eq(wrong_rows(by_welford, (enum hc_family)family, 67), 0, "%s",
                     hc_family_names[family]);
    }
    cr_expect_eq(wrong_rows(by_welford, HC_FAMILY_FAR, 1024), 0);
}

Test(demands, what_a_root_takes_is_drawn_without_negative_numbers)
{
    struct hc_definition *d =
        defined("op f(v[n], g[n], x[n])\nw[n] = 0.9 * v[n] + 0.1 * g[n] * g[n]\n"
                "y[n] = x[n] / sqrt(w[n] + (x[n] - 1)^2)\nreturn y\n");
    struct hc_instance in = {.definition = d, .io = HC_FP32};
    int64_t extent[HC_MAX_AXES] = {64};
    float data[3][64];
    int negative[3] = {0};
    hc_define_shape_inputs(&in, extent);
    for (int i = 0; i < 3; i++)
        in.input[i].data = data[i];
    hc_define_fill_inputs(&in, extent, HC_FAMILY_NORMAL, 0);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 64; k++)
            negative[i] += data[i][k] < 0;
    cr_expect_eq(negative[0], 0);
    cr_expect_gt(negative[1], 16);
    cr_expect_gt(negative[2], 16);
    hc_definition_free(d);
}

Test(demands, a_stated_order_of_sums_is_held_to)
{
    static const char *const words[] = {"order=any", "order=pairs", "order=blocks(16)"};
    static float x[MOST];
    struct hc_definition *d = defined("op f(x[n])\ny = sum(n: x[n])\nreturn y\n");
    float forwards = 0;
    struct hc_instance in = {.definition = d, .io = HC_FP32};
    in.input[0] = hc_tensor1(HC_FP32, MOST, x);
    hc_family_draw(&in.input[0], HC_FAMILY_STAGNATING, 0, 0, 0);
    for (int i = 0; i < MOST; i++)
        forwards += x[i];
    for (int w = 0; w < 3; w++) {
        struct hc_defined_output output;
        float plainly;
        struct hc_tensor got = hc_tensor1(HC_FP32, 1, &forwards);
        struct hc_tensor plain = hc_tensor1(HC_FP32, 1, &plainly);
        got.rank = plain.rank = 0;
        in.freedoms = hc_usual_freedoms;
        cr_assert_eq(hc_freedoms_allow(&in.freedoms, words[w]), HC_OK);
        cr_assert_eq(hc_instance_bind(&in), HC_OK);
        cr_assert_eq(hc_define_judge(&in, d->result[0], &got, true, &output), HC_OK);
        cr_expect_eq(output.wrong, w > 0, "%s", words[w]);
        cr_assert_eq(hc_define_plain(&in, &plain, NULL), HC_OK);
        cr_assert_eq(hc_define_judge(&in, d->result[0], &plain, true, &output), HC_OK);
        cr_expect_eq(output.wrong, 0, "%s", words[w]);
    }
    hc_definition_free(d);
}

/* The radius of element 0, with a word allowed. */
static double radius_with(const char *word, const char *text, double x)
{
    struct hc_definition *d = defined(text);
    struct hc_instance in = {.definition = d, .io = HC_FP32, .freedoms = hc_usual_freedoms};
    float given[2] = {(float)x, (float)x};
    in.input[0] = hc_tensor1(HC_FP32, 2, given);
    cr_assert_eq(hc_freedoms_allow(&in.freedoms, word), HC_OK);
    cr_assert_eq(hc_instance_bind(&in), HC_OK);
    struct hc_evaluator *evaluator = hc_evaluator_new(&in);
    double rad = value_at(evaluator, d->result[0], 0).rad;
    hc_evaluator_free(evaluator);
    hc_definition_free(d);
    return rad;
}

Test(demands, what_is_stated_costs_what_the_table_says)
{
    const char *dot = "op f(x[n])\ny = sum(n: x[n] * x[n])\nreturn y\n";
    const char *power = "op f(x[n])\ny[n] = exp(x[n])\nreturn y\n";
    const char *small = "op f(x[n])\ny[n] = x[n] * 1\nreturn y\n";
    double x = 1 + 0x1p-20;
    double u = 0x1p-24;
    cr_expect_leq(radius_with("factors=tf32", dot, x), 2 * 2.01 * 0x1p-11 + 4 * u);
    cr_expect_geq(radius_with("factors=tf32", dot, x), 2 * 2 * 0x1p-11);
    cr_expect_leq(radius_with("factors=tf32", dot, 1.5), 4 * u, "tf32 has it");
    cr_expect_geq(radius_with("compute=bf16", dot, x), 0x1p-8);
    cr_expect_leq(radius_with("compute=fp64", dot, x), 0x1p-50);
    double more = radius_with("ulps=4", power, 1) - radius_with("ulps=2", power, 1);
    cr_expect(more >= 4 * u * 2.7 && more <= 4 * u * 2.8, "%g", more);
    cr_expect_eq(radius_with("flush=no", small, 0x1p-130), 0);
    cr_expect_geq(radius_with("flush=yes", small, 0x1p-130), 0x1p-130);
}

/* The worst excess of a product of two 8 x 1024 matrices of normal numbers, whose factors are
   rounded to a format, and which is summed forwards or in lanes. No element of it is wrong. */
static double excess_of(enum hc_format factors, int lanes, uint64_t seed)
{
    enum { ROWS = 8, LENGTH = 1024 };
    static float x[2][ROWS * LENGTH];
    float y[ROWS * ROWS];
    struct hc_defined_output output;
    struct hc_definition *d = defined("op f(x[m, k], w[n, k])\n"
                                      "y[m, n] = sum(k: x[m,k] * w[n,k])\nreturn y\n");
    struct hc_instance in = {.definition = d, .io = HC_FP32, .freedoms = hc_usual_freedoms};
    for (int i = 0; i < 2; i++) {
        in.input[i] = hc_tensor2(HC_FP32, ROWS, LENGTH, x[i]);
        hc_family_draw(&in.input[i], HC_FAMILY_NORMAL, 0, seed, (uint64_t)i);
    }
    for (int i = 0; i < ROWS * ROWS; i++) {
        float lane[16] = {0};
        for (int k = 0; k < LENGTH; k++)
            lane[k % lanes] += (float)hc_round(factors, (double)x[0][i / ROWS * LENGTH + k]) *
                               (float)hc_round(factors, (double)x[1][i % ROWS * LENGTH + k]);
        for (int l = 1; l < lanes; l++)
            lane[0] += lane[l];
        y[i] = lane[0];
    }
    struct hc_tensor got = hc_tensor2(HC_FP32, ROWS, ROWS, y);
    cr_assert_eq(hc_instance_bind(&in), HC_OK);
    cr_assert_eq(hc_define_judge(&in, d->result[0], &got, true, &output), HC_OK);
    cr_expect_eq(output.wrong, 0, "%lld", (long long)output.wrong);
    hc_definition_free(d);
    return output.excess;
}

Test(demands, factors_that_are_kept_in_fewer_bits_are_improbable_where_they_are_possible)
{
    for (uint64_t seed = 0; seed < 4; seed++) {
        cr_expect_gt(excess_of(HC_TF32, 16, seed), 1);
        double right = fmax(excess_of(HC_FP32, 1, seed), excess_of(HC_FP32, 16, seed));
        cr_expect(isnan(right) || right < 0.5, "%g", right);
    }
}

Test(demands, a_variance_in_one_pass_is_improbable_where_welfords_allowance_covers_it)
{
    static float x[MOST];
    struct hc_definition *d = defined("op var(x[d])\nm = mean(d: x[d])\n"
                                      "v = mean(d: (x[d] - m)^2)\nreturn v\n");
    int improbable[2] = {0};
    for (uint64_t seed = 0; seed < 10; seed++)
        for (int welford = 0; welford < 2; welford++) {
            struct hc_instance in = {.definition = d, .io = HC_FP32, .freedoms = hc_usual_freedoms};
            struct hc_defined_output output;
            in.input[0] = hc_tensor1(HC_FP32, MOST, x);
            hc_family_draw(&in.input[0], HC_FAMILY_FAR, 0, seed, 0);
            float v = welford ? by_welford(x, MOST) : in_one_pass_of_lanes(x, MOST);
            struct hc_tensor got = hc_tensor1(HC_FP32, 1, &v);
            got.rank = 0;
            cr_assert_eq(hc_instance_bind(&in), HC_OK);
            cr_assert_eq(hc_define_judge(&in, d->result[0], &got, true, &output), HC_OK);
            cr_expect_eq(output.wrong, 0);
            improbable[welford] += output.excess > 1;
        }
    cr_expect_geq(improbable[0], 2, "%d", improbable[0]);
    cr_expect_eq(improbable[1], 0, "%d", improbable[1]);
    hc_definition_free(d);
}

/* Attention of scores that are all 0 weighs all alike, in any order and whatever is taken for the
   maximum; scores that are all alike otherwise are not the same in an exponential to base 2. */
Test(demands, bits_are_demanded_where_all_scores_are_0)
{
    static const char text[] = "op f(s[u], v[u])\n"
                               "m = shift max(u: s[u])\n"
                               "p[u] = store exp(s[u] - m)\n"
                               "y = sum(u: p[u] * v[u]) / sum(u: exp(s[u] - m))\n"
                               "return y: fp32\n";
    const double zeros[] = {0, 0, 0, 0};
    const double threes[] = {3, 3, 3, 3};
    const double some[] = {0, -5, 0, -40};
    const double v[] = {1, -2, 7, 3};
    double above = hc_decode(HC_FP32, hc_encode(HC_FP32, 2.25, 0, HC_NEAREST) + 1);
    for (int i = 0; i < 2; i++) {
        enum hc_format io = i ? HC_BF16 : HC_FP32;
        struct hc_defined_element e = element_of(text, io, 4, zeros, v);
        cr_expect_eq(e.value.rad, 0);
        cr_expect_eq(judged(e, HC_FP32, 2.25), RIGHT);
        cr_expect_eq(judged(e, HC_FP32, above), WRONG);
        e = element_of(text, io, 4, threes, v);
        cr_expect_eq(judged(e, HC_FP32, above), RIGHT);
        e = element_of(text, io, 4, some, v);
        cr_expect_gt(e.value.rad, 0x1p-24);
    }
}

/* As C's Annex F has it. */
Test(demands, functions_are_exact_where_every_library_has_them_so)
{
    static const struct {
        const char *call;
        double x;
        double y;
    } rows[] = {{"exp", 0, 1}, {"cos", 0, 1}, {"log", 1, 0}, {"exp", 1, 0}, {"tanh", 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[96];
        const double x[] = {rows[i].x};
        (void)snprintf(text, sizeof text, "op f(x[i])\ny[i] = %s(x[i])\nreturn y\n", rows[i].call);
        struct hc_defined_element e = element_of(text, HC_FP32, 1, x, NULL);
        cr_expect_eq(e.value.rad == 0, i != 3, "%s", rows[i].call);
        cr_expect(i == 3 || judged(e, HC_FP32, rows[i].y) == RIGHT);
    }
}

/* 0 is 0 in every right implementation, whatever finite number it is multiplied with. */
Test(demands, a_product_with_0_is_0)
{
    const double zeros[] = {0, 0, 0, 0};
    const double v[] = {1.5, -2.25, 3, 1e30};
    const double infinite[] = {INFINITY, -2.25, 3, 1e30};
    static const char *const texts[] = {
        "op f(x[u], v[u])\ny[u] = x[u] * sqrt(abs(v[u]))\nreturn y\n",
        "op f(x[u], v[u])\ny[u] = x[u] / sqrt(abs(v[u]))\nreturn y\n",
        "op f(x[u], v[u])\ny[u] = v[u] / 3 * x[u]\nreturn y\n"};
    for (int i = 0; i < 3; i++) {
        struct hc_defined_element e = element_of(texts[i], HC_FP32, 4, zeros, v);
        cr_expect_eq(e.value.rad, 0, "%s", texts[i]);
        cr_expect_eq(judged(e, HC_FP32, 0x1p-149), WRONG);
        e = element_of(texts[i], HC_FP32, 4, zeros, infinite);
        cr_expect(i == 1 || judged(e, HC_FP32, (double)NAN) != WRONG);
    }
    /* 0 by what may be 0 has no number. */
    const double tiny[] = {0, 1, 1, 1};
    struct hc_defined_element e = element_of(texts[1], HC_FP32, 4, zeros, tiny);
    cr_expect_neq(judged(e, HC_FP32, (double)NAN), WRONG);
}
