/* vdpbf16ps against its model, bit by bit with NaNs, on vectors that are directed at its corners:
   10^6 of them, 10^8 with HC_WHOLE=1. */
#include "kernels/avx512bf16/testing.h"

#include "kernels/avx512bf16/avx512bf16.h"
#include "unit/unit.h"

enum { LANES = 16 };

static void skip_without_it(void)
{
    const char *reason = hc_backend_by_name("avx512bf16")->unavailable();
    if (reason)
        cr_skip_test("%s", reason);
}

/* The operands of one lane. */
struct vector {
    uint32_t a, b, c;
};

static uint32_t pair_of(uint32_t low, uint32_t high)
{
    return low | high << 16;
}

static struct vector of_products(uint32_t a0, uint32_t b0, uint32_t a1, uint32_t b1, uint32_t c)
{
    return (struct vector){pair_of(a0, a1), pair_of(b0, b1), c};
}

static struct vector any_bits(struct draws *d)
{
    return (struct vector){draw(d), draw(d), draw(d)};
}

static struct vector ordinary(struct draws *d)
{
    uint32_t c = drawn_bf16(d, -6, 12) << 16 | (draw(d) & 0xffff);
    return of_products(drawn_bf16(d, -3, 6), drawn_bf16(d, -3, 6), drawn_bf16(d, -3, 6),
                       drawn_bf16(d, -3, 6), c);
}

static struct vector far_apart(struct draws *d)
{
    uint32_t c = drawn_bf16(d, -126, 253) << 16 | (draw(d) & 0xffff);
    return of_products(drawn_bf16(d, -126, 253), drawn_bf16(d, -126, 253), drawn_bf16(d, -126, 253),
                       drawn_bf16(d, -126, 253), c);
}

static struct vector special(struct draws *d)
{
    return of_products(drawn_special_bf16(d), drawn_special_bf16(d), drawn_special_bf16(d),
                       drawn_special_bf16(d), drawn_special_fp32(d));
}

/* One or two operands of an ordinary vector are special, so that a NaN meets numbers. */
static struct vector partly_special(struct draws *d)
{
    struct vector v = ordinary(d);
    for (int i = 0; i < 2; i++)
        switch (drawn_below(d, 5)) {
        case 0:
            v.a = pair_of(drawn_special_bf16(d), v.a >> 16);
            break;
        case 1:
            v.b = pair_of(drawn_special_bf16(d), v.b >> 16);
            break;
        case 2:
            v.a = pair_of(v.a & 0xffff, drawn_special_bf16(d));
            break;
        case 3:
            v.b = pair_of(v.b & 0xffff, drawn_special_bf16(d));
            break;
        default:
            v.c = drawn_special_fp32(d);
        }
    return v;
}

/* A product and an addend with a sum next to `target`. The other product is a zero, before it or
   behind it. */
static struct vector next_to(struct draws *d, uint32_t a, uint32_t b, double target)
{
    uint32_t c = bits_of((float)(target - bf16_product(a, b)));
    uint32_t zero = draw(d) & 0x8000;
    return draw(d) & 1 ? of_products(a, b, zero, 0x3f80, c) : of_products(zero, 0x3f80, a, b, c);
}

static struct vector sliver(struct draws *d)
{
    int low = -90 + (int)drawn_below(d, 54);
    int together = -126 - (int)drawn_below(d, 27);
    return next_to(d, drawn_bf16(d, low, 1), drawn_bf16(d, together - low, 1), drawn_sliver(d));
}

/* The last bit of the product is worth half of the sum's last bit, or twice or half of that. */
static struct vector tie(struct draws *d)
{
    uint32_t a = drawn_bf16(d, -3, 6);
    uint32_t b = drawn_bf16(d, -3, 6);
    int last = ilogb(bf16_product(a, b)) - 14 + (int)drawn_below(d, 3);
    double target = ldexp(1 + (draw(d) & 0x7fffff) * 0x1p-23, last + 23);
    return next_to(d, a, b, draw(d) & 1 ? target : -target);
}

/* The products cancel, or nearly, and C is small. */
static struct vector cancelling(struct draws *d)
{
    struct vector v = ordinary(d);
    v.a = pair_of(v.a & 0xffff, (v.a & 0xffff) ^ 0x8000 ^ drawn_below(d, 2));
    v.b = pair_of(v.b & 0xffff, (v.b & 0xffff) ^ drawn_below(d, 2));
    v.c = (v.c & 0x807fffff) | (100 + drawn_below(d, 28)) << 23;
    return v;
}

/* The largest sum, which a product passes or does not. */
static struct vector overflow(struct draws *d)
{
    struct vector v = next_to(d, drawn_bf16(d, 40, 12), drawn_bf16(d, 50, 12),
                              draw(d) & 1 ? 0x1.ffffffp127 : -0x1.ffffffp127);
    if (draw(d) & 1)
        v.c = (draw(d) & 0x80000000) | (0x7f7fffff - drawn_below(d, 4));
    return v;
}

/* Products and addends about the smallest normal number. */
static struct vector tiny(struct draws *d)
{
    return of_products(drawn_bf16(d, -66, 6), drawn_bf16(d, -66, 6), drawn_bf16(d, -66, 6),
                       drawn_bf16(d, -66, 6), (draw(d) & 0x81ffffff));
}

static struct vector with_subnormal_inputs(struct draws *d)
{
    struct vector v = of_products(draw(d) & 0x80ff, drawn_bf16(d, 90, 37), draw(d) & 0x80ff,
                                  drawn_bf16(d, 90, 37), draw(d) & 0x80ffffff);
    return draw(d) & 1 ? v : (struct vector){v.b, v.a, v.c};
}

typedef struct vector drawer(struct draws *d);
static drawer *const drawers[] = {any_bits,       ordinary,   far_apart, special,
                                  partly_special, sliver,     tie,       sliver,
                                  tiny,           cancelling, overflow,  with_subnormal_inputs};
enum { DRAWERS = sizeof drawers / sizeof drawers[0] };

typedef uint32_t model(uint32_t a, uint32_t b, uint32_t c);

/* How many of n vectors come out otherwise than the model says. The first is printed if `tell`. */
static int64_t differing(model *want, drawer *const *from, int kinds, int64_t n, bool tell)
{
    struct draws d = {(uint64_t)n, 0};
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; i += LANES) {
        uint32_t a[LANES];
        uint32_t b[LANES];
        uint32_t c[LANES];
        uint32_t got[LANES];
        for (int lane = 0; lane < LANES; lane++) {
            struct vector v = from[(i + lane) % kinds](&d);
            a[lane] = v.a;
            b[lane] = v.b;
            c[lane] = v.c;
        }
        hc_avx512bf16_lanes(a, b, c, got);
        for (int lane = 0; lane < LANES; lane++) {
            uint32_t wanted = want(a[lane], b[lane], c[lane]);
            if (wanted != got[lane] && wrong++ == 0 && tell)
                fprintf(stderr, "%08x %08x + %08x: want %08x, got %08x\n", a[lane], b[lane],
                        c[lane], wanted, got[lane]);
        }
    }
    return wrong;
}

Test(vdpbf16ps, equals_its_model_in_every_bit)
{
    skip_without_it();
    int64_t n = is_whole() ? 100000000 : 1000000;
    cr_expect_eq(differing(model_pair, drawers, DRAWERS, n, true), 0);
}

/* The unit of src/unit, which is another text in integers. */
static uint32_t by_engine(uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t x[] = {a & 0xffff, a >> 16};
    const uint32_t y[] = {b & 0xffff, b >> 16};
    return hc_unit_dot(hc_unit_by_name("avx512bf16-bf16-fp32"), x, y, NULL, 2, c);
}

Test(vdpbf16ps, equals_the_described_unit_in_every_bit)
{
    skip_without_it();
    int64_t n = is_whole() ? 10000000 : 100000;
    cr_expect_eq(differing(by_engine, drawers, DRAWERS, n, true), 0);
}

/* ---- models that are wrong ---- */

static uint32_t low_first(uint32_t a, uint32_t b, uint32_t c)
{
    return model_pair(a << 16 | a >> 16, b << 16 | b >> 16, c);
}

static uint32_t fmaf_then_flushed(uint32_t a, uint32_t b, uint32_t c)
{
    float sum = fmaf(from_bits(subnormal_to_zero(a)), from_bits(subnormal_to_zero(b)),
                     from_bits(subnormal_to_zero(c)));
    return subnormal_to_zero(bits_of(sum));
}

static uint32_t rounded_before_the_flush(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t t = fmaf_then_flushed(a & 0xffff0000, b & 0xffff0000, c);
    return fmaf_then_flushed(a << 16, b << 16, t);
}

/* What the exact sum says of a tiny result: below 2^-126 it is a zero however it would round. */
static uint32_t exact_step(uint32_t a, uint32_t b, uint32_t c)
{
    double product = (double)from_bits(subnormal_to_zero(a)) * from_bits(subnormal_to_zero(b));
    double sum = product + from_bits(subnormal_to_zero(c));
    return fabs(sum) < 0x1p-126 ? bits_of((float)copysign(0, sum)) : model_step(a, b, c);
}

static uint32_t flushed_before_the_rounding(uint32_t a, uint32_t b, uint32_t c)
{
    return exact_step(a << 16, b << 16, exact_step(a & 0xffff0000, b & 0xffff0000, c));
}

static uint32_t with_subnormals(uint32_t a, uint32_t b, uint32_t c)
{
    float t = fmaf(from_bits(a & 0xffff0000), from_bits(b & 0xffff0000), from_bits(c));
    return bits_of(fmaf(from_bits(a << 16), from_bits(b << 16), t));
}

static uint32_t products_summed_first(uint32_t a, uint32_t b, uint32_t c)
{
    return model_step(model_pair(a, b, 0), 0x3f800000, c);
}

static uint32_t default_nans(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t d = model_pair(a, b, c);
    return is_nan(d) ? default_nan : d;
}

static uint32_t addend_before_products(uint32_t a, uint32_t b, uint32_t c)
{
    return is_nan(c) ? c | quiet_bit : model_pair(a, b, c);
}

/* Vectors that could not tell these from the instruction would tell nothing. */
Test(vdpbf16ps, differs_from_every_model_that_is_nearly_right)
{
    static const struct {
        const char *name;
        model *wrong;
        drawer *drawn;
        int64_t at_least; /* of 16000 */
    } models[] = {
        {"the low product first", low_first, ordinary, 1000},
        {"fmaf, then flushed", rounded_before_the_flush, sliver, 100},
        {"flushed before the rounding", flushed_before_the_rounding, sliver, 100},
        {"subnormals kept", with_subnormals, tiny, 1000},
        {"the products summed first", products_summed_first, ordinary, 1000},
        {"NaNs without their payload", default_nans, partly_special, 100},
        {"C's NaN before the products'", addend_before_products, special, 100},
    };
    skip_without_it();
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        cr_expect_geq(differing(models[i].wrong, &models[i].drawn, 1, 16000, false),
                      models[i].at_least, "%s", models[i].name);
}
