/* Bugs from the field that are in the records, by mechanism; who catches them; the other reports;
   and the numbers of texts. */
#include <stdlib.h>
#include <string.h>

#include "cases/fixture/bug.h"
#include "cases/fixture/quote.h"
#include "cases/registry.h"
#include "cases/reports.h"
#include "check/record/exhibits.h"
#include "check/record/rows.h"
#include "cli/bug.h"
#include "cli/catches/inquiry.h"
#include "cli/report/sections.h"
#include "op/memory_stream.h"

/* A result that has a bug's table. */
struct entry {
    const struct hc_row *row;
    const char *record;
    int place; /* in all records */
};

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    int order = strcmp(x->row->name, y->row->name);
    return order ? order : x->place - y->place;
}

static bool same_name(const struct entry *x, const struct entry *y)
{
    return strcmp(x->row->name, y->row->name) == 0;
}

static const struct hc_bug *bug_of(const char *name)
{
    const struct hc_case *what = hc_case_by_name(name);
    return what ? hc_bug_of(what) : NULL;
}

/* The second part of field/<mechanism>/<slug>; all of it where the name has other parts. */
static const char *mechanism(const char *name, int *length)
{
    const char *slash = strchr(name, '/');
    *length = slash ? (int)strcspn(slash + 1, "/") : (int)strlen(name);
    return slash ? slash + 1 : name;
}

static bool same_mechanism(const char *a, const char *b)
{
    int n;
    int m;
    const char *x = mechanism(a, &n);
    const char *y = mechanism(b, &m);
    return n == m && strncmp(x, y, (size_t)n) == 0;
}

static void add_source(json_t *sources, const char *slug, const char *source)
{
    json_t *one = hc_page_add(sources);
    hc_page_text(one, "slug", slug);
    hc_page_text(one, "source", source);
}

/* The case's own report, and the other ones of the same bug. */
static void add_sources(json_t *bug, const char *name, const struct hc_case *what)
{
    int n;
    const struct hc_report *reports = hc_reports(&n);
    json_t *sources = hc_page_list(bug, "reports");
    add_source(sources, name, what ? what->source : NULL);
    for (int i = 0; i < n && what; i++)
        if (reports[i].shown_by == what && !hc_report_is_named(&reports[i]))
            add_source(sources, reports[i].slug, reports[i].source);
}

static void add_results(json_t *bug, const struct entry *entry, int count)
{
    json_t *results = hc_page_list(bug, "results");
    json_t *notes = hc_page_list(bug, "wrong_notes");
    for (int i = 0; i < count; i++) {
        json_t *one = hc_page_add(results);
        hc_page_text(one, "verdict", hc_verdict_names[hc_row_verdict(entry[i].row)]);
        hc_page_text(one, "record", entry[i].record);
        hc_page_text(one, "backend", entry[i].row->backend);
        if (hc_row_verdict(entry[i].row) != HC_PASS)
            hc_page_append(notes, entry[i].row->note);
    }
}

static void add_exhibits(json_t *bug, const struct hc_row *row)
{
    struct hc_exhibits shown;
    json_t *exhibits = hc_page_list(bug, "exhibits");
    hc_exhibits_read(row->exhibits, &shown);
    for (int i = 0; i < shown.count; i++) {
        const struct hc_exhibit *e = &shown.exhibit[i];
        json_t *one = hc_page_add(exhibits);
        hc_page_text(one, "name", e->name);
        hc_page_print(one, "buggy", "%.9g", e->buggy);
        hc_page_text(one, "buggy_format",
                     e->buggy_format < HC_FORMAT_COUNT ? hc_formats[e->buggy_format].name : "");
        hc_page_print(one, "fixed", "%.9g", e->fixed);
        hc_page_text(one, "fixed_format",
                     e->format < HC_FORMAT_COUNT ? hc_formats[e->format].name : "");
        hc_page_print(one, "real", "%.9g", e->real);
        hc_page_print(one, "bound", "%.2g", e->rad);
    }
}

/* What this program's own list of cases says of the bug. */
static void set_lesson(json_t *one, const struct hc_bug *bug)
{
    char *text = NULL;
    size_t size = 0;
    FILE *arms = hc_memory_stream(&text, &size);
    json_t *commands = hc_page_list(one, "commands");
    if (arms) {
        hc_bug_print_arms(arms, bug);
        if (fclose(arms) == 0)
            hc_page_text(one, "arms", text);
        free(text);
    }
    hc_page_flag(one, "known", true);
    hc_page_text(one, "lesson", bug->lesson ? bug->lesson : "");
    hc_page_text(one, "correction", bug->correction);
    for (int buggy = 1; buggy >= 0; buggy--) {
        char line[HC_LONGEST_COMMAND];
        hc_bug_command(bug, buggy, line);
        if (line[0])
            hc_page_append(commands, line);
        if (hc_bug_is_shared(bug))
            break;
    }
}

/* The bug that these entries show, each on its backend. One curve is enough: the backends have the
   same bits. */
static void add_bug(json_t *cases, const struct entry *entry, int count,
                    const struct hc_drawn *drawn)
{
    const char *name = entry->row->name;
    const struct hc_case *what = hc_case_by_name(name);
    const struct hc_bug *bug = bug_of(name);
    json_t *one = hc_page_add(cases);
    hc_page_text(one, "title", what ? what->title : name);
    hc_page_text(one, "right", bug && bug->rule ? "rule" : "real"); /* what "real" of a row is */
    add_sources(one, name, what);
    add_results(one, entry, count);
    add_exhibits(one, entry->row);
    if (bug)
        set_lesson(one, bug);
    while (drawn && (strcmp(drawn->row->name, name) != 0 || !drawn->svg))
        drawn = drawn->next;
    if (drawn)
        hc_page_markup(one, "curve", drawn->svg);
}

/* The mechanism that begins with the first entry. Returns how many entries it has. */
static int add_mechanism(json_t *mechanisms, const struct entry *entry, int n,
                         const struct hc_drawn *drawn)
{
    const struct hc_case *first = hc_case_by_name(entry->row->name);
    json_t *one = hc_page_add(mechanisms);
    json_t *cases = hc_page_list(one, "cases");
    int bugs = 0;
    int wrong = 0;
    int at = 0;
    int length;
    const char *name = mechanism(entry->row->name, &length);
    for (int next; at < n && same_mechanism(entry[at].row->name, entry->row->name); at = next) {
        for (next = at; next < n && same_name(&entry[next], &entry[at]); next++)
            wrong += hc_verdict_is_bad(hc_row_verdict(entry[next].row), false);
        add_bug(cases, &entry[at], next - at, drawn);
        bugs++;
    }
    hc_page_print(one, "mechanism", "%.*s", length, name);
    hc_page_text(one, "first", first ? first->title : "");
    hc_page_number(one, "bugs_of_it", bugs);
    hc_page_flag(one, "such", bugs > 1);
    hc_page_number(one, "wrong", wrong);
    hc_page_flag(one, "open", wrong > 0);
    return at;
}

/* The worst result of a case in all records, or NULL. What was skipped somewhere and passed
   elsewhere has passed. */
static const struct hc_row *find_worst(const struct hc_page *page, const char *name)
{
    static const int badness[HC_VERDICT_COUNT] = {
        [HC_SKIPPED] = 1,    [HC_PASS] = 2,  [HC_UNIMPLEMENTED] = 3,
        [HC_MISTRUSTED] = 4, [HC_ERROR] = 5, [HC_FAIL] = 6};
    const struct hc_row *worst = NULL;
    for (int r = 0; r < page->count; r++)
        for (int i = 0; i < page->records[r].record.count; i++) {
            const struct hc_row *row = &page->records[r].record.rows[i];
            if (strcmp(row->name, name) == 0 &&
                (!worst || badness[hc_row_verdict(row)] > badness[hc_row_verdict(worst)]))
                worst = row;
        }
    return worst;
}

/* By the case that shows them, those left out at the end. */
static int by_case(const void *a, const void *b)
{
    const struct hc_report *x = *(const struct hc_report *const *)a;
    const struct hc_report *y = *(const struct hc_report *const *)b;
    if (!x->shown_by || !y->shown_by)
        return (y->shown_by != NULL) - (x->shown_by != NULL);
    int order = strcmp(x->shown_by->name, y->shown_by->name);
    return order ? order : strcmp(x->slug, y->slug);
}

/* The length of the component's name; 0 for a report that is left out. */
static int component(const struct hc_report *report)
{
    return report->shown_by ? (int)strcspn(report->shown_by->name, "/") : 0;
}

static bool same_component(const struct hc_report *x, const struct hc_report *y)
{
    int n = component(x);
    return n == component(y) &&
           (n == 0 || strncmp(x->shown_by->name, y->shown_by->name, (size_t)n) == 0);
}

static void add_report(json_t *list, const struct hc_report *report, const struct hc_page *page)
{
    json_t *one = hc_page_add(list);
    hc_page_text(one, "slug", report->slug);
    hc_page_text(one, "source", report->source);
    hc_page_text(one, "why", report->reason);
    if (report->shown_by) {
        const struct hc_row *row = find_worst(page, report->shown_by->name);
        hc_page_text(one, "shown_by", report->shown_by->name);
        hc_page_text(one, "verdict", row ? hc_verdict_names[hc_row_verdict(row)] : "");
    }
}

/* The reports that no bug shows, by component of the case that does; those left out at the end. */
static void add_other_reports(json_t *data, const struct hc_page *page)
{
    int n;
    int others = 0;
    const struct hc_report *reports = hc_reports(&n);
    const struct hc_report **other = calloc((size_t)n + 1, sizeof *other);
    json_t *components = hc_page_list(data, "other_reports");
    if (!other)
        hc_memory_lost_one();
    for (int i = 0; i < n && other; i++)
        if (!reports[i].shown_by || !hc_bug_of(reports[i].shown_by))
            other[others++] = &reports[i];
    if (others)
        qsort(other, (size_t)others, sizeof *other, by_case);
    for (int i = 0, end; i < others; i = end) {
        json_t *one = hc_page_add(components);
        json_t *list = hc_page_list(one, "reports");
        for (end = i; end < others && same_component(other[i], other[end]); end++)
            add_report(list, other[end], page);
        hc_page_number(one, "count", end - i);
        if (other[i]->shown_by)
            hc_page_print(one, "component", "%.*s", component(other[i]), other[i]->shown_by->name);
    }
    free(other);
}

/* Judges the result of each bug: that of `exact`, or else the first one. One that cannot be judged
   is left out. */
static void judge(struct hc_inquiry *inquiry, const struct entry *entry, int n)
{
    struct hc_exhibits shown;
    for (int i = 0, next; i < n; i = next) {
        const struct hc_row *row = entry[i].row;
        for (next = i; next < n && same_name(&entry[next], &entry[i]); next++)
            if (strcmp(row->backend, "exact") != 0)
                row = strcmp(entry[next].row->backend, "exact") == 0 ? entry[next].row : row;
        const struct hc_bug *bug = bug_of(row->name);
        if (bug && bug->again)
            continue;
        hc_exhibits_read(row->exhibits, &shown);
        inquiry->count +=
            hc_catch_judge(row->name, bug, &shown, &inquiry->row[inquiry->count]) == HC_OK;
    }
    hc_catch_sort(inquiry->row, inquiry->count);
}

static void add_rules(json_t *data, const struct hc_inquiry *inquiry)
{
    json_t *rules = hc_page_list(data, "rules");
    for (int r = 0; r < HC_CATCH_RULES; r++) {
        struct hc_catch_counts c = hc_catch_count(inquiry->row, inquiry->count, r);
        json_t *rule = hc_page_add(rules);
        hc_page_text(rule, "rule", hc_rules[r].name);
        hc_page_text(rule, "what", hc_rules[r].what);
        hc_page_text(rule, "threshold", hc_rules[r].threshold);
        hc_page_number(rule, "missed", c.missed);
        hc_page_number(rule, "of_bugs", c.bugs);
        hc_page_number(rule, "alarms", c.alarms);
        hc_page_number(rule, "of_right", c.right);
        hc_page_number(rule, "apart", c.apart);
    }
}

/* Every bug, as each rule judges it. */
static void add_judged(json_t *data, const struct hc_inquiry *inquiry)
{
    json_t *judged = hc_page_list(data, "judged");
    for (int i = 0; i < inquiry->count; i++) {
        json_t *row = hc_page_add(judged);
        json_t *words = hc_page_list(row, "words");
        hc_page_text(row, "name", inquiry->row[i].name);
        for (int r = 0; r < HC_CATCH_RULES; r++) {
            const char *word = hc_catch_word(&inquiry->row[i], r);
            json_t *one = hc_page_add(words);
            hc_page_text(one, "rule", hc_rules[r].name);
            hc_page_text(one, "word", word);
            hc_page_flag(one, "fine",
                         strcmp(word, "caught") == 0 || strcmp(word, "right") == 0 || *word == '-');
        }
    }
}

static void add_catches(json_t *data, const struct entry *entry, int n)
{
    struct hc_inquiry inquiry = {.row = calloc((size_t)n + 1, sizeof *inquiry.row)};
    json_t *own = hc_page_list(data, "own_misses");
    bool more = inquiry.row != NULL;
    if (!inquiry.row)
        hc_memory_lost_one();
    else
        judge(&inquiry, entry, n);
    add_rules(data, &inquiry);
    add_judged(data, &inquiry);
    for (int item = 0; more; item++) {
        char *text = NULL;
        size_t size = 0;
        FILE *memory = hc_memory_stream(&text, &size);
        more = memory && hc_inquiry_own(memory, &inquiry, item);
        if (memory && fclose(memory) == 0 && more && size)
            hc_page_append(own, text);
        free(text);
    }
    hc_inquiry_free(&inquiry);
}

static void add_quote(json_t *quotes, const struct hc_case *what, const struct hc_quote *quote,
                      const struct hc_row *row)
{
    json_t *one = hc_page_add(quotes);
    hc_page_text(one, "title", what->title);
    hc_page_flag(one, "right", quote->right);
    hc_page_text(one, "numbers", quote->show);
    hc_page_text(one, "says", quote->says);
    hc_page_text(one, "is", quote->is);
    hc_page_text(one, "why", quote->correction ? quote->correction : quote->lesson);
    hc_page_text(one, "note", hc_row_verdict(row) != HC_PASS ? row->note : "");
    hc_page_text(one, "verdict", hc_verdict_names[hc_row_verdict(row)]);
}

/* What texts on training say, and what is true: a table for each text. */
static void add_texts(json_t *data, const struct hc_page *page)
{
    int n;
    const struct hc_case *const *cases = hc_all_cases(&n);
    const char *text = NULL; /* the text whose table is open */
    json_t *texts = hc_page_list(data, "texts");
    json_t *quotes = NULL;
    for (int i = 0; i < n; i++) {
        const struct hc_quote *quote = hc_quote_of(cases[i]);
        const struct hc_row *row = quote ? find_worst(page, cases[i]->name) : NULL;
        if (!row)
            continue;
        size_t length = strcspn(cases[i]->name + strlen("seeds/"), "/") + strlen("seeds/");
        if (!text || strncmp(text, cases[i]->name, length + 1) != 0) {
            json_t *one = hc_page_add(texts);
            text = cases[i]->name;
            hc_page_text(one, "text", cases[i]->source);
            quotes = hc_page_list(one, "quotes");
        }
        add_quote(quotes, cases[i], quote, row);
    }
}

/* The results that have a bug's table, by name; NULL without memory. */
static struct entry *find_entries(const struct hc_page *page, int *n)
{
    int count = 0;
    for (int r = 0; r < page->count; r++)
        count += page->records[r].record.count;
    struct entry *entry = calloc((size_t)count + 1, sizeof *entry);
    *n = 0;
    for (int r = 0; r < page->count && entry; r++)
        for (int i = 0; i < page->records[r].record.count; i++)
            if (page->records[r].record.rows[i].exhibits) {
                entry[*n] =
                    (struct entry){&page->records[r].record.rows[i], page->records[r].name, *n};
                ++*n;
            }
    if (entry)
        qsort(entry, (size_t)*n, sizeof *entry, by_name);
    else
        hc_memory_lost_one();
    return entry;
}

void hc_page_field(json_t *data, const struct hc_page *page)
{
    int n;
    int bugs = 0;
    struct entry *entry = find_entries(page, &n);
    json_t *mechanisms = hc_page_list(data, "bugs");
    for (int i = 0; i < n; i++)
        bugs += i == 0 || !same_name(&entry[i], &entry[i - 1]);
    for (int i = 0; i < n;)
        i += add_mechanism(mechanisms, &entry[i], n - i, page->pictures->cases);
    hc_page_number(data, "bug_count", bugs);
    if (n) {
        add_other_reports(data, page);
        add_catches(data, entry, n);
    }
    add_texts(data, page);
    free(entry);
}
