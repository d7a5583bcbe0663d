/* An FPCore is an expression in brackets with the operator first. It becomes a text that is read as
   any other definition: a variable is an input, what `let` binds is an equation, and `if` is a
   select, which looks only at what it chooses. */
#include "define/fpcore.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "define/definition.h"
#include "define/fpcore/core.h"

enum { DEEPEST = 90, MOST_OPERANDS = 64 };

/* What a name means: a tensor of the definition, or a truth, which has no equation and stands
   where it is read. Inner names come first. */
struct scope {
    const struct scope *outer;
    const char *name; /* in the core's text */
    int length;
    char known[HC_CORE_LONGEST_NAME + 8]; /* in the definition */
    const char *truth;                    /* or NULL */
};

/* Passes over :name value. */
static bool skip_property(struct hc_core_reader *r)
{
    if (!hc_core_skip_form(r))
        return false;
    return hc_core_skip_form(r);
}

/* Expressions. */

static bool expression(struct hc_core_reader *r, const struct scope *scope, int depth,
                       struct hc_core_text *out, bool *truth);

static bool atom(struct hc_core_reader *r, const struct scope *scope, struct hc_core_text *out,
                 bool *truth)
{
    const char *word;
    int length;
    if (!hc_core_take_word(r, &word, &length))
        return false;
    for (; scope; scope = scope->outer)
        if (scope->length == length && memcmp(scope->name, word, (size_t)length) == 0) {
            *truth = scope->truth != NULL;
            hc_core_put(out, "%s", scope->truth ? scope->truth : scope->known);
            return true;
        }
    if (hc_core_is(word, length, "TRUE") || hc_core_is(word, length, "FALSE")) {
        *truth = true;
        hc_core_put(out, "%s", hc_core_is(word, length, "TRUE") ? "true" : "false");
        return true;
    }
    return hc_core_constant(word, length, out) || hc_core_lacks(r, word, length);
}

/* Reads the operands up to the closing bracket; their number, or -1. */
static int operands(struct hc_core_reader *r, const struct scope *scope, int depth,
                    struct hc_core_text operand[MOST_OPERANDS], bool *truth)
{
    int count = 0;
    while (!hc_core_closes(r)) {
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

/* The bindings of a let, one after the other; those of let* see the ones before them. */
static bool bindings(struct hc_core_reader *r, const struct scope *outer, const struct scope *inner,
                     bool star, int depth, struct hc_core_text *out, bool *truth)
{
    struct scope own = {.outer = inner};
    struct hc_core_text value = {NULL, 0, 0, false};
    bool is_truth = false;
    if (hc_core_closes(r)) {
        r->next++;
        return expression(r, inner, depth, out, truth) && hc_core_take_bracket(r, false);
    }
    if (depth > DEEPEST)
        return hc_core_lacks(r, "that many brackets", 18);
    bool good = hc_core_take_bracket(r, true) && hc_core_take_word(r, &own.name, &own.length) &&
                expression(r, star ? inner : outer, depth + 1, &value, &is_truth) &&
                hc_core_take_bracket(r, false);
    if (good && is_truth)
        own.truth = value.at;
    else if (good && hc_core_new_name(r, own.name, own.length, own.known))
        hc_core_put(&r->equations, "%s = %s\n", own.known, value.at);
    else
        good = false;
    good = good && bindings(r, outer, &own, star, depth + 1, out, truth);
    free(value.at);
    return good;
}

/* (if c a b) behind its first word. */
static bool choice(struct hc_core_reader *r, const struct scope *scope, int depth,
                   struct hc_core_text *out, bool *truth)
{
    bool condition = false;
    hc_core_put(out, "select(");
    if (!expression(r, scope, depth, out, &condition))
        return false;
    hc_core_put(out, ", ");
    if (!expression(r, scope, depth, out, truth))
        return false;
    hc_core_put(out, ", ");
    if (!expression(r, scope, depth, out, truth))
        return false;
    hc_core_put(out, ")");
    if (!condition || *truth)
        return hc_core_lacks(r, "an if of truths", 15);
    return hc_core_take_bracket(r, false);
}

/* (! :property value ... e) behind its first word: e. */
static bool annotated(struct hc_core_reader *r, const struct scope *scope, int depth,
                      struct hc_core_text *out, bool *truth)
{
    for (hc_core_skip_blanks(r); *r->next == ':'; hc_core_skip_blanks(r))
        if (!skip_property(r))
            return false;
    return expression(r, scope, depth, out, truth) && hc_core_take_bracket(r, false);
}

static bool expression(struct hc_core_reader *r, const struct scope *scope, int depth,
                       struct hc_core_text *out, bool *truth)
{
    struct hc_core_text operand[MOST_OPERANDS] = {{NULL, 0, 0, false}};
    const char *word;
    int length;
    *truth = false;
    hc_core_put(out, "%s", ""); /* so that there is a text, though an empty one */
    if (depth > DEEPEST)
        return hc_core_lacks(r, "that many brackets", 18);
    if (!hc_core_opens(r))
        return atom(r, scope, out, truth);
    r->next++;
    if (!hc_core_take_word(r, &word, &length))
        return false;
    if (hc_core_is(word, length, "let") || hc_core_is(word, length, "let*"))
        return hc_core_take_bracket(r, true) &&
               bindings(r, scope, scope, length == 4, depth + 1, out, truth);
    if (hc_core_is(word, length, "if"))
        return choice(r, scope, depth + 1, out, truth);
    if (hc_core_is(word, length, "!"))
        return annotated(r, scope, depth + 1, out, truth);
    if (hc_core_is(word, length, "while") || hc_core_is(word, length, "while*") ||
        hc_core_is(word, length, "cast"))
        return hc_core_lacks(r, word, length);
    int count = operands(r, scope, depth + 1, operand, truth);
    bool good = count >= 0 && hc_core_apply(r, word, length, operand, count, out, truth);
    for (int i = 0; i < MOST_OPERANDS; i++)
        free(operand[i].at);
    return good;
}

/* Cores. */

/* The arguments from the next one on, and then the rest of the core. `head` gets their names. */
static bool arguments(struct hc_core_reader *r, const struct scope *scope,
                      struct hc_core_text *head, struct hc_core_text *body,
                      char name[HC_CORE_LONGEST_NAME + 8])
{
    struct scope own = {.outer = scope};
    bool truth = false;
    if (hc_core_opens(r)) { /* (! :precision binary64 x), or the dimensions of an array */
        r->next++;
        const char *word;
        int length;
        if (!hc_core_take_word(r, &word, &length))
            return false;
        if (!hc_core_is(word, length, "!"))
            return hc_core_lacks(r, "an array", 8);
        for (hc_core_skip_blanks(r); *r->next == ':'; hc_core_skip_blanks(r))
            if (!skip_property(r))
                return false;
        if (!hc_core_take_word(r, &own.name, &own.length) || !hc_core_take_bracket(r, false))
            return false;
    } else if (hc_core_closes(r)) {
        r->next++;
        for (hc_core_skip_blanks(r); *r->next == ':'; hc_core_skip_blanks(r)) {
            bool names = strncmp(r->next, ":name", 5) == 0 && isspace((unsigned char)r->next[5]);
            if (!hc_core_skip_form(r))
                return false;
            int length = hc_core_word_here(r);
            if (names && *r->next == '"' && length > 2)
                (void)hc_core_new_name(r, r->next + 1, length - 2, name);
            if (!hc_core_skip_form(r))
                return false;
        }
        if (!expression(r, scope, 0, body, &truth))
            return false;
        return truth ? hc_core_lacks(r, "a truth as its result", 21)
                     : hc_core_take_bracket(r, false);
    } else if (!hc_core_take_word(r, &own.name, &own.length)) {
        return false;
    }
    if (!hc_core_new_name(r, own.name, own.length, own.known))
        return false;
    hc_core_put(head, "%s%s", head->length ? ", " : "", own.known);
    return arguments(r, &own, head, body, name);
}

/* Gives the text, if it is a definition: one with a number where a truth should be is none. */
static void take_checked(const char *name, const struct hc_core_text *whole, hc_fpcore_take *take,
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
static bool core(struct hc_core_reader *r, int number, hc_fpcore_take *take, void *context)
{
    struct hc_core_text head = {NULL, 0, 0, false};
    struct hc_core_text body = {NULL, 0, 0, false};
    struct hc_core_text whole = {NULL, 0, 0, false};
    char name[HC_CORE_LONGEST_NAME + 8];
    const char *word;
    int length;
    (void)snprintf(name, sizeof name, "core_%d", number);
    if (!hc_core_opens(r) && hc_core_take_word(r, &word, &length))
        (void)hc_core_new_name(r, word, length, name);
    bool good = hc_core_take_bracket(r, true) && arguments(r, NULL, &head, &body, name);
    if (good && head.length == 0)
        good = hc_core_lacks(r, "no variable", 11);
    for (char *c = name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (good && !head.failed && !body.failed && !r->equations.failed) {
        hc_core_put(&whole, "op %s(%s)\n%sresult = %s\nreturn result\n", name, head.at,
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
    struct hc_core_reader file = {.next = text};
    for (int number = 1;; number++) {
        struct hc_core_reader r = {.next = NULL};
        const char *word;
        int length;
        hc_core_skip_blanks(&file);
        const char *first = file.next;
        if (!*first)
            return HC_OK;
        if (!hc_core_opens(&file) || !hc_core_skip_form(&file))
            return hc_fail(HC_INVALID, "core %d: %s", number,
                           file.wrong ? file.wrong : "a '(' is missing");
        r.next = first + 1;
        if (!hc_core_take_word(&r, &word, &length) || !hc_core_is(word, length, "FPCore"))
            return hc_fail(HC_INVALID, "core %d: it begins with no (FPCore", number);
        bool good = core(&r, number, take, context);
        free(r.equations.at);
        if (!good)
            return hc_fail(r.wrong ? HC_INVALID : HC_NO_MEMORY, "core %d: %s", number,
                           r.wrong ? r.wrong : "no memory");
    }
}
