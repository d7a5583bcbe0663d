#include "cli/catches/catches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases/registry.h"
#include "cases/reports.h"
#include "cli/catches/half.h"
#include "cli/catches/inquiry.h"

static bool keep(const struct hc_result *result, void *context)
{
    struct hc_inquiry *inquiry = context;
    if (!result->exhibits) {
        inquiry->without[inquiry->without_count++] = result->what;
        return true;
    }
    inquiry->status = hc_catch_judge(result->what->name, hc_bug_of(result->what), result->exhibits,
                                     &inquiry->row[inquiry->count++]);
    return inquiry->status == HC_OK;
}

static bool has(const struct hc_inquiry *inquiry, const struct hc_case *what)
{
    for (int i = 0; i < inquiry->count; i++)
        if (inquiry->row[i].name == what->name)
            return true;
    for (int i = 0; i < inquiry->without_count; i++)
        if (inquiry->without[i] == what)
            return true;
    return false;
}

/* A backend that lacks an op or fp64 makes no result of a case that needs it. */
static void add_left_out(struct hc_inquiry *inquiry, const struct hc_run_options *run)
{
    for (int i = 0; i < run->case_count; i++)
        if (hc_matches(run->patterns, run->pattern_count, run->cases[i]->name) &&
            !has(inquiry, run->cases[i]))
            inquiry->without[inquiry->without_count++] = run->cases[i];
}

enum hc_status hc_inquire(const struct hc_backend *backend, const char *const *patterns,
                          int pattern_count, struct hc_inquiry *inquiry)
{
    int n;
    int bugs = 0;
    const struct hc_case *const *all = hc_all_cases(&n);
    *inquiry = (struct hc_inquiry){.backend = backend->name, .all = pattern_count == 0};
    const struct hc_case **cases = all ? calloc((size_t)n + 1, sizeof(struct hc_case *)) : NULL;
    for (int i = 0; i < n && cases; i++)
        if (hc_bug_of(all[i]) && !(inquiry->all && hc_bug_of(all[i])->again))
            cases[bugs++] = all[i];
    inquiry->row = calloc((size_t)bugs + 1, sizeof *inquiry->row);
    inquiry->without = calloc((size_t)bugs + 1, sizeof(struct hc_case *));
    struct hc_run_options run = {.cases = cases,
                                 .case_count = bugs,
                                 .patterns = patterns,
                                 .pattern_count = pattern_count,
                                 .backends = &backend,
                                 .backend_count = 1,
                                 .level = HC_STANDARD,
                                 .workers = hc_run_cores(),
                                 .report = keep,
                                 .context = inquiry};
    enum hc_status status = cases && inquiry->row && inquiry->without
                                ? hc_run_cases(&run)
                                : hc_fail(HC_NO_MEMORY, "no memory for the bugs");
    if (status == HC_OK)
        status = inquiry->status;
    if (status == HC_OK)
        add_left_out(inquiry, &run);
    hc_catch_sort(inquiry->row, status == HC_OK ? inquiry->count : 0);
    free(cases);
    return status;
}

void hc_inquiry_free(struct hc_inquiry *inquiry)
{
    free(inquiry->row);
    free(inquiry->without);
    *inquiry = (struct hc_inquiry){0};
}

/* What halfcheck itself misses, or cannot judge. Its column of the table has no miss, and that is
   no merit: a row whose buggy arm stays within the bound fails as a case, so that whatever
   halfcheck misses is not in the table. These sentences say what that is. */

/* What becomes of a report. */
enum fate { JUDGED, ELSEWHERE, LEFT_OUT };

static enum fate fate_of(const struct hc_inquiry *inquiry, const struct hc_report *report)
{
    if (!report->shown_by)
        return LEFT_OUT;
    for (int i = 0; i < inquiry->count; i++)
        if (strcmp(inquiry->row[i].name, report->shown_by->name) == 0)
            return JUDGED;
    return ELSEWHERE;
}

/* Whether another entry stands for the same public report. */
static bool is_repeated(const struct hc_inquiry *inquiry, const struct hc_report *reports, int n,
                        int i)
{
    enum fate fate = fate_of(inquiry, &reports[i]);
    for (int j = 0; j < n; j++) {
        enum fate other = fate_of(inquiry, &reports[j]);
        if (j != i && (other < fate || (other == fate && j < i)) &&
            hc_report_is_same(&reports[i], &reports[j]))
            return true;
    }
    return false;
}

/* How many, and with `out` also which. A public report is counted once. */
static int list_reports(FILE *out, const struct hc_inquiry *inquiry, enum fate fate)
{
    int n;
    int count = 0;
    const struct hc_report *reports = hc_reports(&n);
    for (int i = 0; i < n; i++)
        if (fate_of(inquiry, &reports[i]) == fate && !is_repeated(inquiry, reports, n, i)) {
            if (out)
                (void)fprintf(out, "%s %s", count ? "," : ":", reports[i].slug);
            count++;
        }
    return count;
}

/* The source of a bug that halfcheck found itself says so in its first words. */
static int found_here(void)
{
    int n;
    int count = 0;
    const struct hc_report *reports = hc_reports(&n);
    for (int i = 0; i < n; i++)
        count += strncmp(reports[i].source, "found by halfcheck", 18) == 0;
    return count;
}

static int shown_again(void)
{
    int n;
    int count = 0;
    const struct hc_case *const *cases = hc_all_cases(&n);
    for (int i = 0; i < n; i++)
        count += hc_bug_of(cases[i]) && hc_bug_of(cases[i])->again;
    return count;
}

static void print_wrong(FILE *out, const struct hc_inquiry *inquiry)
{
    int count = 0;
    for (int i = 0; i < inquiry->count; i++)
        count += hc_catch_is_wrong(&inquiry->row[i]);
    (void)fprintf(out, "Bugs that it misses, or for which it gives a false alarm: %d", count);
    for (int i = 0; i < count; i++)
        (void)fprintf(out, "%s %s", i ? "," : ":", inquiry->row[i].name);
    (void)fputs(". A case fails if its buggy arm lies within the bound, or its fixed arm does not, "
                "unless its row says that no bound tells the arms apart, and why. So the line of "
                "halfcheck only shows how these bugs were chosen; the other lines show what other "
                "rules make of them.",
                out);
}

/* Rows that were chosen without knowing what the bound makes of them. */
static void print_frozen(FILE *out, const struct hc_inquiry *inquiry)
{
    enum { BOUND = HC_CATCH_RULES - 1 };
    struct hc_catch_counts c = hc_catch_count_frozen(inquiry->row, inquiry->count, BOUND);
    if (c.bugs == 0)
        return;
    (void)fprintf(
        out,
        "Only frozen rows can show what the bound misses. They were written down and kept "
        "before their bound was known, when it was only known that their formulas give "
        "their figures. (Their authors knew how a bound is made.) There are %d, and the "
        "bound misses %d of them",
        c.bugs, c.missed);
    for (int i = 0, n = 0; i < inquiry->count; i++)
        if (inquiry->row[i].frozen && inquiry->row[i].buggy[BOUND] == HC_ACCEPTED &&
            !inquiry->row[i].control)
            (void)fprintf(out, "%s %s", n++ ? "," : ":", inquiry->row[i].name);
    (void)fputs(". Each stays in the table whatever its result, and a checksum of its text shows "
                "later changes.",
                out);
}

static void print_figures(FILE *out, const struct hc_inquiry *inquiry)
{
    struct hc_bug_figures f = {0};
    int without = 0;
    for (int i = 0; i < inquiry->count; i++) {
        f.printed += inquiry->row[i].figures.printed;
        f.computed += inquiry->row[i].figures.computed;
        without += inquiry->row[i].figures.printed == 0;
    }
    (void)fprintf(
        out,
        "Figures that the rows state: %d of the reports, and %d that were computed for the "
        "rows. Rows without a figure of their report, because it has none, or none that a "
        "few lines can compute: %d.",
        f.printed, f.computed, without);
}

static void print_without(FILE *out, const struct hc_inquiry *inquiry)
{
    if (!inquiry->without_count)
        return;
    (void)fprintf(out, "Bugs whose arms could not be run here: %d", inquiry->without_count);
    for (int i = 0; i < inquiry->without_count; i++)
        (void)fprintf(out, "%s %s", i ? "," : ":", inquiry->without[i]->name);
    (void)fputs(".", out);
}

static void print_reports(FILE *out, const struct hc_inquiry *inquiry)
{
    if (!inquiry->all)
        return;
    (void)fprintf(out, "Of %d reports %d are judged here, as %d bugs.",
                  list_reports(NULL, inquiry, JUDGED) + list_reports(NULL, inquiry, ELSEWHERE) +
                      list_reports(NULL, inquiry, LEFT_OUT),
                  list_reports(NULL, inquiry, JUDGED), inquiry->count);
    (void)fprintf(
        out,
        " halfcheck found %d of them itself, and no report of these is known. %d rows show "
        "the bug of another row once more, on the backend's ops or by the definition of a "
        "layer, and are not counted.",
        found_here(), shown_again());
}

static void print_elsewhere(FILE *out, const struct hc_inquiry *inquiry)
{
    if (!inquiry->all)
        return;
    (void)fprintf(
        out,
        "Reports that are not judged here, since the case that shows them has no table of "
        "two arms: %d",
        list_reports(NULL, inquiry, ELSEWHERE));
    (void)list_reports(out, inquiry, ELSEWHERE);
    (void)fputs(".", out);
}

static void print_left_out(FILE *out, const struct hc_inquiry *inquiry)
{
    if (!inquiry->all)
        return;
    (void)fprintf(out, "Reports that no case shows: %d", list_reports(NULL, inquiry, LEFT_OUT));
    (void)list_reports(out, inquiry, LEFT_OUT);
    (void)fputs(". halfcheck list reports gives the reasons.", out);
}

static void print_operations(FILE *out, const struct hc_inquiry *inquiry)
{
    (void)inquiry;
    (void)fputs("Checks of single operations miss most of these bugs, and so do halfcheck's own "
                "cases op/*: in both arms of every formula each operation has the bits of its "
                "definition. The mistake is which operation stands where, and in which format. The "
                "bound sees it because it belongs to the whole formula and lies around its real "
                "number. So it needs the formula, where the other rules need only two numbers.",
                out);
}

static void print_plays(FILE *out, const struct hc_inquiry *inquiry)
{
    int plays = 0;
    for (int i = 0; i < inquiry->count; i++)
        plays += inquiry->row[i].play;
    (void)fprintf(out,
                  "%d of the bugs are plays: code of scalers, masters, checkpoints or layers runs, "
                  "and the play says what the right state is and how far from it is still right. "
                  "A test that does not look at that state sees numbers that are right.",
                  plays);
}

bool hc_inquiry_own(FILE *out, const struct hc_inquiry *inquiry, int item)
{
    static void (*const items[])(FILE *, const struct hc_inquiry *) = {
        print_wrong,     print_frozen,   print_figures,    print_without, print_reports,
        print_elsewhere, print_left_out, print_operations, print_plays};
    if (item >= (int)(sizeof items / sizeof items[0]))
        return false;
    items[item](out, inquiry);
    return true;
}

enum { OWN = HC_CATCH_RULES - 1 };

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Where the format loses the real number, the buggy arm is held to the real number itself, or an
   overflow would be equal to what is expected. An arm that is right is not. */
static struct hc_judged_arm arm_of(const struct hc_exhibits *shown, bool buggy, bool right)
{
    struct hc_judged_arm arm = {.count = shown->count, .control = buggy && right};
    for (int i = 0; i < shown->count; i++) {
        const struct hc_exhibit *e = &shown->exhibit[i];
        enum hc_format format = buggy ? e->buggy_format : e->format;
        arm.value[i] = (struct hc_judged_value){.format = format,
                                                .got = buggy ? e->buggy : e->fixed,
                                                .want = hc_expected(format, e->real, !right),
                                                .real = e->real,
                                                .rad = e->rad};
    }
    return arm;
}

enum hc_status hc_catch_judge(const char *name, const struct hc_bug *bug,
                              const struct hc_exhibits *shown, struct hc_catch *row)
{
    double half[HC_MAX_EXHIBITS] = {0};
    int halves = 0;
    bool control = bug && bug->not_a_bug;
    enum hc_status status = bug ? hc_half_implementation(bug, half, &halves) : HC_OK;
    if (status != HC_OK)
        return status;
    struct hc_judged_arm buggy = arm_of(shown, true, control);
    struct hc_judged_arm fixed = arm_of(shown, false, true);
    bool has_half = halves > 0 && halves == shown->count;
    *row = (struct hc_catch){.name = name,
                             .control = control,
                             .play = bug && bug->play,
                             .frozen = bug && bug->frozen,
                             .no_bound = bug && bug->no_bound,
                             .figures = bug ? hc_bug_figures(bug) : (struct hc_bug_figures){0},
                             .has_half = has_half,
                             .buggy_is_half = has_half,
                             .shown = shown->count};
    buggy.has_half = fixed.has_half = has_half;
    for (int i = 0; i < shown->count; i++) {
        buggy.value[i].half = fixed.value[i].half = half[i];
        row->half_is_nan |= isnan(half[i]) != 0;
        row->buggy_is_half &= same(half[i], buggy.value[i].got);
    }
    for (int r = 0; r < HC_CATCH_RULES; r++) {
        row->buggy[r] = hc_rules[r].judge(&buggy);
        row->fixed[r] = hc_rules[r].judge(&fixed);
    }
    return HC_OK;
}

const char *hc_catch_word(const struct hc_catch *row, int rule)
{
    bool accepted = row->buggy[rule] == HC_ACCEPTED;
    bool right = row->fixed[rule] == HC_ACCEPTED;
    if (row->buggy[rule] == HC_NOT_APPLIED)
        return "-";
    if (row->control)
        return accepted && right ? "right" : "alarm";
    if (right)
        return accepted ? "missed" : "caught";
    return accepted ? "both" : "alarm";
}

static void add_row(struct hc_catch_counts *c, const struct hc_catch *row, int rule)
{
    bool refuses_buggy = row->buggy[rule] == HC_REFUSED;
    bool refuses_fixed = row->fixed[rule] == HC_REFUSED;
    if (row->buggy[rule] == HC_NOT_APPLIED) {
        c->not_applied++;
        return;
    }
    c->right += row->control ? 2 : 1;
    c->alarms += refuses_fixed + (row->control && refuses_buggy);
    c->bugs += !row->control;
    c->missed += !row->control && !refuses_buggy;
    c->apart += !row->control && refuses_buggy && !refuses_fixed;
}

struct hc_catch_counts hc_catch_count(const struct hc_catch *rows, int count, int rule)
{
    struct hc_catch_counts c = {0};
    for (int i = 0; i < count; i++)
        add_row(&c, &rows[i], rule);
    return c;
}

struct hc_catch_counts hc_catch_count_frozen(const struct hc_catch *rows, int count, int rule)
{
    struct hc_catch_counts c = {0};
    for (int i = 0; i < count; i++)
        if (rows[i].frozen)
            add_row(&c, &rows[i], rule);
    return c;
}

bool hc_catch_is_wrong(const struct hc_catch *row)
{
    const char *word = hc_catch_word(row, OWN);
    return strcmp(word, "caught") != 0 && strcmp(word, "right") != 0;
}

static int wrong_first(const void *a, const void *b)
{
    const struct hc_catch *x = a;
    const struct hc_catch *y = b;
    int order = hc_catch_is_wrong(y) - hc_catch_is_wrong(x);
    return order ? order : strcmp(x->name, y->name);
}

void hc_catch_sort(struct hc_catch *rows, int count)
{
    if (rows && count)
        qsort(rows, (size_t)count, sizeof *rows, wrong_first);
}
