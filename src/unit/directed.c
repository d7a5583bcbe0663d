#include "unit/directed.h"

#include "num/rng.h"

/* Draws of one vector, by SplitMix64 (Steele, Lea and Flood: Fast splittable pseudorandom number
   generators, OOPSLA 2014). */
struct draws {
    uint64_t state;
    const struct hc_unit *unit;
    int scaled; /* the exponent of both scales, where a vector has one alone */
};

static uint64_t draw_bits(struct draws *d)
{
    uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* From `from` to `to`, both included. */
static int between(struct draws *d, int from, int to)
{
    return to <= from ? from : from + (int)(draw_bits(d) % (uint64_t)(to - from + 1));
}

static bool one_in(struct draws *d, int n)
{
    return draw_bits(d) % (uint64_t)n == 0;
}

static int clamp(int x, int least, int most)
{
    return x < least ? least : x > most ? most : x;
}

/* The exponents of the smallest subnormal and of the largest number. */
static int least_exponent(enum hc_operand operand)
{
    const struct hc_operand_info *o = &hc_operands[operand];
    return o->subnormal ? 1 - o->bias - (o->fraction - o->cleared) : -o->bias;
}

static int most_exponent(enum hc_operand operand)
{
    const struct hc_operand_info *o = &hc_operands[operand];
    bool reserved = o->specials == HC_SPECIALS_IEEE || operand == HC_OPERAND_UE8M0;
    return (1 << o->exponent) - 1 - reserved - o->bias;
}

/* +-2^exponent, and with that fraction where it is normal. */
static uint32_t power_code(enum hc_operand operand, bool negative, int exponent, uint32_t fraction)
{
    const struct hc_operand_info *o = &hc_operands[operand];
    uint32_t sign = o->sign ? (uint32_t)negative << (o->bits - 1) : 0;
    exponent = clamp(exponent, least_exponent(operand), most_exponent(operand));
    fraction &= (1u << o->fraction) - 1;
    if (o->specials == HC_SPECIALS_TOP && o->fraction && exponent == most_exponent(operand))
        fraction &= ~1u; /* the code above is NaN */
    if (exponent + o->bias < 1 && o->subnormal)
        return sign | 1u << (exponent + o->bias - 1 + o->fraction);
    return sign | (uint32_t)(exponent + o->bias) << o->fraction | fraction;
}

/* Often few bits, so that sums are ties; else any. */
static uint32_t fraction_of(struct draws *d)
{
    return one_in(d, 2) ? (uint32_t)draw_bits(d) : one_in(d, 2) ? 0 : 1u << between(d, 0, 22);
}

static void set_product(struct draws *d, struct hc_directed *v, int64_t i, int exponent,
                        uint32_t fraction)
{
    exponent -= d->scaled;
    int least_a = least_exponent(d->unit->a);
    int most_a = most_exponent(d->unit->a);
    int from = clamp(exponent - most_exponent(d->unit->b), least_a, most_a);
    int to = clamp(exponent - least_exponent(d->unit->b), least_a, most_a);
    int x = between(d, from, to);
    v->a[i] = power_code(d->unit->a, one_in(d, 2), x, fraction);
    v->b[i] = power_code(d->unit->b, one_in(d, 2), exponent - x, one_in(d, 2) ? fraction : 0);
}

static void set_zero(struct draws *d, struct hc_directed *v, int64_t i)
{
    uint32_t *zero = one_in(d, 2) ? v->a : v->b;
    const struct hc_operand_info *o = &hc_operands[zero == v->a ? d->unit->a : d->unit->b];
    bool no_minus = o->specials == HC_SPECIALS_FNUZ; /* that is NaN */
    zero[i] = no_minus ? 0 : (uint32_t)one_in(d, 2) << (o->bits - 1);
}

static void set_c(struct draws *d, struct hc_directed *v, int exponent)
{
    v->c = power_code(d->unit->c, one_in(d, 2), exponent, fraction_of(d));
}

static void set_scales(struct draws *d, struct hc_directed *v, int from, int to)
{
    if (d->unit->scale == HC_OPERAND_NONE)
        return;
    for (int64_t i = 0; i < (v->n + d->unit->block - 1) / d->unit->block; i++) {
        int below = one_in(d, 3) ? between(d, 0, d->unit->fraction / 2 + 2) : 0;
        int x = between(d, from, to) - below;
        int y = between(d, from, to) - below;
        v->scale_a[i] = power_code(d->unit->scale, false, x, fraction_of(d));
        v->scale_b[i] = power_code(d->unit->scale, false, y, fraction_of(d));
    }
}

static uint32_t any_bits(struct draws *d, enum hc_operand operand)
{
    return (uint32_t)(draw_bits(d) & ((UINT64_C(1) << hc_operands[operand].bits) - 1));
}

static void bits(struct draws *d, struct hc_directed *v)
{
    for (int64_t i = 0; i < v->n; i++) {
        v->a[i] = any_bits(d, d->unit->a);
        v->b[i] = any_bits(d, d->unit->b);
        v->scale_a[i] = any_bits(d, HC_OPERAND_UE8M0);
        v->scale_b[i] = any_bits(d, HC_OPERAND_UE8M0);
    }
    v->c = any_bits(d, d->unit->c);
}

static void near(struct draws *d, struct hc_directed *v)
{
    int spread = one_in(d, 4) ? 40 : one_in(d, 3) ? 12 : 3;
    int centre = one_in(d, 2) ? 0 : between(d, -20, 20);
    for (int64_t i = 0; i < v->n; i++)
        set_product(d, v, i, centre + between(d, -spread, spread), (uint32_t)draw_bits(d));
    set_c(d, v, centre + between(d, -spread, spread));
}

static void cancel(struct draws *d, struct hc_directed *v)
{
    uint32_t sign = 1u << (hc_operands[d->unit->a].bits - 1);
    int small = between(d, 2, 40);
    int centre = between(d, -10, 10);
    for (int64_t i = 0; i < v->n; i++)
        set_product(d, v, i, centre - small, fraction_of(d));
    set_c(d, v, centre - between(d, 0, 40));
    for (int pairs = between(d, 1, 3); pairs > 0; pairs--) {
        int64_t i = between(d, 0, (int)v->n - 1);
        int64_t j = between(d, 0, (int)v->n - 1);
        if (i == j)
            continue;
        set_product(d, v, i, centre, fraction_of(d));
        v->a[j] = v->a[i] ^ sign;
        v->b[j] = v->b[i];
    }
    if (one_in(d, 3)) { /* a power of two and C */
        set_product(d, v, 0, centre, 0);
        v->c = power_code(d->unit->c, one_in(d, 2), centre - between(d, 0, 1), 0);
    }
}

static void c_leads(struct draws *d, struct hc_directed *v)
{
    int centre = between(d, -12, 12);
    int above = between(d, -36, 36);
    for (int64_t i = 0; i < v->n; i++)
        set_product(d, v, i, centre - between(d, 0, 3), fraction_of(d));
    set_c(d, v, centre + above);
}

static void subnormal(struct draws *d, struct hc_directed *v)
{
    const struct hc_operand_info *a = &hc_operands[d->unit->a];
    const struct hc_operand_info *b = &hc_operands[d->unit->b];
    for (int64_t i = 0; i < v->n; i++) {
        set_product(d, v, i, between(d, -150, 0), fraction_of(d));
        if (one_in(d, 2))
            v->a[i] = any_bits(d, d->unit->a) & ~(((1u << a->exponent) - 1) << a->fraction);
        if (one_in(d, 3))
            v->b[i] = any_bits(d, d->unit->b) & ~(((1u << b->exponent) - 1) << b->fraction);
        if (v->a[i] == 1u << (a->bits - 1) || v->b[i] == 1u << (b->bits - 1))
            set_product(d, v, i, 0, 0);
    }
    set_c(d, v, one_in(d, 2) ? between(d, -149, -120) : between(d, -30, -10));
    if (one_in(d, 2))
        v->c = (uint32_t)draw_bits(d) & (d->unit->c == HC_OPERAND_FP32 ? 0x80ffffffu : 0x83ffu);
}

/* One of the unit's numbers of places, or a bit more or less. */
static int draw_place(struct draws *d)
{
    const struct hc_unit *u = d->unit;
    const int places[] = {u->fraction, u->output_fraction, u->floor_fraction, u->total_fraction};
    int place = places[between(d, 0, 3)];
    return (place ? place : u->output_fraction) +
           (one_in(d, 2) ? between(d, 0, 1) : between(d, -1, 3));
}

/* One term leads, the others lie about a place, and many are zero. */
static void ties_at(struct draws *d, struct hc_directed *v, int top)
{
    int place = draw_place(d);
    for (int64_t i = 0; i < v->n; i++) {
        int below = one_in(d, 3) ? 0 : between(d, 1, 12);
        set_product(d, v, i, top - place - below, one_in(d, 3) ? fraction_of(d) : 0);
        if (i > 3 && !one_in(d, 4))
            set_zero(d, v, i);
    }
    int64_t leader = between(d, -1, v->n > 6 ? 6 : (int)v->n - 1);
    set_c(d, v, top - place - between(d, -1, 12));
    if (leader < 0 || one_in(d, 4))
        set_c(d, v, top - between(d, 0, 1));
    if (leader >= 0)
        set_product(d, v, leader, top, fraction_of(d));
    if (one_in(d, 3))
        set_product(d, v, between(d, 0, (int)v->n - 1), top - between(d, 0, 4), fraction_of(d));
}

/* A leading term, half a unit of its last place, and one bit that says to which side it lies. */
static void half_and_bit(struct draws *d, struct hc_directed *v, int top)
{
    int half = d->unit->output_fraction + (one_in(d, 4) ? between(d, 0, 2) : 1);
    int64_t i = between(d, 0, (int)v->n - 1);
    int64_t j = between(d, 0, (int)v->n - 1);
    for (int64_t k = 0; k < v->n; k++) {
        set_product(d, v, k, top, 0);
        set_zero(d, v, k);
    }
    set_c(d, v, top);
    set_product(d, v, i, top - half, 0);
    if (i != j)
        set_product(d, v, j, top - draw_place(d), 0);
    if (v->n > 2 && one_in(d, 2)) { /* C is the bit, or 0 */
        v->c = power_code(d->unit->c, one_in(d, 2), top - draw_place(d), 0);
        if (one_in(d, 2))
            v->c = 0;
        set_product(d, v, (i == 0) + (j == (i == 0)), top, fraction_of(d));
    }
}

static void ties(struct draws *d, struct hc_directed *v)
{
    int top = one_in(d, 4) ? between(d, -126, -100) : between(d, -8, 20);
    (one_in(d, 4) ? ties_at : half_and_bit)(d, v, top);
}

static void zeros(struct draws *d, struct hc_directed *v)
{
    for (int64_t i = 0; i < v->n; i++) {
        set_product(d, v, i, between(d, -250, 40), fraction_of(d));
        if (!one_in(d, 4))
            set_zero(d, v, i);
    }
    set_c(d, v, between(d, -149, -90));
    if (one_in(d, 3))
        v->c = (uint32_t)one_in(d, 2) << (hc_operands[d->unit->c].bits - 1);
}

/* Half of the smallest result, a bit where a zero's exponent may cut it, and zeros. */
static void half_of_the_last(struct draws *d, struct hc_directed *v)
{
    int zero = d->unit->zero_exponent ? d->unit->zero_exponent : -130;
    for (int64_t i = 0; i < v->n; i++) {
        set_product(d, v, i, -100, 0);
        set_zero(d, v, i);
    }
    if (v->n > 1)
        set_product(d, v, between(d, 1, (int)v->n - 1),
                    zero - d->unit->fraction + between(d, -3, 2), 0);
    set_product(d, v, 0, least_exponent(d->unit->d) - between(d, 0, 1), 0);
    v->c = 0;
}

/* The smallest normal number, and a bit that may be lost to rounding. */
static void below_normal(struct draws *d, struct hc_directed *v)
{
    int place = d->unit->output_fraction + between(d, 0, 8);
    for (int64_t i = 0; i < v->n; i++) {
        set_product(d, v, i, -126 - place - between(d, 0, 3), fraction_of(d));
        if (!one_in(d, 4))
            set_zero(d, v, i);
    }
    v->c = power_code(d->unit->c, one_in(d, 2), -126, 0);
    if (one_in(d, 2)) {
        set_product(d, v, between(d, 0, (int)v->n - 1), -126, 0);
        v->c = 0;
    }
}

static void tiny(struct draws *d, struct hc_directed *v)
{
    if (d->unit->scale == HC_OPERAND_UE8M0 && d->unit->rule == HC_UNIT_FUSED) {
        int scale = between(d, -75, -60);
        d->scaled = 2 * scale;
        for (int64_t i = 0; i < v->n; i++)
            v->scale_a[i] = v->scale_b[i] = power_code(HC_OPERAND_UE8M0, false, scale, 0);
    }
    switch (between(d, 0, 3)) {
    case 0:
        half_of_the_last(d, v);
        return;
    case 1:
        below_normal(d, v);
        return;
    default:
        ties_at(d, v, between(d, -155, -118));
    }
    for (int64_t i = 0; i < v->n; i++)
        if (one_in(d, 2))
            set_zero(d, v, i);
    if (one_in(d, 2))
        v->c = (uint32_t)one_in(d, 2) << (hc_operands[d->unit->c].bits - 1);
}

static uint32_t special_of(struct draws *d, enum hc_operand operand)
{
    const struct hc_operand_info *o = &hc_operands[operand];
    uint32_t top = ((1u << o->exponent) - 1) << o->fraction;
    uint32_t sign = o->sign ? (uint32_t)one_in(d, 2) << (o->bits - 1) : 0;
    if (o->specials == HC_SPECIALS_FNUZ && one_in(d, 2))
        return 1u << (o->bits - 1);
    if (one_in(d, 2))
        return sign | top; /* infinite, where the format has it */
    return sign | top | (uint32_t)(draw_bits(d) & ((1u << o->fraction) - 1));
}

static void draw_special(struct draws *d, struct hc_directed *v)
{
    if (one_in(d, 2))
        near(d, v);
    else
        zeros(d, v);
    for (int many = between(d, 1, 3); many > 0; many--) {
        int64_t i = between(d, 0, (int)v->n - 1);
        switch (between(d, 0, 3)) {
        case 0:
            v->a[i] = special_of(d, d->unit->a);
            break;
        case 1:
            v->b[i] = special_of(d, d->unit->b);
            break;
        case 2:
            v->c = special_of(d, d->unit->c);
            break;
        default:
            if (d->unit->scale != HC_OPERAND_NONE)
                v->scale_a[i / d->unit->block] = special_of(d, d->unit->scale);
        }
    }
}

/* The largest result: of an infinite sum it is half as large, or C is. */
static void overflow(struct draws *d, struct hc_directed *v)
{
    int most = most_exponent(d->unit->d);
    int least = one_in(d, 2) ? 0 : 26;
    for (int64_t i = 0; i < v->n; i++)
        set_product(d, v, i, most + between(d, -least, 1), fraction_of(d));
    set_c(d, v, most - between(d, 0, 2));
    if (one_in(d, 2))
        v->c =
            power_code(d->unit->c, one_in(d, 2), most, one_in(d, 2) ? ~0u : (uint32_t)draw_bits(d));
    if (one_in(d, 2))
        for (int64_t i = 1; i < v->n; i++)
            set_zero(d, v, i);
}

typedef void maker(struct draws *d, struct hc_directed *v);

static const struct {
    maker *make;
    int least_scale;
    int most_scale;
} makers[HC_DIRECTED_KINDS] = {
    [HC_DIRECTED_BITS] = {bits, 0, -1},
    [HC_DIRECTED_NEAR] = {near, -3, 3},
    [HC_DIRECTED_CANCEL] = {cancel, -1, 1},
    [HC_DIRECTED_C_LEADS] = {c_leads, -15, 15},
    [HC_DIRECTED_SUBNORMAL] = {subnormal, -70, 0},
    [HC_DIRECTED_TIES] = {ties, -2, 2},
    [HC_DIRECTED_ZEROS] = {zeros, -127, 8},
    [HC_DIRECTED_TINY] = {tiny, -76, -60},
    [HC_DIRECTED_SPECIAL] = {draw_special, -8, 8},
    [HC_DIRECTED_OVERFLOW] = {overflow, 50, 70},
};

void hc_directed_make(struct hc_directed *v, const struct hc_unit *unit, uint64_t seed, uint64_t i)
{
    struct draws d = {hc_random(seed, 0, i), unit, 0};
    int instructions = one_in(&d, 2) ? 1 : between(&d, 1, 3);
    v->kind = (enum hc_directed_kind)(i % HC_DIRECTED_KINDS);
    v->n = (int64_t)instructions * unit->k - (one_in(&d, 4) ? between(&d, 0, unit->k - 1) : 0);
    set_scales(&d, v, makers[v->kind].least_scale, makers[v->kind].most_scale);
    makers[v->kind].make(&d, v);
}
