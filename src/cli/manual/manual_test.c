/* The manual pages and the completion of shells. */
#include "cli/testing.h"

#include "cli/command.h"
#include "cli/manual/roff.h"

static void expect_source(void (*print)(FILE *, const char *), const char *text, const char *want)
{
    char *got = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&got, &size);
    print(out, text);
    (void)fclose(out);
    cr_expect_str_eq(got, want);
    free(got);
}

Test(roff, no_character_of_a_text_is_an_instruction)
{
    expect_source(hc_roff_line, ".so it's a \\n", "\\&.so it\\(aqs a \\en");
    expect_source(hc_roff_text, "one ...\n.TH and '.x' `y` ~ 2^-3",
                  "one ... .TH and \\(aq.x\\(aq \\(gay\\(ga \\(ti 2\\(ha\\-3\n");
    expect_source(hc_roff_text, ".TH", "\\&.TH\n");
}

Test(roff, indented_lines_stay_as_they_are_and_empty_ones_part_paragraphs)
{
    expect_source(hc_roff_text, "a\nb:\n\n  c  d\n  .e\n\nf",
                  "a b:\n.PP\n.nf\n  c  d\n  .e\n.fi\n.PP\nf\n");
    expect_source(hc_roff_text, "  c\n\n  d", ".nf\n  c\n\n  d\n.fi\n");
}

Test(roff, lines_are_short)
{
    char *got = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&got, &size);
    hc_roff_text(out, "ten-letters 'quoted' ten-letters 'quoted' ten-letters 'quoted' ten-letters "
                      "'quoted' ten-letters 'quoted' ten-letters");
    (void)fclose(out);
    for (const char *at = got; *at; at += strcspn(at, "\n") + 1)
        cr_expect_lt(strcspn(at, "\n"), 80, "%s", at);
    free(got);
}

Test(roff, a_usage_has_names_in_italics_and_options_in_bold)
{
    expect_source(hc_roff_usage, "[--json FILE] op/NAME B[,B] Name",
                  "[\\fB\\-\\-json\\fR \\fIFILE\\fR] op/\\fINAME\\fR \\fIB\\fR[,\\fIB\\fR] Name");
}

Test(manual, every_command_has_a_page, .init = enter_folder)
{
    int n;
    const struct hc_command *const *commands = hc_commands(&n);
    cr_assert_eq(run_shell("mkdir pages && $hc manual --man pages --date 2026-02-01")->status, 0);
    for (int i = 0; i < n; i++) {
        char line[160];
        (void)snprintf(line, sizeof line, "grep -q '^.SH OPTIONS' pages/halfcheck-%s.1",
                       commands[i]->name);
        cr_expect_eq(run_shell(line)->status, commands[i]->hidden ? 2 : 0, "%s", line);
    }
    cr_expect_eq(run_shell("grep -q '^.TH HALFCHECK\\\\-GATE 1 2026-02-01 \"halfcheck [0-9]' "
                           "pages/halfcheck-gate.1")
                     ->status,
                 0);
}

Test(manual, what_it_cannot_do_is_said_in_a_line, .init = enter_folder)
{
    static const char *const lines[] = {"$hc manual", "$hc manual --man pages --date 2026-2-1",
                                        "$hc manual --man none/pages",
                                        "$hc manual --completion fish",
                                        "mkdir full && ln -s /dev/full full/halfcheck.1 && "
                                        "$hc manual --man full"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const struct ran *ran = run_shell(lines[i]);
        cr_expect_eq(ran->status, 2, "%s", lines[i]);
        cr_expect_eq(lines_of(ran->err), 1, "%s: %s", lines[i], ran->err);
    }
}

static void expect_offered(const char *words, const char *want)
{
    char line[256];
    (void)snprintf(line, sizeof line, "$hc manual --complete -- %s | cut -f1 | tr '\\n' ' '",
                   words);
    const struct ran *ran = run_shell(line);
    cr_expect_str_eq(ran->out, want, "%s: %s", words, ran->out);
}

Test(complete, offers_what_the_usage_says_at_each_place, .init = enter_folder)
{
    expect_offered("sel", "selftest names ");
    expect_offered("manu", "names ");
    expect_offered("run --level ''", "quick standard exhaustive names ");
    expect_offered("run --level=q", "--level=quick names ");
    expect_offered("run --backend exact,hos", "exact,host names ");
    expect_offered("run --backend=exact,hos", "--backend=exact,host names ");
    expect_offered("run batchn", "batchnorm/ names ");
    expect_offered("run eps/adam-in-half-z", "eps/adam-in-half-zero-gradient names ");
    expect_offered("run eps/adam --lev", "--level names ");
    expect_offered("run --level quick --lev", "names ");
    expect_offered("run --plugin a.so --plug", "--plugin names ");
    expect_offered("run --seed ''", "names ");
    expect_offered("run -- --lev", "names ");
    expect_offered("explain op/ada", "op/adam/ op/adamw/ op/adam op/adamw names ");
    expect_offered("judge ada", "adam adamw files ");
    expect_offered("judge adam ''", "names ");
    expect_offered("verify scaler/apex", "scaler/apex-fp16utils scaler/apex-amp names ");
    expect_offered("verify cast/e4", "cast/e4m3 cast/e4m3fnuz names ");
    expect_offered("vectors --format e2", "e2m3 e2m1 names ");
    expect_offered("vectors --format e4m3 --kind t", "ties names ");
    expect_offered("gate --baseline ''", "files ");
    expect_offered("gate --baseline=b ''", "files ");
    expect_offered("report a b c", "files ");
    expect_offered("report a --out ''", "folders ");
    expect_offered("help gat", "gate names ");
    expect_offered("nothing ''", "names ");
}
