/* What the gate prints: findings by group, kind and family for a terminal of 80 columns, the notes,
   and what is above and below them. */
#include "cli/gate/gate.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/colour.h"
#include "cli/gate/allowances.h"
#include "cli/gate/conclusion.h"
#include "op/memory_stream.h"
#include "op/text.h"
#include "op/wrap.h"

/* A paragraph prints up to FEW findings one by one, or up to FAMILIES families. */
enum { FEW = 5, FAMILIES = 6, NAMES = 20, TEXT = 1024 };

/* A CI's runner takes what begins with "::" or "##" for a command to itself (GitHub: "::error::",
   "##[error]", Azure: "##vso[", TeamCity: "##teamcity["), and blanks before it do not matter. */
static bool begins_command(const char *text, bool first)
{
    return (first && strncmp(text, "::", 2) == 0) || strncmp(text, "##", 2) == 0;
}

/* Prints a text of anybody as one line. It is safe on a terminal, and in the log of a CI that takes
   commands from there. */
static void findings_print_line(FILE *out, const char *text)
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

/* The same text in memory, which the caller frees, or NULL. */
static char *safe_line(const char *text)
{
    char *line = NULL;
    size_t length = 0;
    FILE *memory = hc_memory_stream(&line, &length);
    if (memory)
        findings_print_line(memory, text);
    if (memory && fclose(memory) == 0)
        return line;
    free(line);
    return NULL;
}

void hc_findings_print_text(FILE *out, int column, int indent, const char *text)
{
    char *line = safe_line(text);
    if (line)
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
        char until[HC_DATE_TEXT];
        hc_date_write(allowed->until, until);
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
    findings_print_line(out, family->name);
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

/* Prints sorted findings by group, kind and family. Of a large family the heaviest is printed and
   the others are counted, unless `every` is set. */
static void findings_print(FILE *out, const struct hc_findings *f, bool every)
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

void hc_gate_note(struct hc_gate *gate, const char *word, const char *name, const char *backend,
                  const char *format, ...)
{
    char text[1280];
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(text, sizeof text, format, arguments);
    va_end(arguments);
    struct hc_gate_note one = {word != NULL, word, strdup(name), strdup(backend), strdup(text)};
    struct hc_gate_note *notes =
        realloc(gate->notes, ((size_t)gate->note_count + 1) * sizeof *notes);
    if (notes)
        gate->notes = notes;
    if (notes && one.name && one.backend && one.text) {
        notes[gate->note_count++] = one;
        return;
    }
    free(one.name);
    free(one.backend);
    free(one.text);
    gate->findings.no_memory = true;
}

/* Notes that are alike beyond this number are only counted. */
enum { MANY = 8 };

static bool has_word(const struct hc_gate_note *note, const char *word)
{
    return note->alone && strcmp(note->word, word) == 0;
}

static void print_word(FILE *out, const struct hc_gate *gate, const char *word, bool every)
{
    int count = 0;
    bool of_all = false; /* one note about all recipes */
    for (int i = 0; i < gate->note_count; i++)
        if (has_word(&gate->notes[i], word)) {
            count++;
            of_all = gate->notes[i].backend[0] == '\0';
        }
    bool many = count > MANY && strcmp(word, "identical") == 0 && !every;
    (void)fputs(word, out);
    if (!of_all)
        (void)fprintf(out, ": %d recipe%s%s", count, count == 1 ? "" : "s",
                      many ? "; --all lists them" : "");
    (void)fputc('\n', out);
    for (int i = 0; i < gate->note_count && !many; i++) {
        const struct hc_gate_note *note = &gate->notes[i];
        if (!has_word(note, word))
            continue;
        (void)fputs("  ", out);
        findings_print_line(out, note->name);
        (void)fputs(note->backend[0] ? " on " : "", out);
        findings_print_line(out, note->backend);
        (void)fputs("\n    ", out);
        hc_findings_print_text(out, 4, 4, note->text);
    }
}

/* Prints the notes that stand alone, by their words. Of many that are identical only the number is
   printed, unless `every` is set. */
static void gate_notes_print(FILE *out, const struct hc_gate *gate, bool every)
{
    for (int i = 0; i < gate->note_count; i++) {
        bool first = gate->notes[i].alone;
        for (int k = 0; k < i && first; k++)
            first = !has_word(&gate->notes[k], gate->notes[i].word);
        if (first)
            print_word(out, gate, gate->notes[i].word, every);
    }
}

void hc_gate_notes_free(struct hc_gate *gate)
{
    for (int i = 0; i < gate->note_count; i++) {
        free(gate->notes[i].name);
        free(gate->notes[i].backend);
        free(gate->notes[i].text);
    }
    free(gate->notes);
    gate->notes = NULL;
    gate->note_count = 0;
}

/* Prints which machine or software is another, since that may be the reason. */
static void print_changes(FILE *out, const struct hc_gate *gate)
{
    if (gate->change_count)
        (void)fputs("the machine or its software is another:\n", out);
    for (int i = 0; i < gate->change_count; i++) {
        const struct hc_gate_change *c = &gate->changes[i];
        char line[1024];
        (void)snprintf(line, sizeof line, "%s%s%s %s, was %s", c->part, c->part[0] ? ": " : "",
                       c->key, c->is, c->was);
        (void)fputs("  ", out);
        hc_findings_print_text(out, 2, 4, line);
    }
}

static void print_allowance(void *out, const struct hc_allowance *one, const char *text)
{
    (void)one;
    hc_findings_print_text(out, 0, 4, text);
}

/* How to see what is worst again. */
static void print_repro(FILE *out, const struct hc_findings *f)
{
    for (int i = 0; i < f->count; i++) {
        const struct hc_finding *one = &f->all[i];
        if (one->allowed || hc_finding_kinds[one->kind].group != HC_FOUND_WORSE || !one->repro[0])
            continue;
        char *line = safe_line(one->repro);
        if (line)
            (void)hc_print_command(out, fprintf(out, "repeat the first: "), 4, line);
        (void)fputc('\n', out);
        free(line);
        return;
    }
}

void hc_gate_print(FILE *out, const struct hc_gate *gate, bool every)
{
    char text[1024];
    print_changes(out, gate);
    gate_notes_print(out, gate, every);
    findings_print(out, &gate->findings, every);
    hc_gate_allowances(gate, print_allowance, out);
    print_repro(out, &gate->findings);
    hc_gate_counts(gate, text, sizeof text);
    hc_findings_print_text(out, 0, 4, text);
}

void hc_gate_print_verdict(FILE *out, bool passes, const char *reason)
{
    (void)hc_colour_word(out, passes ? HC_COLOUR_PASS : HC_COLOUR_FAIL, 0,
                         passes ? "PASS" : "FAIL");
    (void)fputs(": ", out);
    findings_print_line(out, reason);
    (void)fputc('\n', out);
}
