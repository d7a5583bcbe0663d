/* What every unit's dot product has in common: pieces, one after the other, and bits in and out. */
#include "reference/unit/rules.h"

#include <stddef.h>

#include "reference.h"

static hc_rule *const rules[HC_UNIT_RULE_COUNT] = {
    [HC_UNIT_FUSED] = hc_rule_fused,
    [HC_UNIT_GROUPED] = hc_rule_grouped,
    [HC_UNIT_EXACT] = hc_rule_exact,
    [HC_UNIT_PAIRWISE] = hc_rule_pairwise,
    [HC_UNIT_FLOORED] = hc_rule_floored,
    [HC_UNIT_FLOORED_HALVES] = hc_rule_floored,
    [HC_UNIT_CHAIN] = hc_rule_chain,
    [HC_UNIT_TWO_CHAINS] = hc_rule_two_chains,
    [HC_UNIT_PAIR_THEN_C] = hc_rule_pair_then_c,
};

/* The dot product that is asked for. */
struct question {
    const struct hc_unit *unit;
    const uint32_t *a;
    const uint32_t *b;
    const struct hc_unit_scales *scales;
    int64_t n;
};

static void read(const struct hc_unit *unit, struct hc_number *x, enum hc_operand operand,
                 uint32_t bits)
{
    hc_number_read(x, operand, bits);
    if (hc_number_is_zero(x) && unit->zero == HC_ZERO_OPERAND)
        x->exponent = unit->zero_exponent;
}

static void read_scale(const struct question *q, struct hc_number *x, const uint32_t *codes,
                       int64_t i)
{
    int block = q->unit->block;
    if (q->unit->scale == HC_OPERAND_NONE)
        return;
    if (codes && i / block < (q->n + block - 1) / block)
        read(q->unit, x, q->unit->scale, codes[i / block]);
    else
        hc_number_set_one(x);
}

/* The operands of the products from `first` on. Behind the last product there are zeros. */
static void read_terms(const struct question *q, struct hc_rule_terms *t, int64_t first)
{
    for (int i = 0; i < t->n; i++) {
        bool beyond = first + i >= q->n;
        read(q->unit, &t->a[i], q->unit->a, beyond ? 0 : q->a[first + i]);
        read(q->unit, &t->b[i], q->unit->b, beyond ? 0 : q->b[first + i]);
        read_scale(q, &t->scale_a[i], q->scales ? q->scales->a : NULL, first + i);
        read_scale(q, &t->scale_b[i], q->scales ? q->scales->b : NULL, first + i);
    }
}

/* Room for numbers takes longer to make than they do, so each thread keeps its own. */
static _Thread_local struct hc_rule_terms kept;
static _Thread_local bool has_kept;

static void for_all(void (*what)(struct hc_number *x, int n))
{
    what(kept.a, HC_RULE_TERMS);
    what(kept.b, HC_RULE_TERMS);
    what(kept.scale_a, HC_RULE_TERMS);
    what(kept.scale_b, HC_RULE_TERMS);
    what(kept.p, HC_RULE_TERMS);
    what(kept.sum, HC_RULE_SUMS);
}

static struct hc_rule_terms *room(void)
{
    if (!has_kept)
        for_all(hc_numbers_begin);
    has_kept = true;
    return &kept;
}

void hc_definition_end(void)
{
    if (has_kept)
        for_all(hc_numbers_end);
    has_kept = false;
}

uint32_t hc_unit_by_definition(const struct hc_unit *unit, const uint32_t *a, const uint32_t *b,
                               const struct hc_unit_scales *scales, int64_t n, uint32_t c)
{
    const struct question q = {unit, a, b, scales, n};
    struct hc_rule_terms *t = room();
    struct hc_number *sum = &t->sum[HC_RULE_SUMS - 1];
    enum hc_operand operand = unit->c;
    /* A unit that adds product by product has no pieces. */
    t->n = unit->piece > 1 ? unit->piece : unit->k;
    for (int64_t first = 0; first < (n + unit->k - 1) / unit->k * unit->k; first += t->n) {
        read_terms(&q, t, first);
        hc_number_read(sum, operand, c);
        rules[unit->rule](unit, t, sum);
        if (sum->kind == HC_NUMBER_NAN && unit->nans != HC_NANS_FIRST)
            sum->nan = unit->nan;
        c = hc_number_write(sum, unit->d);
        operand = unit->d;
    }
    return c;
}
