/* Terms of a sum, and the sums that are no numbers. */
#include "unit/exact.h"
#include "unit/rules.h"

/* The exponent that a factor has in a zero product, where the unit counts it. */
static int zero_exponent(const struct hc_unit *u, const struct hc_operand_value *v)
{
    return v->class_ == HC_CLASS_ZERO ? u->zero_exponent : v->exponent;
}

static enum hc_operand_class class_of(const struct hc_operand_value *v, int n)
{
    bool zero = false, infinite = false;
    for (int i = 0; i < n; i++) {
        if (v[i].class_ == HC_CLASS_NAN)
            return HC_CLASS_NAN;
        zero = zero || v[i].class_ == HC_CLASS_ZERO;
        infinite = infinite || v[i].class_ == HC_CLASS_INFINITE;
    }
    if (infinite)
        return zero ? HC_CLASS_NAN : HC_CLASS_INFINITE;
    return zero ? HC_CLASS_ZERO : HC_CLASS_FINITE;
}

struct hc_unit_term hc_unit_product(const struct hc_unit *u, const struct hc_unit_operands *x,
                                    int i)
{
    struct hc_operand_value v[4];
    int n = 0;
    v[n++] = hc_operand_decode(u->a, x->a[i]);
    v[n++] = hc_operand_decode(u->b, x->b[i]);
    if (u->scale != HC_OPERAND_NONE) {
        v[n++] = hc_operand_decode(u->scale, x->scale_a[i / u->block]);
        v[n++] = hc_operand_decode(u->scale, x->scale_b[i / u->block]);
    }
    struct hc_unit_term t = {
        .significand = 1,
        .fraction = hc_operands[u->a].fraction + hc_operands[u->b].fraction +
                    2 * hc_operands[u->scale].fraction,
        .negative = v[0].negative != v[1].negative,
        .class_ = class_of(v, n),
    };
    for (int j = 0; j < n; j++) {
        t.significand *= v[j].significand;
        t.exponent += u->zero == HC_ZERO_OPERAND ? zero_exponent(u, &v[j]) : v[j].exponent;
    }
    if (t.class_ == HC_CLASS_ZERO && u->zero != HC_ZERO_OPERAND)
        t.exponent = u->zero == HC_ZERO_FIXED ? u->zero_exponent : HC_NO_EXPONENT;
    return t;
}

struct hc_unit_term hc_unit_c_term(const struct hc_unit *u, enum hc_operand operand, uint32_t c)
{
    struct hc_operand_value v = hc_operand_decode(operand, c);
    struct hc_unit_term t = {v.significand, hc_operands[operand].fraction, v.exponent, v.negative,
                             v.class_};
    if (t.class_ == HC_CLASS_ZERO)
        t.exponent = u->zero_c_exponent;
    else if (t.class_ == HC_CLASS_FINITE && u->c_normalized) {
        int space = t.fraction - hc_unit_top(t.significand);
        t.significand <<= space;
        t.exponent -= space;
    }
    return t;
}

bool hc_unit_special(const struct hc_unit *u, const struct hc_unit_term *terms, int n,
                     struct hc_unit_term c, uint32_t *d)
{
    bool nan = c.class_ == HC_CLASS_NAN;
    bool infinite[2] = {false, false};
    infinite[c.negative] = c.class_ == HC_CLASS_INFINITE;
    for (int i = 0; i < n; i++) {
        nan = nan || terms[i].class_ == HC_CLASS_NAN;
        if (terms[i].class_ == HC_CLASS_INFINITE)
            infinite[terms[i].negative] = true;
    }
    nan = nan || (infinite[0] && infinite[1]);
    *d = nan ? u->nan : hc_unit_infinity(u, infinite[1]);
    return nan || infinite[0] || infinite[1];
}
