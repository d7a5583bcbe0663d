/* A formula as people type it may hold expressions between its statements: "w = 1; w - 1e-4", or
   one alone: "bf16(1/3)". A program has statements in one block and expressions in another. So the
   text is parsed twice, once with its expressions blanked out and once with its statements. Every
   character stays at its place, and an error is marked where it was typed. */
#include "cli/calc/input.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "op/typed.h"

enum { DEFAULT_STEPS = 100 };
static const double most_steps = 1e12;
static const char default_arms[] = "fp16,bf16,fp32";

static char *read_file(const char *name)
{
    bool standard = strcmp(name, "-") == 0;
    FILE *file = standard ? stdin : fopen(name, "r");
    char *text = file ? calloc(1, HC_LONGEST_FORMULA + 2) : NULL;
    size_t length = text ? fread(text, 1, HC_LONGEST_FORMULA + 1, file) : 0;
    const char *what = standard ? "standard input" : name;
    const char *wrong = !file || ferror(file)         ? strerror(errno)
                        : !text                       ? "no memory"
                        : length > HC_LONGEST_FORMULA ? "it is too long for a formula"
                        : strlen(text) < length       ? "it holds a zero byte"
                                                      : NULL;
    if (file && !standard)
        (void)fclose(file);
    if (!wrong)
        return text;
    (void)hc_complain("calc: %s: %s", what, wrong);
    free(text);
    return NULL;
}

char *hc_calc_formula(const struct hc_calc_typed *typed, char *const *words, int count)
{
    bool from_stdin = count == 1 && strcmp(words[0], "-") == 0;
    if (typed->file && count > 0) {
        (void)hc_complain("calc takes a FORMULA or --file, not both: '%s'", words[0]);
        return NULL;
    }
    if (typed->file || from_stdin)
        return read_file(typed->file ? typed->file : "-");
    size_t length = 1;
    for (int i = 0; i < count; i++)
        length += strlen(words[i]) + 1;
    if ((count == 0 && !typed->each) || length > HC_LONGEST_FORMULA) {
        (void)hc_complain(count == 0 ? "calc needs a FORMULA; see: halfcheck calc --help"
                                     : "calc: the formula is too long");
        return NULL;
    }
    char *text = calloc(1, length);
    if (!text)
        (void)hc_complain("calc: no memory");
    size_t used = 0;
    for (int i = 0; i < count && text; i++)
        used += (size_t)snprintf(text + used, length - used, "%s%s", i ? "\n" : "", words[i]);
    return text;
}

/* A copy with plain minus signs, which the program may copy again; NULL after a line. */
static char *plain_copy(const char *text)
{
    char *copy = strdup(text);
    if (copy)
        hc_formula_plain(copy);
    else
        (void)hc_complain("calc: no memory");
    return copy;
}

/* One statement or expression of a text: it ends before `;`, a newline or a comment. */
struct segment {
    size_t length;
    bool assigns;
    bool blank;
};

static struct segment segment_at(const char *text)
{
    struct segment s = {.blank = true};
    int depth = 0;
    char before = '\0';
    for (; text[s.length] && !strchr("#\n", text[s.length]); s.length++) {
        char c = text[s.length];
        if (c == ';' && depth <= 0)
            break;
        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        s.assigns |= c == '=' && depth <= 0 && text[s.length + 1] != '=' &&
                     !(before && strchr("<>!=", before));
        s.blank &= isspace((unsigned char)c) != 0;
        before = c;
    }
    return s;
}

/* Blanks the expressions out of `statements`, and all else out of `shown`, where a `;` stands
   before each expression but the first. */
static void part(char *statements, char *shown, bool *any_statement, bool *any_expression)
{
    size_t at = 0;
    while (statements[at]) {
        struct segment s = segment_at(statements + at);
        bool expression = !s.assigns && !s.blank;
        memset((expression ? statements : shown) + at, ' ', s.length);
        if (expression && *any_expression)
            shown[at - 1] = ';';
        *any_expression |= expression;
        *any_statement |= s.assigns;
        at += s.length;
        if (statements[at] == '#')
            for (; statements[at] && statements[at] != '\n'; at++)
                shown[at] = ' ';
        if (statements[at])
            shown[at++] = ' ';
    }
}

static bool parse(struct hc_calc *calc, const char *text, bool expressions,
                  const struct hc_block **block)
{
    struct hc_formula_error error;
    char *plain = plain_copy(text);
    *block = plain ? hc_program_parse(calc->program, plain, expressions, &error) : NULL;
    if (plain && !*block)
        (void)hc_calc_refuse(&error);
    free(plain);
    return *block;
}

/* The names that a block assigns, once each, with commas between; of constants only if there is
   nothing else. */
enum { NAMES = HC_MAX_NAMES * (HC_LONGEST_NAME_IN_FORMULA + 2) + 1 };

static void names_of(const struct hc_calc *calc, const struct hc_block *block, char text[NAMES])
{
    bool listed[HC_MAX_NAMES] = {false};
    size_t used = 0;
    for (int constants = 0; constants < 2 && used == 0; constants++)
        for (int i = 0; block && i < block->count; i++) {
            const struct hc_statement *s = &block->statement[i];
            if (listed[s->name] || s->constant != (constants == 1))
                continue;
            listed[s->name] = true;
            used += (size_t)snprintf(text + used, NAMES - used, "%s%s", used ? ", " : "",
                                     hc_program_name(calc->program, s->name));
        }
}

/* Parses what is to be shown: expressions in the formula, then those of --show; otherwise names. */
static int read_shown(struct hc_calc *calc, const char *expressions, const char *show)
{
    char names[NAMES] = "";
    if (!expressions && !show) {
        names_of(calc, calc->loop ? calc->loop : calc->start, names);
        show = names;
    }
    size_t size = (expressions ? strlen(expressions) : 0) + (show ? strlen(show) : 0) + 3;
    char *text = malloc(size);
    if (!text)
        return hc_complain("calc: no memory");
    (void)snprintf(text, size, "%s%s%s", expressions ? expressions : "",
                   expressions && show ? "; " : "", show ? show : "");
    bool parsed = parse(calc, text, true, &calc->shown);
    free(text);
    if (parsed && calc->shown->count == 0)
        return hc_complain("calc: there is nothing to show");
    return parsed ? HC_AS_CLAIMED : HC_WRONG;
}

static int read_blocks(struct hc_calc *calc, const char *formula, const struct hc_calc_typed *typed)
{
    bool statements = false;
    bool expressions = false;
    char *start = strdup(formula);
    char *shown = strdup(formula);
    int status = HC_AS_CLAIMED;
    if (!start || !shown)
        status = hc_complain("calc: no memory");
    else
        part(start, shown, &statements, &expressions);
    if (status == HC_AS_CLAIMED && !statements && !expressions && !typed->each && !typed->show)
        status = hc_complain("calc: the formula is empty");
    if (status == HC_AS_CLAIMED && statements && !parse(calc, start, false, &calc->start))
        status = HC_WRONG;
    if (status == HC_AS_CLAIMED && typed->each && !parse(calc, typed->each, false, &calc->loop))
        status = HC_WRONG;
    if (status == HC_AS_CLAIMED)
        status = read_shown(calc, expressions ? shown : NULL, typed->show);
    free(start);
    free(shown);
    return status;
}

static int read_arms(struct hc_calc *calc, const char *list)
{
    for (const char *at = list; at;) {
        const char *text;
        size_t length;
        char arm[HC_LONGEST_ARM + 2];
        if (hc_list_next("--in", list, &at, &text, &length) != HC_OK)
            return hc_complain_message();
        (void)snprintf(arm, sizeof arm, "%.*s", (int)length, text);
        if (calc->arms == HC_CALC_ARMS)
            return hc_complain("calc compares at most %d arms", HC_CALC_ARMS);
        for (int i = 0; i < calc->arms; i++)
            if (strcmp(calc->arm[i].text, arm) == 0)
                return hc_complain("calc: arm '%s' is named twice", arm);
        if (hc_arm_read(arm, &calc->arm[calc->arms]) != HC_OK)
            return hc_complain_message();
        const struct hc_arm *read = &calc->arm[calc->arms++];
        for (int i = 0; i < read->casts; i++)
            if (!hc_program_add_cast(calc->program, read->cast[i].name))
                return hc_complain("calc: arm '%s': '%s' has a meaning already", arm,
                                   read->cast[i].name);
    }
    return HC_AS_CLAIMED;
}

static int read_count(const char *option, const char *text, double most, int64_t *count)
{
    char *end = NULL;
    double number = isdigit((unsigned char)text[0]) ? strtod(text, &end) : 0;
    if (!end || *end || !(number >= 1 && number <= most) || number != floor(number))
        return hc_complain("calc: --%s takes a whole number from 1 to %.0f, not '%s'", option, most,
                           text);
    *count = (int64_t)number;
    return HC_AS_CLAIMED;
}

int hc_calc_read(struct hc_calc *calc, const struct hc_calc_typed *typed, const char *formula)
{
    calc->program = hc_program_new();
    if (!calc->program)
        return hc_complain("calc: no memory");
    if (!typed->each && (typed->steps || typed->every))
        return hc_complain("calc: --%s needs --each", typed->steps ? "steps" : "every");
    calc->steps = typed->each ? DEFAULT_STEPS : 0;
    int status = HC_AS_CLAIMED;
    if (typed->steps)
        status = read_count("steps", typed->steps, most_steps, &calc->steps);
    if (status == HC_AS_CLAIMED && typed->every)
        status = read_count("every", typed->every, most_steps, &calc->every);
    if (status == HC_AS_CLAIMED && calc->every && calc->steps / calc->every > HC_CALC_MAX_EVERY)
        status = hc_complain("calc: --every %s makes more than %d rows of %" PRId64 " steps",
                             typed->every, HC_CALC_MAX_EVERY, calc->steps);
    if (status == HC_AS_CLAIMED)
        status = read_arms(calc, typed->in ? typed->in : default_arms);
    return status == HC_AS_CLAIMED ? read_blocks(calc, formula, typed) : status;
}
