#include "cli/testing.h"

static int place_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? (int)(at - text) : -1;
}

Test(find, a_case_must_have_all_words_whatever_their_capitals, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc find 'NaN Adam' --all");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_assert_geq(place_of(ran->out, "eps/adam-in-half-zero-gradient\n    Adam all in half"), 0,
                  "%s", ran->out);
    cr_assert_eq(place_of(ran->out, "eps/thresholds"), -1, "%s", ran->out);
    char both[sizeof ran->out];
    memcpy(both, ran->out, sizeof both);
    ran = run_shell("$hc find nan adam --all");
    cr_assert_str_eq(ran->out, both);
}

Test(find, a_number_is_found_where_it_stands_by_itself, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc find 65504 --all");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_assert_geq(place_of(ran->out, "rounding/overflow-threshold"), 0, "%s", ran->out);
    cr_assert_neq(run_shell("$hc find 5504")->status, 0);
}

Test(find, a_word_of_the_name_stands_above_one_of_the_source, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc find torch --all");
    int name = place_of(ran->out, "scaler/torch\n");
    int source = place_of(ran->out, "clipping/");
    cr_assert_geq(name, 0, "%s", ran->out);
    cr_assert(source == -1 || name < source, "%s", ran->out);
}

Test(find, the_best_ten_fit_on_a_screen, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc find half");
    cr_assert_eq(ran->status, 0);
    cr_assert_not_null(strstr(ran->out, "more; --all shows them\n"), "%s", ran->out);
    cr_assert_leq(lines_of(ran->out), 40, "%s", ran->out);
    for (const char *line = ran->out; *line; line += strcspn(line, "\n") + 1)
        cr_assert_leq(strcspn(line, "\n"), 80, "%s", ran->out);
}

Test(find, json_has_all_of_them, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc find 65504 --json | python3 -c 'import json, sys; "
                                      "print([x[\"name\"] for x in json.load(sys.stdin)])'");
    cr_assert_not_null(strstr(ran->out, "'rounding/overflow-threshold'"), "%s", ran->out);
    ran = run_shell("$hc find no-such-word --json");
    cr_assert_str_eq(ran->out, "[]\n");
}

Test(find, what_is_not_found_is_said_in_one_line, .init = enter_folder)
{
    expect_refusal("$hc find adamm", "no case has 'adamm'; did you mean 'adam'?");
    expect_refusal("$hc find nan zzzz", "no case has 'zzzz'");
    expect_refusal("$hc find payload scatters velocity", "no case has");
    expect_refusal("$hc find", "needs WORDS");
    expect_refusal("$hc find ' '", "needs WORDS");
    expect_refusal("$hc find a a a a a a a a a a a a a a a a a", "at most 16");
}
