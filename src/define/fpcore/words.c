/* The words, brackets and names of FPCore, and a text that grows. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "define/fpcore/core.h"

void hc_core_put(struct hc_core_text *t, const char *format, ...)
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

/* Words and brackets. */

void hc_core_skip_blanks(struct hc_core_reader *r)
{
    while (isspace((unsigned char)*r->next) || *r->next == ';') {
        if (*r->next == ';')
            r->next += strcspn(r->next, "\n");
        else
            r->next++;
    }
}

bool hc_core_opens(struct hc_core_reader *r)
{
    hc_core_skip_blanks(r);
    return *r->next == '(' || *r->next == '[';
}

bool hc_core_closes(struct hc_core_reader *r)
{
    hc_core_skip_blanks(r);
    return *r->next == ')' || *r->next == ']';
}

bool hc_core_take_bracket(struct hc_core_reader *r, bool opening)
{
    if (opening ? hc_core_opens(r) : hc_core_closes(r)) {
        r->next++;
        return true;
    }
    r->wrong = r->wrong ? r->wrong : opening ? "a '(' is missing" : "a ')' is missing";
    return false;
}

/* The length of the word that stands here; a text in quotes is one. */
int hc_core_word_here(struct hc_core_reader *r)
{
    hc_core_skip_blanks(r);
    if (*r->next == '"') {
        size_t length = 1;
        while (r->next[length] && r->next[length] != '"')
            length += r->next[length] == '\\' && r->next[length + 1] ? 2 : 1;
        return (int)(length + (r->next[length] == '"'));
    }
    return (int)strcspn(r->next, " \t\r\n()[];\"");
}

/* Takes a word; false where there is none. */
bool hc_core_take_word(struct hc_core_reader *r, const char **word, int *length)
{
    *length = hc_core_word_here(r);
    *word = r->next;
    r->next += *length;
    if (*length == 0)
        r->wrong = r->wrong ? r->wrong : "a word is missing";
    return *length > 0;
}

bool hc_core_is(const char *word, int length, const char *text)
{
    return (int)strlen(text) == length && memcmp(word, text, (size_t)length) == 0;
}

/* Passes over a word, or all that stands in a pair of brackets. */
bool hc_core_skip_form(struct hc_core_reader *r)
{
    const char *word;
    int length;
    int depth = 0;
    do {
        bool bracket = hc_core_opens(r) || hc_core_closes(r);
        if (!*r->next) {
            r->wrong = depth > 0 ? "a ')' is missing" : "a word is missing";
            return false;
        }
        if (bracket)
            depth += *r->next++ == '(' || r->next[-1] == '[' ? 1 : -1;
        else if (!hc_core_take_word(r, &word, &length))
            return false;
    } while (depth > 0);
    if (depth < 0)
        r->wrong = r->wrong ? r->wrong : "a word is missing";
    return depth == 0;
}

/* A definition has no such word. */
bool hc_core_lacks(struct hc_core_reader *r, const char *word, int length)
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

static bool is_taken(const struct hc_core_reader *r, const char *name)
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
bool hc_core_new_name(struct hc_core_reader *r, const char *word, int length,
                      char known[HC_CORE_LONGEST_NAME + 8])
{
    char plain[HC_CORE_LONGEST_NAME + 1] = "";
    int n = 0;
    for (int i = 0; i < length && n < HC_CORE_LONGEST_NAME; i++) {
        unsigned char c = (unsigned char)word[i];
        if (n == 0 && !isalpha(c))
            plain[n++] = 'v';
        if (n < HC_CORE_LONGEST_NAME)
            plain[n++] = (char)(isalnum(c) ? c : '_');
    }
    plain[n] = '\0';
    (void)snprintf(known, HC_CORE_LONGEST_NAME + 8, "%s", plain);
    for (int i = 2; is_taken(r, known); i++)
        (void)snprintf(known, HC_CORE_LONGEST_NAME + 8, "%s_%d", plain, i);
    if (r->names == HC_CORE_MOST_NAMES)
        return hc_core_lacks(r, "that many names", 15);
    (void)snprintf(r->taken[r->names++], HC_CORE_LONGEST_NAME + 8, "%s", known);
    return true;
}
