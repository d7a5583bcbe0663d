/* Units that round each step, or the whole sum once, into fp32. */
#include "reference/unit/rules.h"

enum { LEAST = -126, MOST = 128, UNBOUNDED = -1000 };

/* What becomes of a subnormal operand. */
static void take(const struct hc_unit *unit, struct hc_number *x, int least)
{
    if (unit->inputs != HC_INPUTS_KEPT && hc_number_below(x, least))
        hc_number_set_zero(x, unit->inputs == HC_INPUTS_SIGNED_ZERO && x->negative);
}

static void take_factors(const struct hc_unit *unit, struct hc_rule_terms *t)
{
    int least = unit->a == HC_OPERAND_FP16 ? -14 : LEAST;
    for (int i = 0; i < t->n; i++) {
        take(unit, &t->a[i], least);
        take(unit, &t->b[i], least);
    }
}

/* Rounds a result into fp32. Where subnormals are flushed, some units look before the result is
   rounded into their range, others after. */
static void give(const struct hc_unit *unit, struct hc_number *x)
{
    bool unbounded = unit->underflow == HC_UNDERFLOW_FLUSHED_UNBOUNDED;
    hc_number_round(x, unit->output_fraction, unbounded ? UNBOUNDED : LEAST, unit->output);
    if (unit->underflow != HC_UNDERFLOW_GRADUAL && hc_number_below(x, LEAST))
        hc_number_set_zero(x, x->negative);
    if (x->kind == HC_NUMBER_FINITE && !hc_number_below(x, MOST))
        x->kind = HC_NUMBER_INFINITE;
}

/* x = x + y. */
static void add_number(const struct hc_unit *unit, struct hc_number *x, const struct hc_number *y)
{
    hc_number_add(x, x, y, unit->nan);
    give(unit, x);
}

/* MI100: the exact sum of the products and C, rounded once. A zero is +0. */
void hc_rule_exact(const struct hc_unit *unit, struct hc_rule_terms *t, struct hc_number *c)
{
    for (int i = 0; i < t->n; i++) {
        hc_number_multiply(&t->p[i], &t->a[i], &t->b[i], unit->nan);
        hc_number_add(c, c, &t->p[i], unit->nan);
    }
    if (hc_number_is_zero(c))
        c->negative = false;
    give(unit, c);
}

/* MI200: C + ((p0 + p1) + (p2 + p3)), or C + (p0 + p1). Every product and every sum is rounded. A
   product that is 0 is +0. */
void hc_rule_pairwise(const struct hc_unit *unit, struct hc_rule_terms *t, struct hc_number *c)
{
    take_factors(unit, t);
    take(unit, c, LEAST);
    for (int i = 0; i < t->n; i++) {
        hc_number_multiply(&t->p[i], &t->a[i], &t->b[i], unit->nan);
        if (hc_number_is_zero(&t->p[i]))
            t->p[i].negative = false;
        give(unit, &t->p[i]);
    }
    for (int step = 1; step < t->n; step *= 2)
        for (int i = 0; i + step < t->n; i += 2 * step)
            add_number(unit, &t->p[i], &t->p[i + step]);
    add_number(unit, c, &t->p[0]);
}

/* x = a b + x, rounded once. Of several NaNs the first of a, b and x stays; that of 0 times
   infinity is the last choice. */
static void fma_once(const struct hc_unit *unit, struct hc_rule_terms *t, int i,
                     struct hc_number *x)
{
    const struct hc_number *a = &t->a[i];
    const struct hc_number *b = &t->b[i];
    if (x->kind == HC_NUMBER_NAN && a->kind != HC_NUMBER_NAN && b->kind != HC_NUMBER_NAN)
        return;
    hc_number_multiply(&t->p[i], a, b, unit->nan);
    hc_number_add(x, &t->p[i], x, unit->nan);
    give(unit, x);
}

/* One fma after the other; in VDPBF16PS the second product of the pair comes first. */
void hc_rule_chain(const struct hc_unit *unit, struct hc_rule_terms *t, struct hc_number *c)
{
    take_factors(unit, t);
    take(unit, c, LEAST);
    for (int i = 0; i < t->n; i++)
        fma_once(unit, t, unit->last_first ? t->n - 1 - i : i, c);
}

/* TDPBF16PS: the products with even number and those with odd number are a chain each, from +0.
   C comes last. */
void hc_rule_two_chains(const struct hc_unit *unit, struct hc_rule_terms *t, struct hc_number *c)
{
    take_factors(unit, t);
    take(unit, c, LEAST);
    for (int half = 0; half < 2; half++) {
        hc_number_set_zero(&t->sum[half], false);
        for (int i = half; i < t->n; i += 2)
            fma_once(unit, t, i, &t->sum[half]);
    }
    add_number(unit, &t->sum[0], &t->sum[1]);
    add_number(unit, c, &t->sum[0]);
}

/* BFMMLA: two products are rounded, so is their sum, and so is that with C, all to odd. */
void hc_rule_pair_then_c(const struct hc_unit *unit, struct hc_rule_terms *t, struct hc_number *c)
{
    take_factors(unit, t);
    take(unit, c, LEAST);
    for (int i = 0; i < t->n; i++) {
        hc_number_multiply(&t->p[i], &t->a[i], &t->b[i], unit->nan);
        give(unit, &t->p[i]);
    }
    for (int i = 0; i < t->n; i += 2) {
        add_number(unit, &t->p[i], &t->p[i + 1]);
        add_number(unit, c, &t->p[i]);
    }
}
