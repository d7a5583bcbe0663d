#include "num/narrow8.h"

#include <criterion/criterion.h>

#include "num/rng.h"

static void holds(enum hc_format format, int saturate, uint32_t bits)
{
    struct hc_narrow8 n = hc_narrow8_of(&hc_formats[format], saturate);
    double x = (double)hc_fp32_value(bits);
    uint64_t want = saturate ? hc_encode_saturated(format, x, 0, HC_NEAREST)
                             : hc_encode(format, x, 0, HC_NEAREST);
    uint8_t got = hc_narrow8(&n, bits);
    cr_assert_eq(want, got, "%s%s: %08x (%a): want %02x, got %02x", hc_formats[format].name,
                 saturate ? " saturated" : "", bits, x, (unsigned)want, got);
}

/* The last 12 bits of a pattern and all above: each exponent and sign with every fraction of 11
   bits, and behind those nothing, one bit and all bits. No format keeps more than 3 bits, so that a
   cut is met with every first bits and with every kind of rest. */
static void every_start(enum hc_format format, int saturate)
{
    static const uint32_t rests[] = {0, 1, 0x800, 0xfff};
    for (uint32_t start = 0; start < 1u << 20; start++)
        for (size_t r = 0; r < sizeof rests / sizeof rests[0]; r++)
            holds(format, saturate, start << 12 | rests[r]);
}

Test(narrow8, has_the_bits_of_encode)
{
    for (int f = HC_FP64; f < HC_FORMAT_COUNT; f++)
        for (int saturate = 0; hc_is_narrow8(&hc_formats[f]) && saturate < 2; saturate++) {
            every_start((enum hc_format)f, saturate);
            for (uint64_t i = 0; i < 100000; i++)
                holds((enum hc_format)f, saturate, (uint32_t)hc_random(3, (uint64_t)f, i));
        }
}

/* The witnesses of published differences (OCP OFP8 1.0, MX 1.0; CUDA's cuda_fp8.h). */
Test(narrow8, rounds_where_implementations_have_been_wrong)
{
    static const struct {
        enum hc_format format;
        uint32_t bits;
        uint8_t saturated;
        uint8_t not_saturated;
    } rows[] = {
        {HC_E4M3, 0x43e80000, 0x7e, 0x7e},     {HC_E4M3, 0x43e80001, 0x7e, 0x7f},
        {HC_E4M3, 0x3a800000, 0x00, 0x00},     {HC_E4M3, 0x3a800001, 0x01, 0x01},
        {HC_E4M3, 0x3f880000, 0x38, 0x38},     {HC_E4M3, 0x3f880001, 0x39, 0x39},
        {HC_E4M3, 0x3f980000, 0x3a, 0x3a},     {HC_E4M3, 0x3fa88000, 0x3b, 0x3b},
        {HC_E4M3, 0xff800000, 0xfe, 0xff},     {HC_E5M2, 0x476fffff, 0x7b, 0x7b},
        {HC_E5M2, 0x47700000, 0x7b, 0x7c},     {HC_E5M2, 0x37000000, 0x00, 0x00},
        {HC_E5M2, 0x37000001, 0x01, 0x01},     {HC_E4M3FNUZ, 0x4377ffff, 0x7f, 0x7f},
        {HC_E4M3FNUZ, 0x43780000, 0x7f, 0x80}, {HC_E4M3FNUZ, 0x80000000, 0x00, 0x00},
        {HC_E4M3FNUZ, 0xc3780000, 0xff, 0x80}, {HC_E5M2FNUZ, 0xb6800000, 0x00, 0x00},
        {HC_E2M1, 0x3e800000, 0x0, 0x0},       {HC_E2M1, 0x3f400000, 0x2, 0x2},
        {HC_E2M1, 0x3fe00000, 0x4, 0x4},       {HC_E2M1, 0x40a00000, 0x6, 0x6},
        {HC_E2M1, 0xffc00000, 0x7, 0x7},       {HC_E2M1, 0x80000000, 0x8, 0x8},
        {HC_E8M0, 0x00400000, 0x00, 0x00},     {HC_E8M0, 0x005fffff, 0x00, 0x00},
        {HC_E8M0, 0x00600000, 0x01, 0x01},     {HC_E8M0, 0x7f400000, 0xfe, 0xff},
        {HC_E8M0, 0x00000000, 0x00, 0x00},     {HC_UE4M3, 0xbf800000, 0x38, 0x38},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int saturate = 0; saturate < 2; saturate++) {
            struct hc_narrow8 n = hc_narrow8_of(&hc_formats[rows[i].format], saturate);
            cr_expect_eq(hc_narrow8(&n, rows[i].bits),
                         saturate ? rows[i].saturated : rows[i].not_saturated, "row %zu", i);
        }
}
