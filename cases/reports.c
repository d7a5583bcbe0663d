#include "cases/reports.h"

#include <stdlib.h>
#include <string.h>

#include "cases/fixture/bug.h"
#include "cases/registry.h"

/* A line of cases/field/reports.def. */
static const struct line {
    const char *slug;
    const char *source;
    const char *name; /* of the case, or NULL */
    const char *reason;
} lines[] = {
#define HC_REPORT(slug, source, name)     {slug, source, name, NULL},
#define HC_LEFT_OUT(slug, source, reason) {slug, source, NULL, reason},
#include "cases/field/reports.def"
#undef HC_REPORT
#undef HC_LEFT_OUT
    {NULL, NULL, NULL, NULL}};

enum { LINES = sizeof lines / sizeof lines[0] - 1 };

static struct hc_report *all;
static int count;

static int by_slug(const void *a, const void *b)
{
    return strcmp(((const struct hc_report *)a)->slug, ((const struct hc_report *)b)->slug);
}

static void add_report(const char *slug, const char *source, const struct hc_case *what,
                       const char *reason)
{
    all[count++] = (struct hc_report){slug, source, what, reason};
}

static bool add_lines(void)
{
    for (int i = 0; i < LINES; i++) {
        const struct hc_case *found = lines[i].name ? hc_case_by_name(lines[i].name) : NULL;
        if (lines[i].name && !found) {
            (void)hc_fail(HC_INVALID, "cases/field/reports.def: '%s' is shown by no case '%s'",
                          lines[i].slug, lines[i].name);
            return false;
        }
        add_report(lines[i].slug, lines[i].source, found, lines[i].reason);
    }
    return true;
}

static void add_row(const struct hc_case *what, const struct hc_bug *bug)
{
    const char *slash = strrchr(what->name, '/');
    add_report(slash ? slash + 1 : what->name, what->source, what, NULL);
    for (int i = 0; i < HC_MAX_ALSO && bug->also[i].slug; i++)
        add_report(bug->also[i].slug, bug->also[i].source, what, NULL);
}

static void release(void)
{
    free(all);
}

static bool collect(void)
{
    int n;
    const struct hc_case *const *cases = hc_all_cases(&n);
    int rows = 0;
    for (int i = 0; i < n; i++)
        rows += hc_bug_of(cases[i]) != NULL;
    if (!cases)
        return false;
    all = calloc((size_t)rows * (1 + HC_MAX_ALSO) + LINES + 1, sizeof *all);
    if (!all) {
        (void)hc_fail(HC_NO_MEMORY, "no memory for the list of reports");
        return false;
    }
    for (int i = 0; i < n; i++)
        if (hc_bug_of(cases[i]))
            add_row(cases[i], hc_bug_of(cases[i]));
    if (!add_lines()) {
        release();
        all = NULL;
        return false;
    }
    (void)atexit(release);
    qsort(all, (size_t)count, sizeof *all, by_slug);
    return true;
}

bool hc_report_is_named(const struct hc_report *report)
{
    const char *slash = report->shown_by ? strrchr(report->shown_by->name, '/') : NULL;
    return slash && strcmp(slash + 1, report->slug) == 0;
}

const struct hc_report *hc_reports(int *n)
{
    *n = 0;
    if (!all && !collect())
        return NULL;
    *n = count;
    return all;
}

/* What names a thread: its first address, or else the words before its title, if they end with its
   number, as those of "PyTorch forums 1765, 'Adam+Half Precision = NaNs?'" do. */
static const char *thread(const char *source, size_t *length)
{
    const char *url = strstr(source, "https://");
    const char *name = url ? url : source;
    *length = strcspn(name, url ? " ,;)" : ",;:");
    if (url)
        *length -= name[*length - 1] == ':';
    else if (*length && !(name[*length - 1] >= '0' && name[*length - 1] <= '9'))
        *length = 0;
    return name;
}

bool hc_report_is_same(const struct hc_report *a, const struct hc_report *b)
{
    size_t la;
    size_t lb;
    const char *x = thread(a->source, &la);
    const char *y = thread(b->source, &lb);
    return la && la == lb && memcmp(x, y, la) == 0;
}

const struct hc_report *hc_report_by_slug(const char *slug)
{
    const struct hc_report key = {.slug = slug};
    int n;
    const struct hc_report *reports = hc_reports(&n);
    return n ? bsearch(&key, reports, (size_t)n, sizeof *reports, by_slug) : NULL;
}
