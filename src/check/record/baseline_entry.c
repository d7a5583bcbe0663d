/* Entries of a baseline: results of one case that have the same numbers share one. */
#include <inttypes.h>
#include <string.h>

#include "check/record/baseline.h"
#include "check/record/baseline_inner.h"
#include "check/record/baseline_text.h"
#include "check/record/decimal.h"

enum { NOTE = 100 };

char hc_letters_of(const struct hc_letters *all, const char *text)
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
bool hc_letters_add(struct hc_letters *all, const char *text)
{
    char letter = text[0];
    if (hc_letters_of(all, text))
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
int hc_baseline_group(const struct hc_baseline_writer *w, const struct hc_row *const *rows,
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
        e->letters[e->count] = hc_letters_of(&w->backends, rows[i]->backend);
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

void hc_baseline_print_entry(const struct hc_baseline_writer *w, const struct hc_baseline_entry *e,
                             const struct hc_row *before)
{
    bool same = true;
    for (int i = 0; i < e->count; i++)
        same = same && e->row[i]->checked == e->row[0]->checked;
    if (strcmp(e->letters, w->usual) != 0)
        (void)fprintf(w->out, " %s", e->letters);
    for (int i = 0; i < (same ? 1 : e->count); i++)
        (void)fprintf(w->out, "%c%" PRId64, i ? ',' : ' ', e->row[i]->checked);
    (void)fputc(hc_letters_of(&w->units, e->row[0]->unit), w->out);
    print_error(w, e->row[0], before);
    print_digests(w, e);
    print_verdict(w, e->row[0]);
}
