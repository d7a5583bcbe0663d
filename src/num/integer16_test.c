#include "num/integer16.h"

#include <criterion/criterion.h>

#include "num/mpfr_test.h"
#include "num/rng.h"

static const enum hc_format formats[] = {HC_FP16, HC_BF16};

static void same(uint64_t want, uint16_t got, enum hc_format format, const char *what, uint32_t x,
                 uint32_t y)
{
    struct hc_fields16 f = hc_fields16_of(format);
    bool held =
        want == UINT64_MAX ? (got & 0x7fff) > hc_infinity16(f) : hc_same16(f, (uint32_t)want, got);
    cr_assert(held, "%s %s 0x%x 0x%x: want %#llx, got %#x", what, hc_formats[format].name, x, y,
              (unsigned long long)want, got);
}

static uint64_t correct(double value, enum hc_format format, enum hc_direction direction)
{
    mpfr_t x;
    mpfr_init2(x, 53);
    mpfr_set_d(x, value, MPFR_RNDN);
    mpfr_round_into(x, format, direction);
    uint64_t bits = mpfr_bits(x, format, UINT64_MAX);
    mpfr_clear(x);
    return bits;
}

static void from_fp32(enum hc_format format, uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    for (int d = 0; d < HC_DIRECTION_COUNT; d++)
        same(correct((double)x, format, (enum hc_direction)d),
             hc_integer_from_fp32(format, bits, (enum hc_direction)d), format, "fp32", bits,
             (uint32_t)d);
}

/* Every 16-bit top with the bottoms at which a rounding turns. */
Test(integer16, mpfr_agrees_on_conversions_at_every_turn)
{
    static const uint32_t below[] = {0, 1, 0xfff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001, 0xffff};
    for (size_t f = 0; f < 2; f++)
        for (uint32_t top = 0; top < 65536; top += 1)
            for (size_t i = 0; i < sizeof below / sizeof below[0]; i += 1 + top % 2)
                from_fp32(formats[f], top << 16 | below[i]);
}

Test(integer16, mpfr_agrees_on_conversions_at_random_places_of_every_exponent)
{
    for (size_t f = 0; f < 2; f++)
        for (uint32_t exponent = 0; exponent < 512; exponent++)
            for (uint64_t i = 0; i < 100; i++) {
                uint32_t fraction = (uint32_t)hc_random(1, exponent, i) & 0x7fffffu;
                from_fp32(formats[f], exponent << 23 | fraction >> i % 24 << i % 24);
            }
}

static void from_i32(enum hc_format format, int32_t x)
{
    for (int d = 0; d < HC_DIRECTION_COUNT; d++)
        same(correct((double)x, format, (enum hc_direction)d),
             hc_integer_from_i32(format, (uint32_t)x, (enum hc_direction)d), format, "i32",
             (uint32_t)x, (uint32_t)d);
}

Test(integer16, mpfr_agrees_on_integers)
{
    for (size_t f = 0; f < 2; f++) {
        for (int32_t x = -70000; x <= 70000; x += 3)
            from_i32(formats[f], x);
        for (uint64_t i = 0; i < 20000; i++)
            from_i32(formats[f], (int32_t)(uint32_t)hc_random(2, 0, i) >> i % 32);
        for (int shift = 0; shift < 32; shift++)
            for (int32_t beside = -1; beside <= 1; beside++)
                from_i32(formats[f], (int32_t)((1u << shift) + (uint32_t)beside));
    }
}

/* 600 bits hold every sum and product exactly, and more of a quotient than tells it from a tie. */
static void pair(enum hc_format format, uint32_t x, uint32_t y)
{
    static int (*const operations[])(mpfr_t, mpfr_srcptr, mpfr_srcptr,
                                     mpfr_rnd_t) = {mpfr_add, mpfr_mul, mpfr_div};
    static uint16_t (*const ours[])(enum hc_format, uint32_t,
                                    uint32_t) = {hc_integer_add, hc_integer_mul, hc_integer_div};
    static const char *const names[] = {"add", "mul", "div"};
    mpfr_t a;
    mpfr_t b;
    mpfr_t z;
    mpfr_inits2(600, a, b, z, (mpfr_ptr)0);
    mpfr_set_d(a, hc_decode(format, x), MPFR_RNDN);
    mpfr_set_d(b, hc_decode(format, y), MPFR_RNDN);
    for (int op = 0; op < 3; op++) {
        operations[op](z, a, b, MPFR_RNDN);
        mpfr_round_into(z, format, HC_NEAREST);
        same(mpfr_bits(z, format, UINT64_MAX), ours[op](format, x, y), format, names[op], x, y);
        mpfr_set_prec(z, 600);
    }
    mpfr_clears(a, b, z, (mpfr_ptr)0);
}

/* Each exponent and the two zeros and infinities, with fractions at their ends and in the
   middle. */
Test(integer16, mpfr_agrees_on_pairs_of_every_exponent)
{
    for (size_t f = 0; f < 2; f++) {
        uint32_t binade = formats[f] == HC_FP16 ? 1024 : 128;
        const uint32_t fractions[] = {0, 1, binade / 2 + 1, binade - 1};
        for (uint32_t ex = 0; ex < 32768 / binade; ex += f ? 5 : 1)
            for (uint32_t ey = 0; ey < 65536 / binade; ey += f ? 3 : 1)
                for (uint32_t i = 0; i < 16; i++)
                    pair(formats[f], ex * binade + fractions[i / 4],
                         ey * binade + fractions[i % 4]);
    }
}

Test(integer16, mpfr_agrees_on_pairs_at_random)
{
    for (size_t f = 0; f < 2; f++)
        for (uint64_t i = 0; i < 60000; i++) {
            uint64_t random = hc_random(3, f, i);
            uint32_t x = (uint32_t)random & 65535;
            uint32_t y = (uint32_t)(random >> 16) & 65535;
            if (i % 3 == 0) /* near each other: sums cancel, quotients lie by 1 */
                y = (x ^ 0x8000 * (uint32_t)(random >> 40 & 1)) + (uint32_t)(random >> 32 & 63);
            pair(formats[f], x, y & 65535);
        }
}
