#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "op/typed.h"

Test(typed, a_list_is_taken_apart_without_its_blanks)
{
    static const char list[] = " a ,b b,\tc\t";
    static const char *const want[] = {"a", "b b", "c"};
    const char *element;
    size_t length;
    int n = 0;
    for (const char *at = list; at; n++) {
        cr_assert_eq(hc_list_next("--x", list, &at, &element, &length), HC_OK);
        cr_assert_lt(n, 3);
        cr_expect_eq(length, strlen(want[n]));
        cr_expect_eq(strncmp(element, want[n], length), 0);
    }
    cr_expect_eq(n, 3);
}

Test(typed, an_empty_element_is_refused_wherever_it_stands)
{
    static const char *const lists[] = {"", " ", ",a", "a,", "a,,b", "a, ,b"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const char *element;
        size_t length;
        enum hc_status status = HC_OK;
        for (const char *at = lists[i]; at && status == HC_OK;)
            status = hc_list_next("--x", lists[i], &at, &element, &length);
        cr_expect_eq(status, HC_INVALID, "'%s'", lists[i]);
        cr_expect_not_null(strstr(hc_message(), "an element is empty"));
    }
}

/* The distances are counted by hand; "" stands for no hint. */
Test(typed, the_nearest_name_is_offered_where_one_is_near)
{
    static const char *const names[] = {"exact", "host",  "cuda",  "cuda-half",
                                        "fp32",  "eps/*", "train", "explain"};
    static const struct {
        const char *typed;
        const char *want;
        int distance;
    } rows[] = {{"hots", "host", 1},
                {"hst", "host", 1},
                {"hoost", "host", 1},
                {"fp31", "fp32", 1},
                {"trian", "train", 1},
                {"eps", "eps/*", 1},
                {"exp", "explain", 1},
                {"cuda", "cuda", 0},
                {"cuda-hafl", "cuda-half", 1},
                {"xplian", "explain", 2},
                {"abacus", "", 4},
                {"x", "", 4},
                {"", "", 0}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        char want[64] = "";
        struct hc_nearest nearest = hc_nearest_to(rows[r].typed, strlen(rows[r].typed));
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            hc_nearest_try(&nearest, names[i]);
        if (rows[r].want[0])
            (void)snprintf(want, sizeof want, "; did you mean '%s'?", rows[r].want);
        cr_expect_str_eq(hc_nearest_hint(&nearest), want, "%s: %s", rows[r].typed, nearest.best);
        if (rows[r].want[0])
            cr_expect_eq(nearest.distance, rows[r].distance, "%s", rows[r].typed);
    }
    char long_name[200];
    memset(long_name, 'n', sizeof long_name);
    struct hc_nearest nearest = hc_nearest_to(long_name, sizeof long_name);
    hc_nearest_try(&nearest, "n");
    cr_expect_str_eq(hc_nearest_hint(&nearest), "");
}
