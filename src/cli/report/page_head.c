#include "cli/report/page_head.h"

#include <stdarg.h>
#include <string.h>

#include "check/record/parts.h"
#include "check/record/shards.h"
#include "cli/gate/conclusion.h"
#include "cli/report/page_facts.h"
#include "cli/report/page_rates.h"
#include "cli/report/script.h"
#include "op/text.h"

/* The first part of any record that was cut short (or, `fault`: has a fault), or NULL. */
static const struct hc_record_part *find_broken(const struct hc_page_record *records, int count,
                                                bool fault, const char **record)
{
    for (int r = 0; r < count; r++)
        for (int p = 0; p < records[r].record.part_count; p++) {
            const struct hc_record_part *part = &records[r].record.parts[p];
            *record = records[r].name;
            if (fault ? part->fault : part->cut)
                return part;
        }
    return NULL;
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
say(struct hc_page_word *word, const char *format, ...)
{
    size_t used = strlen(word->reason);
    va_list arguments;
    if (used)
        used += (size_t)snprintf(word->reason + used, sizeof word->reason - used, "; ");
    if (used >= sizeof word->reason)
        return;
    va_start(arguments, format);
    (void)hc_text_format(word->reason + used, sizeof word->reason - used, format, arguments);
    va_end(arguments);
}

/* Whether shards of a run are missing (check/record/shards.h). A lone shard says so. */
static bool is_incomplete(const struct hc_page_record *records, int count,
                          struct hc_page_word *word)
{
    bool incomplete = false;
    for (int r = 0; r < count; r++) {
        const struct hc_record_part *part = records[r].record.parts;
        const struct hc_row *row = hc_record_find(&records[r].record, HC_SHARDS_CASE, "-");
        if (records[r].record.part_count == 1 && part->plan && part->shards > 1)
            say(word, "%.60s is shard %d of %d alone", records[r].name, part->shard, part->shards);
        if (row && hc_row_verdict(row) != HC_PASS) {
            say(word, "%.120s", row->note);
            incomplete = true;
        }
    }
    return incomplete;
}

static void say_baseline(struct hc_page_word *word, const struct hc_page_baseline *baseline)
{
    char reason[300];
    hc_gate_reason(baseline->gate, "the baseline", reason, sizeof reason);
    say(word, "%s%s", hc_gate_passes(baseline->gate) ? "" : "against the baseline: ", reason);
}

struct hc_page_word hc_page_judge(const struct hc_page_record *records, int count,
                                  const struct hc_page_results *results,
                                  const struct hc_page_baseline *baseline)
{
    struct hc_page_word word = {.word = "PASS"};
    bool worse = baseline && !hc_gate_passes(baseline->gate);
    char n[HC_LONGEST_COUNT];
    char of[HC_LONGEST_COUNT];
    const char *name;
    int rates = hc_page_count_rates(records, count);
    int failed = results->kinds[HC_PAGE_FAILED];
    int passed = results->kinds[HC_PAGE_PASSED];
    bool only_worse = worse && !failed; /* then the reason of the FAIL comes first */
    const struct hc_record_part *cut = find_broken(records, count, false, &name);
    if (only_worse)
        say_baseline(&word, baseline);
    if (failed)
        say(&word, "%s of %s results failed", hc_page_count(failed, n),
            hc_page_count(results->count, of));
    else if (passed == 1)
        say(&word, "the one result that was checked is as claimed");
    else if (passed)
        say(&word, "all %s results that were checked are as claimed", hc_page_count(passed, n));
    else
        say(&word, "nothing was checked");
    if (rates)
        say(&word, "%d %s measured", rates, rates == 1 ? "rate was" : "rates were");
    if (cut)
        say(&word, "%.60s was cut short: %.120s", name, cut->cut);
    const struct hc_record_part *fault = find_broken(records, count, true, &name);
    if (fault)
        say(&word, "%.60s has a planted fault: %.120s", name, fault->fault);
    if (failed + passed && results->kinds[HC_PAGE_NOT_CHECKED])
        say(&word, "%s %s not checked", hc_page_count(results->kinds[HC_PAGE_NOT_CHECKED], n),
            results->kinds[HC_PAGE_NOT_CHECKED] == 1 ? "was" : "were");
    if (baseline && !only_worse)
        say_baseline(&word, baseline);
    if (is_incomplete(records, count, &word) || failed || cut || fault || worse)
        word.word = "FAIL";
    else if (!passed)
        word.word = "NOTHING";
    return word;
}

void hc_page_write_head(struct hc_page_out *out, const struct hc_page_word *word, const char *css)
{
    if (out->markdown) {
        (void)fprintf(out->file, "# halfcheck: %s\n\n", word->word);
        hc_page_text(out, word->reason);
        (void)fputs("\n\n", out->file);
        return;
    }
    (void)fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                "style-src 'unsafe-inline'; img-src data:\"/>\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>",
                out->file);
    (void)fprintf(out->file, "%s: ", word->word);
    hc_text_markup(out->file, word->reason);
    (void)fprintf(out->file,
                  " - halfcheck</title>\n<style>\n%s%s</style></head><body>\n"
                  "<a class=\"skip\" href=\"#main\">Skip to the results</a>\n"
                  "<header class=\"%s\"><p>halfcheck report</p>\n<h1><b>%s</b> <span>",
                  css, hc_script("page.css"), word->word, word->word);
    hc_text_markup(out->file, word->reason);
    (void)fputs("</span></h1></header>\n<main id=\"main\">\n", out->file);
}

static void write_counts(struct hc_page_out *out, const struct hc_page_record *records, int count)
{
    static const char *const titles[] = {"record",   "#results",       "#PASS",       "#FAIL",
                                         "#SKIPPED", "#UNIMPLEMENTED", "#MISTRUSTED", "#ERROR"};
    hc_page_table(out, "Verdicts by record", titles, 2 + HC_VERDICT_COUNT);
    for (int r = 0; r < count; r++) {
        int of[HC_VERDICT_COUNT] = {0};
        for (int i = 0; i < records[r].record.count; i++)
            of[hc_row_verdict(&records[r].record.rows[i])]++;
        hc_page_begin(out, HC_BLOCK_ROW, NULL);
        hc_page_code_cell(out, records[r].name);
        hc_page_number_cell(out, "%d", records[r].record.count);
        for (int v = 0; v < HC_VERDICT_COUNT; v++)
            hc_page_number_cell(out, "%d", of[v]);
        hc_page_end(out, HC_BLOCK_ROW);
    }
    hc_page_table_end(out);
}

void hc_page_write_what_was_run(struct hc_page_out *out, const struct hc_page_record *records,
                                int count, const struct hc_page_results *results)
{
    char number[HC_LONGEST_COUNT];
    hc_page_open(out, "section", NULL);
    hc_page_heading(out, 2, "run");
    hc_page_text(out, "What was run");
    hc_page_heading_end(out, 2);
    hc_page_begin(out, HC_BLOCK_PARAGRAPH, "counts");
    for (int v = 0; v < HC_VERDICT_COUNT; v++) {
        if (results->of_verdict[v] == 0)
            continue;
        hc_page_verdict(out, hc_verdict_names[v]);
        hc_page_print(out, " %s  ", hc_page_count(results->of_verdict[v], number));
    }
    hc_page_end(out, HC_BLOCK_PARAGRAPH);
    hc_page_write_facts(out, records, count);
    if (count > 1)
        write_counts(out, records, count);
    hc_page_close(out, "section");
}

void hc_page_write_foot(struct hc_page_out *out)
{
    if (!out->markdown)
        (void)fputs("</main></body></html>\n", out->file);
}
