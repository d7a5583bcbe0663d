#include "reference/unit/number.h"

#include <assert.h>
#include <limits.h>

void hc_numbers_begin(struct hc_number *x, int n)
{
    for (int i = 0; i < n; i++) {
        mpz_init(x[i].count);
        hc_number_set_zero(&x[i], false);
    }
}

void hc_numbers_end(struct hc_number *x, int n)
{
    for (int i = 0; i < n; i++)
        mpz_clear(x[i].count);
}

void hc_number_set(struct hc_number *x, const struct hc_number *from)
{
    x->kind = from->kind;
    x->negative = from->negative;
    x->exponent = from->exponent;
    x->nan = from->nan;
    mpz_set(x->count, from->count);
}

void hc_number_set_zero(struct hc_number *x, bool negative)
{
    x->kind = HC_NUMBER_FINITE;
    x->negative = negative;
    x->exponent = 0;
    mpz_set_ui(x->count, 0);
}

void hc_number_set_one(struct hc_number *x)
{
    hc_number_set_zero(x, false);
    mpz_set_ui(x->count, 1);
    mpz_mul_2exp(x->count, x->count, HC_NUMBER_PLACES);
}

bool hc_number_is_zero(const struct hc_number *x)
{
    return x->kind == HC_NUMBER_FINITE && mpz_sgn(x->count) == 0;
}

int hc_number_leading(const struct hc_number *x)
{
    return (int)mpz_sizeinbase(x->count, 2) - 1 - HC_NUMBER_PLACES;
}

bool hc_number_below(const struct hc_number *x, int exponent)
{
    return hc_number_is_zero(x) || (x->kind == HC_NUMBER_FINITE && hc_number_leading(x) < exponent);
}

static void set_nan(struct hc_number *x, uint32_t bits)
{
    x->kind = HC_NUMBER_NAN;
    x->nan = bits;
}

static void set_infinite(struct hc_number *x, bool negative)
{
    x->kind = HC_NUMBER_INFINITE;
    x->negative = negative;
}

static int max(int a, int b)
{
    return a > b ? a : b;
}

void hc_number_multiply(struct hc_number *x, const struct hc_number *a, const struct hc_number *b,
                        uint32_t made)
{
    bool negative = a->negative != b->negative;
    bool infinite = a->kind == HC_NUMBER_INFINITE || b->kind == HC_NUMBER_INFINITE;
    if (a->kind == HC_NUMBER_NAN || b->kind == HC_NUMBER_NAN) {
        set_nan(x, a->kind == HC_NUMBER_NAN ? a->nan : b->nan);
    } else if (infinite && (hc_number_is_zero(a) || hc_number_is_zero(b))) {
        set_nan(x, made);
    } else if (infinite) {
        set_infinite(x, negative);
    } else {
        x->kind = HC_NUMBER_FINITE;
        x->negative = negative;
        x->exponent = a->exponent + b->exponent;
        mpz_mul(x->count, a->count, b->count);
        mpz_tdiv_q_2exp(x->count, x->count, HC_NUMBER_PLACES);
    }
}

void hc_number_add(struct hc_number *x, const struct hc_number *a, const struct hc_number *b,
                   uint32_t made)
{
    bool both_negative = a->negative && b->negative;
    if (a->kind == HC_NUMBER_NAN || b->kind == HC_NUMBER_NAN) {
        set_nan(x, a->kind == HC_NUMBER_NAN ? a->nan : b->nan);
    } else if (a->kind == HC_NUMBER_INFINITE && b->kind == HC_NUMBER_INFINITE) {
        if (a->negative == b->negative)
            set_infinite(x, a->negative);
        else
            set_nan(x, made);
    } else if (a->kind == HC_NUMBER_INFINITE || b->kind == HC_NUMBER_INFINITE) {
        set_infinite(x, a->kind == HC_NUMBER_INFINITE ? a->negative : b->negative);
    } else {
        x->kind = HC_NUMBER_FINITE;
        mpz_add(x->count, a->count, b->count);
        x->negative = mpz_sgn(x->count) ? mpz_sgn(x->count) < 0 : both_negative;
    }
}

void hc_number_cut(struct hc_number *x, int place, enum hc_unit_rounding how)
{
    mp_bitcnt_t bits = (mp_bitcnt_t)max(place + HC_NUMBER_PLACES, 0);
    if (x->kind != HC_NUMBER_FINITE || bits == 0)
        return;
    bool exact = mpz_divisible_2exp_p(x->count, bits) != 0;
    bool half_set = mpz_tstbit(x->count, bits - 1) != 0; /* of the two's complement */
    bool tie = half_set && mpz_scan1(x->count, 0) == bits - 1;
    if (how == HC_ROUND_CUT)
        mpz_tdiv_q_2exp(x->count, x->count, bits);
    else
        mpz_fdiv_q_2exp(x->count, x->count, bits);
    bool odd = mpz_odd_p(x->count) != 0;
    if (how == HC_ROUND_NEAREST && half_set && (!tie || odd))
        mpz_add_ui(x->count, x->count, 1);
    if (how == HC_ROUND_ODD && !exact && !odd)
        mpz_add_ui(x->count, x->count, 1);
    mpz_mul_2exp(x->count, x->count, bits);
}

void hc_number_round(struct hc_number *x, int fraction, int least, enum hc_unit_rounding how)
{
    if (x->kind == HC_NUMBER_FINITE && mpz_sgn(x->count) != 0)
        hc_number_cut(x, max(hc_number_leading(x), least) - fraction, how);
}

enum { QUIET = 0x00400000, QUIET_NAN = 0x7fc00000, FP32_EXPONENT = 8 };

static bool is_nan(const struct hc_operand_info *o, bool negative, int exponent, uint32_t fraction)
{
    int top = (1 << o->exponent) - 1;
    uint32_t ones = (1u << o->fraction) - 1;
    return (o->specials == HC_SPECIALS_IEEE && exponent == top && fraction != 0) ||
           (o->specials == HC_SPECIALS_TOP && exponent == top && fraction == ones) ||
           (o->specials == HC_SPECIALS_FNUZ && negative && exponent == 0 && fraction == 0);
}

void hc_number_read(struct hc_number *x, enum hc_operand operand, uint32_t bits)
{
    const struct hc_operand_info *o = &hc_operands[operand];
    bits = bits >> o->cleared << o->cleared;
    int field = (int)(bits >> o->fraction) & ((1 << o->exponent) - 1);
    uint32_t fraction = bits & ((1u << o->fraction) - 1);
    bool negative = operand != HC_OPERAND_UE4M3 && o->sign && (bits >> (o->bits - 1) & 1) != 0;
    hc_number_set_zero(x, negative);
    if (is_nan(o, negative, field, fraction)) {
        x->kind = HC_NUMBER_NAN;
        x->nan = o->exponent == FP32_EXPONENT ? bits << (32 - o->bits) | QUIET : QUIET_NAN;
        return;
    }
    if (o->specials == HC_SPECIALS_IEEE && field == (1 << o->exponent) - 1) {
        x->kind = HC_NUMBER_INFINITE;
        return;
    }
    bool normal = field > 0 || !o->subnormal;
    x->exponent = (normal ? field : 1) - o->bias;
    mpz_set_ui(x->count, fraction + (normal ? 1u << o->fraction : 0));
    mpz_mul_2exp(x->count, x->count, (mp_bitcnt_t)(x->exponent - o->fraction + HC_NUMBER_PLACES));
    if (negative)
        mpz_neg(x->count, x->count);
}

uint32_t hc_number_write(const struct hc_number *x, enum hc_operand operand)
{
    const struct hc_operand_info *o = &hc_operands[operand];
    uint32_t sign = (uint32_t)x->negative << (o->bits - 1);
    int least = 1 - o->bias;
    if (x->kind == HC_NUMBER_NAN)
        return x->nan;
    if (hc_number_is_zero(x))
        return sign;
    int leading = x->kind == HC_NUMBER_FINITE ? max(hc_number_leading(x), least) : INT_MAX / 2;
    if (leading > o->bias)
        return sign | ((1u << o->exponent) - 1) << o->fraction;
    mpz_t digits;
    mpz_init(digits);
    mpz_tdiv_q_2exp(digits, x->count, (mp_bitcnt_t)(leading - o->fraction + HC_NUMBER_PLACES));
    uint32_t significand = (uint32_t)mpz_get_ui(digits); /* of the magnitude */
    mpz_clear(digits);
    /* The leading one of a normal number adds 1 to the exponent's field. */
    return sign | (((uint32_t)(leading - least) << o->fraction) + significand);
}
