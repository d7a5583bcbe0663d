/* Both radii of an evaluation enclose the real number, which 4000 bits stand for: that of `want`,
   and that of `real` where it has few bits. */
#include <criterion/criterion.h>
#include <math.h>

#include "formula/evaluate.h"

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
