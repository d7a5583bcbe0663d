/* For the tests of units: sums whose terms lie at the edges of what a unit keeps. Random numbers
   nearly never do. */
#ifndef HC_UNIT_TESTING_DRAW_H
#define HC_UNIT_TESTING_DRAW_H

#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"

struct drawn {
    uint32_t a[64], b[64], scale_a[4], scale_b[4], c;
};

/* A number of 0 to n - 1 (Steele, Lea and Flood's SplitMix64). */
static inline int draw_below(uint64_t *state, int n)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (int)((z >> 33) % (uint64_t)n);
}

/* The exponents of the powers of two that an operand holds. */
static inline int lowest_power(enum hc_operand operand)
{
    const struct hc_operand_info *o = &hc_operands[operand];
    return 1 - o->bias - (o->subnormal ? o->fraction : 1);
}

static inline int highest_power(enum hc_operand operand)
{
    const struct hc_operand_info *o = &hc_operands[operand];
    int top = o->specials == HC_SPECIALS_IEEE || operand == HC_OPERAND_UE8M0 ? 2 : 1;
    return (1 << o->exponent) - top - o->bias;
}

/* The code of +-2^power, and of 1.5 times that where `more` is set and the operand holds it. */
static inline uint32_t power_code(enum hc_operand operand, int power, bool negative, bool more)
{
    const struct hc_operand_info *o = &hc_operands[operand];
    int field = power + o->bias;
    uint32_t sign = negative && o->sign ? UINT32_C(1) << (o->bits - 1) : 0;
    if (field <= 0 && o->subnormal)
        return sign | UINT32_C(1) << (o->fraction - 1 + field);
    uint32_t half = more && o->fraction ? UINT32_C(1) << (o->fraction - 1) : 0;
    return sign | (uint32_t)field << o->fraction | half;
}

static inline int between(uint64_t *state, int least, int most)
{
    return least + draw_below(state, most - least + 1);
}

/* Splits `power` into two that x and y hold. Returns whether there are such. */
static inline bool split(uint64_t *state, int power, enum hc_operand x, enum hc_operand y, int *px,
                         int *py)
{
    int least = power - highest_power(y), most = power - lowest_power(y);
    least = least > lowest_power(x) ? least : lowest_power(x);
    most = most < highest_power(x) ? most : highest_power(x);
    if (least > most)
        return false;
    *px = between(state, least, most);
    *py = power - *px;
    return true;
}

/* Puts a term of about 2^power into a product, whose block may get its scales by it, or into C. */
static inline void place(const struct hc_unit *u, uint64_t *state, int power, struct drawn *v,
                         bool scaled[4])
{
    bool negative = draw_below(state, 2), more = draw_below(state, 4) == 0;
    if (draw_below(state, 4) == 0) {
        if (power >= lowest_power(u->c) && power <= highest_power(u->c))
            v->c = power_code(u->c, power, negative, more);
        return;
    }
    int i = draw_below(state, u->k), x, y;
    if (u->block) {
        int block = i / u->block;
        int least = lowest_power(u->a) + lowest_power(u->b);
        int most = highest_power(u->a) + highest_power(u->b);
        if (!scaled[block] &&
            split(state, power - between(state, least, most), u->scale, u->scale, &x, &y)) {
            v->scale_a[block] = power_code(u->scale, x, false, false);
            v->scale_b[block] = power_code(u->scale, y, false, false);
            scaled[block] = true;
        }
        power -= hc_operand_decode(u->scale, v->scale_a[block]).exponent +
                 hc_operand_decode(u->scale, v->scale_b[block]).exponent;
    }
    if (split(state, power, u->a, u->b, &x, &y)) {
        v->a[i] = power_code(u->a, x, negative, more);
        v->b[i] = power_code(u->b, y, false, false);
    }
}

/* One instruction whose terms lie at the top, at the last place of D and at half of it, at the last
   of the fraction bits, and at the last place that an alignment at a zero's exponent leaves. */
static inline void draw_edges(const struct hc_unit *u, uint64_t *state, struct drawn *v)
{
    memset(v, 0, sizeof *v);
    bool scaled[4] = {false};
    for (int s = 0; u->block && s < u->k / u->block; s++)
        v->scale_a[s] = v->scale_b[s] = power_code(u->scale, 0, false, false);
    for (int i = 0; i < u->k; i++)
        v->a[i] = draw_below(state, 8) ? 0 : power_code(u->a, draw_below(state, 2), false, false);
    int zero = u->zero == HC_ZERO_FIXED ? u->zero_exponent : u->zero_c_exponent;
    int last = 1 - hc_operands[u->d].bias - u->output_fraction;
    int least = lowest_power(u->a) + lowest_power(u->b);
    int most = highest_power(u->a) + highest_power(u->b);
    int tops[] = {between(state, least, most), zero + between(state, -2, 2),
                  last + between(state, -2, 2), between(state, -6, 12)};
    int top = tops[draw_below(state, 4)];
    place(u, state, top, v, scaled);
    for (int terms = between(state, 1, 4); terms > 0; terms--) {
        int edges[] = {top - u->output_fraction - 1,
                       top - u->fraction + between(state, -2, 2),
                       zero - u->fraction + between(state, -2, 2),
                       last + between(state, -2, 2),
                       top - u->floor_fraction + between(state, -2, 2),
                       zero - u->floor_fraction + between(state, -2, 2),
                       top,
                       top - between(state, 0, 48)};
        place(u, state, edges[draw_below(state, 8)], v, scaled);
    }
}

#endif
