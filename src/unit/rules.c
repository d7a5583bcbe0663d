/* The rules of instructions: those that align terms and cut them, and chains of fma. */
#include "unit/rules.h"

#include <assert.h>

/* The rules that align the terms of a sum at the largest exponent and cut them there. */

static int larger(int x, int y)
{
    return x > y ? x : y;
}

static int largest_exponent(const struct hc_unit_term *terms, int first, int n, int stride)
{
    int exponent = HC_NO_EXPONENT;
    for (int i = first; i < n; i += stride)
        exponent = larger(exponent, terms[i].exponent);
    return exponent;
}

/* The term as a multiple of 2^(exponent - fraction). */
static int64_t align(const struct hc_unit_term *t, int exponent, int fraction,
                     enum hc_unit_rounding rounding)
{
    if (t->class_ == HC_CLASS_ZERO)
        return 0;
    struct hc_unit_number x = {t->significand, t->exponent - t->fraction, t->negative, false};
    return hc_unit_quantize(x, exponent - fraction, rounding);
}

/* total 2^e, which is +0 if it is 0. */
static struct hc_unit_number unit_number(int64_t total, int e)
{
    uint64_t m = total < 0 ? 0 - (uint64_t)total : (uint64_t)total;
    return (struct hc_unit_number){m, e, total < 0, false};
}

/* A sum as a term: a multiple of 2^(exponent - fraction). */
static struct hc_unit_term sum_term(int64_t total, int exponent, int fraction)
{
    struct hc_unit_number x = unit_number(total, 0);
    return (struct hc_unit_term){x.m, fraction, exponent, x.negative,
                                 x.m ? HC_CLASS_FINITE : HC_CLASS_ZERO};
}

/* The n terms and C, all cut at the largest exponent and summed. Every zero is +0. */
static uint32_t fuse(const struct hc_unit *u, const struct hc_unit_term *terms, int n,
                     struct hc_unit_term c)
{
    int exponent = larger(largest_exponent(terms, 0, n, 1), c.exponent);
    int64_t total = align(&c, exponent, u->fraction, u->alignment);
    for (int i = 0; i < n; i++)
        total += align(&terms[i], exponent, u->fraction, u->alignment);
    uint32_t d = hc_unit_round(u, unit_number(total, exponent - u->fraction));
    return hc_operand_decode(u->d, d).class_ == HC_CLASS_ZERO ? 0 : d;
}

/* The sum of the products of a group, each of which has the group's two scales. In the products'
   exponents the scales' come on top; a group keeps the scales' alone. */
static struct hc_unit_term group_term(const struct hc_unit *u, const struct hc_unit_operands *x,
                                      int first)
{
    struct hc_operand_value scales[2] = {
        hc_operand_decode(u->scale, x->scale_a[first / u->block]),
        hc_operand_decode(u->scale, x->scale_b[first / u->block]),
    };
    int exponent = 0, zeros = 0;
    for (int s = 0; s < 2; s++)
        exponent += u->zero == HC_ZERO_OPERAND && scales[s].class_ == HC_CLASS_ZERO
                        ? u->zero_exponent
                        : scales[s].exponent;
    int64_t total = 0;
    int fraction = 0;
    /* A product of two normal numbers of the smallest exponent is a whole number at `lowest`. */
    int lowest = 2 - hc_operands[u->a].bias - hc_operands[u->b].bias;
    for (int i = 0; i < u->group; i++) {
        struct hc_unit_term p = hc_unit_product(u, x, first + i);
        fraction = p.fraction;
        zeros += p.class_ == HC_CLASS_ZERO;
        if (p.class_ == HC_CLASS_NAN)
            return p;
        if (p.class_ != HC_CLASS_ZERO) {
            int shift = p.exponent - scales[0].exponent - scales[1].exponent - lowest;
            int64_t m = (int64_t)(p.significand << shift);
            total += p.negative ? -m : m;
        }
    }
    struct hc_unit_term t = sum_term(total, exponent, fraction - lowest);
    if (zeros == u->group && u->zero != HC_ZERO_OPERAND)
        t.exponent = u->zero == HC_ZERO_FIXED ? u->zero_exponent : HC_NO_EXPONENT;
    return t;
}

uint32_t hc_unit_grouped(const struct hc_unit *u, const struct hc_unit_operands *x)
{
    struct hc_unit_term c = hc_unit_c_term(u, x->c_operand, x->c);
    struct hc_unit_term groups[HC_UNIT_MAX_K];
    int n = u->k / u->group;
    uint32_t d;
    for (int g = 0; g < n; g++)
        groups[g] = group_term(u, x, g * u->group);
    return hc_unit_special(u, groups, n, c, &d) ? d : fuse(u, groups, n, c);
}

/* The exact sum, in one rounding. */
static uint32_t sum_exactly(const struct hc_unit *u, const struct hc_unit_term *terms, int n,
                            struct hc_unit_term c)
{
    struct hc_unit_wide sum = {{0}};
    for (int i = 0; i < n; i++)
        if (terms[i].class_ != HC_CLASS_ZERO)
            hc_unit_wide_add(&sum, terms[i].negative, terms[i].significand,
                             terms[i].exponent - terms[i].fraction);
    if (c.class_ != HC_CLASS_ZERO)
        hc_unit_wide_add(&sum, c.negative, c.significand, c.exponent - c.fraction);
    return hc_unit_round(u, hc_unit_wide_number(&sum));
}

/* A sum of products, floored, and C, floored, at the larger exponent; then the total, floored
   behind its own leading bit. */
static uint32_t floor_with_c(const struct hc_unit *u, struct hc_unit_term sum,
                             struct hc_unit_term c)
{
    int exponent = larger(sum.exponent, c.exponent);
    int fraction = larger(u->fraction, u->floor_fraction);
    int64_t total = align(&sum, exponent, u->floor_fraction, HC_ROUND_FLOOR) *
                    (INT64_C(1) << (fraction - u->floor_fraction));
    total +=
        align(&c, exponent, u->fraction, HC_ROUND_FLOOR) * (INT64_C(1) << (fraction - u->fraction));
    struct hc_unit_number x = unit_number(total, exponent - fraction);
    if (u->total_fraction && x.m) {
        int leading = larger(hc_unit_top(x.m) + x.e, 1 - hc_operands[u->d].bias);
        int quantum = leading - u->total_fraction;
        x = unit_number(hc_unit_quantize(x, larger(quantum, x.e), HC_ROUND_FLOOR),
                        larger(quantum, x.e));
    }
    return hc_unit_round(u, x);
}

/* Products first, first + stride, ... of the n terms, cut at their largest exponent and summed. */
static struct hc_unit_term sum_cut(const struct hc_unit *u, const struct hc_unit_term *terms,
                                   int first, int n, int stride)
{
    int exponent = largest_exponent(terms, first, n, stride);
    int64_t total = 0;
    for (int i = first; i < n; i += stride)
        total += align(&terms[i], exponent, u->fraction, u->alignment);
    return sum_term(total, exponent, u->fraction);
}

/* Products of 2^128 or more become infinite. */
static void overflow(struct hc_unit_term *terms, int n)
{
    for (int i = 0; i < n; i++)
        if (terms[i].class_ == HC_CLASS_FINITE &&
            hc_unit_top(terms[i].significand) + terms[i].exponent - terms[i].fraction >= 128)
            terms[i].class_ = HC_CLASS_INFINITE;
}

/* D of n terms and C, all of which are numbers. */
typedef uint32_t piece_rule(const struct hc_unit *u, const struct hc_unit_term *terms, int n,
                            struct hc_unit_term c);

static uint32_t pieces(const struct hc_unit *u, const struct hc_unit_operands *x, piece_rule *rule)
{
    struct hc_unit_term c = hc_unit_c_term(u, x->c_operand, x->c);
    struct hc_unit_term terms[HC_UNIT_MAX_K];
    uint32_t d = x->c;
    assert(u->piece > 0 && u->piece <= HC_UNIT_MAX_K);
    for (int first = 0; first < u->k; first += u->piece) {
        for (int i = 0; i < u->piece; i++)
            terms[i] = hc_unit_product(u, x, first + i);
        bool special = u->infinite_c_wins && hc_unit_special(u, terms, u->piece, c, &d);
        if (u->rule == HC_UNIT_FLOORED || u->rule == HC_UNIT_FLOORED_HALVES)
            overflow(terms, u->piece);
        if (!special && !hc_unit_special(u, terms, u->piece, c, &d))
            d = rule(u, terms, u->piece, c);
        c = hc_unit_c_term(u, u->d, d);
    }
    return d;
}

static uint32_t floored_piece(const struct hc_unit *u, const struct hc_unit_term *terms, int n,
                              struct hc_unit_term c)
{
    return floor_with_c(u, sum_cut(u, terms, 0, n, 1), c);
}

static uint32_t halves_piece(const struct hc_unit *u, const struct hc_unit_term *terms, int n,
                             struct hc_unit_term c)
{
    struct hc_unit_term even = sum_cut(u, terms, 0, n, 2);
    struct hc_unit_term odd = sum_cut(u, terms, 1, n, 2);
    int exponent = larger(even.exponent, odd.exponent);
    int64_t total = align(&even, exponent, u->fraction, HC_ROUND_FLOOR) +
                    align(&odd, exponent, u->fraction, HC_ROUND_FLOOR);
    struct hc_unit_term sum = sum_term(total, exponent, u->fraction);
    if (c.exponent < exponent - u->fraction - 1)
        c.class_ = HC_CLASS_ZERO;
    return floor_with_c(u, sum, c);
}

uint32_t hc_unit_fused(const struct hc_unit *u, const struct hc_unit_operands *x)
{
    return pieces(u, x, fuse);
}

uint32_t hc_unit_exact(const struct hc_unit *u, const struct hc_unit_operands *x)
{
    return pieces(u, x, sum_exactly);
}

uint32_t hc_unit_floored(const struct hc_unit *u, const struct hc_unit_operands *x)
{
    return pieces(u, x, floored_piece);
}

uint32_t hc_unit_floored_halves(const struct hc_unit *u, const struct hc_unit_operands *x)
{
    return pieces(u, x, halves_piece);
}

/* The rules that are made of fused multiply-adds and of sums of two, each rounded. */

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
static uint32_t add_codes(const struct hc_unit *u, enum hc_operand operand, uint32_t x, uint32_t y)
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
                sums[i] = add_codes(u, u->d, sums[2 * i], sums[2 * i + 1]);
        d = add_codes(u, operand, d, sums[0]);
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
    return add_codes(u, x->c_operand, x->c, add_codes(u, u->d, sums[0], sums[1]));
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
        d = add_codes(u, operand, d, add_codes(u, u->d, low, high));
        operand = u->d;
    }
    return d;
}
