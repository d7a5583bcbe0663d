#include "check/record/decimal.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "num/bits.h"
#include "num/rng.h"

static void expect(double x, const char *want)
{
    char text[HC_DECIMAL_TEXT];
    double value = hc_decimal_up(x, 4, text);
    cr_expect_str_eq(text, want, "%a", x);
    cr_expect_eq(value, strtod(text, NULL));
}

Test(decimal, is_rounded_up_to_few_digits_and_short)
{
    expect(0, "0");
    expect(1, "1");
    expect(1000, "1000");
    expect(1234.5, "1235");
    expect(99991, "1e5");
    expect(0.5, "5e-1");
    expect(0x1p-11, "4883e-7");
    expect(1e-300, "1e-300");
    expect(DBL_MAX, "1798e305");
    expect((double)INFINITY, "inf");
}

/* Neither below x, nor a whole unit of the last digit above it. */
Test(decimal, is_never_below_and_never_far_above)
{
    char text[HC_DECIMAL_TEXT];
    for (uint64_t i = 0; i < 200000; i++) {
        double x = fabs(hc_fp64_value(hc_random(1, 0, i)));
        int digits = 1 + (int)(i % 12);
        if (!isfinite(x) || x > 1e300 || x < 1e-290)
            continue;
        double value = hc_decimal_up(x, digits, text);
        cr_assert(value >= x, "%a in %d digits: %s", x, digits, text);
        cr_assert(value <= x * (1 + pow(10, 1 - digits)) * (1 + 0x1p-50), "%a in %d digits: %s", x,
                  digits, text);
        cr_assert_eq(hc_round_up(value, digits), value, "%s does not stay", text);
    }
    cr_expect(isnan(hc_decimal_up((double)NAN, 4, text)) && strcmp(text, "nan") == 0);
    cr_expect_eq(hc_round_up(0.1, 0), 0.1);
}
