#include "cli/gate/findings_text.h"

#include <stdlib.h>
#include <string.h>

#include "cli/colour.h"
#include "cli/gate/allowances.h"
#include "op/memory_stream.h"
#include "op/text.h"
#include "op/wrap.h"

/* Of a paragraph so many findings are printed each for itself, or so many families. */
enum { FEW = 5, FAMILIES = 6, NAMES = 20, TEXT = 1024 };

/* A CI's runner takes what begins with "::" or "##" for a command to itself (GitHub: "::error::",
   "##[error]", Azure: "##vso[", TeamCity: "##teamcity["), and blanks before it do not matter. */
static bool begins_command(const char *text, bool first)
{
    return (first && strncmp(text, "::", 2) == 0) || strncmp(text, "##", 2) == 0;
}

void hc_findings_print_line(FILE *out, const char *text)
{
    char character[5];
    bool first = true;
    while (*text) {
        bool apart = begins_command(text, first);
        (void)hc_text_next(&text, character);
        (void)fprintf(out, "%s%s", character, apart ? " " : "");
        first = *character == ' ';
    }
}

void hc_findings_print_text(FILE *out, int column, int indent, const char *text)
{
    char *line = NULL;
    size_t length = 0;
    FILE *memory = hc_memory_stream(&line, &length);
    if (memory)
        hc_findings_print_line(memory, text);
    if (memory && fclose(memory) == 0)
        hc_print_wrapped(out, column, indent, line);
    free(line);
}

/* Findings of one kind, and of one reason if the kind goes by reasons: families that follow each
   other. */
struct paragraph {
    struct hc_family first;
    int families;
    int count;
    bool each; /* every finding has its own lines */
};

static bool goes_on(const struct hc_family *a, const struct hc_family *b)
{
    return a->allowed == b->allowed && a->kind == b->kind &&
           (!a->reason || strcmp(a->reason, b->reason) == 0);
}

static struct paragraph paragraph_from(const struct hc_findings *f, const struct hc_family *first,
                                       bool every)
{
    struct paragraph p = {.first = *first};
    struct hc_family family = *first;
    bool more = true;
    for (; more && goes_on(first, &family); more = hc_findings_next(f, &family)) {
        p.families++;
        p.count += family.count;
    }
    p.each = every || p.count <= FEW;
    return p;
}

static enum hc_colour colour_of(const struct hc_family *family)
{
    static const enum hc_colour colours[HC_FOUND_GROUPS] = {
        [HC_FOUND_WORSE] = HC_COLOUR_FAIL,
        [HC_FOUND_BETTER] = HC_COLOUR_PASS,
        [HC_FOUND_NOT_COMPARABLE] = HC_COLOUR_WARN,
    };
    return family->allowed ? HC_COLOUR_WARN : colours[family->group];
}

static void print_heading(FILE *out, const struct paragraph *p)
{
    char text[TEXT];
    const char *group = hc_findings_group_names[p->first.group];
    const char *kind = hc_finding_kinds[p->first.kind].name;
    const struct hc_allowance *allowed = p->first.allowed;
    int column = hc_colour_word(out, colour_of(&p->first), 0, allowed ? "allowed" : group);
    if (allowed || strcmp(group, kind) != 0)
        column += fprintf(out, " (%s)", kind);
    column += fprintf(out, ": ");
    (void)snprintf(text, sizeof text, "%d result%s%s%s", p->count, p->count == 1 ? "" : "s",
                   p->first.reason ? ": " : "", p->first.reason ? p->first.reason : "");
    hc_findings_print_text(out, column, 4, text);
    if (allowed && allowed->line) {
        char until[HC_DAY_TEXT];
        hc_day_write(allowed->until, until);
        (void)snprintf(text, sizeof text, "until %s: %s", until, allowed->reason);
        (void)fputs("    ", out);
        hc_findings_print_text(out, 4, 4, text);
    }
}

/* Prints a finding, or several that are alike but for their backends. */
static void print_findings(FILE *out, int indent, const struct hc_finding *first, int count,
                           bool with_text)
{
    char name[TEXT];
    size_t used = (size_t)snprintf(name, sizeof name, "%s", first->name);
    for (int i = 0; i < count; i++) {
        used = used < sizeof name ? used : sizeof name - 1;
        if (first[i].backend[0])
            used += (size_t)snprintf(name + used, sizeof name - used, "%s%s", i ? ", " : " on ",
                                     first[i].backend);
    }
    (void)fprintf(out, "%*s", indent, "");
    hc_findings_print_text(out, indent, indent + 4, name);
    if (!with_text)
        return;
    (void)fprintf(out, "%*s", indent + 2, "");
    hc_findings_print_text(out, indent + 2, indent + 2, first->text);
}

/* How many findings, from the first of `count`, differ in their backends alone. */
static int alike(const struct hc_finding *first, int count)
{
    int n = 1;
    while (n < count && strcmp(first[n].name, first->name) == 0 &&
           strcmp(first[n].text, first->text) == 0)
        n++;
    return n;
}

/* A line of a family with its numbers, and the heaviest of its findings where it matters. */
static void print_family(FILE *out, const struct hc_family *family)
{
    char backends[TEXT];
    char text[2 * TEXT];
    hc_family_backends(family, backends, sizeof backends);
    bool example = !family->reason &&
                   (family->group == HC_FOUND_WORSE || family->group == HC_FOUND_NOT_COMPARABLE);
    if (family->count == 1) {
        print_findings(out, 2, family->all, 1, example);
        return;
    }
    (void)snprintf(text, sizeof text, "%s%s", backends, example ? "; the worst:" : "");
    (void)fputs("  ", out);
    hc_findings_print_line(out, family->name);
    int column = 3 + (int)strlen(family->name);
    column += fprintf(out, "%*s", column < NAMES ? NAMES - column + 1 : 1, "") - 1;
    hc_findings_print_text(out, column, NAMES, text);
    if (example)
        print_findings(out, 4, family->all, 1, true);
}

static void print_paragraph(FILE *out, const struct hc_findings *f, const struct paragraph *p)
{
    struct hc_family family = p->first;
    int left = p->count;
    int most = p->families <= FAMILIES + 1 ? p->families : FAMILIES;
    print_heading(out, p);
    for (int i = 0; i < (p->each ? p->families : most); i++) {
        for (int j = 0, n; p->each && j < family.count; j += n) {
            n = alike(&family.all[j], family.count - j);
            print_findings(out, 2, &family.all[j], n, !family.reason);
        }
        if (!p->each)
            print_family(out, &family);
        left -= family.count;
        (void)hc_findings_next(f, &family);
    }
    if (left && !p->each)
        (void)fprintf(out, "  and %d more in %d families; --all lists them\n", left,
                      p->families - most);
}

void hc_findings_print(FILE *out, const struct hc_findings *f, bool every)
{
    struct hc_family family = {0};
    bool more = hc_findings_next(f, &family);
    while (more) {
        struct paragraph p = paragraph_from(f, &family, every);
        print_paragraph(out, f, &p);
        for (int i = 0; i < p.families; i++)
            more = hc_findings_next(f, &family);
    }
}
