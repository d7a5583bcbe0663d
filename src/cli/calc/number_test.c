#include "cli/calc/number.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(enum hc_format format, double value)
{
    static char text[HC_NUMBER_TEXT];
    hc_number_text(text, format, value, 0);
    return text;
}

Test(number, every_16_bit_number_is_read_back_and_two_never_read_alike)
{
    enum hc_format formats[] = {HC_FP16, HC_BF16, HC_E4M3, HC_E5M2};
    for (int f = 0; f < 4; f++) {
        char before[HC_NUMBER_TEXT] = "";
        for (uint64_t bits = 0; bits < UINT64_C(1) << hc_formats[formats[f]].bits; bits++) {
            double value = hc_decode(formats[f], bits);
            const char *text = text_of(formats[f], value);
            if (isnan(value))
                cr_assert_str_eq(text, "nan");
            else
                cr_assert_eq(hc_encode(formats[f], strtod(text, NULL), 0, HC_NEAREST), bits, "%s",
                             text);
            cr_assert(isnan(value) || strcmp(text, before) != 0, "%s", text);
            cr_assert_leq(strlen(text), 14, "%s", text); /* -0.00048828125 */
            (void)strcpy(before, text);
        }
    }
}

static int compare_values(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The finite numbers of a format of at most 8 bits, in order; -0 is left out. */
static int values_of(enum hc_format format, double value[256])
{
    int n = 0;
    for (uint64_t bits = 0; bits < UINT64_C(1) << hc_formats[format].bits; bits++) {
        double x = hc_decode(format, bits);
        if (isfinite(x) && !(x == 0 && signbit(x)))
            value[n++] = x;
    }
    qsort(value, (size_t)n, sizeof *value, compare_values);
    return n;
}

/* What is printed lies strictly between the middles to both neighbours, and no further out than
   the largest number. The middles are exact in fp64. */
Test(number, of_a_small_format_lies_within_half_a_step_of_its_decimal)
{
    for (int f = 0; f < HC_FORMAT_COUNT; f++) {
        double value[256];
        if (hc_formats[f].bits > 8 || hc_is_integer(&hc_formats[f]))
            continue;
        int n = values_of((enum hc_format)f, value);
        for (int i = 0; i < n; i++) {
            const char *text = text_of((enum hc_format)f, value[i]);
            double decimal = strtod(text, NULL);
            const char *name = hc_formats[f].name;
            if (i > 0)
                cr_expect_gt(decimal, value[i - 1] / 2 + value[i] / 2, "%s: %a is printed as %s",
                             name, value[i], text);
            if (i < n - 1)
                cr_expect_lt(decimal, value[i] / 2 + value[i + 1] / 2, "%s: %a is printed as %s",
                             name, value[i], text);
            cr_expect_leq(fabs(decimal), value[n - 1], "%s: %a is printed as %s, beyond it", name,
                          value[i], text);
        }
    }
}

/* By hand: half an ulp is larger than what the digits leave out, and smaller than what one digit
   less would. */
Test(number, has_the_fewest_digits_that_are_read_back_or_all_of_eight)
{
    static const struct {
        enum hc_format format;
        double value;
        const char *text;
    } rows[] = {
        {HC_FP16, 0x1.554p-2, "0.3333"},
        {HC_E2M3, 7.5, "7.5"},
        {HC_E2M3, -7.5, "-7.5"},
        {HC_BF16, 0x1.56p-2, "0.334"},
        {HC_FP32, 0x1.555556p-2, "0.33333334"},
        {HC_FP64, 1.0 / 3, "0.3333333333333333"},
        {HC_FP64, 0.003, "0.003"},
        {HC_FP64, -1000, "-1000"},
        {HC_FP64, 0.1 + 0.2, "0.30000000000000004"},
        {HC_FP16, 0x1.998p-4, "0.1"},
        {HC_FP16, 0x1p-24, "6e-8"},
        {HC_E5M2, 0.09375, "0.09375"},
        {HC_FP16, 0x1p-11, "0.00048828125"},
        {HC_BF16, 0x1.02p-11, "0.000492"},
        {HC_FP32, 0x1p-11, "0.00048828125"},
        {HC_FP64, 0.125 + 0x1p-55, "0.12500000000000003"},
        {HC_FP16, 65504, "65504"},
        {HC_FP16, 0x1.004p0, "1.001"},
        {HC_FP32, 0x1.47ae14p-7, "0.01"},
        {HC_BF16, 16777216, "16777216"},
        {HC_BF16, 0x1p30, "1.074e9"},
        {HC_FP32, 1e-4f, "0.0001"},
        {HC_FP32, -1e-5f, "-1e-5"},
        {HC_FP32, 1e9f, "1e9"},
        {HC_FP32, 1e8f, "100000000"},
        {HC_FP32, 0x1.fffffep127, "3.4028235e38"},
        {HC_FORMAT_COUNT, 4096, "4096"},
        {HC_FP32, INFINITY, "inf"},
        {HC_FP32, -INFINITY, "-inf"},
        {HC_FP32, -0.0, "-0"},
        {HC_FP32, 0.0, "0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_str_eq(text_of(rows[i].format, rows[i].value), rows[i].text, "%s, want %s",
                         text_of(rows[i].format, rows[i].value), rows[i].text);
}

Test(number, so_many_digits_as_asked_for)
{
    char text[HC_NUMBER_TEXT];
    hc_number_text(text, HC_FP16, 0x1.ffcp-1, 12);
    cr_expect_str_eq(text, "0.99951171875");
    hc_number_text(text, HC_FP16, 0x1.ffcp-1, 2);
    cr_expect_str_eq(text, "1");
    hc_number_text(text, HC_FP32, 123456, 3);
    cr_expect_str_eq(text, "123000");
}

Test(number, real_numbers_have_as_many_digits_as_asked_for)
{
    char text[HC_NUMBER_TEXT];
    struct hc_real *x = hc_real_new(0);
    hc_real_set_text(x, "0.12345678901234567890123");
    struct hc_exact split = hc_real_exact(x);
    hc_real_text(text, &split, 8);
    cr_expect_str_eq(text, "0.12345679");
    hc_real_text(text, &split, 19);
    cr_expect_str_eq(text, "0.1234567890123456789");
    hc_real_set_text(x, "0.9");
    split = hc_real_exact(x);
    hc_real_text(text, &split, 8);
    cr_expect_str_eq(text, "0.9");
    hc_real_set_text(x, "-1234567");
    split = hc_real_exact(x);
    hc_real_text(text, &split, 8);
    cr_expect_str_eq(text, "-1234567");
    hc_real_free(x);
}

Test(number, a_distance_is_rounded_up)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {{1.21e-5, "1.3e-5"}, {1e6 / 3, "3.4e5"}, {9.91e-8, "1e-7"}, {123, "123"},
                {0.5, "0.5"},        {0x1p-24, "6e-8"},  {0, "0"},          {INFINITY, "inf"}};
    char text[HC_NUMBER_TEXT];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hc_distance_text(text, rows[i].value);
        cr_expect_str_eq(text, rows[i].text, "%s, want %s", text, rows[i].text);
    }
}

Test(number, bits_have_the_width_of_the_format)
{
    char text[HC_NUMBER_TEXT];
    hc_bits_text(text, HC_FP16, 1);
    cr_expect_str_eq(text, "0x3c00");
    hc_bits_text(text, HC_FP32, -1);
    cr_expect_str_eq(text, "0xbf800000");
    hc_bits_text(text, HC_E4M3, 0x1p-9);
    cr_expect_str_eq(text, "0x01");
    hc_bits_text(text, HC_FORMAT_COUNT, 3);
    cr_expect_str_eq(text, "");
}
