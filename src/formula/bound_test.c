/* The running bound as a whole: random formulas in random arms, whose real values MPFR knows to
   1000 bits. |want - real| <= rad must hold for each. And the real numbers' own radius: at 256 bits
   it must cover the distance from what 4096 bits give. `got`, on the backend exact, is `want`. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

#include "backend.h"
#include "formula/evaluate.h"
#include "formula/testing.h"

enum { FORMULAS = 4000, LONGEST = 4000 };

static uint64_t state;

static int draw(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static void append(char *text, const char *more)
{
    size_t length = strlen(text);
    (void)snprintf(text + length, LONGEST - length, "%s", more);
}

/* Writes a number, a name or an element: i is there in terms alone. */
static void leaf(char *text, bool term)
{
    static const char *const names[] = {"a", "b", "c", "d", "k", "x[2]", "i", "x[i]"};
    char number[32];
    (void)snprintf(number, sizeof number, "%d.%03de%d", draw(10), draw(1000), draw(9) - 4);
    append(text, draw(4) == 0 ? number : names[draw(term ? 8 : 6)]);
}

static void expression(char *text, int depth, bool term)
{
    static const char *const infix[] = {" + ", " - ", " * ", " / ", " + ", " - ", " * "};
    static const char *const of_one[] = {
        "sqrt(",      "sqrt(abs(", "exp(",     "log(",     "log1p(", "tanh(",      "cos(",
        "sin(",       "erf(",      "abs(",     "floor(",   "-(",     "fp16(",      "bf16(",
        "fp32(",      "fp16_rz(",  "bf16_ru(", "fp32_rd(", "tf32(",  "fp32(e4m3(", "fp16(e5m2_rd(",
        "rsqrt(abs(", "sigmoid(",  "round(",   "not (",    "2^(",    "3^-("};
    static const char *const of_more[] = {
        "min(",     "max(",     "fma(",     "select(a < ",        "select(",  "sum(3, ",
        "tree(5, ", "prod(2, ", "(x[1] < ", "0.5 * distinct(4, ", "count(4, "};
    static const int operands[] = {2, 2, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 4, 2, 1};
    enum { ONE = sizeof of_one / sizeof *of_one, MORE = sizeof of_more / sizeof *of_more };
    if (depth == 0 || draw(8) == 0) {
        leaf(text, term);
        return;
    }
    int kind = draw(10);
    if (kind < 5) {
        append(text, "(");
        expression(text, depth - 1, term);
        append(text, infix[draw(7)]);
        expression(text, depth - 1, term);
        append(text, ")");
    } else if (kind < 8) {
        const char *name = of_one[draw(ONE)];
        append(text, name);
        expression(text, depth - 1, term);
        append(text, strchr(name, '(') == strrchr(name, '(') ? ")" : "))");
    } else {
        int f = draw(MORE);
        bool inner = (f >= 5 && f <= 7) || (f >= 9 && f <= 12);
        if (inner && term) {
            leaf(text, term);
            return;
        }
        append(text, of_more[f]);
        for (int k = 0; k < operands[f]; k++) {
            append(text, k ? ", " : "");
            expression(text, depth - 1, term || inner);
        }
        for (const char *open = of_more[f]; (open = strchr(open, '(')) != NULL; open++)
            append(text, ")");
    }
}

struct tally {
    int finite;  /* bounds */
    int small;   /* bounds below a tenth of the real number */
    int moved;   /* values that are not the real number */
    int certain; /* bounds of 0 */
};

/* The difference of want and real, upward. */
static double distance(double want, const struct hc_real *real)
{
    struct hc_real *d = hc_real_new_bits(want, 2000);
    (void)hc_real_sub(d, d, real);
    double size = fabs(hc_real_double(d));
    hc_real_free(d);
    return size;
}

static void check(const struct hc_value *v, const char *in, const char *text, struct tally *tally)
{
    double real = hc_real_double(v->real[0]);
    double want = v->want[0];
    double rad = v->rad[0];
    tally->finite += isfinite(rad) != 0;
    tally->certain += rad == 0;
    tally->small += rad > 0 && rad < fabs(real) / 10;
    cr_assert(rad >= 0, "%s in %s: rad is %g", text, in, rad);
    if (isinf(rad))
        return;
    if (!isfinite(want)) {
        cr_assert(isnan(want) ? hc_real_is_nan(v->real[0]) : want == real, "%s in %s: %g, %g", text,
                  in, want, real);
        return;
    }
    double apart = distance(want, v->real[0]);
    tally->moved += apart > 0;
    double most = (rad + v->real_rad[0]) * (1 + 0x1p-50);
    cr_assert(apart <= most, "%s in %s: want %a, real %a +- %g, apart %g, rad %g", text, in, want,
              real, v->real_rad[0], apart, rad);
}

static enum hc_status run_call(const struct hc_call *call, void *queue)
{
    return hc_backend_by_name("exact")->kernel[call->op](queue, call);
}

static void check_got(const struct trial *t, const struct hc_value *v, const char *text)
{
    const struct hc_evaluation_difference *d = hc_evaluation_difference(t->e);
    cr_assert_eq(d->differed, 0, "%s: want %a, got %a", text, d->want, d->got);
    cr_assert(isnan(v->want[0]) ? isnan(v->got[0]) : v->want[0] == v->got[0], "%s", text);
}

static void check_one(struct tally *tally, struct hc_queue *queue)
{
    static const char *const arms[] = {"fp16",      "bf16",      "fp32",     "fp64",
                                       "fp32/fp16", "fp32/bf16", "fp64/fp32"};
    static char text[LONGEST];
    char start[200];
    struct hc_formula_error error = {.what = ""};
    enum hc_evaluated done;
    const char *in = arms[draw(7)];
    (void)snprintf(start, sizeof start,
                   "a = %d.%03d; b = -0.%05d; c = fp32(%d.%d); d = bf16(%de-3); k := 1.%d; "
                   "x = [1, -0.%d, 3.%d, 0.1, 7]",
                   draw(4), draw(1000), draw(100000), draw(40), draw(1000), draw(1000), draw(1000),
                   draw(1000), draw(1000));
    text[0] = '\0';
    expression(text, 1 + draw(4), false);
    struct trial t =
        begin_with(in, start, (struct hc_evaluation_options){run_call, queue, 1000, false});
    const struct hc_value *v =
        hc_evaluation_show(t.e, block_of(&t, text, true), 0, 0, &done, &error);
    cr_assert(v, "%s: %s", text, error.what);
    check(v, in, text, tally);
    check_got(&t, v, text);
    finish(&t);
}

Test(bound, holds_for_random_formulas)
{
    struct tally tally = {0, 0, 0, 0};
    struct hc_queue *queue;
    cr_assert_eq(hc_backend_by_name("exact")->open(hc_backend_by_name("exact"), &queue, 1), HC_OK);
    state = 2024;
    for (int i = 0; i < FORMULAS; i++)
        check_one(&tally, queue);
    hc_backend_by_name("exact")->close(queue);
    /* It says something: most bounds are finite, and most of those are small. */
    cr_assert_gt(tally.finite, FORMULAS * 6 / 10, "%d finite", tally.finite);
    cr_assert_gt(tally.small, FORMULAS * 3 / 10, "%d small", tally.small);
    cr_assert_gt(tally.moved, FORMULAS * 3 / 10, "%d moved", tally.moved);
    cr_assert_lt(tally.certain, FORMULAS * 4 / 10, "%d certain", tally.certain);
}

Test(bound, holds_along_loops)
{
    static const char *const arms[] = {"fp16", "bf16", "fp32", "fp32/fp16", "fp64"};
    for (size_t i = 0; i < sizeof arms / sizeof *arms; i++) {
        struct tally tally = {0, 0, 0, 0};
        struct trial t = begin(arms[i], "w = 1; v = 0; m = 0");
        for (int step = 1; step <= 60; step++) {
            run(&t,
                "g = 0.3 * w + 0.01 * cos(step); m = 0.9 * m + 0.1 * g; v = 0.99 * v + 0.01 * g * "
                "g",
                step);
            run(&t, "w -= 0.01 * m / (sqrt(v) + 1e-2)", step);
            check(value_of(&t, "w"), arms[i], "w", &tally);
            check(value_of(&t, "v"), arms[i], "v", &tally);
        }
        cr_assert_geq(tally.finite, 60, "%s: %d", arms[i], tally.finite);
        finish(&t);
    }
}

/* A value at 256 bits, its radius, and the same at 4096 bits. */
static void check_real(const char *start, const char *each, int steps, const char *what,
                       double *rad)
{
    struct trial low = begin_with("fp64", start, (struct hc_evaluation_options){.precision = 256});
    struct trial high =
        begin_with("fp64", start, (struct hc_evaluation_options){.precision = 4096});
    loop(&low, each, steps);
    loop(&high, each, steps);
    const struct hc_value *v = value_of(&low, what);
    const struct hc_value *truth = value_of(&high, what);
    struct hc_real *d = hc_real_new_bits(0, 5000);
    (void)hc_real_sub(d, v->real[0], truth->real[0]);
    *rad = v->real_rad[0];
    cr_assert(fabs(hc_real_double(d)) <= *rad, "%s: %g, and the radius is %g", what,
              hc_real_double(d), *rad);
    cr_assert(truth->real_rad[0] < 1e-150);
    hc_real_free(d);
    finish(&low);
    finish(&high);
}

Test(bound, the_real_numbers_know_how_good_they_are)
{
    double rad;
    check_real("c := (1 + 1e-100) - 1", "", 0, "c", &rad);
    cr_assert_lt(rad, 1e-76);
    check_real("x = 1; y = 1e-100; z = (x + y) - x", "", 0, "z", &rad);
    cr_assert(rad > 1e-100 && rad < 1e-76);
    check_real("x = 0.3", "x = 3.9 * x * (1 - x)", 50, "x", &rad);
    cr_assert_lt(rad, 1e-40);
    /* 256 bits are spent after some 130 steps: each multiplies an error by up to 3.9. */
    check_real("x = 0.3", "x = 3.9 * x * (1 - x)", 140, "x", &rad);
    cr_assert_gt(rad, 1e-20);
    check_real("c := 1.001^10000 * 3^0.7 * pi", "", 0, "c", &rad);
    check_real("c := 3**0.5", "", 0, "c", &rad);
    cr_assert(rad > 0 && rad < 1e-76);
    /* 1 + 2^-352: 256 bits have 1, and keep off it. */
    check_real("c := (1 + 2^-52)^(2^-300)", "", 0, "c", &rad);
    cr_assert(rad > 0 && rad < 1e-76);
    check_real(
        "c := 1.0000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "00001",
        "", 0, "c", &rad);
    cr_assert(rad > 0 && rad < 1e-76);
    check_real("x = exp(sin(2) / erf(0.3)); y = log1p(tanh(x)) * cos(x)", "", 0, "y", &rad);
    cr_assert_lt(rad, 1e-70);
}

/* The running bound where a formula leaves the ordinary: results without an error, infinities, what
   is no number, conditions that a rounding decides, and constants with more bits than the real
   numbers have. Each is a place where a bound could be 0 wrongly. */

Test(bound_corners, is_zero_where_everything_is_exact)
{
    static const char *const texts[] = {"floor(x * 4) / 4",  "sum(100, i * 0.5)",
                                        "tree(2000, 3)",     "select(x * 3 > 6, 1, 2)",
                                        "2^-10 * x",         "distinct(x * 2 + i - i)",
                                        "max(x, 3 * x) - 1", "fma(x, x, -x)",
                                        "x - nan * 0",       "-x / 0",
                                        "rsqrt(4 * x - 5)",  "x**2 + x**0",
                                        "(4 * x - 5)**-0.5", "round(x) + mean([x, 3 * x])",
                                        "not x or 1 < x < 3"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct trial t = begin("fp32", "x = 2.25");
        char text[80];
        (void)snprintf(text, sizeof text,
                       strncmp(texts[i], "distinct", 8) ? "%s" : "distinct(4, x * 2 + i - i)",
                       texts[i]);
        const struct hc_value *v = value_of(&t, text);
        cr_assert(v->rad[0] == 0 && v->real_rad[0] == 0, "%s: %g, %g", text, v->rad[0],
                  v->real_rad[0]);
        finish(&t);
    }
}

/* 1 - 1.001 is 0 in bf16, whose root is 0; the real difference has none. */
Test(bound_corners, is_infinite_where_the_real_number_is_of_another_kind)
{
    struct trial t = begin("bf16", "x = 1; y = x - 1.001");
    cr_assert_eq(want_of(&t, "y"), 0);
    cr_assert(isfinite(value_of(&t, "y")->rad[0]));
    cr_assert_eq(want_of(&t, "sqrt(y)"), 0);
    cr_assert_eq(value_of(&t, "sqrt(y)")->rad[0], INFINITY);
    cr_assert_eq(value_of(&t, "1 / y")->rad[0], INFINITY);
    cr_assert_eq(value_of(&t, "log(y)")->rad[0], INFINITY);
    cr_assert_eq(value_of(&t, "fp16(x * 1e5)")->rad[0], INFINITY);
    finish(&t);
}

/* w + 4e-4 is 1 in fp16, so that d is below 0, and the real d is above it. */
Test(bound_corners, is_infinite_where_an_infinity_has_the_other_sign)
{
    struct trial t = begin("fp16", "w = 1; d = (w + 4e-4) - 1 - 1e-4");
    cr_assert_eq(want_of(&t, "1 / (0 * d)"), -INFINITY);
    cr_assert_eq(hc_real_double(value_of(&t, "1 / (0 * d)")->real[0]), INFINITY);
    cr_assert_eq(value_of(&t, "1 / (0 * d)")->rad[0], INFINITY);
    finish(&t);
}

/* x * x is infinite in fp16, and so is c, but the real c is 0. */
Test(bound_corners, covers_both_branches_where_the_condition_is_lost)
{
    struct trial t = begin("fp16", "x = 256; c = x * x - 60000 - 5536");
    cr_assert_eq(want_of(&t, "select(c, 1, 5)"), 1);
    cr_assert_geq(value_of(&t, "select(c, 1, 5)")->rad[0], 4);
    finish(&t);
}

/* 1e-400 is not 0, though fp64 has no number for it. */
Test(bound_corners, select_takes_a_tiny_real_condition_for_true)
{
    struct trial t = begin("fp64", "c := select(1e-400, 1, 2); w = 1e-300; z = w * w");
    cr_assert_eq(want_of(&t, "c"), 1);
    cr_assert_eq(want_of(&t, "select(z, 1, 2)"), 2);
    cr_assert_eq(hc_real_double(value_of(&t, "select(z, 1, 2)")->real[0]), 1);
    finish(&t);
}

/* The root of 2 has more bits than the real numbers here, so that s * s - 2 may be 0. */
Test(bound_corners, a_count_of_uncertain_real_numbers_is_uncertain)
{
    struct trial t = begin("fp64", "s = sqrt(2)");
    cr_assert_geq(value_of(&t, "count(3, s * s - 2)")->real_rad[0], 3);
    cr_assert_eq(value_of(&t, "count(3, s)")->real_rad[0], 0);
    finish(&t);
}

/* 256 bits lose the 1e-100, and the bound of what is rounded from such a constant knows. */
Test(bound_corners, of_a_rounded_constant_covers_the_constants_own_error)
{
    struct trial t = begin("fp64", "w = (1 + 1e-100) - 1");
    cr_assert_eq(want_of(&t, "w"), 0);
    cr_assert_geq(value_of(&t, "w")->rad[0], 1e-100);
    finish(&t);
}

/* Both radii of an evaluation enclose the real number, which 4000 bits stand for: that of `want`,
   and that of `real` where it has few bits. */

static const char *const formulas[] = {
    "w = 1 / 3 - 0.1 * 2^-3",
    "e := 1e-8; w = sqrt(e + 1e-5) / (1 - 0.999^3)",
    "x = [0.1, 0.2, 0.7, 3.3]; w = sum(x) / 4 - tree(x * x)",
    "x = [1000.5, 1001, 999.3]; m = max(x); w = exp(x - m) / sum(exp(x - m))",
    "x = [-1e3, 0.3, 50]; w = log1p(exp(x - max(x))) + tanh(x) * erf(x)",
    "w = sum(i: 300, cos(0.37 * i) * sin(i))",
    "v = fp16(0.1); w = fp32(v) * 3 + bf16_rz(v) - fp16(e4m3_ru(0.3 * v)) * 0",
    "v = 0.1; w = fp32(e4m3_ru(fp32(v))) - fp32(bf16_rd(v)) + fp32(fp16_rz(v * v))",
    "x = list(20, floor(0.7 * i)); w = [distinct(x), count(x), prod(4, 1.1 + 0.1 * i)]",
    "x = 0.1 + 0.2; w = select(x < 0.3, x, -x) * select(x == 0.3, 2, 1)",
    "w = fma(1e-3, 1e-3, -1e-6) * 1e-3 + abs(-1e-7)",
    "w = [inf, nan, -inf, 1e-30, 6e-8, 70000] + 1e-9",
    "w = log(1e-3) - min(0.1, 1/10) + 2^0.5 + (1/3)^5 + pi",
    "x = [0.3, 1.7, -2.2]; w = softmax(x) * mean(x) + sigmoid(x) - rsqrt(x * x + 0x1p-5)",
    "x = [0.3, 1.7, 2.2]; w = x**3 + x**-2 - x**0.5 + x**0.1 - 0.9**x + round(10 * x)",
    "x = 0.1 + 0.2; w = 1 if x <= 0.3 and not x == 0 else 2 if 0 < x < 1 or x else 3",
};

static const struct hc_value *evaluate(struct hc_program *program, const struct hc_block *block,
                                       const char *in, long bits, struct hc_evaluation **e)
{
    struct hc_arm arm;
    struct hc_formula_error error;
    struct hc_evaluation_options options = {.precision = bits};
    cr_assert_eq(hc_arm_read(in, &arm), HC_OK);
    *e = hc_evaluation_open(program, &arm, &options);
    enum hc_evaluated done = hc_evaluation_run(*e, block, 1, &error);
    cr_assert_eq(done, HC_EVALUATED, "%s: %s", block->text, error.what);
    return hc_evaluation_value(*e, block->statement[block->count - 1].name);
}

/* |x - y| <= rad, where y is rounded to fp64. */
static bool encloses(double x, double rad, double y)
{
    return isinf(rad) || (isnan(x) && isnan(y)) || x == y ||
           fabs(x - y) <= rad * (1 + 0x1p-50) + fabs(y) * 0x1p-53;
}

Test(enclosure, both_radii_enclose_the_real_number)
{
    static const char *const arms[] = {"fp64", "fp32", "bf16", "fp16", "fp32/fp16", "fp32/bf16"};
    for (size_t f = 0; f < sizeof formulas / sizeof *formulas; f++)
        for (size_t a = 0; a < sizeof arms / sizeof *arms; a++) {
            struct hc_formula_error error;
            struct hc_evaluation *e[2];
            struct hc_program *program = hc_program_new();
            const struct hc_block *block = hc_program_parse(program, formulas[f], false, &error);
            cr_assert(block, "%s: %s", formulas[f], error.what);
            const struct hc_value *few = evaluate(program, block, arms[a], 30, &e[0]);
            const struct hc_value *many = evaluate(program, block, arms[a], 4000, &e[1]);
            for (int64_t i = 0; i < many->n; i++) {
                double real = hc_real_double(many->real[i]);
                cr_assert(encloses(many->want[i], many->rad[i], real), "%s in %s: %g, %g +- %g",
                          formulas[f], arms[a], real, many->want[i], many->rad[i]);
                cr_assert(encloses(hc_real_double(few->real[i]), few->real_rad[i], real),
                          "%s to 30 bits: %.17g, %.17g +- %g", formulas[f], real,
                          hc_real_double(few->real[i]), few->real_rad[i]);
            }
            hc_evaluation_close(e[0]);
            hc_evaluation_close(e[1]);
            hc_program_free(program);
        }
}
