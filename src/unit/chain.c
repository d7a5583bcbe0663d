/* The rules that are made of fused multiply-adds and of sums of two, each rounded. */
#include "unit/exact.h"
#include "unit/rules.h"

/* An operand of one step: its code, its encoding and its value, as the unit reads it. */
struct argument {
    uint32_t code;
    enum hc_operand operand;
    struct hc_operand_value value;
};

static struct argument read(const struct hc_unit *u, enum hc_operand operand, uint32_t code)
{
    struct argument x = {code, operand, hc_operand_decode(operand, code)};
    struct hc_operand_value *v = &x.value;
    bool subnormal =
        v->class_ == HC_CLASS_FINITE && v->significand >> hc_operands[operand].fraction == 0;
    if (u->inputs != HC_INPUTS_KEPT && (subnormal || v->class_ == HC_CLASS_ZERO)) {
        v->significand = 0;
        v->class_ = HC_CLASS_ZERO;
        v->negative = v->negative && u->inputs == HC_INPUTS_SIGNED_ZERO;
    }
    return x;
}

/* The NaN that a NaN among the arguments gives: the quiet one with its sign and payload where the
   unit keeps them. */
static uint32_t nan_of(const struct hc_unit *u, const struct argument *x)
{
    if (u->nans != HC_NANS_FIRST)
        return u->nan;
    const struct hc_operand_info *from = &hc_operands[x->operand], *to = &hc_operands[u->d];
    return x->code << (to->bits - from->bits) | UINT32_C(1) << (to->fraction - 1);
}

/* x y + z, rounded once. */
static uint32_t fma_step(const struct hc_unit *u, struct argument x, struct argument y,
                         struct argument z)
{
    const struct argument *arguments[] = {&x, &y, &z};
    for (int i = 0; i < 3; i++)
        if (arguments[i]->value.class_ == HC_CLASS_NAN)
            return nan_of(u, arguments[i]);
    bool infinite = x.value.class_ == HC_CLASS_INFINITE || y.value.class_ == HC_CLASS_INFINITE;
    bool zero = x.value.class_ == HC_CLASS_ZERO || y.value.class_ == HC_CLASS_ZERO;
    bool negative = x.value.negative != y.value.negative;
    bool z_infinite = z.value.class_ == HC_CLASS_INFINITE;
    if (infinite && (zero || (z_infinite && negative != z.value.negative)))
        return u->nan;
    if (infinite || z_infinite)
        return hc_unit_infinity(u, infinite ? negative : z.value.negative);
    struct hc_unit_wide sum = {{0}};
    if (!zero)
        hc_unit_wide_add(&sum, negative, (uint64_t)x.value.significand * y.value.significand,
                         x.value.exponent - hc_operands[x.operand].fraction + y.value.exponent -
                             hc_operands[y.operand].fraction);
    if (z.value.class_ != HC_CLASS_ZERO)
        hc_unit_wide_add(&sum, z.value.negative, z.value.significand,
                         z.value.exponent - hc_operands[z.operand].fraction);
    struct hc_unit_number total = hc_unit_wide_number(&sum);
    if (total.m == 0)
        total.negative = negative && z.value.negative;
    return hc_unit_round(u, total);
}

static uint32_t multiply_add(const struct hc_unit *u, const struct hc_unit_operands *x, int i,
                             enum hc_operand operand, uint32_t c)
{
    return fma_step(u, read(u, u->a, x->a[i]), read(u, u->b, x->b[i]), read(u, operand, c));
}

/* x + y, where y is a result: x 1 + y. */
static uint32_t add(const struct hc_unit *u, enum hc_operand operand, uint32_t x, uint32_t y)
{
    const struct hc_operand_info *d = &hc_operands[u->d];
    uint32_t one = (uint32_t)d->bias << d->fraction;
    return fma_step(u, read(u, operand, x), read(u, u->d, one), read(u, u->d, y));
}

/* A product is an fma with +0, so that one that is exactly 0 is +0. */
uint32_t hc_unit_pairwise(const struct hc_unit *u, const struct hc_unit_operands *x)
{
    enum hc_operand operand = x->c_operand;
    uint32_t d = x->c;
    for (int first = 0; first < u->k; first += u->piece) {
        uint32_t sums[HC_UNIT_MAX_K] = {0};
        for (int i = 0; i < u->piece; i++)
            sums[i] = multiply_add(u, x, first + i, u->d, 0);
        for (int n = u->piece; n > 1; n /= 2)
            for (int i = 0; i < n / 2; i++)
                sums[i] = add(u, u->d, sums[2 * i], sums[2 * i + 1]);
        d = add(u, operand, d, sums[0]);
        operand = u->d;
    }
    return d;
}

uint32_t hc_unit_chain(const struct hc_unit *u, const struct hc_unit_operands *x)
{
    enum hc_operand operand = x->c_operand;
    uint32_t d = x->c;
    for (int i = 0; i < u->k; i++) {
        d = multiply_add(u, x, u->last_first ? u->k - 1 - i : i, operand, d);
        operand = u->d;
    }
    return d;
}

uint32_t hc_unit_two_chains(const struct hc_unit *u, const struct hc_unit_operands *x)
{
    uint32_t sums[2] = {0, 0};
    for (int i = 0; i < u->k; i++)
        sums[i % 2] = multiply_add(u, x, i, u->d, sums[i % 2]);
    return add(u, x->c_operand, x->c, add(u, u->d, sums[0], sums[1]));
}

/* A product is an fma with -0, which leaves the sign of a zero as it is. */
uint32_t hc_unit_pair_then_c(const struct hc_unit *u, const struct hc_unit_operands *x)
{
    uint32_t minus_zero = UINT32_C(1) << (hc_operands[u->d].bits - 1);
    enum hc_operand operand = x->c_operand;
    uint32_t d = x->c;
    for (int i = 0; i < u->k; i += 2) {
        uint32_t low = multiply_add(u, x, i, u->d, minus_zero);
        uint32_t high = multiply_add(u, x, i + 1, u->d, minus_zero);
        d = add(u, operand, d, add(u, u->d, low, high));
        operand = u->d;
    }
    return d;
}
