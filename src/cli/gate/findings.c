#include "cli/gate/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/wrap.h"
#include "op/text.h"

/* Of the rows that share kind, component and backend, so many are printed. */
enum { SHOWN = 5, TEXT = 640 };

static const struct {
    const char *name;
    bool worse;     /* otherwise: could not be compared */
    bool may;       /* --allow may name it */
    bool by_reason; /* rows with the same text share a paragraph; otherwise each has its lines */
} kinds[HC_FINDING_KINDS] = {
    [HC_FINDING_VERDICT] = {"verdict", true, false, false},
    [HC_FINDING_ERROR] = {"error", true, false, false},
    [HC_FINDING_BOUND] = {"bound", true, true, false},
    [HC_FINDING_CHECKED] = {"checked", true, true, false},
    [HC_FINDING_MISSING] = {"missing", true, true, true},
    [HC_FINDING_SEED] = {"seed", false, true, true},
    [HC_FINDING_LEVEL] = {"level", false, true, true},
    [HC_FINDING_UNIT] = {"unit", false, true, true},
    [HC_FINDING_MACHINE] = {"machine", false, true, true},
    [HC_FINDING_UNKNOWN] = {"unknown", false, true, true},
};

enum hc_status hc_findings_allow(struct hc_findings *findings, const struct hc_words *words)
{
    for (int w = 0; w < words->count; w++) {
        char known[160] = "";
        int found = HC_FINDING_KINDS;
        for (int k = 0; k < HC_FINDING_KINDS; k++) {
            size_t used = strlen(known);
            if (!kinds[k].may)
                continue;
            if (strcmp(kinds[k].name, words->word[w]) == 0)
                found = k;
            (void)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "",
                           kinds[k].name);
        }
        if (found == HC_FINDING_KINDS)
            return hc_fail(HC_INVALID, "gate: --allow takes one of %s, not '%s'", known,
                           words->word[w]);
        findings->allowed[found] = true;
    }
    return HC_OK;
}

/* Makes room for one more; false without memory. */
static bool has_room(struct hc_findings *findings)
{
    if (findings->count < findings->room)
        return true;
    int room = findings->room ? 2 * findings->room : 64;
    struct hc_finding *all = realloc(findings->all, (size_t)room * sizeof *all);
    if (!all)
        return false;
    findings->all = all;
    findings->room = room;
    return true;
}

void hc_findings_add(struct hc_findings *findings, enum hc_finding_kind kind,
                     const struct hc_row *row, const char *format, ...)
{
    char text[TEXT];
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(text, sizeof text, format, arguments);
    va_end(arguments);
    char *copy = has_room(findings) ? strdup(text) : NULL;
    findings->no_memory |= !copy;
    if (copy)
        findings->all[findings->count++] = (struct hc_finding){kind, row, copy};
}

static int component_of(const char *name)
{
    return (int)strcspn(name, "/");
}

static int compare_components(const char *a, const char *b)
{
    int shorter = component_of(a) < component_of(b) ? component_of(a) : component_of(b);
    int order = strncmp(a, b, (size_t)shorter);
    return order ? order : component_of(a) - component_of(b);
}

/* By kind, by text if that makes a paragraph, by component, backend and name. */
static int in_print_order(const void *a, const void *b)
{
    const struct hc_finding *x = a;
    const struct hc_finding *y = b;
    int order = (int)x->kind - (int)y->kind;
    if (!order && kinds[x->kind].by_reason)
        order = strcmp(x->text, y->text);
    if (!order)
        order = compare_components(x->row->name, y->row->name);
    if (!order)
        order = strcmp(x->row->backend, y->row->backend);
    return order ? order : strcmp(x->row->name, y->row->name);
}

static void print_label(const struct hc_findings *f, enum hc_finding_kind kind)
{
    printf("%s (%s): ",
           f->allowed[kind]    ? "allowed"
           : kinds[kind].worse ? "worse"
                               : "not compared",
           kinds[kind].name);
}

static void print_row(const struct hc_row *row)
{
    hc_text_line(stdout, row->name);
    (void)fputs(" on ", stdout);
    hc_text_line(stdout, row->backend);
}

/* Whether b continues the paragraph of a, or its group of rows. */
static bool goes_on(const struct hc_finding *a, const struct hc_finding *b)
{
    if (a->kind != b->kind)
        return false;
    if (kinds[a->kind].by_reason)
        return strcmp(a->text, b->text) == 0;
    return compare_components(a->row->name, b->row->name) == 0 &&
           strcmp(a->row->backend, b->row->backend) == 0;
}

/* Rows of one kind, component and backend. */
static void print_rows(const struct hc_findings *f, const struct hc_finding *first, int count,
                       bool every)
{
    int shown = every || count <= SHOWN + 1 ? count : SHOWN;
    for (int i = 0; i < shown; i++) {
        print_label(f, first[i].kind);
        print_row(first[i].row);
        (void)fputs("\n    ", stdout);
        hc_text_line(stdout, first[i].text);
        (void)putchar('\n');
    }
    if (shown == count)
        return;
    print_label(f, first->kind);
    printf("%d more of ", count - shown);
    printf("%.*s/* on %s; --all lists them\n", component_of(first->row->name), first->row->name,
           first->row->backend);
}

/* The components of a paragraph with the numbers of their rows, as many on a line as fit. */
static void print_components(const struct hc_finding *first, int count)
{
    int column = 0;
    for (int i = 0; i < count;) {
        char text[TEXT];
        int n = 1;
        const char *name = first[i].row->name;
        while (i + n < count && compare_components(name, first[i + n].row->name) == 0)
            n++;
        int length = n == 1 ? snprintf(text, sizeof text, "%s on %s", name, first[i].row->backend)
                            : snprintf(text, sizeof text, "%.*s/* %d", component_of(name), name, n);
        i += n;
        bool fits = column && column + 2 + length < HC_COLUMNS;
        (void)fputs(!column ? "    " : fits ? ", " : ",\n    ", stdout);
        column = fits ? column + 2 + length : 4 + length;
        hc_text_line(stdout, text);
    }
    (void)putchar('\n');
}

static void print_paragraph(const struct hc_findings *f, const struct hc_finding *first, int count,
                            bool every)
{
    print_label(f, first->kind);
    printf("%d result%s: ", count, count == 1 ? "" : "s");
    hc_text_line(stdout, first->text);
    (void)putchar('\n');
    if (!every) {
        print_components(first, count);
        return;
    }
    for (int i = 0; i < count; i++) {
        (void)fputs("    ", stdout);
        print_row(first[i].row);
        (void)putchar('\n');
    }
}

void hc_findings_print(struct hc_findings *f, bool every)
{
    if (f->count)
        qsort(f->all, (size_t)f->count, sizeof *f->all, in_print_order);
    for (int i = 0; i < f->count;) {
        const struct hc_finding *first = &f->all[i];
        int n = 1;
        while (i + n < f->count && goes_on(first, &f->all[i + n]))
            n++;
        if (kinds[first->kind].by_reason)
            print_paragraph(f, first, n, every);
        else
            print_rows(f, first, n, every);
        i += n;
    }
}

static int count_kind(const struct hc_findings *f, int kind)
{
    int count = 0;
    for (int i = 0; i < f->count; i++)
        count += (int)f->all[i].kind == kind;
    return count;
}

int hc_findings_count(const struct hc_findings *f, bool worse)
{
    int count = 0;
    for (int k = 0; k < HC_FINDING_KINDS; k++)
        if (!f->allowed[k] && kinds[k].worse == worse)
            count += count_kind(f, k);
    return count;
}

static void say(const struct hc_findings *f, int kind, char *text, size_t bytes)
{
    int count = count_kind(f, kind);
    size_t used = strlen(text);
    if (count)
        (void)snprintf(text + used, bytes - used, "%s%d %s", used ? ", " : "", count,
                       kinds[kind].name);
}

void hc_findings_say(const struct hc_findings *f, bool worse, char *text, size_t bytes)
{
    text[0] = '\0';
    for (int k = 0; k < HC_FINDING_KINDS; k++)
        if (!f->allowed[k] && kinds[k].worse == worse)
            say(f, k, text, bytes);
}

void hc_findings_say_allowed(const struct hc_findings *f, char *text, size_t bytes)
{
    text[0] = '\0';
    for (int k = 0; k < HC_FINDING_KINDS; k++)
        if (f->allowed[k])
            say(f, k, text, bytes);
}

void hc_findings_free(struct hc_findings *f)
{
    for (int i = 0; i < f->count; i++)
        free(f->all[i].text);
    free(f->all);
    *f = (struct hc_findings){0};
}
