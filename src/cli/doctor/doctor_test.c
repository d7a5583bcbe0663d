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
