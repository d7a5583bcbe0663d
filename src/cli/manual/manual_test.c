/* Texts as the source of manual pages. */
#include "cli/manual/roff.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
