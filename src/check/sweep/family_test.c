#include "check/sweep/family.h"

#include <criterion/criterion.h>
#include <string.h>

static struct hc_family family;
static struct hc_pairs defined;

static const enum hc_op ops[] = {HC_OP_add, HC_OP_sub, HC_OP_mul, HC_OP_div};
static const enum hc_format formats[] = {HC_FP16, HC_BF16};

static bool same(uint16_t want, uint16_t got)
{
    uint16_t infinity = defined.infinity;
    return want == got || ((want & 0x7fff) > infinity && (got & 0x7fff) > infinity);
}

/* The runs of x must give the row by definition, and follow each other from 0 to the end. */
static void holds(uint16_t x)
{
    const char *op = hc_ops[defined.op].name;
    uint32_t end = 0;
    hc_pairs_at(&defined, x);
    hc_family_at(&family, x);
    for (int i = 0; i < family.runs; i++) {
        cr_assert_eq(family.run[i].from, end, "%s %#x, run %d", op, x, i);
        end = family.run[i].end;
    }
    cr_assert_eq(end, 65536);
    for (uint32_t y = 0; y < 65536; y += 4096)
        cr_assert_not(hc_family_differs(&family, y, 4096, defined.want + y), "%s %#x %#x", op, x,
                      y);
    for (uint32_t y = 0; y < 65536; y += 13)
        cr_assert(same(defined.want[y], hc_family_want(&family, (uint16_t)y)), "%s %#x %#x", op, x,
                  y);
}

/* For both signs and several fractions, at every exponent of fp16 and at some of bf16. */
Test(family, a_row_of_runs_is_the_row_by_definition)
{
    static const uint32_t fractions[] = {0, 1, 37, 63, 64, 101, 127, 512, 777, 1023};
    for (size_t f = 0; f < 2; f++)
        for (size_t o = 0; o < 4; o++) {
            hc_family_init(&family, ops[o], formats[f]);
            hc_pairs_init(&defined, ops[o], formats[f]);
            for (size_t i = 0; i < sizeof fractions / sizeof fractions[0]; i += f ? 3 : 1) {
                uint32_t first = fractions[i] % defined.binade + (uint32_t)(i & 1) * 0x8000;
                hc_family_begin(&family, (uint16_t)first);
                for (uint32_t e = 0; e <= family.exponents; e++)
                    if (formats[f] == HC_FP16 || e < 24 || e % 16 < 2 || e > 240)
                        holds((uint16_t)(first + e * defined.binade));
            }
        }
}

/* Every result of a row in turn is made wrong by one bit: no run may overlook it. */
Test(family, no_wrong_result_is_overlooked)
{
    static uint16_t got[65536];
    static const uint16_t x[] = {0x0000, 0x0003, 0x3c01, 0xc555, 0x7bff, 0x7c00, 0x7e01};
    for (size_t o = 0; o < 4; o++) {
        hc_family_init(&family, ops[o], HC_FP16);
        hc_pairs_init(&defined, ops[o], HC_FP16);
        for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
            hc_family_begin(&family, x[i]);
            hc_family_at(&family, x[i]);
            hc_pairs_at(&defined, x[i]);
            memcpy(got, defined.want, sizeof got);
            for (uint32_t y = 0; y < 65536; y++) {
                uint32_t from = y / 1024 * 1024;
                bool nan = (got[y] & 0x7fff) > 0x7c00;
                got[y] ^= (uint16_t)(nan ? 0x4000 : 1u << y % 16);
                cr_assert(hc_family_differs(&family, from, 1024, got + from), "%s %#x %#x",
                          hc_ops[ops[o]].name, x[i], y);
                got[y] = defined.want[y];
            }
        }
    }
}
