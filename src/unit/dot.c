/* Chains of instructions. */
#include <assert.h>
#include <stddef.h>

#include "unit/exact.h"
#include "unit/rules.h"

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
static void take(uint32_t to[HC_UNIT_MAX_K], const uint32_t *codes, int64_t first, int count,
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
        take(codes[0], a, i, u->k, n, 0);
        take(codes[1], b, i, u->k, n, 0);
        take(codes[2], scales ? scales->a : NULL, i / u->k * blocks, blocks, all_blocks, one);
        take(codes[3], scales ? scales->b : NULL, i / u->k * blocks, blocks, all_blocks, one);
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
