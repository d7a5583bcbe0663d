#include "check/sweep/pairs.h"

#include <criterion/criterion.h>
#include <math.h>

#include "check/generate/boundary.h"
#include "num/mpfr_test.h"
#include "num/rng.h"

static struct hc_pairs pairs;

static const enum hc_op ops[] = {HC_OP_add, HC_OP_sub, HC_OP_mul, HC_OP_div};
static const enum hc_format formats[] = {HC_FP16, HC_BF16};

static uint64_t round_into(mpfr_t z, enum hc_format format, uint64_t nan)
{
    mpfr_round_into(z, format, HC_NEAREST);
    return mpfr_bits(z, format, nan);
}

/* x op y by MPFR; 600 bits hold every sum and product exactly, and more than enough of a quotient
   to tell it from a tie. */
static uint64_t correct(enum hc_op op, enum hc_format format, uint16_t x, uint16_t y)
{
    static int (*const operations[])(mpfr_t, mpfr_srcptr, mpfr_srcptr,
                                     mpfr_rnd_t) = {[HC_OP_add] = mpfr_add,
                                                    [HC_OP_sub] = mpfr_sub,
                                                    [HC_OP_mul] = mpfr_mul,
                                                    [HC_OP_div] = mpfr_div};
    mpfr_t a;
    mpfr_t b;
    mpfr_inits2(600, a, b, (mpfr_ptr)0);
    mpfr_set_d(a, hc_decode(format, x), MPFR_RNDN);
    mpfr_set_d(b, hc_decode(format, y), MPFR_RNDN);
    operations[op](a, a, b, MPFR_RNDN);
    uint64_t bits = round_into(a, format, UINT64_MAX);
    mpfr_clears(a, b, (mpfr_ptr)0);
    return bits;
}

static void same(uint64_t want, uint16_t got, const char *what, enum hc_format format, uint16_t x,
                 uint16_t y, uint16_t z)
{
    if (want == UINT64_MAX)
        want = hc_encode(format, (double)NAN, 0, HC_NEAREST);
    if ((got & 0x7fff) > (format == HC_FP16 ? 0x7c00 : 0x7f80))
        got &= 0x7fff;
    cr_assert_eq(want, got, "%s %s %#x %#x %#x: want %#llx, got %#x", what, hc_formats[format].name,
                 x, y, z, (unsigned long long)want, got);
}

Test(pairs, mpfr_agrees_on_all_pairs_of_boundary_values)
{
    uint16_t codes[HC_BOUNDARY_CODES];
    for (size_t f = 0; f < 2; f++)
        for (size_t o = 0; o < 4; o++) {
            hc_boundary_codes(formats[f], codes);
            hc_pairs_init(&pairs, ops[o], formats[f]);
            for (int i = 0; i < HC_BOUNDARY_CODES; i++) {
                hc_pairs_at(&pairs, codes[i]);
                for (int k = 0; k < HC_BOUNDARY_CODES; k++)
                    same(correct(ops[o], formats[f], codes[i], codes[k]), pairs.want[codes[k]],
                         hc_ops[ops[o]].name, formats[f], codes[i], codes[k], 0);
            }
        }
}

Test(pairs, mpfr_agrees_at_random)
{
    for (size_t f = 0; f < 2; f++)
        for (size_t o = 0; o < 4; o++) {
            hc_pairs_init(&pairs, ops[o], formats[f]);
            for (uint64_t i = 0; i < 32; i++) {
                uint16_t x = (uint16_t)hc_random(21, o, i);
                hc_pairs_at(&pairs, x);
                for (uint64_t k = 0; k < 1000; k++) {
                    uint16_t y = (uint16_t)hc_random(22, i, k);
                    same(correct(ops[o], formats[f], x, y), pairs.want[y], hc_ops[ops[o]].name,
                         formats[f], x, y, 0);
                }
            }
        }
}

Test(pairs, mpfr_agrees_on_every_square_root)
{
    for (size_t f = 0; f < 2; f++)
        for (uint32_t x = 0; x < 65536; x++) {
            mpfr_t a;
            mpfr_init2(a, 200);
            mpfr_set_d(a, hc_decode(formats[f], x), MPFR_RNDN);
            mpfr_sqrt(a, a, MPFR_RNDN);
            same(round_into(a, formats[f], UINT64_MAX), hc_exact_sqrt_code(formats[f], (uint16_t)x),
                 "sqrt", formats[f], (uint16_t)x, 0, 0);
            mpfr_clear(a);
        }
}

static uint64_t correct_fma(enum hc_format format, uint16_t x, uint16_t y, uint16_t z)
{
    mpfr_t a;
    mpfr_t b;
    mpfr_t c;
    mpfr_inits2(900, a, b, c, (mpfr_ptr)0);
    mpfr_set_d(a, hc_decode(format, x), MPFR_RNDN);
    mpfr_set_d(b, hc_decode(format, y), MPFR_RNDN);
    mpfr_set_d(c, hc_decode(format, z), MPFR_RNDN);
    mpfr_fma(a, a, b, c, MPFR_RNDN);
    uint64_t bits = round_into(a, format, UINT64_MAX);
    mpfr_clears(a, b, c, (mpfr_ptr)0);
    return bits;
}

Test(pairs, mpfr_agrees_on_fma_at_boundaries_and_at_random)
{
    uint16_t codes[HC_BOUNDARY_CODES];
    for (size_t f = 0; f < 2; f++) {
        hc_boundary_codes(formats[f], codes);
        for (uint64_t i = 0; i < 150000; i++) {
            uint64_t random = hc_random(23, f, i);
            uint16_t x = (uint16_t)random;
            uint16_t y = (uint16_t)(random >> 16);
            uint16_t z = (uint16_t)(random >> 32);
            if (i % 3) {
                x = codes[x % HC_BOUNDARY_CODES];
                y = codes[y % HC_BOUNDARY_CODES];
                z = codes[z % HC_BOUNDARY_CODES];
            }
            same(correct_fma(formats[f], x, y, z), hc_exact_fma_code(formats[f], x, y, z), "fma",
                 formats[f], x, y, z);
        }
    }
}
