/* Numbers as people say and write them. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

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

Test(lines, the_shortest_decimal_is_read_back_as_the_number)
{
    static const double numbers[] = {0.003, 448, 57344, 0x1p-149, 0x1p-1074, 1.0 / 3, 0, -0.1};
    char text[HC_SHORTEST];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        cr_expect_eq(strtod(hc_shortest(text, numbers[i]), NULL), numbers[i], "%s", text);
    cr_expect_str_eq(hc_shortest(text, 0.003), "0.003");
    cr_expect_str_eq(hc_shortest(text, 448), "448");
    cr_expect_str_eq(hc_shortest(text, 57344), "57344");
    cr_expect_str_eq(hc_shortest(text, 240), "240");
    cr_expect_str_eq(hc_shortest(text, -1000), "-1000");
    cr_expect_str_eq(hc_shortest(text, (double)INFINITY), "inf");
    cr_expect_str_eq(hc_shortest(text, (double)NAN), "nan");
}
