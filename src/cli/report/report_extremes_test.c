/* The page and its pictures where there is nothing, one thing, too much, or no number. */
#include <jansson.h>

#include "cli/testing.h"
#include "cli/report/wellformed.h"

static char page[1 << 24];

static json_t *result(const char *name, const char *backend, const char *error, const char *bound)
{
    return json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:f, s:s, s:s}", "case",
                     name, "backend", backend, "verdict", "PASS", "checked", 1, "error", error,
                     "bound", bound, "unit", "ulp", "implementation", error, "format", bound,
                     "seed", "0", "seconds", 0.5, "note", "", "repro", "halfcheck run x");
}

/* A curve of three points whose y are given; with a logarithmic axis where log_y. */
static json_t *picture(const char *ys, bool log_y)
{
    return json_pack("{s:s, s:s, s:s, s:b, s:b, s:b, s:[], s:[{s:s, s:s, s:s}]}", "title",
                     "a picture", "x", "step", "y", "value", "log_x", 0, "log_y", log_y, "bars", 0,
                     "marks", "series", "name", "curve", "x", "0x1p+0 0x1p+1 0x1.8p+1", "y", ys);
}

/* Writes the results as a record and reads the page that report makes of it. */
static void make_page(json_t *results)
{
    json_t *record = json_pack("{s:i, s:{}, s:o}", "schema", 1, "environment", "results", results);
    cr_assert_not_null(record);
    cr_assert_eq(json_dump_file(record, "r.json", 0), 0);
    json_decref(record);
    const struct ran *ran = run_shell("$hc report r.json --out page");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_expect(*ran->err == '\0' || strstr(ran->err, "not installed") != NULL, "%s", ran->err);
    read_text("page/report.html", page, sizeof page);
    cr_expect_null(hc_malformed(page), "%.200s", hc_malformed(page));
    cr_expect_null(strstr(page, "-nan"));
    cr_expect_str_eq(run_shell("ls -A page")->out, "report.html\n");
}

static int pictures_in_page(void)
{
    int count = 0;
    for (const char *at = page; (at = strstr(at, "<svg")) != NULL; at++)
        count++;
    return count;
}

static bool can_draw(void)
{
    return run_shell("command -v gnuplot")->status == 0;
}

static json_t *with_picture(json_t *row, json_t *drawn)
{
    (void)json_object_set_new(row, "pictures", json_pack("[o]", drawn));
    return row;
}

Test(report_extremes, an_empty_record_makes_a_page_without_pictures, .init = enter_folder)
{
    make_page(json_array());
    cr_expect_eq(pictures_in_page(), 0);
}

Test(report_extremes, one_result_is_drawn, .init = enter_folder)
{
    make_page(json_pack("[o]", result("a/b", "exact", "0x1p-2", "0x1p+0")));
    cr_expect_eq(pictures_in_page(), can_draw() ? 2 : 0);
}

Test(report_extremes, every_group_has_a_row_of_its_own, .init = enter_folder)
{
    char name[64];
    char want[64];
    json_t *results = json_array();
    for (int i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof name, "group%d/case", i);
        (void)json_array_append_new(results, result(name, "exact", "0x1p-2", "0x1p+0"));
    }
    make_page(results);
    for (int i = 0; i < 200 && can_draw(); i++) {
        (void)snprintf(want, sizeof want, ">group%d<", i);
        cr_expect_not_null(strstr(page, want), "%s", want);
    }
}

/* Not at the edge for what is beyond the bound, and not at 0. */
Test(report_extremes, what_is_not_a_number_is_drawn_and_told_as_such, .init = enter_folder)
{
    static const char *const nans[] = {"nan", "-nan"};
    for (int i = 0; i < 2; i++) {
        make_page(json_pack("[oo]", result("a/b", "exact", nans[i], "0x1p+0"),
                            with_picture(result("a/c", "exact", nans[i], nans[i]),
                                         picture("nan nan -nan", false))));
        cr_expect_not_null(strstr(page, "; error NaN, bound 1 ulp"));
        if (!can_draw())
            continue;
        cr_expect_not_null(strstr(page, ">NaN<"), "no tic for what is no number");
        cr_expect_not_null(strstr(page, "no picture: none of its points is a number"));
    }
}

Test(report_extremes, a_curve_says_from_where_on_it_is_not_finite, .init = enter_folder)
{
    if (!can_draw())
        return;
    make_page(json_pack("[o]", with_picture(result("a/b", "exact", "0x0p+0", "0x0p+0"),
                                            picture("0x1p+0 nan inf", false))));
    cr_expect_not_null(strstr(page, "curve (not finite from 2 on)"));
}

Test(report_extremes, all_equal_zero_and_huge_values_are_drawn, .init = enter_folder)
{
    static const char *const ys[] = {"0x1p+0 0x1p+0 0x1p+0", "0x0p+0 0x0p+0 0x0p+0",
                                     "-0x1p+1000 0x0p+0 0x1p+1000"};
    for (int i = 0; i < 6; i++) {
        bool drawable = i % 2 == 0 || i / 2 != 1; /* a logarithm shows no zeros */
        make_page(json_pack("[o]", with_picture(result("a/b", "exact", "0x0p+0", "0x0p+0"),
                                                picture(ys[i / 2], i % 2))));
        cr_expect_eq(pictures_in_page(), can_draw() ? 2 + drawable : 0, "%s: %d", ys[i / 2],
                     pictures_in_page());
    }
}

Test(report_extremes, names_of_two_hundred_characters_leave_room_for_the_picture,
     .init = enter_folder)
{
    char name[256];
    char full[256];
    memset(name, 'x', 200);
    (void)strcpy(name + 200, "1/y");
    (void)strcpy(full, name);
    full[200] = '2';
    make_page(json_pack("[oo]", result(name, "exact", "0x1p-2", "0x1p+0"),
                        result(full, "exact", "0x1p-2", "0x1p+0")));
    full[201] = '\0';
    cr_expect_not_null(strstr(page, full), "the family is whole in the table");
    if (can_draw()) {
        cr_expect_not_null(strstr(page, "xxx\xe2\x80\xa6xxx"), "short in the picture");
        cr_expect_not_null(strstr(page, "xxx1<"));
        cr_expect_not_null(strstr(page, "xxx2<"), "two groups, though only their ends differ");
    }
}

Test(report_extremes, ten_thousand_results_are_one_page, .init = enter_folder)
{
    char name[64];
    json_t *results = json_array();
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(name, sizeof name, "op/kind%d/case%d", i % 50, i);
        (void)json_array_append_new(
            results, result(name, i % 3 ? "exact" : "host", "0x1p-2", i % 7 ? "0x1p+0" : "0x0p+0"));
    }
    make_page(results);
    cr_expect_not_null(strstr(page, ">op/kind49<"), "its family");
    cr_expect_null(strstr(page, "op/kind49/case9949"), "not each of its results");
    cr_expect_lt(strlen(page), 2u << 20);
    cr_expect_eq(pictures_in_page(), can_draw() ? 2 : 0);
}
