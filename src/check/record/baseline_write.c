/* Writing baselines: cases of one folder share its line. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/baseline.h"
#include "check/record/baseline_text.h"
#include "check/record/decimal.h"
#include "check/record/json.h"
#include "check/record/outcomes.h"
#include "check/record/parts.h"
#include "check/record/record.h"
#include "op/memory_stream.h"
#include "op/output.h"

enum { HC_BASELINE_BACKENDS = 27 };

/* Texts with a letter each. The backend "-" is its own letter. */
struct hc_letters {
    const char *text[HC_BASELINE_BACKENDS];
    char letter[HC_BASELINE_BACKENDS];
    int count;
};

/* The rows of a case that stand in one entry, and the letters of their backends. */
struct hc_baseline_entry {
    const struct hc_row *row[HC_BASELINE_BACKENDS];
    char letters[HC_BASELINE_BACKENDS + 1];
    int count;
};

struct hc_baseline_writer {
    FILE *out;
    const struct hc_record *record;
    struct hc_letters backends;
    struct hc_letters units;
    char usual[HC_BASELINE_BACKENDS + 1];
    const char *above; /* the name of the case before; NULL: none */
};

enum { NOTE = 100 };

static char letters_of(const struct hc_letters *all, const char *text)
{
    int i = 0;
    while (i < all->count && strcmp(all->text[i], text) != 0)
        i++;
    return i < all->count ? all->letter[i] : '\0';
}

static bool is_taken(const struct hc_letters *all, char letter)
{
    return memchr(all->letter, letter, (size_t)all->count) != NULL;
}

/* Gives the text its first letter if that is free, and else the first that is. False if there is
   none. */
static bool letters_add(struct hc_letters *all, const char *text)
{
    char letter = text[0];
    if (letters_of(all, text))
        return true;
    if (all->count == HC_BASELINE_BACKENDS)
        return false;
    if (strcmp(text, "-") != 0 && (letter < 'a' || letter > 'z' || is_taken(all, letter)))
        for (letter = 'a'; letter <= 'z' && is_taken(all, letter);)
            letter++;
    if (letter > 'z')
        return false;
    all->text[all->count] = text;
    all->letter[all->count++] = letter;
    return true;
}

static double rounded(double x)
{
    return hc_round_up(x, HC_BASELINE_DIGITS);
}

/* Whether both stand in one entry. What is not PASS has an entry alone. */
static bool alike(const struct hc_row *a, const struct hc_row *b)
{
    double errors[] = {rounded(a->error), rounded(b->error)};
    double bounds[] = {rounded(a->bound), rounded(b->bound)};
    return a->verdict == HC_PASS && b->verdict == HC_PASS && strcmp(a->unit, b->unit) == 0 &&
           memcmp(&errors[0], &errors[1], sizeof errors[0]) == 0 &&
           memcmp(&bounds[0], &bounds[1], sizeof bounds[0]) == 0;
}

/* The entries of `count` rows, all of one case. */
static int baseline_group(const struct hc_baseline_writer *w, const struct hc_row *const *rows,
                          int count, struct hc_baseline_entry *entries)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        int at = 0;
        while (at < n && !alike(entries[at].row[0], rows[i]))
            at++;
        if (at == n)
            entries[n++] = (struct hc_baseline_entry){.count = 0};
        struct hc_baseline_entry *e = &entries[at];
        e->letters[e->count] = letters_of(&w->backends, rows[i]->backend);
        e->row[e->count++] = rows[i];
    }
    return n;
}

/* The number as baseline.h says, with an exponent unless it is 0, infinite or NaN. */
static void number(double x, char text[HC_DECIMAL_TEXT])
{
    (void)hc_decimal_up(x, HC_BASELINE_DIGITS, text);
    bool special = strcmp(text, "0") == 0 || strcmp(text, "inf") == 0 || strcmp(text, "nan") == 0;
    if (!special && !strchr(text, 'e'))
        (void)strncat(text, "e0", HC_DECIMAL_TEXT - strlen(text) - 1);
}

static void print_error(const struct hc_baseline_writer *w, const struct hc_row *row,
                        const struct hc_row *before)
{
    char error[HC_DECIMAL_TEXT];
    char bound[HC_DECIMAL_TEXT];
    char bound_before[HC_DECIMAL_TEXT] = "";
    if (row->error == 0 && row->bound == 0)
        return;
    number(row->error, error);
    number(row->bound, bound);
    if (before)
        number(before->bound, bound_before);
    char *e = strchr(error, 'e');
    char *b = strchr(bound, 'e');
    if (e && b && strcmp(e, b) == 0)
        *e = '\0';
    (void)fprintf(w->out, " %s/%s", error, strcmp(bound, bound_before) == 0 ? "" : bound);
}

static void print_digests(const struct hc_baseline_writer *w, const struct hc_baseline_entry *e)
{
    char first[HC_BASELINE_DIGEST_TEXT] = "";
    bool same = true;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < (pass && same ? 1 : e->count); i++) {
            char text[HC_BASELINE_DIGEST_TEXT] = "-";
            if (e->row[i]->digest_bits >= HC_BASELINE_DIGEST)
                hc_baseline_digest(e->row[i]->digest, text);
            if (i == 0)
                memcpy(first, text, sizeof first);
            same = same && strcmp(text, first) == 0;
            if (pass)
                (void)fprintf(w->out, "%c%s", i ? ',' : ' ', text);
        }
}

/* What MPFR judged for each backend, or for all of them. */
static void print_sights(const struct hc_baseline_writer *w, const struct hc_baseline_entry *e)
{
    bool any = false;
    bool same = true;
    for (int i = 0; i < e->count; i++) {
        any = any || hc_baseline_has_sight(e->row[i]);
        same = same && hc_baseline_same_sight(e->row[i], e->row[0]);
    }
    for (int i = 0; any && i < (same ? 1 : e->count); i++) {
        (void)fputs(i ? "," : " @", w->out);
        hc_baseline_print_sight(w->out, e->row[i]);
    }
}

static void print_verdict(const struct hc_baseline_writer *w, const struct hc_row *row)
{
    size_t length = strlen(row->note);
    if (row->verdict == HC_PASS)
        return;
    length = length < NOTE ? length : NOTE;
    while (length > 0 && length < strlen(row->note) && (row->note[length] & 0xc0) == 0x80)
        length--; /* not within a character */
    json_t *note = json_stringn(row->note, length);
    (void)fprintf(w->out, " %s", hc_verdict_names[row->verdict]);
    if (row->wrong > 0)
        (void)fprintf(w->out, ":%" PRId64, row->wrong);
    (void)fputc(' ', w->out);
    (void)json_dumpf(note, w->out, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    json_decref(note);
}

/* Prints an entry; `before` is a row of the one before it on the line, or NULL. */
static void baseline_print_entry(const struct hc_baseline_writer *w,
                                 const struct hc_baseline_entry *e, const struct hc_row *before)
{
    bool same = true;
    for (int i = 0; i < e->count; i++)
        same = same && e->row[i]->checked == e->row[0]->checked;
    if (strcmp(e->letters, w->usual) != 0)
        (void)fprintf(w->out, " %s", e->letters);
    for (int i = 0; i < (same ? 1 : e->count); i++)
        (void)fprintf(w->out, "%c%" PRId64, i ? ',' : ' ', e->row[i]->checked);
    (void)fputc(letters_of(&w->units, e->row[0]->unit), w->out);
    print_sights(w, e);
    print_error(w, e->row[0], before);
    print_digests(w, e);
    print_verdict(w, e->row[0]);
}

enum { SETS = 32 };

static enum hc_status find_letters(struct hc_baseline_writer *w, const char *path)
{
    for (int i = 0; i < w->record->count; i++) {
        if (!letters_add(&w->backends, w->record->rows[i].backend))
            return hc_fail(HC_INVALID, "%s: a baseline has at most 26 backends", path);
        if (!letters_add(&w->units, w->record->rows[i].unit))
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
    int n = baseline_group(w, rows, count, entries);
    bool open = false;
    for (int i = 0; i < n; i++) {
        if (!open)
            print_name(w, rows[0]->name);
        baseline_print_entry(w, &entries[i], open ? entries[i - 1].row[0] : NULL);
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
    int n = baseline_group(w, rows, count, entries);
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
                                      "drift",  "result_count", "name",  "calls", NULL};

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
