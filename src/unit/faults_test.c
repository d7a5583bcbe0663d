/* For the tests of units: sums whose terms lie at the edges of what a unit keeps. Random numbers
   nearly never do. */
#include <criterion/criterion.h>
#include <string.h>

#include "unit/testing.h"
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

/* Faults planted in the descriptions of units. Since a unit is data, a fault is a changed copy;
   some golden vector must give other bits by it. */

static bool aligns(const struct hc_unit *u)
{
    return u->rule == HC_UNIT_FUSED || u->rule == HC_UNIT_GROUPED || u->rule == HC_UNIT_FLOORED ||
           u->rule == HC_UNIT_FLOORED_HALVES;
}

static bool fraction_more(struct hc_unit *u)
{
    u->fraction++;
    return aligns(u);
}

static bool fraction_less(struct hc_unit *u)
{
    u->fraction--;
    return aligns(u);
}

static bool half_piece(struct hc_unit *u)
{
    u->piece /= 2;
    return u->piece > 0 && u->rule != HC_UNIT_GROUPED && u->rule != HC_UNIT_TWO_CHAINS &&
           u->rule != HC_UNIT_PAIR_THEN_C;
}

static bool half_group(struct hc_unit *u)
{
    u->group /= 2;
    return u->rule == HC_UNIT_GROUPED;
}

static bool floor_for_cut(struct hc_unit *u)
{
    u->alignment = HC_ROUND_FLOOR;
    return aligns(u);
}

static bool nearest_for_cut(struct hc_unit *u)
{
    u->alignment = HC_ROUND_NEAREST;
    return aligns(u);
}

static bool other_output(struct hc_unit *u)
{
    u->output = u->output == HC_ROUND_NEAREST ? HC_ROUND_CUT : HC_ROUND_NEAREST;
    return true;
}

static bool odd_output(struct hc_unit *u)
{
    u->output = HC_ROUND_ODD;
    return true;
}

static bool all_bits(struct hc_unit *u)
{
    bool fewer = u->output_fraction < hc_operands[u->d].fraction;
    u->output_fraction = hc_operands[u->d].fraction;
    return fewer;
}

static bool zeros_ignored(struct hc_unit *u)
{
    bool was = u->zero != HC_ZERO_IGNORED || (aligns(u) && u->zero_c_exponent != HC_NO_EXPONENT);
    u->zero = HC_ZERO_IGNORED;
    u->zero_c_exponent = HC_NO_EXPONENT;
    return was;
}

static bool zeros_higher(struct hc_unit *u)
{
    u->zero_exponent++;
    u->zero_c_exponent++;
    return u->zero == HC_ZERO_FIXED;
}

static bool floor_less(struct hc_unit *u)
{
    bool was = u->floor_fraction > 0;
    u->floor_fraction--;
    return was;
}

static bool one_floor(struct hc_unit *u)
{
    bool was = u->total_fraction > 0;
    u->total_fraction = 0;
    return was;
}

static bool gradual(struct hc_unit *u)
{
    bool was = u->underflow != HC_UNDERFLOW_GRADUAL;
    u->underflow = HC_UNDERFLOW_GRADUAL;
    return was;
}

/* This is "fmaf, then flush". */
static bool flushed_after(struct hc_unit *u)
{
    bool was = u->underflow == HC_UNDERFLOW_FLUSHED_UNBOUNDED;
    u->underflow = HC_UNDERFLOW_FLUSHED_AFTER;
    return was;
}

static bool subnormals_read(struct hc_unit *u)
{
    bool was = u->inputs != HC_INPUTS_KEPT;
    u->inputs = HC_INPUTS_KEPT;
    return was;
}

static bool other_order(struct hc_unit *u)
{
    bool was = u->rule == HC_UNIT_CHAIN;
    u->last_first = !u->last_first;
    return was;
}

static bool other_nan(struct hc_unit *u)
{
    bool was = u->nans != HC_NANS_ANY;
    u->nan ^= 1;
    return was;
}

/* `unit` and `line` name a golden vector that sees the fault, beside this file. Of the `has` units
   that have what the fault changes, golden vectors see it on `golden`, and those and directed sums
   on `seen`.

   The exponent of a zero is hidden where every operand and C are whole multiples of what is left
   at it: D in fp32 of fp16 and fp8 without scales, and D in fp16 of fp8. */
static const struct {
    const char *name;
    bool (*plant)(struct hc_unit *u); /* Returns whether the unit has what is changed. */
    const char *unit;
    int line, golden, seen, has;
} faults[] = {
    {"one fraction bit more", fraction_more, "h100wgmma-fp16-fp32", 18, 72, 87, 87},
    {"one fraction bit less", fraction_less, "h100wgmma-fp16-fp32", 11, 79, 87, 87},
    {"half a piece", half_piece, "h100wgmma-fp16-fp32", 13, 86, 86, 86},
    {"half a group", half_group, NULL, 0, 0, 2, 6},
    {"floor for truncation", floor_for_cut, "h100wgmma-fp16-fp32", 8, 84, 87, 87},
    {"nearest for truncation", nearest_for_cut, "h100wgmma-fp16-fp32", 24, 73, 84, 87},
    {"the other rounding of D", other_output, "h100wgmma-fp16-fp32", 18, 97, 97, 97},
    {"D rounded to odd", odd_output, "h100wgmma-fp16-fp32", 8, 97, 97, 97},
    {"all bits of D kept", all_bits, "h100wgmma-e4m3-fp32", 16, 8, 8, 8},
    {"zeros ignored", zeros_ignored, "a100-tf32-fp32", 113, 6, 35, 87},
    {"zeros one higher", zeros_higher, "a100-bf16-fp32", 174, 2, 33, 80},
    {"sum floored one bit higher", floor_less, "mi300x-bf16-fp32", 159, 2, 2, 7},
    {"no second floor", one_floor, "mi300x-bf8-fp32", 95, 1, 6, 7},
    {"gradual underflow", gradual, "mi250x-bf16-fp32", 104, 3, 3, 5},
    {"fmaf, then flush", flushed_after, "avx512bf16-bf16-fp32", 93, 2, 2, 2},
    {"subnormal operands read", subnormals_read, "mi250x-fp16-fp32", 9, 5, 5, 5},
    {"the other order", other_order, "avx512bf16-bf16-fp32", 14, 4, 4, 4},
    {"another NaN", other_nan, "h100wgmma-fp16-fp32", 10, 80, 80, 82},
};

enum { FAULTS = sizeof faults / sizeof *faults, DIRECTED = 5000 };

/* The line of the first committed vector to which `wrong` gives another answer than the unit of its
   name; 0 where there is none. */
static int catching_line(const struct hc_unit *wrong)
{
    char path[4096];
    (void)snprintf(path, sizeof path, HC_SOURCE "/src/unit/vectors/%s.txt", wrong->name);
    FILE *in = fopen(path, "r");
    cr_assert(in != NULL, "%s", path);
    static struct vector v;
    int number = 0;
    bool caught = false;
    while (!caught && next_vector(in, wrong, &v, &number) > 0)
        caught = !hc_unit_same(wrong, v.d, answer(wrong, &v));
    (void)fclose(in);
    return caught ? number : 0;
}

static bool seen_by_directed_sums(const struct hc_unit *right, const struct hc_unit *wrong)
{
    uint64_t state = 1;
    struct drawn v;
    struct hc_unit_scales scales = {v.scale_a, v.scale_b};
    struct hc_unit_scales *s = right->block ? &scales : NULL;
    for (int i = 0; i < DIRECTED; i++) {
        draw_edges(right, &state, &v);
        if (!hc_unit_same(right, hc_unit_dot(right, v.a, v.b, s, right->k, v.c),
                          hc_unit_dot(wrong, v.a, v.b, s, right->k, v.c)))
            return true;
    }
    return false;
}

/* Whether there are golden vectors of the unit. */
static bool has_vectors(const struct hc_unit *u)
{
    return !u->variant_of && u->rule != HC_UNIT_PAIR_THEN_C;
}

Test(faults, each_is_seen_on_a_golden_vector_and_on_most_units)
{
    int n;
    const struct hc_unit *units = hc_units(&n);
    for (int f = 0; f < FAULTS; f++) {
        int golden = 0, seen = 0, has = 0;
        for (int i = 0; i < n; i++) {
            struct hc_unit wrong = units[i];
            if (!has_vectors(&units[i]) || !faults[f].plant(&wrong))
                continue;
            int line = catching_line(&wrong);
            if (faults[f].unit && strcmp(wrong.name, faults[f].unit) == 0)
                cr_expect_eq(line, faults[f].line, "%s: %s.txt:%d", faults[f].name, wrong.name,
                             line);
            has++;
            golden += line > 0;
            seen += line > 0 || seen_by_directed_sums(&units[i], &wrong);
        }
        cr_expect(golden == faults[f].golden && seen == faults[f].seen && has == faults[f].has,
                  "%s: golden vectors see it on %d units, these and directed sums on %d, of %d",
                  faults[f].name, golden, seen, has);
    }
}
