/* Numbers as people say them. */
#include <criterion/criterion.h>

#include "cli/lines.h"

Test(lines, one_is_not_said_as_many)
{
    cr_expect_str_eq(hc_count(1, "result").text, "1 result");
    cr_expect_str_eq(hc_count(0, "result").text, "0 results");
    cr_expect_str_eq(hc_count(2, "more result").text, "2 more results");
    cr_expect_str_eq(hc_count(1, "family").text, "1 family");
    cr_expect_str_eq(hc_count(3, "family").text, "3 families");
    cr_expect_str_eq(hc_count(3, "way").text, "3 ways");
    cr_expect_str_eq(hc_count(3, "pass").text, "3 passes");
    cr_expect_str_eq(hc_count(3, "bench").text, "3 benches");
    cr_expect_str_eq(hc_count(3, "epoch").text, "3 epochs");
    cr_expect_str_eq(hc_count(-1, "step").text, "-1 steps");
    cr_expect_str_eq(hc_noun(2, "").text, "");
}
