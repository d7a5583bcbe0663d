#include "cli/report/page_quotes.h"

#include <stdbool.h>
#include <string.h>

#include "cases/fixture/quote.h"
#include "cases/registry.h"
#include "cli/report/page_link.h"

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

static void write_cell(struct hc_page_out *out, const char *class, const char *text)
{
    hc_page_begin(out, HC_BLOCK_CELL, class);
    hc_page_write_linked(out, text);
    hc_page_end(out, HC_BLOCK_CELL);
}

static void write_quote(struct hc_page_out *out, const struct hc_case *what,
                        const struct hc_quote *quote, const struct hc_row *row)
{
    hc_page_begin(out, HC_BLOCK_ROW, NULL);
    write_cell(out, NULL, what->title);
    write_cell(out, NULL, quote->right ? "right" : "wrong");
    write_cell(out, "c", quote->show);
    write_cell(out, "c", quote->says);
    write_cell(out, "c", quote->is);
    hc_page_begin(out, HC_BLOCK_CELL, NULL);
    hc_page_write_linked(out, quote->correction ? quote->correction : quote->lesson);
    if (hc_row_verdict(row) != HC_PASS) {
        hc_page_break(out);
        hc_page_text(out, row->note);
    }
    hc_page_end(out, HC_BLOCK_CELL);
    hc_page_verdict_cell(out, hc_verdict_names[hc_row_verdict(row)]);
    hc_page_end(out, HC_BLOCK_ROW);
}

static void begin_text(struct hc_page_out *out, const char *source)
{
    static const char *const titles[] = {"the text", "", "numbers", "says", "is", "why", "verdict"};
    hc_page_fold(out, false);
    hc_page_write_linked(out, source);
    hc_page_fold_body(out);
    hc_page_table(out, "What a text says, and what is true", titles, 7);
}

static void end_text(struct hc_page_out *out)
{
    hc_page_table_end(out);
    hc_page_fold_end(out);
}

void hc_page_write_quotes(struct hc_page_out *out, const struct hc_page_record *records, int count)
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
        if (!text) {
            hc_page_heading(out, 2, "texts");
            hc_page_text(out, "Numbers of texts");
            hc_page_heading_end(out, 2);
            hc_page_begin(out, HC_BLOCK_PARAGRAPH, NULL);
            hc_page_text(out, "What texts on training in half say, and what is true.");
            hc_page_end(out, HC_BLOCK_PARAGRAPH);
        }
        if (!text || strncmp(text, cases[i]->name, length + 1) != 0) {
            if (text)
                end_text(out);
            begin_text(out, cases[i]->source);
            text = cases[i]->name;
        }
        write_quote(out, cases[i], quote, row);
    }
    if (text)
        end_text(out);
}
