#include "unit/exact.h"

#include <assert.h>

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
