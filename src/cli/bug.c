#include "cli/bug.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cases/reports.h"
#include "formula/arm.h"
#include "op/text.h"
#include "op/wrap.h"

enum { INDENT = 10 };

/* A label of at most seven letters, and a text behind it; nothing where there is no text. Each line
   of the text is one of the output, or more if it is long. */
static void print_piece(FILE *out, const char *label, const char *text)
{
    char line[2048];
    while (text && *text) {
        size_t length = strcspn(text, "\n");
        (void)snprintf(line, sizeof line, "%.*s", (int)length, text);
        if (line[strspn(line, " ")]) {
            int column = fprintf(out, "  %-7s ", label);
            hc_print_wrapped(out, column, INDENT, line + strspn(line, " "));
            label = "";
        }
        text += length + (text[length] == '\n');
    }
}

/* The same for a formula: where one line does not hold it, each statement has a line. */
static void print_formula(FILE *out, const char *label, const char *formula)
{
    bool fits = formula && strlen(formula) < HC_COLUMNS - INDENT;
    char *copy = formula ? strdup(formula) : NULL;
    for (char *at = copy; at && !fits && (at = strpbrk(at, "#;")) != NULL;)
        if (*at == '#')
            at += strcspn(at, "\n");
        else
            *at++ = '\n';
    print_piece(out, label, copy);
    free(copy);
}

bool hc_bug_is_shared(const struct hc_bug *bug)
{
    const struct hc_bug_arm *a = &bug->buggy;
    const struct hc_bug_arm *b = &bug->fixed;
    return !a->with && !b->with && !a->formula && !b->formula && !a->each && !b->each;
}

/* A quote has one arm alone (fixture/quote.h). */
static bool is_single(const struct hc_bug *bug)
{
    return !bug->play && !bug->buggy.in;
}

static void print_arm(FILE *out, const struct hc_bug *bug, const char *label,
                      const struct hc_bug_arm *arm)
{
    char line[2048];
    (void)snprintf(line, sizeof line, "%s%s%s%s%s%s%s%s", arm->in ? "in " : "",
                   arm->in ? arm->in : "", arm->in && (arm->prints || arm->is) ? "; " : "",
                   arm->prints ? "the report prints " : "", arm->prints ? arm->prints : "",
                   arm->prints && arm->is ? "; " : "", arm->is ? "computed: " : "",
                   arm->is ? arm->is : "");
    print_piece(out, label, line);
    label = line[0] ? "" : label;
    print_formula(out, label, arm->with);
    print_formula(out, label, arm->formula);
    if (arm->each)
        (void)snprintf(line, sizeof line, "%" PRId64 " times: %s", bug->steps, arm->each);
    print_piece(out, label, arm->each ? line : NULL);
}

/* A source is cut before its title and its addresses. */
void hc_print_reports(FILE *out, const struct hc_case *what)
{
    enum { MOST = 4 };
    int n;
    int shown = 0;
    char line[2048];
    const struct hc_report *reports = hc_reports(&n);
    for (int i = 0; i < n; i++) {
        if (reports[i].shown_by != what || hc_report_is_named(&reports[i]))
            continue;
        (void)snprintf(line, sizeof line, "%s: %.*s", reports[i].slug,
                       (int)strcspn(reports[i].source, ",;"), reports[i].source);
        if (shown++ < MOST)
            print_piece(out, shown == 1 ? "reports" : "", line);
    }
    if (shown > MOST)
        (void)fprintf(out, "%*sand %d more: halfcheck list reports\n", INDENT, "", shown - MOST);
}

void hc_bug_print_arms(FILE *out, const struct hc_bug *bug)
{
    char line[2048];
    (void)fputc('\n', out);
    if (bug->not_a_bug)
        print_piece(out, "control", "not a bug: what was reported as one is right");
    print_piece(out, "rule", bug->rule);
    print_piece(out, "unbound", bug->no_bound);
    if (bug->frozen) {
        (void)snprintf(line, sizeof line, "on %.10s, before its bound was known", bug->frozen);
        print_piece(out, "frozen", line);
    }
    if (bug->play)
        print_piece(out, "play",
                    bug->arithmetic_only ? "both arms restate the arithmetic alone"
                                         : "both arms run the code that trains");
    bool own = bug->buggy.formula && bug->fixed.formula;
    print_formula(out, "formula", own ? NULL : bug->formula);
    if (bug->each && !(bug->buggy.each && bug->fixed.each)) {
        (void)snprintf(line, sizeof line, "%" PRId64 " times: %s", bug->steps, bug->each);
        print_piece(out, own || !bug->formula ? "formula" : "", line);
    }
    print_arm(out, bug, "buggy", &bug->buggy);
    if (is_single(bug))
        print_piece(out, "formats", bug->fixed.in);
    else
        print_arm(out, bug, "fixed", &bug->fixed);
}

/* A command in pieces between which a line may end: a statement of its formula, or an option with
   its value. Where the arms differ, both commands are shown if they have few. */
enum { MOST_PIECES = 24, LONGEST_PIECE = 512, MOST_TWICE = 6 };

struct pieces {
    int count;
    char piece[MOST_PIECES][LONGEST_PIECE];
};

/* The option, if there is one, and its value as one word of shell; nothing without a value. */
static void add_option(struct pieces *pieces, const char *option, const char *value)
{
    char word[LONGEST_PIECE - 16];
    if (!value || !*value)
        return;
    bool whole = hc_text_shell(word, sizeof word, value);
    assert(whole && pieces->count < MOST_PIECES);
    (void)whole;
    (void)snprintf(pieces->piece[pieces->count++], LONGEST_PIECE, "%s%s%s", option,
                   *option ? " " : "", word);
}

/* Each statement of a formula as a word, without comments. */
static void add_statements(struct pieces *pieces, const char *formula)
{
    char statement[LONGEST_PIECE - 16];
    while (formula && *formula) {
        formula += strspn(formula, " ;\n");
        size_t length = strcspn(formula, "#;\n");
        (void)snprintf(statement, sizeof statement, "%.*s", (int)length, formula);
        for (size_t n = strlen(statement); n > 0 && statement[n - 1] == ' '; n--)
            statement[n - 1] = '\0';
        add_option(pieces, "", statement);
        formula += length;
        if (*formula == '#')
            formula += strcspn(formula, "\n");
    }
}

/* A loop as one line: its statements with semicolons between, without comments. */
static void join_statements(char line[LONGEST_PIECE - 16], const char *formula)
{
    size_t used = 0;
    bool between = false;
    for (line[0] = '\0'; formula && *formula && used + 3 < LONGEST_PIECE - 16; formula++) {
        if (*formula == '#')
            formula += strcspn(formula, "\n") - 1;
        else if (*formula == '\n')
            between = true;
        else if (!between || *formula != ' ') {
            if (between && used > 0 && line[used - 1] != ';')
                line[used++] = ';';
            if (between)
                line[used++] = ' ';
            between = false;
            line[used++] = *formula;
        }
        line[used] = '\0';
    }
}

static struct pieces pieces_of(const struct hc_bug *bug, bool buggy)
{
    struct pieces pieces = {0};
    const struct hc_bug_arm *arm = buggy ? &bug->buggy : &bug->fixed;
    const char *own = arm->formula ? arm->formula : bug->formula;
    const char *each = arm->each ? arm->each : bug->each;
    char in[2 * HC_LONGEST_ARM + 4];
    char steps[32];
    char loop[LONGEST_PIECE - 16];
    if (bug->play || !arm->in)
        return pieces;
    bool both = hc_bug_is_shared(bug) && !is_single(bug);
    (void)snprintf(in, sizeof in, "%s%s%s", both ? bug->buggy.in : arm->in, both ? "," : "",
                   both ? bug->fixed.in : "");
    (void)snprintf(steps, sizeof steps, "%" PRId64, bug->steps);
    add_statements(&pieces, arm->with);
    add_statements(&pieces, own);
    join_statements(loop, each);
    add_option(&pieces, "--each", loop);
    add_option(&pieces, "--steps", each ? steps : NULL);
    add_option(&pieces, "--in", in);
    add_option(&pieces, "--show", bug->show);
    return pieces;
}

void hc_bug_command(const struct hc_bug *bug, bool buggy, char line[HC_LONGEST_COMMAND])
{
    const struct pieces pieces = pieces_of(bug, buggy);
    size_t used = 0;
    line[0] = '\0';
    for (int i = 0; i < pieces.count; i++)
        used += (size_t)snprintf(line + used, HC_LONGEST_COMMAND - used, "%s %s",
                                 i ? "" : "halfcheck calc", pieces.piece[i]);
    assert(used < HC_LONGEST_COMMAND);
}

static void print_command(FILE *out, const char *label, const struct hc_bug *bug, bool buggy)
{
    char line[HC_LONGEST_COMMAND];
    hc_bug_command(bug, buggy, line);
    (void)hc_print_command(out, fprintf(out, "  %-7s ", label), INDENT + 4, line);
    (void)fputc('\n', out);
}

void hc_bug_print_lesson(FILE *out, const struct hc_bug *bug)
{
    (void)fputc('\n', out);
    print_piece(out, "lesson", bug->lesson);
    print_piece(out, "not so", bug->correction);
    if (bug->fault) {
        char line[160];
        (void)snprintf(line, sizeof line, "a defect of the same kind: halfcheck selftest %s",
                       bug->fault);
        print_piece(out, "fault", line);
    }
    const struct pieces fixed = pieces_of(bug, false);
    const struct pieces buggy = pieces_of(bug, true);
    if (buggy.count)
        print_command(out, "try", bug, true);
    if (is_single(bug))
        print_command(out, "try", bug, false);
    else if (fixed.count && fixed.count <= MOST_TWICE && !hc_bug_is_shared(bug))
        print_command(out, "", bug, false);
}
