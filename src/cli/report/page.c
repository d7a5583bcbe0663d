#include "cli/report/page.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/json.h"
#include "check/record/parts.h"
#include "cli/gate/conclusion.h"
#include "cli/report/script.h"
#include "cli/report/sections.h"
#include "op/memory_stream.h"
#include "op/text.h"

/* The verdict on all that the page shows: PASS or FAIL, as a run of all this would end; NOTHING
   where nothing was checked. A record that was cut short or has a planted fault is evidence of
   nothing, and FAIL. */
struct word {
    const char *word;
    char reason[512];
};

/* The first part of any record that was cut short (or, `fault`: has a fault), or NULL. */
static const struct hc_record_part *find_broken(const struct hc_page *page, bool fault,
                                                const char **record)
{
    for (int r = 0; r < page->count; r++)
        for (int p = 0; p < page->records[r].record.part_count; p++) {
            const struct hc_record_part *part = &page->records[r].record.parts[p];
            *record = page->records[r].name;
            if (fault ? part->fault : part->cut)
                return part;
        }
    return NULL;
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
say(struct word *word, const char *format, ...)
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

/* Whether shards of a run are missing (check/record/parts.h). A lone shard says so. */
static bool is_incomplete(const struct hc_page *page, struct word *word)
{
    bool incomplete = false;
    for (int r = 0; r < page->count; r++) {
        const struct hc_record_part *part = page->records[r].record.parts;
        const struct hc_row *row = hc_record_find(&page->records[r].record, HC_SHARDS_CASE, "-");
        if (page->records[r].record.part_count == 1 && part->plan && part->shards > 1)
            say(word, "%.60s is shard %d of %d alone", page->records[r].name, part->shard,
                part->shards);
        if (row && hc_row_verdict(row) != HC_PASS) {
            say(word, "%.120s", row->note);
            incomplete = true;
        }
    }
    return incomplete;
}

static void say_baseline(struct word *word, const struct hc_page_baseline *baseline)
{
    char reason[300];
    hc_gate_reason(baseline->gate, "the baseline", reason, sizeof reason);
    say(word, "%s%s", hc_gate_passes(baseline->gate) ? "" : "against the baseline: ", reason);
}

static struct word judge(const struct hc_page *page, const struct hc_page_results *results,
                         int rates)
{
    const struct hc_page_baseline *baseline = page->baseline;
    struct word word = {.word = "PASS"};
    bool worse = baseline && !hc_gate_passes(baseline->gate);
    char n[HC_LONGEST_COUNT];
    char of[HC_LONGEST_COUNT];
    const char *name;
    int failed = results->kinds[HC_PAGE_FAILED];
    int passed = results->kinds[HC_PAGE_PASSED];
    bool only_worse = worse && !failed; /* then the reason of the FAIL comes first */
    const struct hc_record_part *cut = find_broken(page, false, &name);
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
    const struct hc_record_part *fault = find_broken(page, true, &name);
    if (fault)
        say(&word, "%.60s has a planted fault: %.120s", name, fault->fault);
    if (failed + passed && results->kinds[HC_PAGE_NOT_CHECKED])
        say(&word, "%s %s not checked", hc_page_count(results->kinds[HC_PAGE_NOT_CHECKED], n),
            results->kinds[HC_PAGE_NOT_CHECKED] == 1 ? "was" : "were");
    if (baseline && !only_worse)
        say_baseline(&word, baseline);
    if (is_incomplete(page, &word) || failed || cut || fault || worse)
        word.word = "FAIL";
    else if (!passed)
        word.word = "NOTHING";
    return word;
}

/* How many results of each record have which verdict, for a page of several. */
static void add_records(json_t *data, const struct hc_page *page)
{
    json_t *verdicts = hc_page_list(data, "all_verdicts");
    json_t *records = hc_page_list(data, "records");
    hc_page_flag(data, "several", page->count > 1);
    for (int v = 0; v < HC_VERDICT_COUNT; v++)
        hc_page_append(verdicts, hc_verdict_names[v]);
    for (int r = 0; r < page->count; r++) {
        int of[HC_VERDICT_COUNT] = {0};
        const struct hc_record *record = &page->records[r].record;
        json_t *row = hc_page_add(records);
        json_t *counts = hc_page_list(row, "verdicts");
        for (int i = 0; i < record->count; i++)
            of[hc_row_verdict(&record->rows[i])]++;
        for (int v = 0; v < HC_VERDICT_COUNT; v++) {
            json_t *one = hc_page_add(counts);
            hc_page_text(one, "verdict", hc_verdict_names[v]);
            hc_page_number(one, "results", of[v]);
        }
        hc_page_text(row, "record", page->records[r].name);
        hc_page_number(row, "results", record->count);
    }
}

/* A picture of a case, and on which backends it looks so. Those of bugs stand beside their bug. */
static void add_case_pictures(json_t *data, const struct hc_drawn *drawn)
{
    json_t *list = hc_page_list(data, "case_pictures");
    for (; drawn; drawn = drawn->next) {
        if (drawn->row->exhibits && drawn->svg)
            continue;
        json_t *one = hc_page_add(list);
        const char *title = json_string_value(json_object_get(drawn->picture, "title"));
        hc_page_text(one, "name", drawn->row->name);
        hc_page_text(one, "where", drawn->where ? drawn->where : "");
        hc_page_text(one, "title", title ? title : "");
        hc_page_text(one, "why_not", drawn->svg ? "" : drawn->why_not);
        if (drawn->svg)
            hc_page_markup(one, "svg", drawn->svg);
    }
}

/* Each picture with its question, its answer, and what it is drawn from; and the questions that
   these records do not answer. */
static void add_pictures(json_t *data, const struct hc_page_pictures *pictures)
{
    json_t *drawn = hc_page_list(data, "pictures");
    json_t *not_drawn = hc_page_list(data, "not_drawn");
    hc_page_text(data, "no_pictures", pictures->why_not);
    for (int i = 0; i < pictures->count; i++) {
        const struct hc_page_picture *picture = &pictures->list[i];
        if (!picture->svg && pictures->why_not[0])
            continue;
        json_t *one = hc_page_add(picture->svg ? drawn : not_drawn);
        hc_page_text(one, "question", picture->question);
        if (picture->svg) {
            hc_page_text(one, "id", picture->id);
            hc_page_text(one, "answer", picture->answer ? picture->answer : "");
            hc_page_text(one, "alt", picture->alt);
            hc_page_text(one, "command", picture->command);
            hc_page_text(one, "data", picture->data ? picture->data : "");
            hc_page_markup(one, "svg", picture->svg);
        } else
            hc_page_text(one, "why_not",
                         picture->why_not ? picture->why_not : "no reason is known");
    }
    hc_page_number(data, "not_drawn_count", (long long)json_array_size(not_drawn));
    add_case_pictures(data, pictures->cases);
}

enum hc_status hc_page_write(FILE *file, bool markdown, const struct hc_page *page)
{
    struct hc_page_results results;
    enum hc_status status = hc_page_results_sort(page, &results);
    if (status != HC_OK)
        return status;
    json_t *data = json_object();
    add_records(data, page);
    hc_page_runs(data, page);
    hc_page_results(data, page, &results, markdown);
    if (page->baseline)
        hc_page_baseline(data, page->baseline);
    add_pictures(data, page->pictures);
    hc_page_field(data, page);
    struct word word = judge(page, &results, (int)json_array_size(json_object_get(data, "rates")));
    hc_page_text(data, "word", word.word);
    hc_page_text(data, "reason", word.reason);
    status = hc_memory_lost() ? hc_fail(HC_NO_MEMORY, "no memory for the page") : hc_json_status();
    if (status == HC_OK)
        hc_template_fill(file, hc_script(markdown ? "page.markdown" : "page.html"), markdown, data);
    json_decref(data);
    free(results.all);
    return status;
}
