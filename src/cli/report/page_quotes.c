#include "cli/report/page_quotes.h"

#include <stdbool.h>
#include <string.h>

#include "cases/fixture/quote.h"
#include "cases/registry.h"
#include "cli/report/page_link.h"
#include "op/text.h"

/* The worst verdict on a case in all records, and whether there is a result at all. */
static bool find_verdict(const struct hc_page_record *records, int count, const char *name,
                         const struct hc_row **worst)
{
    *worst = NULL;
    for (int r = 0; r < count; r++)
        for (int i = 0; i < records[r].record.count; i++) {
            const struct hc_row *row = &records[r].record.rows[i];
            if (strcmp(row->name, name) == 0 && (!*worst || hc_row_verdict(*worst) == HC_PASS))
                *worst = row;
        }
    return *worst != NULL;
}

static void write_cell(FILE *out, const char *class, const char *text)
{
    (void)fprintf(out, "<td class=\"%s\">", class);
    hc_page_write_linked(out, text);
    (void)fputs("</td>", out);
}

static void write_quote(FILE *out, const struct hc_case *what, const struct hc_quote *quote,
                        const struct hc_row *row)
{
    const char *verdict = hc_verdict_names[hc_row_verdict(row)];
    (void)fputs("<tr>", out);
    write_cell(out, "", what->title);
    write_cell(out, "", quote->right ? "right" : "wrong");
    write_cell(out, "c", quote->show);
    write_cell(out, "c", quote->says);
    write_cell(out, "c", quote->is);
    write_cell(out, verdict, verdict);
    (void)fputs("</tr>\n<tr><td></td><td colspan=\"5\">", out);
    hc_page_write_linked(out, quote->correction ? quote->correction : quote->lesson);
    if (hc_row_verdict(row) != HC_PASS) {
        (void)fputs("<br/>", out);
        hc_text_markup(out, row->note);
    }
    (void)fputs("</td></tr>\n", out);
}

void hc_page_write_quotes(FILE *out, const struct hc_page_record *records, int count)
{
    int n;
    const struct hc_case *const *cases = hc_all_cases(&n);
    const struct hc_row *row;
    const char *text = NULL; /* the text whose table is open */
    for (int i = 0; i < n; i++) {
        const struct hc_quote *quote = hc_quote_of(cases[i]);
        if (!quote || !find_verdict(records, count, cases[i]->name, &row))
            continue;
        size_t length = strcspn(cases[i]->name + strlen("seeds/"), "/") + strlen("seeds/");
        if (!text)
            (void)fputs("<h2 id=\"texts\">Numbers of texts</h2>\n<p>What texts on training in half say, and "
                        "what is true.</p>\n",
                        out);
        if (!text || strncmp(text, cases[i]->name, length + 1) != 0) {
            (void)fputs(text ? "</table></details>\n" : "", out);
            (void)fputs("<details class=\"m\"><summary>", out);
            hc_page_write_linked(out, cases[i]->source);
            (void)fputs("</summary>\n<table><tr><th>the text</th><th></th><th>numbers</th>"
                        "<th>says</th><th>is</th><th>verdict</th></tr>\n",
                        out);
            text = cases[i]->name;
        }
        write_quote(out, cases[i], quote, row);
    }
    (void)fputs(text ? "</table></details>\n" : "", out);
}
