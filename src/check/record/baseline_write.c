/* Writing baselines: cases of one folder share its line. */
#include "check/record/baseline.h"

#include <stdlib.h>
#include <string.h>

#include "check/record/baseline_inner.h"
#include "check/record/baseline_text.h"
#include "check/record/json.h"
#include "check/record/outcomes.h"
#include "check/record/parts.h"
#include "op/memory_stream.h"
#include "op/output.h"

enum { SETS = 32 };

static enum hc_status find_letters(struct hc_baseline_writer *w, const char *path)
{
    for (int i = 0; i < w->record->count; i++) {
        if (!hc_letters_add(&w->backends, w->record->rows[i].backend))
            return hc_fail(HC_INVALID, "%s: a baseline has at most 26 backends", path);
        if (!hc_letters_add(&w->units, w->record->rows[i].unit))
            return hc_fail(HC_INVALID, "%s: a baseline has at most 26 units", path);
    }
    return HC_OK;
}

/* Begins the line of a case: prints the folders that the one before was not in, then its name. */
static void print_name(struct hc_baseline_writer *w, const char *name)
{
    const char *from = name;
    const char *before = w->above;
    int depth = 0;
    for (const char *slash; (slash = strchr(from, '/')) != NULL; from = slash + 1, depth++) {
        size_t length = (size_t)(slash - from) + 1;
        if (before && strncmp(before, from, length) == 0) {
            before += length;
            continue;
        }
        before = NULL;
        (void)fprintf(w->out, "%*s", depth, "");
        hc_baseline_escape(w->out, from, length - 1, "", depth == 0);
        (void)fputc('\n', w->out);
    }
    (void)fprintf(w->out, "%*s", depth, "");
    hc_baseline_escape(w->out, from, strlen(from), "", depth == 0);
    w->above = name;
}

/* What did not pass ends its line, since a note goes to the end of it. */
static void print_case(struct hc_baseline_writer *w, const struct hc_row *const *rows, int count,
                       void *context)
{
    (void)context;
    struct hc_baseline_entry entries[HC_BASELINE_BACKENDS];
    int n = hc_baseline_group(w, rows, count, entries);
    bool open = false;
    for (int i = 0; i < n; i++) {
        if (!open)
            print_name(w, rows[0]->name);
        hc_baseline_print_entry(w, &entries[i], open ? entries[i - 1].row[0] : NULL);
        open = entries[i].row[0]->verdict == HC_PASS;
        if (!open || i + 1 == n)
            (void)fputc('\n', w->out);
    }
}

/* Calls `use` for each case with results in the part. */
static void each_case(struct hc_baseline_writer *w, int part,
                      void (*use)(struct hc_baseline_writer *w, const struct hc_row *const *rows,
                                  int count, void *context),
                      void *context)
{
    const struct hc_row *rows[HC_BASELINE_BACKENDS];
    int count = 0;
    for (int i = 0; i < w->record->count; i++) {
        const struct hc_row *row = &w->record->rows[i];
        if (row->part != part)
            continue;
        if (count && strcmp(rows[0]->name, row->name) != 0) {
            use(w, rows, count, context);
            count = 0;
        }
        rows[count++] = row;
    }
    if (count)
        use(w, rows, count, context);
}

/* How often each set of backends has an entry. */
struct sets {
    char letters[SETS][HC_BASELINE_BACKENDS + 1];
    int uses[SETS];
    int count;
};

static void count_sets(struct hc_baseline_writer *w, const struct hc_row *const *rows, int count,
                       void *context)
{
    struct sets *sets = context;
    struct hc_baseline_entry entries[HC_BASELINE_BACKENDS];
    int n = hc_baseline_group(w, rows, count, entries);
    for (int e = 0; e < n; e++) {
        int i = 0;
        while (i < sets->count && strcmp(sets->letters[i], entries[e].letters) != 0)
            i++;
        if (i == SETS)
            continue;
        if (i == sets->count)
            memcpy(sets->letters[sets->count++], entries[e].letters, sizeof sets->letters[0]);
        sets->uses[i]++;
    }
}

static void find_usual(struct hc_baseline_writer *w)
{
    struct sets sets = {.count = 0};
    int most = 0;
    for (int part = 0; part < w->record->part_count; part++)
        each_case(w, part, count_sets, &sets);
    for (int i = 1; i < sets.count; i++)
        most = sets.uses[i] > sets.uses[most] ? i : most;
    memcpy(w->usual, sets.letters[most], sizeof w->usual);
}

static void print_letters(const struct hc_baseline_writer *w, const char *word,
                          const struct hc_letters *letters)
{
    for (int letter = '-'; letter <= 'z'; letter++) {
        const char *at = memchr(letters->letter, letter, (size_t)letters->count);
        int i = at ? (int)(at - letters->letter) : 0;
        if (!at)
            continue;
        json_t *text = hc_json_text(letters->text[i]);
        (void)fprintf(w->out, "%s %c ", word, letters->letter[i]);
        (void)json_dumpf(text, w->out, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
        (void)fputc('\n', w->out);
        json_decref(text);
    }
}

static void print_results(struct hc_baseline_writer *w, int part)
{
    int count = 0;
    for (int i = 0; i < w->record->count; i++)
        count += w->record->rows[i].part == part;
    (void)fprintf(w->out, "results %d\n", count);
    w->above = NULL;
    each_case(w, part, print_case, NULL);
}

/* Lists that are rows here, and what is implied. */
static const char *const without[] = {"schema", "results",      "rates", "parts", "trainings",
                                      "drift",  "result_count", "name",  NULL};

static bool print_part(struct hc_baseline_writer *w, int part)
{
    const json_t *parts = json_object_get(w->record->document, "parts");
    const json_t *members = json_array_get(parts, (size_t)part);
    json_t *name = hc_json_text(w->record->parts[part].name);
    (void)fputs("part ", w->out);
    (void)json_dumpf(name, w->out, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    (void)fputc('\n', w->out);
    json_decref(name);
    bool ok = hc_baseline_print_members(w->out, members, without);
    print_results(w, part);
    return ok;
}

static bool print_all(struct hc_baseline_writer *w)
{
    const struct hc_record *record = w->record;
    bool merged = json_object_get(record->document, "parts") != NULL;
    (void)fprintf(w->out, HC_BASELINE_MAGIC "%d\n", HC_BASELINE_VERSION);
    print_letters(w, "backend", &w->backends);
    print_letters(w, "unit", &w->units);
    (void)fprintf(w->out, "digits %d\n", HC_BASELINE_DIGITS);
    if (w->usual[0])
        (void)fprintf(w->out, "usual %s\n", w->usual);
    bool ok = hc_baseline_print_members(w->out, record->document, without);
    int lines;
    ok = ok && hc_outcomes_print(record, w->out, &lines) == HC_OK;
    for (int part = 0; part < record->part_count && merged; part++)
        ok = ok && print_part(w, part);
    if (!merged)
        print_results(w, 0);
    (void)fprintf(w->out, "end %d\n", record->count);
    return ok;
}

/* Whether every result has the seed of its run, which stands in the baseline once, or that of its
   name. */
static enum hc_status say_how_made(const struct hc_record *record, const char *path)
{
    for (int part = 0; part < record->part_count; part++)
        if (!record->parts[part].run)
            return hc_fail(HC_INVALID,
                           "%s: the record does not say how it was made (an older halfcheck wrote "
                           "it), so that it cannot become a baseline",
                           path);
    for (int i = 0; i < record->count; i++) {
        const struct hc_row *row = &record->rows[i];
        const json_t *seed = json_object_get(record->parts[row->part].run, "seed");
        uint64_t of_run = strtoull(json_string_value(seed), NULL, 10);
        if (hc_outcome_seed(row->name, of_run) != row->seed)
            return hc_fail(HC_INVALID, "%s: the result of %s has another seed than its run", path,
                           row->name);
    }
    return HC_OK;
}

enum hc_status hc_baseline_write(const struct hc_record *record, const char *path)
{
    char *text = NULL;
    size_t length = 0;
    struct hc_baseline_writer w = {.record = record};
    enum hc_status status = say_how_made(record, path);
    if (status == HC_OK)
        status = find_letters(&w, path);
    if (status != HC_OK)
        return status;
    find_usual(&w);
    w.out = hc_memory_stream(&text, &length);
    bool ok = w.out && print_all(&w);
    ok = w.out && fclose(w.out) == 0 && ok && hc_json_status() == HC_OK;
    status = ok ? hc_output_write(path, text, length)
                : hc_fail(HC_NO_MEMORY, "no memory for the baseline %s", path);
    free(text);
    return status;
}
