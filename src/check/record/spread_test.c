#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "check/record/spread.h"

static const char *text(json_t *member, const char *key)
{
    const char *value = json_string_value(json_object_get(member, key));
    return value ? value : "";
}

Test(spread, counts_errors_by_their_size_in_ulp)
{
    struct hc_spread s = {0};
    /* an ulp of fp16 at 1 is 2^-10 */
    hc_spread_count(&s, HC_FP16, 1, 0, 0);
    hc_spread_count(&s, HC_FP16, 1, 0x1p-12, 0);
    hc_spread_count(&s, HC_FP16, 1, 0x1p-11, 0);
    hc_spread_count(&s, HC_FP16, 1, 0x1.8p-11, 0);
    hc_spread_count(&s, HC_FP16, 1, 0x1p-10, 0);
    hc_spread_count(&s, HC_FP16, 1, 0x1.01p-10, 0);
    hc_spread_count(&s, HC_FP16, 1, 1e300, 0);
    json_t *member = hc_spread_write(&s);
    char want[256] = "1 2 2 1";
    for (int b = 4; b < HC_ULP_BINS; b++)
        strcat(want, b == HC_ULP_BINS - 1 ? " 1" : " 0");
    cr_expect_str_eq(text(member, "ulps"), want);
    cr_expect_null(json_object_get(member, "inputs"));
    cr_expect_null(hc_spread_wrong(member));
    json_decref(member);
}

Test(spread, keeps_the_largest_error_of_each_bin_of_inputs)
{
    struct hc_spread s = {0};
    hc_spread_count(&s, HC_FP16, 1, 0x1p-11, 16);
    hc_spread_count(&s, HC_FP16, 1, 0x1p-12, -31);
    hc_spread_count(&s, HC_FP16, 1, 0, 0x1p-1070);
    hc_spread_count(&s, HC_FP16, 1, 0, 0x1p1000);
    json_t *member = hc_spread_write(&s);
    cr_expect_str_eq(text(member, "inputs"), "-160:0x0p+0 4:0x1p-1 156:0x0p+0");
    struct hc_spread twice = {0};
    hc_spread_add(&twice, member);
    hc_spread_add(&twice, member);
    cr_expect_eq(twice.ulps[0], 4);
    cr_expect_eq(twice.ulps[1], 4);
    cr_expect_float_eq(twice.input[41].ulps, 0.5, 0);
    json_decref(member);
}

Test(spread, counts_no_element_that_is_not_finite)
{
    struct hc_spread s = {0};
    hc_spread_count(&s, HC_FP16, (double)INFINITY, 0, 1);
    hc_spread_count(&s, HC_FP16, (double)NAN, (double)NAN, 1);
    hc_spread_count(&s, HC_FP16, 1, (double)INFINITY, 1);
    hc_spread_count(&s, HC_FP16, 65505, 0, 1);
    cr_expect_null(hc_spread_write(&s));
    hc_spread_count(&s, HC_FP16, 65504, 0, 1);
    cr_expect_eq(s.ulps[0], 1);
}

Test(spread, refuses_what_is_no_spread)
{
    static const char *const wrong[][2] = {
        {"", "4:0x1p-1x"}, {"1 2 x", ""},
        {"-1", ""},        {"1", "5:1"},
        {"1", "-164:1"},   {"1", "400:1"},
        {"1", "4"},        {"1", "4:-1"},
        {"1", "4:nan"},    {"1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", ""},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        json_t *member = json_pack("{s:s, s:s}", "ulps", wrong[i][0], "inputs", wrong[i][1]);
        cr_expect(hc_spread_wrong(member) != NULL, "%s, %s", wrong[i][0], wrong[i][1]);
        json_decref(member);
    }
    json_t *none = json_object();
    cr_expect(hc_spread_wrong(none) != NULL);
    json_decref(none);
}
