/* The engines against hc_unit_dot, which is held to published vectors (unit/units_test.c). With
   HALFCHECK_UNIT_SUMS=N in the environment, N sums of each unit. */
#include "kernels/sim/engine.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "num/rng.h"

enum { TERMS = 64, ROWS = 16, SUMS = ROWS * HC_SIM_COLUMNS };

/* How the operands of a tile are drawn. */
enum kind { ANY_BITS, NEAR_ONE, SMALL, LARGE, CANCELLING, TIES, SPARSE, SUBNORMAL, BOTTOM, KINDS };

struct tile {
    _Alignas(64) uint32_t words[TERMS * HC_SIM_COLUMNS];
    uint32_t rows[ROWS * TERMS * HC_SIM_A_WORDS];
    uint32_t a[ROWS][TERMS];
    uint32_t b[HC_SIM_COLUMNS][TERMS];
    uint32_t sums[SUMS];
    uint16_t left[ROWS];
    bool special_row[ROWS];
    bool special_column[HC_SIM_COLUMNS];
};

struct draw {
    uint64_t seed, at;
};

static uint32_t next(struct draw *d)
{
    return (uint32_t)(hc_random(d->seed, 0, d->at++) >> 16);
}

/* A code whose exponent field lies between two sixteenths of the range. */
static uint32_t code_between(struct draw *d, const struct hc_operand_info *o, uint32_t low,
                             uint32_t high)
{
    uint32_t fields = 1u << o->exponent;
    uint32_t field = (low * fields + next(d) % ((high - low) * fields)) / 16;
    uint32_t fraction = next(d) & ((1u << o->fraction) - 1);
    uint32_t sign = o->sign ? next(d) & 1 : 0;
    return sign << (o->bits - 1) | field << o->fraction | fraction;
}

/* Powers of two whose products lie about the last bit of the result and the exponents that zeros
   have, and many zeros. */
static uint32_t code_at_bottom(struct draw *d, const struct hc_operand_info *o)
{
    uint32_t sign = (next(d) & 1) << (o->bits - 1);
    uint32_t field = o->exponent == 8 ? 44 + next(d) % 23 : next(d) % 7;
    uint32_t one = o->exponent < 8 && field == 0 ? 1u << (next(d) % (uint32_t)o->fraction) : 0;
    return next(d) % 3 ? sign : sign | field << o->fraction | one;
}

static uint32_t any_code_of(struct draw *d, enum hc_operand operand, enum kind kind)
{
    const struct hc_operand_info *o = &hc_operands[operand];
    uint32_t keep = ~((1u << o->fraction >> 1) - 1); /* the leading bits of a fraction */
    switch (kind) {
    case ANY_BITS:
        return next(d) >> (32 - o->bits);
    case SMALL:
        return code_between(d, o, 0, 3);
    case LARGE:
        return code_between(d, o, 10, 15);
    case TIES:
        return code_between(d, o, 5, 9) & keep;
    case SPARSE:
        return next(d) % 3 ? (next(d) & 1) << (o->bits - 1) : code_between(d, o, 0, 9);
    case SUBNORMAL:
        return next(d) % 4 ? code_between(d, o, 0, 16) & ((1u << o->fraction) - 1)
                           : code_between(d, o, 0, 14);
    case BOTTOM:
        return o->sign && o->bits > 4 ? code_at_bottom(d, o) : 0;
    default:
        return code_between(d, o, 6, 9);
    }
}

/* What a unit clears is clear already, since an absent term has its mark there. */
static uint32_t code_of(struct draw *d, enum hc_operand operand, enum kind kind)
{
    return any_code_of(d, operand, kind) >> hc_operands[operand].cleared
                                                << hc_operands[operand].cleared;
}

/* In CANCELLING each odd product is nearly the one before with the other sign. */
static void draw_tile(const struct hc_unit *u, struct draw *d, enum kind kind, struct tile *t)
{
    uint32_t fnuz = hc_operands[u->b].specials == HC_SPECIALS_FNUZ ? 0x80 : 0xffffffff;
    uint32_t sign = 1u << (hc_operands[u->b].bits - 1);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < TERMS; k++)
            t->a[i][k] = kind == CANCELLING && k % 2 && next(d) % 8 ? t->a[i][k - 1]
                                                                    : code_of(d, u->a, kind);
    for (int j = 0; j < HC_SIM_COLUMNS; j++)
        for (int k = 0; k < TERMS; k++) {
            bool cancels = kind == CANCELLING && k % 2 && t->b[j][k - 1] != 0;
            t->b[j][k] = cancels ? t->b[j][k - 1] ^ sign : code_of(d, u->b, kind);
            if (t->b[j][k] == fnuz && kind != ANY_BITS)
                t->b[j][k] = 0;
        }
    for (int i = 0; i < SUMS; i++) {
        enum kind of_c = kind == ANY_BITS || kind == BOTTOM ? kind : (enum kind)(next(d) % KINDS);
        t->sums[i] = next(d) % 4 ? code_of(d, u->c, of_c == BOTTOM ? SUBNORMAL : of_c) : 0;
    }
}

static int64_t compare(const struct hc_unit *u, const struct hc_sim_engine *engine,
                       const struct tile *t, const uint32_t *before)
{
    int64_t compared = 0;
    for (int i = 0; i < SUMS; i++) {
        int row = i / HC_SIM_COLUMNS;
        int column = i % HC_SIM_COLUMNS;
        if (t->left[row] >> column & 1)
            cr_assert_eq(t->sums[i], before[i], "%s changes a sum that it leaves", u->name);
        if (t->special_row[row] || t->special_column[column] || t->left[row] >> column & 1)
            continue;
        uint32_t want = hc_unit_dot(u, t->a[row], t->b[column], NULL, TERMS, before[i]);
        compared++;
        cr_assert_eq(t->sums[i], want, "%s by %s: want %08x, got %08x", u->name, engine->name, want,
                     t->sums[i]);
    }
    return compared;
}

static int64_t run_tile(const struct hc_unit *u, const struct hc_sim_engine *engine, struct draw *d,
                        enum kind kind)
{
    static struct tile t;
    uint32_t before[SUMS];
    draw_tile(u, d, kind, &t);
    memcpy(before, t.sums, sizeof before);
    for (int i = 0; i < ROWS; i++)
        t.special_row[i] = engine->pack_row(u, t.a[i], TERMS, t.rows + i * TERMS * HC_SIM_A_WORDS);
    for (int j = 0; j < HC_SIM_COLUMNS; j++)
        t.special_column[j] = engine->pack_column(u, t.b[j], TERMS, t.words + j);
    engine->run(u, t.rows, ROWS, t.words, TERMS, t.sums, t.left);
    return compare(u, engine, &t, before);
}

static void hold(const struct hc_unit *u, const struct hc_sim_engine *engine, int64_t sums)
{
    struct draw d = {.seed = 14};
    int64_t compared = 0;
    for (int64_t made = 0; made < sums; made += SUMS)
        compared += run_tile(u, engine, &d, (enum kind)(made / SUMS % KINDS));
    cr_assert_gt(4 * compared, sums, "%s: %lld of %lld sums are compared", u->name,
                 (long long)compared, (long long)sums);
}

static int64_t sums_wanted(void)
{
    const char *text = getenv("HALFCHECK_UNIT_SUMS");
    return text ? strtoll(text, NULL, 10) : (int64_t)3 * KINDS * SUMS;
}

Test(engine, gives_the_bits_of_every_unit_that_it_takes)
{
    int n;
    int taken = 0;
    const struct hc_unit *units = hc_units(&n);
    for (int i = 0; i < n; i++) {
        const struct hc_sim_engine *engine = hc_sim_engine_for(&units[i]);
        if (engine == &hc_sim_portable || units[i].k > TERMS)
            continue;
        hold(&units[i], engine, sums_wanted());
        taken++;
    }
    if (hc_sim_engine_for(hc_unit_by_name("a100-fp16-fp32")) == &hc_sim_portable)
        cr_skip_test("this CPU has no AVX-512");
    cr_assert_gt(taken, 100, "engines take %d units", taken);
}

static uint32_t one_sum(const struct hc_unit *u, const struct hc_sim_engine *engine,
                        const uint32_t *a, const uint32_t *b)
{
    _Alignas(64) uint32_t words[TERMS * HC_SIM_COLUMNS] = {0};
    uint32_t row[TERMS * HC_SIM_A_WORDS];
    uint32_t sums[HC_SIM_COLUMNS] = {0};
    uint16_t left;
    engine->pack_row(u, a, u->k, row);
    for (int j = 0; j < HC_SIM_COLUMNS; j++)
        engine->pack_column(u, b, u->k, words + j);
    engine->run(u, row, 1, words, u->k, sums, &left);
    return sums[HC_SIM_COLUMNS - 1];
}

/* 2^-150 + 2^-158 is floored to a tie by MI300, which keeps 31 bits behind 2^-126 at most. */
Test(engine, floors_a_subnormal_sum_behind_the_least_normal_exponent)
{
    const struct hc_unit *u = hc_unit_by_name("mi300x-bf16-fp32");
    const uint32_t x[TERMS] = {0x1a00, 0x1800};
    uint32_t want = hc_unit_dot(u, x, x, NULL, u->k, 0);
    cr_assert_eq(want, 0);
    cr_assert_eq(one_sum(u, hc_sim_engine_for(u), x, x), want);
    cr_assert_eq(one_sum(u, &hc_sim_portable, x, x), want);
}

Test(engine, portable_gives_the_bits_of_a_unit_of_each_rule)
{
    const char *const names[] = {
        "v100-fp16-fp16",       "h100wgmma-e4m3-fp32", "mi100-bf16-fp32",
        "mi250x-fp16-fp32",     "mi300x-xf32-fp32",    "mi300x-fp8xbf8-fp32",
        "avx512bf16-bf16-fp32", "amx-bf16-fp32",       "bfmmla-bf16-fp32"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        hold(hc_unit_by_name(names[i]), &hc_sim_portable, (int64_t)KINDS * SUMS);
}

/* An infinite weight in an image's padding is no term. */
Test(engine, absent_terms_take_their_factor_with_them)
{
    const struct hc_unit *u = hc_unit_by_name("a100-fp16-fp32");
    const struct hc_unit *tf32 = hc_unit_by_name("a100-tf32-fp32");
    uint32_t buffer[4];
    uint32_t a[2] = {HC_SIM_ABSENT, 0x3c00};
    uint32_t b[2] = {0x7c00, 0x4000};
    cr_assert_eq(hc_sim_plain_dot(u, a, b, 2, 0, buffer), 0x40000000u);
    uint32_t x[2] = {HC_SIM_ABSENT_TF32, 0x3f800000};
    uint32_t y[2] = {0x7f800000, 0x40000000};
    cr_assert_eq(hc_sim_plain_dot(tf32, x, y, 2, 0, buffer), 0x40000000u);
}
