/* A unit's dot product: exact sums with their one rounding, the terms of an instruction, and chains
   of instructions. */
#include <assert.h>
#include <stddef.h>

#include "unit/rules.h"

int hc_unit_top(uint64_t m)
{
    int top = 0;
    for (int step = 32; step > 0; step /= 2)
        if (m >> top >> step)
            top += step;
    return top;
}

/* Adds the word at `i`, or subtracts it, and carries. */
static void add_word(struct hc_unit_wide *sum, bool negative, int i, uint64_t word)
{
    for (; i < HC_WIDE_WORDS && word; i++) {
        uint64_t before = sum->word[i];
        sum->word[i] = negative ? before - word : before + word;
        word = negative ? before < word : sum->word[i] < before;
    }
}

void hc_unit_wide_add(struct hc_unit_wide *sum, bool negative, uint64_t m, int e)
{
    int bit = e - HC_WIDE_LOWEST;
    assert(bit >= 0 && bit + hc_unit_top(m) < 64 * HC_WIDE_WORDS - 16);
    int shift = bit % 64;
    add_word(sum, negative, bit / 64, m << shift);
    add_word(sum, negative, bit / 64 + 1, shift ? m >> (64 - shift) : 0);
}

struct hc_unit_number hc_unit_wide_number(const struct hc_unit_wide *sum)
{
    struct hc_unit_number x = {.negative = sum->word[HC_WIDE_WORDS - 1] >> 63};
    struct hc_unit_wide size = {{0}};
    for (int i = 0; i < HC_WIDE_WORDS; i++)
        add_word(&size, x.negative, i, sum->word[i]);
    int i = HC_WIDE_WORDS - 1;
    while (i > 0 && !size.word[i])
        i--;
    x.m = size.word[i];
    x.e = 64 * i + HC_WIDE_LOWEST;
    if (i == 0 || !x.m)
        return x;
    int space = 63 - hc_unit_top(x.m);
    if (space) {
        x.m = x.m << space | size.word[i - 1] >> (64 - space);
        x.inexact = size.word[i - 1] << space != 0;
    } else
        x.inexact = size.word[i - 1] != 0;
    x.e -= space;
    for (int j = 0; j < i - 1; j++)
        x.inexact = x.inexact || size.word[j];
    return x;
}

/* m / 2^down in the rounding of magnitudes; `more` says that m stands for a little more. */
static uint64_t shift_down(uint64_t m, int down, bool more, bool negative,
                           enum hc_unit_rounding rounding)
{
    uint64_t q = down > 63 ? 0 : m >> down;
    uint64_t rest = down > 63 ? m : m & ((UINT64_C(1) << down) - 1);
    if (!rest && !more)
        return q;
    switch (rounding) {
    case HC_ROUND_NEAREST: {
        if (down < 1 || down > 64)
            return q;
        uint64_t half = UINT64_C(1) << (down - 1);
        return q + (rest > half || (rest == half && (more || q & 1)));
    }
    case HC_ROUND_FLOOR:
        return q + negative;
    case HC_ROUND_ODD:
        return q | 1;
    default:
        return q;
    }
}

int64_t hc_unit_quantize(struct hc_unit_number x, int quantum, enum hc_unit_rounding rounding)
{
    int down = quantum - x.e;
    uint64_t q = x.m;
    if (down >= 0)
        q = shift_down(x.m, down, x.inexact, x.negative, rounding);
    else if (x.m) {
        assert(hc_unit_top(x.m) - down < 63);
        q = x.m << -down;
    }
    return x.negative ? -(int64_t)q : (int64_t)q;
}

uint32_t hc_unit_infinity(const struct hc_unit *u, bool negative)
{
    const struct hc_operand_info *d = &hc_operands[u->d];
    uint32_t field = (UINT32_C(1) << d->exponent) - 1;
    return (uint32_t)negative << (d->bits - 1) | field << d->fraction;
}

/* The result's fraction has output_fraction bits, and its last place is worth that power of two at
   the number's exponent, which is at least that of the smallest normal number unless the unit
   rounds as if there were none. The exponent field counts from there: the leading bit of a normal
   significand carries into it, and so does a rounding up. */
uint32_t hc_unit_round(const struct hc_unit *u, struct hc_unit_number x)
{
    const struct hc_operand_info *d = &hc_operands[u->d];
    uint32_t sign = (uint32_t)x.negative << (d->bits - 1);
    if (x.m == 0)
        return sign;
    int lowest = 1 - d->bias;
    int exponent = hc_unit_top(x.m) + x.e;
    bool unbounded = u->underflow == HC_UNDERFLOW_FLUSHED_UNBOUNDED;
    if (exponent < lowest && !unbounded)
        exponent = lowest;
    if (exponent < lowest - 1)
        return sign;
    int quantum = exponent - u->output_fraction;
    uint64_t q = quantum > x.e ? shift_down(x.m, quantum - x.e, x.inexact, x.negative, u->output)
                               : x.m << (x.e - quantum);
    uint64_t hidden = UINT64_C(1) << u->output_fraction;
    if (exponent == lowest - 1) {
        if (q < 2 * hidden)
            return sign;
        q = hidden;
        exponent = lowest;
    }
    if (q < hidden && u->underflow == HC_UNDERFLOW_FLUSHED_AFTER)
        return sign;
    uint64_t code = ((uint64_t)(exponent - lowest) << u->output_fraction) + q;
    uint64_t infinity = (UINT64_C(1) << d->exponent) - 1;
    if (code >= infinity << u->output_fraction)
        return hc_unit_infinity(u, x.negative);
    return sign | (uint32_t)(code << (d->fraction - u->output_fraction));
}

/* Terms of a sum, and the sums that are no numbers. */

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

static hc_unit_instruction *const instructions[HC_UNIT_RULE_COUNT] = {
    [HC_UNIT_FUSED] = hc_unit_fused,
    [HC_UNIT_GROUPED] = hc_unit_grouped,
    [HC_UNIT_EXACT] = hc_unit_exact,
    [HC_UNIT_PAIRWISE] = hc_unit_pairwise,
    [HC_UNIT_FLOORED] = hc_unit_floored,
    [HC_UNIT_FLOORED_HALVES] = hc_unit_floored_halves,
    [HC_UNIT_CHAIN] = hc_unit_chain,
    [HC_UNIT_TWO_CHAINS] = hc_unit_two_chains,
    [HC_UNIT_PAIR_THEN_C] = hc_unit_pair_then_c,
};

/* The part of `codes` that belongs to the instruction: `count` of them from `first` on, filled up
   where they end. */
static void take_codes(uint32_t to[HC_UNIT_MAX_K], const uint32_t *codes, int64_t first, int count,
                       int64_t end, uint32_t fill)
{
    for (int i = 0; i < count; i++)
        to[i] = codes && first + i < end ? codes[first + i] : fill;
}

/* c in the encoding of D, of which C's is a part: what comes back where nothing is added. */
static uint32_t widened(const struct hc_unit *u, uint32_t c)
{
    if (u->c == u->d)
        return c;
    struct hc_operand_value v = hc_operand_decode(u->c, c);
    if (v.class_ == HC_CLASS_NAN)
        return u->nan;
    if (v.class_ == HC_CLASS_INFINITE)
        return hc_unit_infinity(u, v.negative);
    return hc_unit_round(u, (struct hc_unit_number){v.significand,
                                                    v.exponent - hc_operands[u->c].fraction,
                                                    v.negative, false});
}

uint32_t hc_unit_dot(const struct hc_unit *u, const uint32_t *a, const uint32_t *b,
                     const struct hc_unit_scales *scales, int64_t n, uint32_t c)
{
    assert(u->k <= HC_UNIT_MAX_K && n >= 0);
    assert(!scales || u->scale != HC_OPERAND_NONE);
    uint32_t codes[4][HC_UNIT_MAX_K];
    struct hc_unit_operands x = {codes[0], codes[1], codes[2], codes[3], u->c, c};
    const struct hc_operand_info *scale = &hc_operands[u->scale];
    uint32_t one = (uint32_t)scale->bias << scale->fraction;
    int blocks = u->block ? u->k / u->block : 0;
    int64_t all_blocks = u->block ? (n + u->block - 1) / u->block : 0;
    if (n == 0)
        return widened(u, c);
    for (int64_t i = 0; i < n; i += u->k) {
        take_codes(codes[0], a, i, u->k, n, 0);
        take_codes(codes[1], b, i, u->k, n, 0);
        take_codes(codes[2], scales ? scales->a : NULL, i / u->k * blocks, blocks, all_blocks, one);
        take_codes(codes[3], scales ? scales->b : NULL, i / u->k * blocks, blocks, all_blocks, one);
        x.c = instructions[u->rule](u, &x);
        x.c_operand = u->d;
    }
    return x.c;
}

bool hc_unit_same(const struct hc_unit *u, uint32_t want, uint32_t got)
{
    return want == got ||
           (u->nans == HC_NANS_ANY && hc_operand_decode(u->d, want).class_ == HC_CLASS_NAN &&
            hc_operand_decode(u->d, got).class_ == HC_CLASS_NAN);
}
