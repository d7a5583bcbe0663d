/* What explain prints of every case that was written by hand. */
#include "cli/testing.h"

/* A terminal; the claim, the source and the verdict are in it. */
enum { LINES = 40, COLUMNS = 79, MOST = 2000 };

static char names[MOST][128];

/* The cases whose rows are not generated. */
static int read_names(void)
{
    int count = 0;
    FILE *file = fopen("names", "r");
    cr_assert_not_null(file);
    while (count < MOST && fscanf(file, "%127s", names[count]) == 1)
        count++;
    (void)fclose(file);
    return count;
}

/* Looks at every second case from `first` on: tests run side by side. */
static void expect_stories(int first)
{
    (void)run_shell("$hc list cases | cut -f1 | grep -vE '^(op|bits|border|size)/' >names");
    int count = read_names();
    cr_assert_gt(count, 250);
    for (int c = first; c < count; c += 2) {
        char line[256];
        bool asks_units = strncmp(names[c], "units/", strlen("units/")) == 0;
        (void)snprintf(line, sizeof line, "$hc explain '%s' %s --level quick", names[c],
                       asks_units ? "" : "--backend exact");
        const struct ran *ran = run_shell(line);
        char *commands = strstr((char *)ran->out, "\n  try     ");
        if (commands) /* that people copy: they stay whole */
            commands[1] = '\0';
        cr_expect_eq(ran->status, 0, "%s: %s", names[c], ran->err);
        cr_expect_leq(lines_of(ran->out), LINES, "%s\n%s", names[c], ran->out);
        for (const char *at = ran->out; *at; at += strcspn(at, "\n") + (strchr(at, '\n') != NULL))
            cr_expect_leq(strcspn(at, "\n"), COLUMNS, "%s\n%.*s", names[c], (int)strcspn(at, "\n"),
                          at);
        cr_expect_null(strstr(ran->out, "error 0,"), "%s\n%s", names[c], ran->out);
    }
}

Test(explain, tells_which_engines_ran_the_calls, .init = enter_folder)
{
    static const char *const facts[][2] = {
        {"'op/gemm/fp16/13x9x33/boundaries'", "  says    gemm fp16: cuBLAS, COMPUTE_32F,"},
        {"'op/conv2d/fp16/2x7x5x6-k10r3/boundaries'", "  says    conv2d fp16, x 2x7x5x6,"},
    };
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        char line[256];
        (void)snprintf(line, sizeof line, "$hc explain %s --backend cuda-emulated", facts[i][0]);
        const struct ran *ran = run_shell(line);
        cr_expect_not_null(strstr(ran->out, facts[i][1]), "%s%s", ran->out, ran->err);
    }
}

Test(explain, every_case_is_a_story_on_one_screen, .init = enter_folder)
{
    expect_stories(0);
}

Test(explain, and_so_is_every_other_one, .init = enter_folder)
{
    expect_stories(1);
}

Test(explain, says_in_words_what_is_equal_and_what_is_infinite_as_wanted, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc explain scaler/growth-without-end --backend exact");
    cr_expect_not_null(strstr(ran->out, "     10  fastai2 "), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "  inf           inf           as wanted\n"), "%s",
                       ran->out);
    ran = run_shell("$hc explain eps/adam-in-half-zero-gradient --backend exact,host");
    cr_expect_not_null(strstr(ran->out, "  PASS: 5 checked, all equal to the bit\n"), "%s",
                       ran->out);
    cr_expect_not_null(strstr(ran->out, "on host: PASS: 5 checked, all equal"), "%s", ran->out);
    cr_expect_null(strstr(ran->out, "error 0"), "%s", ran->out);
}

Test(explain, a_component_lists_its_cases_and_a_large_one_its_groups, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc explain eps");
    cr_expect_eq(ran->status, 0);
    cr_expect_not_null(strstr(ran->out, "eps  18 cases: "), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "\neps/recipes\n    "), "%s", ran->out);
    ran = run_shell("$hc explain op/adam/");
    cr_expect_not_null(strstr(ran->out, "    96  op/adam/fp32\n"), "%s", ran->out);
    int components = lines_of(run_shell("$hc list components")->out);
    cr_expect_gt(components, 20);
    ran = run_shell("for c in $($hc list components | cut -f1); do $hc explain $c | head -1; done");
    cr_expect_eq(lines_of(ran->out), components, "%s", ran->out);
    expect_refusal("$hc explain 'eps/*'", "no case or op");
    expect_refusal("$hc explain ''", "no case or op");
    expect_refusal("$hc explain units/order --backend exact",
                   ": the 1 case chosen asks matrix units that no backend named here has; see: ");
}

/* The group of field/stochastic/X alone, say. */
Test(explain, a_group_of_one_case_is_that_case, .init = enter_folder)
{
    const struct ran *ran = run_shell(
        "group=$($hc list cases | cut -f1 | grep ^field/ | cut -d/ -f1-2 | uniq -u | head -1);"
        " case=$($hc list cases | cut -f1 | grep ^$group/);"
        " test -n \"$group\" && $hc explain $group >a && $hc explain $case >b && cmp a b");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
}
