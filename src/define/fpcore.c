/* An FPCore is an expression in brackets with the operator first. It becomes a text that is read as
   any other definition: a variable is an input, what `let` binds is an equation, and `if` is a
   select, which looks only at what it chooses. */
#include "define/fpcore.h"

#include "define/definition.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 40, DEEPEST = 90, MOST_NAMES = 60, MOST_OPERANDS = 64 };

/* A text that grows. */
struct text {
    char *at;
    size_t length;
    size_t room;
    bool failed;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
put(struct text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    size_t need = t->length + (size_t)more + 1;
    if (need > t->room && !t->failed) {
        char *grown = realloc(t->at, 2 * need);
        t->failed = !grown;
        t->at = grown ? grown : t->at;
        t->room = grown ? 2 * need : t->room;
    }
    if (t->failed)
        return;
    va_start(arguments, format);
    t->length += (size_t)vsnprintf(t->at + t->length, t->room - t->length, format, arguments);
    va_end(arguments);
}

/* What a name means: a tensor of the definition, or a truth, which has no equation and stands
   where it is read. Inner names come first. */
struct scope {
    const struct scope *outer;
    const char *name; /* in the core's text */
    int length;
    char known[LONGEST_NAME + 8]; /* in the definition */
    const char *truth;            /* or NULL */
};

struct reader {
    const char *next;
    const char *what;  /* a word that a core uses and a definition has not; NULL: none yet */
    char word[64];     /* a copy of it */
    const char *wrong; /* what makes the text no FPCore; NULL: nothing yet */
    int names;
    char taken[MOST_NAMES][LONGEST_NAME + 8];
    struct text equations;
};

/* Words and brackets. */

static void skip_blanks(struct reader *r)
{
    while (isspace((unsigned char)*r->next) || *r->next == ';') {
        if (*r->next == ';')
            r->next += strcspn(r->next, "\n");
        else
            r->next++;
    }
}

static bool opens(struct reader *r)
{
    skip_blanks(r);
    return *r->next == '(' || *r->next == '[';
}

static bool closes(struct reader *r)
{
    skip_blanks(r);
    return *r->next == ')' || *r->next == ']';
}

static bool take_bracket(struct reader *r, bool opening)
{
    if (opening ? opens(r) : closes(r)) {
        r->next++;
        return true;
    }
    r->wrong = r->wrong ? r->wrong : opening ? "a '(' is missing" : "a ')' is missing";
    return false;
}

/* The length of the word that stands here; a text in quotes is one. */
static int word_here(struct reader *r)
{
    skip_blanks(r);
    if (*r->next == '"') {
        size_t length = 1;
        while (r->next[length] && r->next[length] != '"')
            length += r->next[length] == '\\' && r->next[length + 1] ? 2 : 1;
        return (int)(length + (r->next[length] == '"'));
    }
    return (int)strcspn(r->next, " \t\r\n()[];\"");
}

/* Takes a word; false where there is none. */
static bool take_word(struct reader *r, const char **word, int *length)
{
    *length = word_here(r);
    *word = r->next;
    r->next += *length;
    if (*length == 0)
        r->wrong = r->wrong ? r->wrong : "a word is missing";
    return *length > 0;
}

static bool is(const char *word, int length, const char *text)
{
    return (int)strlen(text) == length && memcmp(word, text, (size_t)length) == 0;
}

/* Passes over a word, or all that stands in a pair of brackets. */
static bool skip_form(struct reader *r)
{
    const char *word;
    int length;
    int depth = 0;
    do {
        bool bracket = opens(r) || closes(r);
        if (!*r->next) {
            r->wrong = depth > 0 ? "a ')' is missing" : "a word is missing";
            return false;
        }
        if (bracket)
            depth += *r->next++ == '(' || r->next[-1] == '[' ? 1 : -1;
        else if (!take_word(r, &word, &length))
            return false;
    } while (depth > 0);
    if (depth < 0)
        r->wrong = r->wrong ? r->wrong : "a word is missing";
    return depth == 0;
}

/* Passes over :name value. */
static bool skip_property(struct reader *r)
{
    if (!skip_form(r))
        return false;
    return skip_form(r);
}

/* A definition has no such word. */
static bool lacks(struct reader *r, const char *word, int length)
{
    if (!r->what) {
        (void)snprintf(r->word, sizeof r->word, "it uses %.*s", length, word);
        r->what = r->word;
    }
    return false;
}

/* Names. */

static const char *const reserved[] = {
    "op",    "axis",  "return", "where", "scan",  "store",  "shift", "select", "either",
    "sum",   "prod",  "max",    "min",   "mean",  "count",  "any",   "all",    "abs",
    "floor", "sqrt",  "exp",    "log",   "log1p", "tanh",   "sin",   "cos",    "erf",
    "fma",   "mod",   "and",    "or",    "not",   "inf",    "nan",   "pi",     "true",
    "false", "isnan", "isinf",  "index", "round", "result", NULL};

static bool is_taken(const struct reader *r, const char *name)
{
    for (int i = 0; reserved[i]; i++)
        if (strcmp(reserved[i], name) == 0)
            return true;
    for (int i = 0; i < r->names; i++)
        if (strcmp(r->taken[i], name) == 0)
            return true;
    return false;
}

/* A name that the definition does not have yet, near to the core's. */
static bool new_name(struct reader *r, const char *word, int length, char known[LONGEST_NAME + 8])
{
    char plain[LONGEST_NAME + 1] = "";
    int n = 0;
    for (int i = 0; i < length && n < LONGEST_NAME; i++) {
        unsigned char c = (unsigned char)word[i];
        if (n == 0 && !isalpha(c))
            plain[n++] = 'v';
        if (n < LONGEST_NAME)
            plain[n++] = (char)(isalnum(c) ? c : '_');
    }
    plain[n] = '\0';
    (void)snprintf(known, LONGEST_NAME + 8, "%s", plain);
    for (int i = 2; is_taken(r, known); i++)
        (void)snprintf(known, LONGEST_NAME + 8, "%s_%d", plain, i);
    if (r->names == MOST_NAMES)
        return lacks(r, "that many names", 15);
    (void)snprintf(r->taken[r->names++], LONGEST_NAME + 8, "%s", known);
    return true;
}

/* Expressions. */

struct operation {
    const char *name;
    int operands;     /* -1: any number of them, joined */
    const char *text; /* where $1 and $2 stand for the operands, and #1 for one that is held */
    bool truth;
};

static const struct operation operations[] = {
    {"+", -1, " + ", false},
    {"*", -1, " * ", false},
    {"and", -1, " and ", true},
    {"or", -1, " or ", true},
    {"not", 1, "not #1", true},
    {"/", 2, "#1 / #2", false},
    {"fabs", 1, "abs($1)", false},
    {"sqrt", 1, "sqrt($1)", false},
    {"exp", 1, "exp($1)", false},
    {"exp2", 1, "exp(#1 * log(2))", false},
    {"expm1", 1, "exp($1) - 1", false},
    {"log", 1, "log($1)", false},
    {"log1p", 1, "log1p($1)", false},
    {"log2", 1, "log($1) / log(2)", false},
    {"log10", 1, "log($1) / log(10)", false},
    {"sin", 1, "sin($1)", false},
    {"cos", 1, "cos($1)", false},
    {"tan", 1, "sin($1) / cos($1)", false},
    {"tanh", 1, "tanh($1)", false},
    {"sinh", 1, "(exp($1) - exp(-#1)) / 2", false},
    {"cosh", 1, "(exp($1) + exp(-#1)) / 2", false},
    {"erf", 1, "erf($1)", false},
    {"floor", 1, "floor($1)", false},
    {"ceil", 1, "-floor(-#1)", false},
    {"hypot", 2, "sqrt(#1^2 + #2^2)", false},
    {"fmax", 2, "max($1, $2)", false},
    {"fmin", 2, "min($1, $2)", false},
    {"fma", 3, "fma($1, $2, $3)", false},
    {"isnan", 1, "isnan($1)", true},
    {"isinf", 1, "isinf($1)", true},
    {"isfinite", 1, "isfinite($1)", true},
};

static const char *const constants[][2] = {
    {"E", "exp(1)"},           {"PI", "pi"},
    {"PI_2", "(pi / 2)"},      {"PI_4", "(pi / 4)"},
    {"M_1_PI", "(1 / pi)"},    {"M_2_PI", "(2 / pi)"},
    {"LN2", "log(2)"},         {"LN10", "log(10)"},
    {"LOG2E", "(1 / log(2))"}, {"LOG10E", "(1 / log(10))"},
    {"SQRT2", "sqrt(2)"},      {"SQRT1_2", "sqrt(0.5)"},
    {"INFINITY", "inf"},       {"NAN", "nan"},
};

static bool expression(struct reader *r, const struct scope *scope, int depth, struct text *out,
                       bool *truth);

/* A number: 1, -0.5, 2/3, 0x1.8p3. */
static bool number(const char *word, int length, struct text *out)
{
    char copy[64];
    char *end;
    if (length >= (int)sizeof copy)
        return false;
    (void)snprintf(copy, sizeof copy, "%.*s", length, word);
    char *digits = copy + (copy[0] == '+' || copy[0] == '-');
    if (!isdigit((unsigned char)digits[0]) && digits[0] != '.')
        return false;
    (void)strtod(digits, &end);
    if (*end == '/' && isdigit((unsigned char)end[1]))
        (void)strtod(end + 1, &end);
    if (*end)
        return false;
    bool alone = copy[0] != '-' && !strchr(digits, '/');
    put(out, alone ? "%.0s%s" : "(%s%s)", copy[0] == '-' ? "-" : "", digits);
    return true;
}

static bool atom(struct reader *r, const struct scope *scope, struct text *out, bool *truth)
{
    const char *word;
    int length;
    if (!take_word(r, &word, &length))
        return false;
    for (; scope; scope = scope->outer)
        if (scope->length == length && memcmp(scope->name, word, (size_t)length) == 0) {
            *truth = scope->truth != NULL;
            put(out, "%s", scope->truth ? scope->truth : scope->known);
            return true;
        }
    if (is(word, length, "TRUE") || is(word, length, "FALSE")) {
        *truth = true;
        put(out, "%s", is(word, length, "TRUE") ? "true" : "false");
        return true;
    }
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
        if (is(word, length, constants[i][0])) {
            put(out, "%s", constants[i][1]);
            return true;
        }
    return number(word, length, out) || lacks(r, word, length);
}

/* Reads the operands up to the closing bracket; their number, or -1. */
static int operands(struct reader *r, const struct scope *scope, int depth,
                    struct text operand[MOST_OPERANDS], bool *truth)
{
    int count = 0;
    while (!closes(r)) {
        bool one = false;
        if (!*r->next || count == MOST_OPERANDS) {
            r->wrong = *r->next ? "an operator has more than 64 operands" : "a ')' is missing";
            return -1;
        }
        if (!expression(r, scope, depth, &operand[count++], &one))
            return -1;
        *truth = one;
    }
    r->next++;
    return count;
}

/* In parentheses, unless it is a name or a number. */
static void put_held(struct text *out, const struct text *operand)
{
    size_t plain = 0;
    while (isalnum((unsigned char)operand->at[plain]) || strchr("_.", operand->at[plain])) {
        if (!operand->at[plain])
            break;
        plain++;
    }
    put(out, plain == operand->length || operand->at[0] == '(' ? "%s" : "(%s)", operand->at);
}

/* Writes the operation's text with the operands in their places. */
static void fill(struct text *out, const char *form, const struct text *operand)
{
    for (; *form; form++) {
        if (*form == '#')
            put_held(out, &operand[*++form - '1']);
        else if (*form == '$')
            put(out, "%s", operand[*++form - '1'].at);
        else
            put(out, "%c", *form);
    }
}

/* x^n for a whole number n, as a product of powers that a definition has. */
static bool power(struct reader *r, struct text *out, const struct text *x, const char *n)
{
    char *end;
    long whole = strtol(n + (n[0] == '('), &end, 10);
    if (end == n || (*end && strcmp(end, ")") != 0) || labs(whole) > 81)
        return lacks(r, "pow but by a whole number", 25);
    long left = labs(whole);
    put(out, whole < 0 ? "(1 / (" : "(");
    do {
        long some = left < 9 ? left : 9;
        if (some == 0) {
            put(out, "1");
            break;
        }
        put_held(out, x);
        left -= some;
        put(out, left ? "^%ld * " : "^%ld", some);
    } while (left > 0);
    put(out, whole < 0 ? "))" : ")");
    return true;
}

/* Each operand compared with the next; != with all that come after it. */
static void compare(struct text *out, const char *sign, const struct text *operand, int count)
{
    bool all = strcmp(sign, "!=") == 0;
    put(out, "(");
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < (all ? count : i + 2) && j < count; j++) {
            put(out, i || j > 1 ? " and " : "");
            put_held(out, &operand[i]);
            put(out, " %s ", sign);
            put_held(out, &operand[j]);
        }
    put(out, count < 2 ? "true)" : ")");
}

static bool apply(struct reader *r, const char *word, int length, struct text *operand, int count,
                  struct text *out, bool *truth)
{
    static const char *const signs[] = {"<", "<=", ">", ">=", "==", "!="};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (is(word, length, signs[i])) {
            *truth = true;
            compare(out, signs[i], operand, count);
            return true;
        }
    if (is(word, length, "-") && (count == 1 || count == 2)) {
        put(out, "(");
        fill(out, count == 1 ? "-#1" : "#1 - #2", operand);
        put(out, ")");
        return true;
    }
    if (is(word, length, "pow") && count == 2)
        return power(r, out, &operand[0], operand[1].at);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        const struct operation *o = &operations[i];
        if (!is(word, length, o->name) || count < 1 || (o->operands > 0 && o->operands != count))
            continue;
        *truth = o->truth;
        if (o->operands > 0) {
            put(out, "(");
            fill(out, o->text, operand);
            put(out, ")");
            return true;
        }
        put(out, "(%s", operand[0].at);
        for (int k = 1; k < count; k++)
            put(out, "%s%s", o->text, operand[k].at);
        put(out, ")");
        return true;
    }
    return lacks(r, word, length);
}

/* The bindings of a let, one after the other; those of let* see the ones before them. */
static bool bindings(struct reader *r, const struct scope *outer, const struct scope *inner,
                     bool star, int depth, struct text *out, bool *truth)
{
    struct scope own = {.outer = inner};
    struct text value = {NULL, 0, 0, false};
    bool is_truth = false;
    if (closes(r)) {
        r->next++;
        return expression(r, inner, depth, out, truth) && take_bracket(r, false);
    }
    if (depth > DEEPEST)
        return lacks(r, "that many brackets", 18);
    bool good = take_bracket(r, true) && take_word(r, &own.name, &own.length) &&
                expression(r, star ? inner : outer, depth + 1, &value, &is_truth) &&
                take_bracket(r, false);
    if (good && is_truth)
        own.truth = value.at;
    else if (good && new_name(r, own.name, own.length, own.known))
        put(&r->equations, "%s = %s\n", own.known, value.at);
    else
        good = false;
    good = good && bindings(r, outer, &own, star, depth + 1, out, truth);
    free(value.at);
    return good;
}

/* (if c a b) behind its first word. */
static bool choice(struct reader *r, const struct scope *scope, int depth, struct text *out,
                   bool *truth)
{
    bool condition = false;
    put(out, "select(");
    if (!expression(r, scope, depth, out, &condition))
        return false;
    put(out, ", ");
    if (!expression(r, scope, depth, out, truth))
        return false;
    put(out, ", ");
    if (!expression(r, scope, depth, out, truth))
        return false;
    put(out, ")");
    if (!condition || *truth)
        return lacks(r, "an if of truths", 15);
    return take_bracket(r, false);
}

/* (! :property value ... e) behind its first word: e. */
static bool annotated(struct reader *r, const struct scope *scope, int depth, struct text *out,
                      bool *truth)
{
    for (skip_blanks(r); *r->next == ':'; skip_blanks(r))
        if (!skip_property(r))
            return false;
    return expression(r, scope, depth, out, truth) && take_bracket(r, false);
}

static bool expression(struct reader *r, const struct scope *scope, int depth, struct text *out,
                       bool *truth)
{
    struct text operand[MOST_OPERANDS] = {{NULL, 0, 0, false}};
    const char *word;
    int length;
    *truth = false;
    put(out, "%s", ""); /* so that there is a text, though an empty one */
    if (depth > DEEPEST)
        return lacks(r, "that many brackets", 18);
    if (!opens(r))
        return atom(r, scope, out, truth);
    r->next++;
    if (!take_word(r, &word, &length))
        return false;
    if (is(word, length, "let") || is(word, length, "let*"))
        return take_bracket(r, true) &&
               bindings(r, scope, scope, length == 4, depth + 1, out, truth);
    if (is(word, length, "if"))
        return choice(r, scope, depth + 1, out, truth);
    if (is(word, length, "!"))
        return annotated(r, scope, depth + 1, out, truth);
    if (is(word, length, "while") || is(word, length, "while*") || is(word, length, "cast"))
        return lacks(r, word, length);
    int count = operands(r, scope, depth + 1, operand, truth);
    bool good = count >= 0 && apply(r, word, length, operand, count, out, truth);
    for (int i = 0; i < MOST_OPERANDS; i++)
        free(operand[i].at);
    return good;
}

/* Cores. */

/* The arguments from the next one on, and then the rest of the core. `head` gets their names. */
static bool arguments(struct reader *r, const struct scope *scope, struct text *head,
                      struct text *body, char name[LONGEST_NAME + 8])
{
    struct scope own = {.outer = scope};
    bool truth = false;
    if (opens(r)) { /* (! :precision binary64 x), or the dimensions of an array */
        r->next++;
        const char *word;
        int length;
        if (!take_word(r, &word, &length))
            return false;
        if (!is(word, length, "!"))
            return lacks(r, "an array", 8);
        for (skip_blanks(r); *r->next == ':'; skip_blanks(r))
            if (!skip_property(r))
                return false;
        if (!take_word(r, &own.name, &own.length) || !take_bracket(r, false))
            return false;
    } else if (closes(r)) {
        r->next++;
        for (skip_blanks(r); *r->next == ':'; skip_blanks(r)) {
            bool names = strncmp(r->next, ":name", 5) == 0 && isspace((unsigned char)r->next[5]);
            if (!skip_form(r))
                return false;
            int length = word_here(r);
            if (names && *r->next == '"' && length > 2)
                (void)new_name(r, r->next + 1, length - 2, name);
            if (!skip_form(r))
                return false;
        }
        if (!expression(r, scope, 0, body, &truth))
            return false;
        return truth ? lacks(r, "a truth as its result", 21) : take_bracket(r, false);
    } else if (!take_word(r, &own.name, &own.length)) {
        return false;
    }
    if (!new_name(r, own.name, own.length, own.known))
        return false;
    put(head, "%s%s", head->length ? ", " : "", own.known);
    return arguments(r, &own, head, body, name);
}

/* Gives the text, if it is a definition: one with a number where a truth should be is none. */
static void take_checked(const char *name, const struct text *whole, hc_fpcore_take *take,
                         void *context)
{
    struct hc_formula_error error;
    if (whole->failed)
        return;
    struct hc_definition *definition = hc_definition_read(whole->at, &error);
    take(context, name, definition ? whole->at : NULL, definition ? NULL : error.what);
    hc_definition_free(definition);
}

/* One core behind "(FPCore"; false where the text is wrong. */
static bool core(struct reader *r, int number, hc_fpcore_take *take, void *context)
{
    struct text head = {NULL, 0, 0, false};
    struct text body = {NULL, 0, 0, false};
    struct text whole = {NULL, 0, 0, false};
    char name[LONGEST_NAME + 8];
    const char *word;
    int length;
    (void)snprintf(name, sizeof name, "core_%d", number);
    if (!opens(r) && take_word(r, &word, &length))
        (void)new_name(r, word, length, name);
    bool good = take_bracket(r, true) && arguments(r, NULL, &head, &body, name);
    if (good && head.length == 0)
        good = lacks(r, "no variable", 11);
    for (char *c = name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (good && !head.failed && !body.failed && !r->equations.failed) {
        put(&whole, "op %s(%s)\n%sresult = %s\nreturn result\n", name, head.at,
            r->equations.length ? r->equations.at : "", body.at);
        take_checked(name, &whole, take, context);
    } else if (r->what && !r->wrong) {
        take(context, name, NULL, r->what);
    }
    good = !r->wrong && !whole.failed && !head.failed && !body.failed && !r->equations.failed;
    free(head.at);
    free(body.at);
    free(whole.at);
    return good;
}

enum hc_status hc_fpcore_read(const char *text, hc_fpcore_take *take, void *context)
{
    struct reader file = {.next = text};
    for (int number = 1;; number++) {
        struct reader r = {.next = NULL};
        const char *word;
        int length;
        skip_blanks(&file);
        const char *first = file.next;
        if (!*first)
            return HC_OK;
        if (!opens(&file) || !skip_form(&file))
            return hc_fail(HC_INVALID, "core %d: %s", number,
                           file.wrong ? file.wrong : "a '(' is missing");
        r.next = first + 1;
        if (!take_word(&r, &word, &length) || !is(word, length, "FPCore"))
            return hc_fail(HC_INVALID, "core %d: it begins with no (FPCore", number);
        bool good = core(&r, number, take, context);
        free(r.equations.at);
        if (!good)
            return hc_fail(r.wrong ? HC_INVALID : HC_NO_MEMORY, "core %d: %s", number,
                           r.wrong ? r.wrong : "no memory");
    }
}
