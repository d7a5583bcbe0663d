/* tdpbf16ps against its model, bit by bit with NaNs, in tiles of 1 to 16 pairs that are directed at
   its corners: 10^6 elements, 10^8 with HC_WHOLE=1. */
#include "kernels/avx512bf16/testing.h"

#include "kernels/amx/amx.h"
#include "unit/unit.h"

enum { SIDE = 16, ELEMENTS = SIDE * SIDE, BATCH = 1000000 };

/* The operands of one instruction: a [16][pairs], b [pairs][16], c [16][16]. */
struct tile {
    int pairs;
    uint32_t a[ELEMENTS], b[ELEMENTS], c[ELEMENTS];
};

static void skip_without_it(void)
{
    const char *reason = hc_backend_by_name("amx")->unavailable();
    if (reason)
        cr_skip_test("%s", reason);
}

typedef uint32_t model(const uint32_t *a, const uint32_t *b, int64_t stride, int64_t pairs,
                       uint32_t c);

/* Draws all operands of a tile of t->pairs pairs. */
typedef void drawer(struct draws *d, struct tile *t);

static void fill(struct draws *d, struct tile *t, int lowest, uint32_t range, int lowest_c,
                 uint32_t range_c)
{
    for (int i = 0; i < SIDE * t->pairs; i++) {
        t->a[i] = drawn_bf16(d, lowest, range) | drawn_bf16(d, lowest, range) << 16;
        t->b[i] = drawn_bf16(d, lowest, range) | drawn_bf16(d, lowest, range) << 16;
    }
    for (int i = 0; i < ELEMENTS; i++)
        t->c[i] = drawn_bf16(d, lowest_c, range_c) << 16 | (draw(d) & 0xffff);
}

static void ordinary(struct draws *d, struct tile *t)
{
    fill(d, t, -3, 6, -6, 12);
}

static void far_apart(struct draws *d, struct tile *t)
{
    fill(d, t, -126, 253, -126, 253);
}

/* Products, sums and C about the smallest normal number. */
static void tiny(struct draws *d, struct tile *t)
{
    fill(d, t, -66, 6, -126, 4);
    for (int i = 0; i < ELEMENTS; i += 2)
        t->c[i] &= 0x807fffff;
}

static void overflow(struct draws *d, struct tile *t)
{
    fill(d, t, 55, 9, 120, 8);
}

static void any_bits(struct draws *d, struct tile *t)
{
    for (int i = 0; i < ELEMENTS; i++) {
        t->a[i] = draw(d);
        t->b[i] = draw(d);
        t->c[i] = draw(d);
    }
}

static void with_subnormal_inputs(struct draws *d, struct tile *t)
{
    fill(d, t, 90, 37, -126, 2);
    for (int i = 0; i < SIDE * t->pairs; i++)
        t->a[i] = draw(d) & 0x80ff80ff;
}

/* A few special operands among ordinary ones, so that a NaN meets numbers and few others. */
static void special(struct draws *d, struct tile *t)
{
    ordinary(d, t);
    for (int i = 0; i < 6; i++) {
        t->a[drawn_below(d, (uint32_t)(SIDE * t->pairs))] =
            drawn_special_bf16(d) | drawn_special_bf16(d) << 16;
        t->b[drawn_below(d, (uint32_t)(SIDE * t->pairs))] =
            drawn_special_bf16(d) | drawn_special_bf16(d) << 16;
    }
    for (int i = 0; i < ELEMENTS; i += 3)
        t->c[i] = drawn_special_fp32(d);
}

/* C cancels what the products sum to, or all but its last bits. */
static void cancelling(struct draws *d, struct tile *t)
{
    ordinary(d, t);
    for (int i = 0; i < ELEMENTS; i++)
        t->c[i] = 0x80000000 ^
                  (model_tile(t->a + i / SIDE * t->pairs, t->b + i % SIDE, SIDE, t->pairs, 0) +
                   drawn_below(d, 3) - 1);
}

/* Puts a product of two numbers whose exponents sum to `exponent` into row and column e, at place
   `at` of one of the chains. */
static void put(struct draws *d, struct tile *t, int e, int at, int chain, int exponent,
                uint32_t sign, bool power)
{
    int first = -90 + (int)drawn_below(d, 54);
    uint32_t fraction = power ? 0 : 0x7f;
    uint32_t x = (uint32_t)(127 + first) << 7 | (draw(d) & fraction);
    uint32_t y = (uint32_t)(127 + exponent - first) << 7 | (draw(d) & fraction);
    t->a[e * t->pairs + at] = x << 16 * chain;
    t->b[at * SIDE + e] = (y | sign) << 16 * chain;
}

/* On the diagonal, in either chain: 2^-126, then a product that takes 2^-153 to 2^-148 from it, and
   nothing else. What is left between 2^-126 - 2^-150 and 2^-126 - 2^-151 is 2^-126 where subnormals
   are rounded first, and a zero here. */
static void sliver(struct draws *d, struct tile *t)
{
    memset(t->a, 0, sizeof t->a);
    memset(t->b, 0, sizeof t->b);
    if (t->pairs == 1)
        t->pairs = 2;
    for (int i = 0; i < ELEMENTS; i++)
        t->c[i] = draw(d) & 1 ? 0 : 0x00800000 + drawn_below(d, 4);
    for (int e = 0; e < SIDE; e++) {
        uint32_t sign = draw(d) & 0x8000;
        int chain = (int)(draw(d) & 1);
        int at = (int)drawn_below(d, (uint32_t)t->pairs - 1);
        put(d, t, e, at, chain, -126, sign, true);
        put(d, t, e, at + 1, chain, -148 - (int)drawn_below(d, 6), sign ^ 0x8000, false);
    }
}

static drawer *const drawers[] = {ordinary, far_apart, tiny,       overflow,
                                  any_bits, special,   cancelling, with_subnormal_inputs,
                                  sliver,   sliver};
enum { DRAWERS = sizeof drawers / sizeof drawers[0] };

/* How many of n elements come out otherwise than the model says. The first is printed if `tell`. */
static int64_t differing(model *want, drawer *const *from, int kinds, int64_t n, bool tell)
{
    struct draws d = {(uint64_t)n, 0};
    int64_t wrong = 0;
    for (int64_t i = 0; i < n / ELEMENTS; i++) {
        struct tile t = {.pairs = 1 + (int)drawn_below(&d, 16)};
        uint32_t got[ELEMENTS];
        from[i % kinds](&d, &t);
        memcpy(got, t.c, sizeof got);
        hc_amx_tile(t.a, t.b, t.pairs, got);
        for (int e = 0; e < ELEMENTS; e++) {
            uint32_t wanted = want(t.a + e / SIDE * t.pairs, t.b + e % SIDE, SIDE, t.pairs, t.c[e]);
            if (wanted != got[e] && wrong++ == 0 && tell)
                fprintf(stderr, "%d pairs, c %08x: want %08x, got %08x\n", t.pairs, t.c[e], wanted,
                        got[e]);
        }
    }
    return wrong;
}

Test(tdpbf16ps, equals_its_model_in_every_bit)
{
    skip_without_it();
    cr_expect_eq(differing(model_tile, drawers, DRAWERS, is_whole() ? 100 * BATCH : BATCH, true),
                 0);
}

/* The unit of src/unit, which is another text in integers. It fills short rows up with products of
   +0, which turn a sum of -0 into +0; so it is held to whole rows. */
static uint32_t by_engine(const uint32_t *a, const uint32_t *b, int64_t stride, int64_t pairs,
                          uint32_t c)
{
    uint32_t x[2 * SIDE] = {0};
    uint32_t y[2 * SIDE] = {0};
    if (pairs < SIDE)
        return model_tile(a, b, stride, pairs, c);
    for (int64_t i = 0; i < 2 * pairs; i++) {
        x[i] = a[i / 2] >> 16 * (i % 2) & 0xffff;
        y[i] = b[i / 2 * stride] >> 16 * (i % 2) & 0xffff;
    }
    return hc_unit_dot(hc_unit_by_name("amx-bf16-fp32"), x, y, NULL, 2 * pairs, c);
}

Test(tdpbf16ps, equals_the_described_unit_in_every_bit)
{
    skip_without_it();
    int64_t n = is_whole() ? 10 * BATCH : BATCH / 20;
    cr_expect_eq(differing(by_engine, drawers, DRAWERS, n, true), 0);
}

/* ---- models that are wrong ---- */

static const uint32_t one = 0x3f800000;

/* The two chains. */
static void chains(const uint32_t *a, const uint32_t *b, int64_t stride, int64_t pairs,
                   uint32_t *low, uint32_t *high)
{
    uint32_t word = 0xffff;
    *low = *high = 0;
    for (int64_t i = 0; i < pairs; i++) {
        *low = model_step((a[i] & word) << 16, (b[i * stride] & word) << 16, *low);
        *high = model_step(a[i] & ~word, b[i * stride] & ~word, *high);
    }
}

static uint32_t c_and_low_first(const uint32_t *a, const uint32_t *b, int64_t stride, int64_t pairs,
                                uint32_t c)
{
    uint32_t low;
    uint32_t high;
    chains(a, b, stride, pairs, &low, &high);
    return model_step(model_step(c, one, low), one, high);
}

static uint32_t c_and_high_first(const uint32_t *a, const uint32_t *b, int64_t stride,
                                 int64_t pairs, uint32_t c)
{
    uint32_t low;
    uint32_t high;
    chains(a, b, stride, pairs, &low, &high);
    return model_step(model_step(c, one, high), one, low);
}

static uint32_t products_nan_first(const uint32_t *a, const uint32_t *b, int64_t stride,
                                   int64_t pairs, uint32_t c)
{
    uint32_t low;
    uint32_t high;
    chains(a, b, stride, pairs, &low, &high);
    return model_step(model_step(low, one, high), one, c);
}

static uint32_t as_vdpbf16ps(const uint32_t *a, const uint32_t *b, int64_t stride, int64_t pairs,
                             uint32_t c)
{
    for (int64_t i = 0; i < pairs; i++)
        c = model_pair(a[i], b[i * stride], c);
    return c;
}

/* C after each 4 pairs, as if a row were several sums. */
static uint32_t in_four_pairs(const uint32_t *a, const uint32_t *b, int64_t stride, int64_t pairs,
                              uint32_t c)
{
    for (int64_t i = 0; i < pairs; i += 4)
        c = model_tile(a + i, b + i * stride, stride, pairs - i < 4 ? pairs - i : 4, c);
    return c;
}

static uint32_t fmaf_then_flushed(uint32_t a, uint32_t b, uint32_t c)
{
    return subnormal_to_zero(bits_of(fmaf(from_bits(a), from_bits(b), from_bits(c))));
}

static uint32_t rounded_before_the_flush(const uint32_t *a, const uint32_t *b, int64_t stride,
                                         int64_t pairs, uint32_t c)
{
    uint32_t low = 0;
    uint32_t high = 0;
    for (int64_t i = 0; i < pairs; i++) {
        low = fmaf_then_flushed(a[i] << 16, b[i * stride] << 16, low);
        high = fmaf_then_flushed(a[i] & 0xffff0000, b[i * stride] & 0xffff0000, high);
    }
    return fmaf_then_flushed(c, one, fmaf_then_flushed(low, one, high));
}

/* Vectors that could not tell these from the instruction would tell nothing. */
Test(tdpbf16ps, differs_from_every_model_that_is_nearly_right)
{
    static const struct {
        const char *name;
        model *wrong;
        drawer *drawn;
    } models[] = {
        {"C and the low chain first", c_and_low_first, ordinary},
        {"C and the high chain first", c_and_high_first, ordinary},
        {"the products' NaN before C's", products_nan_first, special},
        {"one chain, as vdpbf16ps", as_vdpbf16ps, ordinary},
        {"C after every 4 pairs", in_four_pairs, ordinary},
        {"fmaf, then flushed", rounded_before_the_flush, sliver},
    };
    skip_without_it();
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        cr_expect_geq(differing(models[i].wrong, &models[i].drawn, 1, 40 * ELEMENTS, false), 40,
                      "%s", models[i].name);
}
