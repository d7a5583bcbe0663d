/* What explain prints of every case that was written by hand. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cases/registry.h"
#include "cli/command.h"

extern const struct hc_command hc_command_explain;

/* A terminal; the claim, the source and the verdict are in it. */
enum { LINES = 40, COLUMNS = 79 };

/* What explain prints of the case. It runs within this process, as making the list of cases takes
   longer than most of them. */
static char *explained(const char *name, FILE *out)
{
    static char text[1 << 16];
    bool asks_units = strncmp(name, "units/", strlen("units/")) == 0;
    char *words[] = {"explain", (char *)name, "--level", "quick", "--backend", "exact", NULL};
    rewind(out);
    cr_assert_eq(ftruncate(fileno(out), 0), 0);
    cr_assert_eq(hc_command_explain.run(asks_units ? 4 : 6, words), 0, "%s", name);
    cr_assert_eq(fflush(stdout), 0);
    ssize_t length = pread(fileno(out), text, sizeof text - 1, 0);
    cr_assert_gt(length, 0, "%s", name);
    text[length] = '\0';
    return text;
}

static bool is_generated(const char *name)
{
    static const char *const components[] = {"op/", "bits/", "border/", "size/"};
    bool is = false;
    for (size_t i = 0; i < sizeof components / sizeof *components; i++)
        is |= strncmp(name, components[i], strlen(components[i])) == 0;
    return is;
}

static int lines_of(const char *text)
{
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* Looks at every second case from `first` on: tests run side by side. */
static void expect_stories(int first)
{
    int n;
    int looked_at = 0;
    const struct hc_case *const *cases = hc_all_cases(&n);
    FILE *out = tmpfile();
    cr_assert_not_null(out);
    cr_assert_geq(dup2(fileno(out), STDOUT_FILENO), 0);
    for (int c = first; c < n; c += 2) {
        const char *name = cases[c]->name;
        if (is_generated(name))
            continue;
        char *text = explained(name, out);
        char *commands = strstr(text, "\n  try     ");
        if (commands) /* that people copy: they stay whole */
            commands[1] = '\0';
        cr_expect_leq(lines_of(text), LINES, "%s\n%s", name, text);
        for (const char *at = text; *at; at += strcspn(at, "\n") + (strchr(at, '\n') != NULL))
            cr_expect_leq(strcspn(at, "\n"), COLUMNS, "%s\n%.*s", name, (int)strcspn(at, "\n"), at);
        cr_expect_null(strstr(text, "error 0,"), "%s\n%s", name, text);
        looked_at++;
    }
    (void)fclose(out);
    cr_expect_gt(looked_at, 125);
}

Test(explain, every_case_is_a_story_on_one_screen)
{
    expect_stories(0);
}

Test(explain, and_so_is_every_other_one)
{
    expect_stories(1);
}
