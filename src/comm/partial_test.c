/* Partial sums in 16 bits are rounded as the formats say, on every code and beside every
   midpoint. */
#include "comm/partial.h"

#include <criterion/criterion.h>
#include <math.h>

static const enum hc_format halves[] = {HC_FP16, HC_BF16};

static bool same(enum hc_format format, uint64_t want, uint64_t got)
{
    return want == got || (isnan(hc_decode(format, want)) && isnan(hc_decode(format, got)));
}

/* Each code is taken for fp32, rounded into the other format, and back. */
Test(partial, every_code_is_converted_as_hc_encode_does)
{
    static uint16_t codes[65536];
    static float wide[65536];
    static uint16_t back[65536];
    for (int i = 0; i < 65536; i++)
        codes[i] = (uint16_t)i;
    for (int f = 0; f < 4; f++) {
        enum hc_format from = halves[f % 2];
        enum hc_format to = halves[f / 2];
        struct hc_all_reduce in_fp32 = {HC_COLLECTIVE_TREE, HC_FP32, 1, 1, false};
        struct hc_all_reduce in_half = {HC_COLLECTIVE_TREE, to, 1, 1, false};
        hc_partial_begin(&in_fp32, from, codes, 65536, wide);
        hc_partial_begin(&in_half, from, codes, 65536, back);
        for (int i = 0; i < 65536; i++) {
            double value = hc_decode(from, (uint64_t)i);
            cr_assert(isnan(value) ? isnan(wide[i]) : (double)wide[i] == value, "%x", i);
            cr_assert(same(to, hc_encode(to, value, 0, HC_NEAREST), back[i]), "%x", i);
        }
        hc_partial_end(&in_fp32, to, wide, 65536, back);
        for (int i = 0; i < 65536; i++)
            cr_assert(same(to, hc_encode(to, (double)wide[i], 0, HC_NEAREST), back[i]), "%x", i);
    }
}

/* Between two neighbours: the midpoint, and the fp32 numbers on both sides of it. */
Test(partial, what_lies_beside_a_midpoint_goes_to_the_nearer_one)
{
    for (int f = 0; f < 2; f++) {
        enum hc_format to = halves[f];
        struct hc_all_reduce how = {HC_COLLECTIVE_TREE, to, 1, 1, false};
        for (uint64_t code = 0; code < 65536; code++) {
            double x = hc_decode(to, code);
            double next = hc_decode(to, code + 1 < 65536 ? code + 1 : code);
            float x3[3];
            uint16_t got[3];
            if (!isfinite(x) || !isfinite(next))
                continue;
            float middle = (float)(x / 2 + next / 2);
            x3[0] = nextafterf(middle, -INFINITY);
            x3[1] = middle;
            x3[2] = nextafterf(middle, INFINITY);
            hc_partial_begin(&how, HC_FP32, x3, 3, got);
            for (int k = 0; k < 3; k++)
                cr_assert(same(to, hc_encode(to, (double)x3[k], 0, HC_NEAREST), got[k]), "%a",
                          (double)x3[k]);
        }
    }
}

/* Any two codes that stand a stride apart, added: the exact sum, rounded once. */
Test(partial, sums_of_two_codes_are_rounded_once)
{
    static uint16_t x[65536];
    static uint16_t y[65536];
    static uint16_t sums[65536];
    for (int f = 0; f < 2; f++)
        for (int stride = 1; stride < 65536; stride = 3 * stride + 7) {
            for (int i = 0; i < 65536; i++) {
                sums[i] = x[i] = (uint16_t)i;
                y[i] = (uint16_t)(i * 5 + stride);
            }
            hc_partial_add(halves[f], sums, y, 65536);
            for (int i = 0; i < 65536; i++) {
                double a = hc_decode(halves[f], x[i]);
                double b = hc_decode(halves[f], y[i]);
                double sum = a + b;
                double share = sum - a;
                double rest = isfinite(sum) ? (a - (sum - share)) + (b - share) : 0;
                cr_assert(same(halves[f], hc_encode(halves[f], sum, rest, HC_NEAREST), sums[i]),
                          "%x + %x", x[i], y[i]);
            }
        }
}
