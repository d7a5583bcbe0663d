/* Units that align the products of a piece at the largest exponent, cut them there and add them in
   fixed point: NVIDIA's, and the one of MI300. */
#include "reference/unit/rules.h"

/* Below every exponent that a number has. Nothing is cut there. */
enum { NO_EXPONENT = -100000, LEAST = -126 };

static int max(int a, int b)
{
    return a > b ? a : b;
}

/* The exponent at which a product is aligned. The product of an operand 0 has the sum of its
   operands' exponents, as all have, or one that the unit gives to all zeros, or none. */
static int exponent_of(const struct hc_unit *unit, const struct hc_number *product)
{
    if (!hc_number_is_zero(product) || unit->zero == HC_ZERO_OPERAND)
        return product->exponent;
    return unit->zero == HC_ZERO_FIXED ? unit->zero_exponent : NO_EXPONENT;
}

static int exponent_of_c(const struct hc_unit *unit, const struct hc_number *c)
{
    if (hc_number_is_zero(c))
        return unit->zero_c_exponent;
    return unit->c_normalized ? hc_number_leading(c) : c->exponent;
}

/* The products, and in `total` their exact sum with C. By IEEE 754 that says what is infinite and
   what is NaN. */
static void multiply(const struct hc_unit *unit, struct hc_rule_terms *t, const struct hc_number *c,
                     struct hc_number *total)
{
    hc_number_set(total, c);
    for (int i = 0; i < t->n; i++) {
        hc_number_multiply(&t->p[i], &t->a[i], &t->b[i], unit->nan);
        if (unit->scale != HC_OPERAND_NONE) {
            hc_number_multiply(&t->p[i], &t->p[i], &t->scale_a[i], unit->nan);
            hc_number_multiply(&t->p[i], &t->p[i], &t->scale_b[i], unit->nan);
        }
        hc_number_add(total, total, &t->p[i], unit->nan);
    }
}

/* Adds x without the bits below 2^place, which are cut toward zero. */
static void add_cut(struct hc_number *sum, struct hc_number *x, int place)
{
    hc_number_cut(x, place, HC_ROUND_CUT);
    hc_number_add(sum, sum, x, 0);
}

/* D of an NVIDIA unit. A zero has no sign, and NaN is one pattern. */
static void put_out(const struct hc_unit *unit, struct hc_number *sum, struct hc_number *d)
{
    int least = unit->d == HC_OPERAND_FP16 ? -14 : LEAST;
    if (sum->kind == HC_NUMBER_NAN)
        sum->nan = unit->nan;
    hc_number_round(sum, unit->output_fraction, least, unit->output);
    if (hc_number_is_zero(sum))
        sum->negative = false;
    hc_number_set(d, sum);
}

/* D = C + sum a b: the products and C are cut at `fraction` bits behind the leading place of the
   largest and added, and the sum is rounded once. */
void hc_rule_fused(const struct hc_unit *unit, struct hc_rule_terms *t, struct hc_number *c)
{
    struct hc_number *sum = &t->sum[0];
    multiply(unit, t, c, sum);
    if (sum->kind == HC_NUMBER_FINITE) {
        int top = exponent_of_c(unit, c);
        for (int i = 0; i < t->n; i++)
            top = max(top, exponent_of(unit, &t->p[i]));
        hc_number_set_zero(sum, false);
        for (int i = 0; i < t->n; i++)
            add_cut(sum, &t->p[i], top - unit->fraction);
        add_cut(sum, c, top - unit->fraction);
    }
    put_out(unit, sum, c);
}

/* Group g's exponent: its scales', or that of a zero where all of its products are zero. */
static int exponent_of_group(const struct hc_unit *unit, const struct hc_rule_terms *t, int g)
{
    bool zeros = true;
    for (int i = g * unit->group; i < (g + 1) * unit->group; i++)
        zeros = zeros && hc_number_is_zero(&t->p[i]);
    if (zeros && unit->zero == HC_ZERO_FIXED)
        return unit->zero_exponent;
    return t->scale_a[g * unit->group].exponent + t->scale_b[g * unit->group].exponent;
}

/* The same over groups of products instead of products. In a group nothing is cut. */
void hc_rule_grouped(const struct hc_unit *unit, struct hc_rule_terms *t, struct hc_number *c)
{
    struct hc_number *sum = &t->sum[0];
    struct hc_number *group = &t->sum[1];
    int groups = t->n / unit->group;
    multiply(unit, t, c, sum);
    if (sum->kind == HC_NUMBER_FINITE) {
        int top = exponent_of_c(unit, c);
        for (int g = 0; g < groups; g++)
            top = max(top, exponent_of_group(unit, t, g));
        hc_number_set_zero(sum, false);
        for (int g = 0; g < groups; g++) {
            hc_number_set_zero(group, false);
            for (int i = g * unit->group; i < (g + 1) * unit->group; i++)
                hc_number_add(group, group, &t->p[i], 0);
            add_cut(sum, group, top - unit->fraction);
        }
        add_cut(sum, c, top - unit->fraction);
    }
    put_out(unit, sum, c);
}

/* Sums the products first, first + step, ..., cut below the leading place of the largest, whose
   exponent it returns. */
static int cut_sum(const struct hc_unit *unit, struct hc_rule_terms *t, int first, int step,
                   struct hc_number *sum)
{
    int top = NO_EXPONENT;
    for (int i = first; i < t->n; i += step)
        top = max(top, exponent_of(unit, &t->p[i]));
    hc_number_set_zero(sum, false);
    for (int i = first; i < t->n; i += step)
        add_cut(sum, &t->p[i], top - unit->fraction);
    return top;
}

/* Adds C, whose exponent is e_c, to the sum with exponent e. Both are floored at the larger of the
   two, and what comes of it is floored once more, behind its own leading bit or where that of a
   subnormal would be. */
static void add_floored(const struct hc_unit *unit, struct hc_number *sum, int e,
                        struct hc_number *c, int e_c)
{
    int top = max(e, e_c);
    hc_number_cut(sum, top - unit->floor_fraction, HC_ROUND_FLOOR);
    hc_number_cut(c, top - unit->fraction, HC_ROUND_FLOOR);
    hc_number_add(sum, sum, c, 0);
    if (unit->total_fraction)
        hc_number_round(sum, unit->total_fraction, LEAST, HC_ROUND_FLOOR);
    if (hc_number_is_zero(sum))
        sum->negative = false;
}

static void floored(const struct hc_unit *unit, struct hc_rule_terms *t, struct hc_number *c,
                    struct hc_number *sum)
{
    struct hc_number *odd = &t->sum[1];
    bool halves = unit->rule == HC_UNIT_FLOORED_HALVES;
    int e_c = exponent_of_c(unit, c);
    int e = cut_sum(unit, t, 0, halves ? 2 : 1, sum);
    if (halves) {
        e = max(e, cut_sum(unit, t, 1, 2, odd));
        hc_number_cut(sum, e - unit->fraction, HC_ROUND_FLOOR);
        hc_number_cut(odd, e - unit->fraction, HC_ROUND_FLOOR);
        hc_number_add(sum, sum, odd, 0);
    }
    if (halves && e_c < e - unit->fraction - 1)
        hc_number_set_zero(c, false);
    add_floored(unit, sum, e, c, e_c);
}

/* MI300. fp8 has two sums, of the products with even and with odd number. A product of 2^128 and
   more is infinite. */
void hc_rule_floored(const struct hc_unit *unit, struct hc_rule_terms *t, struct hc_number *c)
{
    struct hc_number *sum = &t->sum[0];
    multiply(unit, t, c, sum);
    bool infinite = sum->kind == HC_NUMBER_INFINITE;
    for (int i = 0; i < t->n; i++)
        if (t->p[i].kind == HC_NUMBER_FINITE && !hc_number_below(&t->p[i], 128)) {
            t->p[i].kind = HC_NUMBER_INFINITE;
            if (!unit->infinite_c_wins || !infinite)
                hc_number_add(sum, sum, &t->p[i], unit->nan);
        }
    if (sum->kind == HC_NUMBER_FINITE)
        floored(unit, t, c, sum);
    if (sum->kind == HC_NUMBER_NAN)
        sum->nan = unit->nan;
    hc_number_round(sum, unit->output_fraction, LEAST, unit->output);
    hc_number_set(c, sum);
}
