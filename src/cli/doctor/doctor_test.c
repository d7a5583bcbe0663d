#include <jansson.h>

#include "cli/testing_terminal.h"

static json_t *findings(const char *line, int status)
{
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, status, "%s: %d: %s", line, ran->status, ran->err);
    json_t *document = json_loads(ran->out, 0, NULL);
    cr_assert_not_null(document, "%s", ran->out);
    cr_expect_eq(json_is_true(json_object_get(document, "sound")), status == 0);
    return json_object_get(document, "findings");
}

static const json_t *finding(const json_t *all, const char *name)
{
    size_t i;
    const json_t *one;
    json_array_foreach(all, i, one) if (strcmp(json_string_value(json_object_get(one, "name")),
                                               name) == 0) return one;
    cr_assert_fail("no finding %s", name);
    return NULL;
}

static const char *text(const json_t *finding, const char *key)
{
    const char *value = json_string_value(json_object_get(finding, key));
    return value ? value : "";
}

Test(doctor, finds_what_is_here, .init = enter_folder)
{
    static const char *const needed[] = {"arithmetic", "mpfr", "exact", "host", "processor"};
    const json_t *all = findings("$hc doctor --json", 0);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        cr_expect_str_eq(text(finding(all, needed[i]), "health"), "ok", "%s", needed[i]);
    cr_expect_not_null(strstr(text(finding(all, "host"), "found"), ", 7 of 7 trials pass"), "%s",
                       text(finding(all, "host"), "found"));
}

Test(doctor, says_what_a_missing_thing_costs_and_what_repairs_it, .init = enter_folder)
{
    const json_t *all = findings("PATH=/nonexistent $hc doctor --json", 0);
    static const char *const gone[] = {"gnuplot", "python", "browser", "cifar-10"};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        cr_expect_str_eq(text(finding(all, gone[i]), "health"), "missing", "%s", gone[i]);
    size_t i;
    const json_t *one;
    json_array_foreach(all, i, one)
    {
        bool ok = strcmp(text(one, "health"), "ok") == 0;
        cr_expect_eq(text(one, "costs")[0] == '\0', ok, "%s", text(one, "name"));
        cr_expect_eq(text(one, "repair")[0] == '\0', ok, "%s", text(one, "name"));
    }
    const struct ran *ran = run_shell("$hc doctor --data . | grep -A4 cifar");
    cr_expect_not_null(strstr(ran->out, "missing  cifar-10        "), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "  costs  "), "%s", ran->out);
}

Test(doctor, says_why_there_can_be_one_rank_alone, .init = enter_folder)
{
    write_text("text.so", "no shared object\n");
    const json_t *all = findings("HALFCHECK_MPI_PLUGIN=./none.so $hc doctor --json", 0);
    cr_expect_str_eq(text(finding(all, "mpi"), "health"), "missing");
    cr_expect_str_eq(text(finding(all, "mpi"), "found"), "./none.so cannot be read");
    all = findings("HALFCHECK_MPI_PLUGIN=./text.so $hc doctor --json", 0);
    cr_expect_not_null(strstr(text(finding(all, "mpi"), "found"), "text.so"));
}

/* The sanitizers want to be loaded first. */
#if !defined(__SANITIZE_ADDRESS__)
Test(doctor, what_is_needed_and_broken_makes_the_status_2, .init = enter_folder)
{
    const json_t *all = findings("LD_PRELOAD=" HC_UPWARD " $hc doctor --json", 2);
    cr_expect_str_eq(text(finding(all, "arithmetic"), "health"), "BROKEN");
    cr_expect_not_null(strstr(text(finding(all, "arithmetic"), "found"), "another rounding"));
    cr_expect_str_eq(text(finding(all, "mpfr"), "health"), "BROKEN");
    cr_expect_eq(strncmp(text(finding(all, "mpfr"), "found"), "3.1.6, built with ", 18), 0);
    const struct ran *ran = run_shell("LD_PRELOAD=" HC_UPWARD " $hc doctor | tail -n 1");
    cr_expect_not_null(strstr(ran->out, "FAIL: 2 broken"), "%s", ran->out);
}
#endif

Test(doctor, fits_a_narrow_terminal_and_refuses_words, .init = enter_folder)
{
    (void)setenv("TERM", "xterm", 1);
    cr_expect_leq(run_on_terminal(60, "$hc doctor")->widest, 60);
    expect_refusal("$hc doctor now", "doctor takes no argument 'now'");
}
