/* Sorting findings into families. A family is a component of cases ("op"); or, where a few ops or
   topics of a component are concerned, with several cases, each of these ("op/gemm"). */
#include "cli/gate/findings.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lines.h"
#include "op/text.h"

enum { TEXT = 640 };

const char *const hc_findings_group_names[HC_FOUND_GROUPS] = {
    [HC_FOUND_WORSE] = "worse",
    [HC_FOUND_CHANGED] = "changed",
    [HC_FOUND_BETTER] = "better",
    [HC_FOUND_NEW] = "new",
    [HC_FOUND_NOT_COMPARABLE] = "not comparable",
};

const struct hc_finding_kind_row hc_finding_kinds[HC_FINDING_KINDS] = {
    [HC_FINDING_VERDICT] = {"verdict", HC_FOUND_WORSE, false, false},
    [HC_FINDING_ERROR] = {"error", HC_FOUND_WORSE, false, false},
    [HC_FINDING_BOUND] = {"bound", HC_FOUND_WORSE, false, false},
    [HC_FINDING_CHECKED] = {"checked", HC_FOUND_WORSE, false, false},
    [HC_FINDING_BITS] = {"bits", HC_FOUND_WORSE, true, false},
    [HC_FINDING_TRAINING] = {"training", HC_FOUND_WORSE, false, false},
    [HC_FINDING_EPOCHS] = {"epochs", HC_FOUND_WORSE, false, false},
    [HC_FINDING_DRIFT] = {"drift", HC_FOUND_WORSE, false, false},
    [HC_FINDING_FINGERPRINT] = {"fingerprint", HC_FOUND_WORSE, false, false},
    [HC_FINDING_MISSING] = {"missing", HC_FOUND_WORSE, true, false},
    [HC_FINDING_CHANGED] = {"changed", HC_FOUND_CHANGED, false, false},
    [HC_FINDING_BETTER] = {"better", HC_FOUND_BETTER, false, false},
    [HC_FINDING_NEW] = {"new", HC_FOUND_NEW, true, false},
    [HC_FINDING_SEED] = {"seed", HC_FOUND_NOT_COMPARABLE, true, true},
    [HC_FINDING_SETTINGS] = {"settings", HC_FOUND_NOT_COMPARABLE, true, true},
    [HC_FINDING_SEEDS] = {"seeds", HC_FOUND_NOT_COMPARABLE, false, true},
    [HC_FINDING_LEVEL] = {"level", HC_FOUND_NOT_COMPARABLE, true, true},
    [HC_FINDING_UNIT] = {"unit", HC_FOUND_NOT_COMPARABLE, true, true},
    [HC_FINDING_MACHINE] = {"machine", HC_FOUND_NOT_COMPARABLE, true, true},
    [HC_FINDING_VERSION] = {"version", HC_FOUND_NOT_COMPARABLE, true, true},
    [HC_FINDING_DIGEST] = {"digest", HC_FOUND_NOT_COMPARABLE, true, true},
    [HC_FINDING_UNKNOWN] = {"unknown", HC_FOUND_NOT_COMPARABLE, true, true},
};

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

static void free_texts(struct hc_finding *finding)
{
    free(finding->name);
    free(finding->backend);
    free(finding->text);
    free(finding->repro);
}

void hc_findings_add(struct hc_findings *findings, enum hc_finding_kind kind, const char *name,
                     const char *backend, const char *format, ...)
{
    char text[TEXT];
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(text, sizeof text, format, arguments);
    va_end(arguments);
    struct hc_finding one = {.kind = kind,
                             .name = strdup(name),
                             .backend = strdup(backend),
                             .text = strdup(text),
                             .repro = strdup("")};
    if (one.name && one.backend && one.text && one.repro && has_room(findings)) {
        findings->all[findings->count++] = one;
        return;
    }
    free_texts(&one);
    findings->no_memory = true;
}

void hc_findings_weigh(struct hc_findings *findings, double weight, const char *repro)
{
    if (findings->count == 0)
        return;
    struct hc_finding *last = &findings->all[findings->count - 1];
    char *copy = strdup(repro);
    findings->no_memory |= !copy;
    last->weight = isnan(weight) ? (double)INFINITY : weight;
    if (copy) {
        free(last->repro);
        last->repro = copy;
    }
}

int hc_findings_count(const struct hc_findings *findings, enum hc_findings_group group)
{
    int count = 0;
    for (int i = 0; i < findings->count; i++)
        count +=
            !findings->all[i].allowed && hc_finding_kinds[findings->all[i].kind].group == group;
    return count;
}

int hc_findings_allowed(const struct hc_findings *findings)
{
    int count = 0;
    for (int i = 0; i < findings->count; i++)
        count += findings->all[i].allowed != NULL;
    return count;
}

void hc_findings_say(const struct hc_findings *findings, enum hc_findings_group group, char *text,
                     size_t bytes)
{
    int counts[HC_FINDING_KINDS] = {0};
    for (int i = 0; i < findings->count; i++)
        counts[findings->all[i].kind] += !findings->all[i].allowed;
    text[0] = '\0';
    for (int k = 0; k < HC_FINDING_KINDS; k++) {
        if (counts[k] && hc_finding_kinds[k].group == group)
            hc_append(text, bytes, "%s%d %s", text[0] ? ", " : "", counts[k],
                      hc_finding_kinds[k].name);
    }
}

void hc_findings_free(struct hc_findings *findings)
{
    for (int i = 0; i < findings->count; i++)
        free_texts(&findings->all[i]);
    free(findings->all);
    *findings = (struct hc_findings){0};
}

/* A component with more families than this is one family. */
enum { FEW = 4 };

static size_t component_of(const char *name)
{
    return strcspn(name, "/");
}

/* "op/gemm" of "op/gemm/fp16/7x9". */
static size_t topic_of(const char *name)
{
    size_t component = component_of(name);
    return name[component] ? component + 1 + strcspn(name + component + 1, "/") : component;
}

static int compare_starts(const char *a, size_t of_a, const char *b, size_t of_b)
{
    int order = memcmp(a, b, of_a < of_b ? of_a : of_b);
    return order ? order : (of_a > of_b) - (of_a < of_b);
}

/* Allowed ones come last, each allowance's together; in the order of its file, where it stands. */
static int compare_allowances(const struct hc_finding *x, const struct hc_finding *y)
{
    if (!x->allowed != !y->allowed)
        return x->allowed ? 1 : -1;
    return (x->allowed > y->allowed) - (x->allowed < y->allowed);
}

/* The first part of the order: what must be the same for findings to be told together. */
static int compare_paragraphs(const struct hc_finding *x, const struct hc_finding *y)
{
    int order = compare_allowances(x, y);
    if (!order)
        order = (int)hc_finding_kinds[x->kind].group - (int)hc_finding_kinds[y->kind].group;
    if (!order)
        order = (int)x->kind - (int)y->kind;
    if (!order && hc_finding_kinds[x->kind].by_reason)
        order = y->reason_count - x->reason_count;
    if (!order && hc_finding_kinds[x->kind].by_reason)
        order = strcmp(x->text, y->text);
    return order;
}

static int by_name(const void *a, const void *b)
{
    const struct hc_finding *x = a;
    const struct hc_finding *y = b;
    int order = compare_paragraphs(x, y);
    if (!order)
        order = compare_starts(x->name, component_of(x->name), y->name, component_of(y->name));
    if (!order)
        order = compare_starts(x->name, topic_of(x->name), y->name, topic_of(y->name));
    if (!order)
        order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->backend, y->backend);
}

static int compare_families(const struct hc_finding *x, const struct hc_finding *y)
{
    return compare_starts(x->name, x->family, y->name, y->family);
}

static int by_weight(const void *a, const void *b)
{
    const struct hc_finding *x = a;
    const struct hc_finding *y = b;
    int order = compare_paragraphs(x, y);
    if (!order)
        order = (x->family_weight < y->family_weight) - (x->family_weight > y->family_weight);
    if (!order)
        order = y->family_count - x->family_count;
    if (!order)
        order = compare_families(x, y);
    if (!order)
        order = (x->weight < y->weight) - (x->weight > y->weight);
    if (!order)
        order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->backend, y->backend);
}

/* Whether two findings stand in one paragraph and begin with the same letters. */
static bool share(const struct hc_finding *x, const struct hc_finding *y,
                  size_t (*start)(const char *name))
{
    return compare_paragraphs(x, y) == 0 &&
           compare_starts(x->name, start(x->name), y->name, start(y->name)) == 0;
}

/* Sets how long the family's name is, for findings that are sorted by name. A topic is worth a line
   only if it stands for several cases. */
static void find_families(struct hc_findings *f)
{
    int next;
    for (int i = 0; i < f->count; i = next) {
        int topics = 1;
        int names = 1;
        for (next = i + 1; next < f->count && share(&f->all[i], &f->all[next], component_of);
             next++) {
            topics += !share(&f->all[next - 1], &f->all[next], topic_of);
            names += strcmp(f->all[next - 1].name, f->all[next].name) != 0;
        }
        bool one_family = topics > FEW || (topics > 1 && topics == names);
        for (int j = i; j < next; j++)
            f->all[j].family = one_family ? component_of(f->all[j].name) : topic_of(f->all[j].name);
    }
}

static void weigh_families(struct hc_findings *f)
{
    int next;
    for (int i = 0; i < f->count; i = next) {
        double weight = f->all[i].weight;
        for (next = i + 1; next < f->count && compare_paragraphs(&f->all[i], &f->all[next]) == 0 &&
                           compare_families(&f->all[i], &f->all[next]) == 0;
             next++)
            weight = f->all[next].weight > weight ? f->all[next].weight : weight;
        for (int j = i; j < next; j++) {
            f->all[j].family_weight = weight;
            f->all[j].family_count = next - i;
        }
    }
}

/* Counts how many share a paragraph. */
static void count_reasons(struct hc_findings *f)
{
    int next;
    for (int i = 0; i < f->count; i++)
        f->all[i].reason_count = 0;
    qsort(f->all, (size_t)f->count, sizeof *f->all, by_name);
    for (int i = 0; i < f->count; i = next) {
        for (next = i + 1; next < f->count && compare_paragraphs(&f->all[i], &f->all[next]) == 0;)
            next++;
        for (int j = i; j < next; j++)
            f->all[j].reason_count = next - i;
    }
}

void hc_findings_sort(struct hc_findings *f)
{
    if (f->count == 0)
        return;
    count_reasons(f);
    qsort(f->all, (size_t)f->count, sizeof *f->all, by_name);
    find_families(f);
    weigh_families(f);
    qsort(f->all, (size_t)f->count, sizeof *f->all, by_weight);
}

bool hc_findings_next(const struct hc_findings *f, struct hc_family *family)
{
    const struct hc_finding *end = f->all + f->count;
    const struct hc_finding *first = family->all ? family->all + family->count : f->all;
    const struct hc_finding *next = first;
    if (first == end)
        return false;
    while (next < end && compare_paragraphs(first, next) == 0 && compare_families(first, next) == 0)
        next++;
    const struct hc_finding_kind_row *kind = &hc_finding_kinds[first->kind];
    *family = (struct hc_family){.group = kind->group,
                                 .kind = first->kind,
                                 .allowed = first->allowed,
                                 .reason = kind->by_reason ? first->text : NULL,
                                 .all = first,
                                 .count = (int)(next - first)};
    bool one_case = true;
    for (int i = 1; i < family->count; i++)
        one_case &= strcmp(first[i].name, first->name) == 0;
    size_t length = one_case ? strlen(first->name) : first->family;
    (void)snprintf(family->name, sizeof family->name, "%.*s", (int)length, first->name);
    return true;
}

/* How many of the family are on the backend of finding i, 0 if it was counted before. */
static int count_backend(const struct hc_family *family, int i)
{
    const char *backend = family->all[i].backend;
    int count = 0;
    for (int j = 0; j < i; j++)
        if (strcmp(family->all[j].backend, backend) == 0)
            return 0;
    for (int j = i; j < family->count; j++)
        count += strcmp(family->all[j].backend, backend) == 0;
    return count;
}

void hc_family_backends(const struct hc_family *family, char *text, size_t bytes)
{
    bool once = true;
    text[0] = '\0';
    for (int i = 0; i < family->count && once; i++)
        once = count_backend(family, i) == 1;
    for (int i = 0; i < family->count; i++) {
        const char *backend = family->all[i].backend;
        int count = count_backend(family, i);
        if (count && once)
            hc_append(text, bytes, "%s%s", text[0] ? ", " : "", backend);
        else if (count)
            hc_append(text, bytes, "%s%s %d", text[0] ? ", " : "", backend, count);
    }
}
