/* The rows of a story as a table of 80 columns: how many comparisons, the claim, what was wanted,
   what came, and how near it came to its bound. */
#include <math.h>
#include <string.h>

#include "check/story/row.h"
#include "op/text.h"
#include "op/wrap.h"

enum { INDENT = 2, GAP = 2, CELL = 64 };

struct cells {
    char count[24];
    char name[2 * HC_NAME_LENGTH];
    char want[CELL]; /* empty: the name is a sentence */
    char got[CELL];  /* empty: `want` is said of both */
    char judged[CELL];
};

/* How wide the columns are; 0: there is none. */
struct widths {
    int count;
    int name;
    int want;
    int got;
    int judged;
};

/* Whether no numbers are shown: of a sample that is right to the bit no element stands out. */
static bool is_sentence(const struct hc_story_row *row)
{
    return row->others || row->kind == HC_CLAIMED_TRUE || row->kind == HC_CLAIMED_SWEEP ||
           (row->kind == HC_CLAIMED_SAMPLE && row->ratio == 0);
}

/* Whether it is printed with all its digits. */
static bool is_whole(double x)
{
    return x == floor(x) && fabs(x) < 1e9;
}

/* Whole numbers in full, others short. */
static void put_bound(char *text, double x)
{
    (void)hc_text_write(text, CELL / 3, "%.*g", is_whole(x) ? 9 : 4, x);
}

static void put_range(char *text, const struct hc_story_row_range *range)
{
    char low[CELL / 3];
    char high[CELL / 3];
    put_bound(low, range->low);
    put_bound(high, range->high);
    if (!range->some)
        (void)hc_text_write(text, CELL, "nan");
    else if (range->low == range->high)
        (void)hc_text_write(text, CELL, "%.*g%s", is_whole(range->low) ? 9 : 7, range->low,
                            range->nan ? " or nan" : "");
    else
        (void)hc_text_write(text, CELL, "%s to %s%s", low, high, range->nan ? " or nan" : "");
}

/* Two numbers, with as many digits as tell them apart; whole numbers in full. */
static void put_pair(struct cells *cells, double want, double got)
{
    for (int digits = is_whole(want) && is_whole(got) ? 9 : 7; digits <= 17; digits += 2) {
        (void)hc_text_write(cells->want, CELL, "%.*g", digits, want);
        (void)hc_text_write(cells->got, CELL, "%.*g", digits, got);
        if (want == got || strcmp(cells->want, cells->got) != 0)
            return;
    }
}

static void put_numbers(struct cells *cells, const struct hc_story_row *row)
{
    if (row->claims == 1 || row->kind == HC_CLAIMED_SAMPLE) {
        put_pair(cells, row->want.low, row->got.low);
        return;
    }
    put_range(cells->want, &row->want);
    put_range(cells->got, &row->got);
    if (strcmp(cells->want, cells->got) == 0 && row->want.low != row->want.high)
        cells->got[0] = '\0';
}

/* " at 7": where a row of several claims came nearest to its bound. */
static void put_place(char *text, size_t size, const struct hc_story_row *row)
{
    size_t used = 0;
    *text = '\0';
    if (row->kind == HC_CLAIMED_SAMPLE)
        (void)hc_text_write(text, size, " at [%lld]", (long long)row->index);
    if (row->kind == HC_CLAIMED_SAMPLE || row->claims == 1)
        return;
    for (int k = 0; k < row->name.count && used < size; k++)
        if (row->low[k].value != row->high[k].value)
            used += (size_t)hc_text_write(text + used, size - used, "%s%s", used ? ", " : " at ",
                                          row->at[k].text);
    if (used == 0)
        (void)hc_text_write(text, size, " in no. %lld", (long long)row->number);
}

static void put_judged(struct cells *cells, const struct hc_story_row *row)
{
    char place[CELL / 2];
    const char *all = row->kind == HC_CLAIMED_TRUE                         ? "yes"
                      : row->kind == HC_CLAIMED_SWEEP                      ? "none differs"
                      : row->boundless                                     ? "unbounded"
                      : row->want.finite || row->kind == HC_CLAIMED_SAMPLE ? "equal"
                                                                           : "as wanted";
    put_place(place, sizeof place, row);
    if (row->wrong && row->checked == 1)
        (void)hc_text_write(cells->judged, CELL, "%s", is_sentence(row) ? "NO" : "FAILED");
    else if (row->wrong)
        (void)hc_text_write(cells->judged, CELL, "%lld FAILED", (long long)row->wrong);
    else if (row->ratio > 0)
        (void)hc_text_write(cells->judged, CELL, "%.2g%s", row->ratio, row->others ? "" : place);
    else if (row->claims == 1 && row->digits)
        (void)hc_text_write(cells->judged, CELL, "equal, 0x%0*llx", row->digits,
                            (unsigned long long)row->bits);
    else
        (void)hc_text_write(cells->judged, CELL, "%s", row->others ? "as claimed" : all);
}

static struct cells cells_of(const struct hc_story_row *row)
{
    struct cells cells = {0};
    (void)hc_text_write(cells.count, sizeof cells.count, "%lld", (long long)row->checked);
    if (row->others)
        (void)hc_text_write(cells.name, sizeof cells.name, "further claims (--all shows them)");
    else
        hc_story_name_write(cells.name, sizeof cells.name, &row->name, row->low, row->high);
    if (row->kind == HC_CLAIMED_SAMPLE && row->checked < row->of && !row->others) {
        size_t used = strlen(cells.name);
        (void)hc_text_write(cells.name + used, sizeof cells.name - used, ", of %lld",
                            (long long)row->of);
    }
    if (!is_sentence(row))
        put_numbers(&cells, row);
    put_judged(&cells, row);
    return cells;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static struct widths widths_of(const struct hc_story_row *rows, int count)
{
    struct widths w = {0};
    int both = 0;
    int sentence = 0;
    bool numbers = false;
    for (int r = 0; r < count; r++) {
        struct cells cells = cells_of(&rows[r]);
        bool one = cells.want[0] && !cells.got[0];
        w.judged = larger(w.judged, (int)strlen(cells.judged));
        if (rows[r].checked > 1)
            w.count = larger(w.count, (int)strlen("count"));
        if (rows[r].checked > 1)
            w.count = larger(w.count, (int)strlen(cells.count));
        if (!is_sentence(&rows[r])) {
            numbers = true;
            w.name = larger(w.name, (int)strlen(cells.name));
        } else {
            sentence = larger(sentence, (int)strlen(cells.name));
        }
        both = larger(both, one ? (int)strlen(cells.want) : 0);
        w.want = larger(w.want, one ? 0 : (int)strlen(cells.want));
        w.got = larger(w.got, (int)strlen(cells.got));
    }
    if (numbers) {
        w.judged = larger(w.judged, (int)strlen("error/bound"));
        w.want = larger(w.want, (int)strlen("want"));
        w.got = larger(w.got, larger((int)strlen("got"), both - w.want - GAP));
    }
    int left = HC_COLUMNS - 1 - INDENT - GAP - w.judged - (w.count ? w.count + GAP : 0) -
               (numbers ? w.want + GAP + w.got + GAP : 0);
    w.name = larger(w.name, sentence - (w.want + GAP + w.got + GAP));
    w.name = larger(w.name, numbers ? (int)strlen("claim") : sentence);
    w.name = w.name < left ? w.name : left;
    return w;
}

/* Prints the row from its name on. A name that is too long for its column has its own lines. */
static void print_row(const struct widths *w, const struct cells *cells, FILE *out)
{
    int indent = INDENT + (w->count ? w->count + GAP : 0);
    int numbers = w->want ? w->want + GAP + w->got + GAP : 0;
    int room = w->name + (cells->want[0] ? 0 : numbers);
    const char *name = cells->name;
    if (w->count)
        (void)fprintf(out, "%*s%*s%*s", INDENT, "", w->count, cells->count, GAP, "");
    else
        (void)fprintf(out, "%*s", INDENT, "");
    if ((int)strlen(name) > room) {
        hc_print_wrapped(out, indent, indent + GAP, name);
        (void)fprintf(out, "%*s", indent, "");
        name = "";
    }
    if (!cells->want[0])
        (void)fprintf(out, "%-*s", room, name);
    else if (!cells->got[0])
        (void)fprintf(out, "%-*s%*s%-*s", w->name, name, GAP, "", w->want + GAP + w->got,
                      cells->want);
    else
        (void)fprintf(out, "%-*s%*s%-*s%*s%-*s", w->name, name, GAP, "", w->want, cells->want, GAP,
                      "", w->got, cells->got);
    (void)fprintf(out, "%*s%s\n", GAP, "", cells->judged);
}

void hc_story_rows_print(const struct hc_story_row *rows, int count, FILE *out)
{
    static const struct cells header = {"count", "claim", "want", "got", "error/bound"};
    struct widths w = widths_of(rows, count);
    if (w.want)
        print_row(&w, &header, out);
    for (int r = 0; r < count; r++) {
        struct cells cells = cells_of(&rows[r]);
        print_row(&w, &cells, out);
    }
}
