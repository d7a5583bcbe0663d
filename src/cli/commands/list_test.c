#include "cli/testing.h"

Test(list, alone_says_what_there_is_and_what_to_type_next, .init = enter_folder)
{
    /* Where a backend cannot run, a line below it says why, and how many there are is the machine's
       affair. */
    const struct ran *ran = run_shell("$hc list | grep -v '^ \\{16\\}'");
    cr_expect_leq(lines_of(ran->out), 64, "%d lines", lines_of(ran->out));
    ran = run_shell("$hc list");
    cr_expect_eq(ran->status, 0);
    static const char *const there[] = {" cases in 30 components\n", "\n  eps ", "\n  exact ",
                                        "\n  recipes ", "halfcheck explain eps"};
    for (size_t i = 0; i < sizeof there / sizeof *there; i++)
        cr_expect_not_null(strstr(ran->out, there[i]), "no '%s' in %s", there[i], ran->out);
    ran = run_shell("$hc list | awk 'length > 79'");
    cr_expect_str_eq(ran->out, "");
}

/* What programs read: as before, the cases. */
Test(list, as_json_without_a_subject_has_the_cases, .init = enter_folder)
{
    cr_expect_eq(run_shell("$hc list --json >a && $hc list cases --json >b && cmp a b")->status, 0);
}

Test(list, of_components_counts_every_case_once, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc list components | awk -F'\\t' '{n += $2} END {print n}'"
                                      " >a; $hc list cases | wc -l >b; cat a b");
    cr_expect_eq(atoi(ran->out), atoi(strchr(ran->out, '\n') + 1), "%s", ran->out);
}

Test(list, takes_one_subject, .init = enter_folder)
{
    expect_refusal("$hc list cases ops", "list takes one SUBJECT, not also 'ops'");
}
