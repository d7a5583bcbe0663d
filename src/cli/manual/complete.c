#include "cli/manual/manual.h"

#include <ctype.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/registry.h"
#include "check/timing.h"
#include "cli/command.h"
#include "cli/lists.h"
#include "hc_benches_list.h"
#include "num/format.h"

/* Names are offered like files: up to the next slash, as cases/ stands for all cases below it. */
struct hc_candidates {
    const char *typed; /* the word, as far as it is typed */
    size_t kept;       /* bytes of it that stay: "--backend=exact,"; names replace the rest */
    const char *kind;  /* what the shell adds of its own: "names" (nothing), "files", "folders" */
    char **groups;     /* offered so far, which end in a slash */
    int group_count;
};

/* What may stand in place of a word that is being typed. */

static bool is_new(struct hc_candidates *c, const char *group, size_t length)
{
    for (int i = c->group_count; i-- > 0;)
        if (strlen(c->groups[i]) == length && memcmp(c->groups[i], group, length) == 0)
            return false;
    char **groups = realloc(c->groups, ((size_t)c->group_count + 1) * sizeof *groups);
    if (!groups)
        return false;
    c->groups = groups;
    c->groups[c->group_count] = strndup(group, length);
    c->group_count += c->groups[c->group_count] != NULL;
    return true;
}

/* Offers a name if it begins as the word does. `prefix` belongs to the name. */
static void candidate_offer(struct hc_candidates *c, const char *prefix, const char *name,
                            const char *title)
{
    char whole[512];
    const char *typed = c->typed + c->kept;
    if (snprintf(whole, sizeof whole, "%s%s", prefix, name) >= (int)sizeof whole ||
        strncmp(whole, typed, strlen(typed)) != 0)
        return;
    const char *slash = strchr(whole + strlen(typed), '/');
    size_t length = slash ? (size_t)(slash + 1 - whole) : strlen(whole);
    if (slash && !is_new(c, whole, length))
        return;
    printf("%.*s%.*s", (int)c->kept, c->typed, (int)length, whole);
    if (!slash && title) {
        (void)putchar('\t');
        for (; *title; title++)
            (void)putchar(*title == '\n' ? ' ' : *title);
    }
    (void)putchar('\n');
}

static void candidates_free(struct hc_candidates *c)
{
    while (c->group_count > 0)
        free(c->groups[--c->group_count]);
    free(c->groups);
}

/* The rows of `halfcheck list SUBJECT`. */
static void offer_list(struct hc_candidates *c, const char *subject, const char *prefix)
{
    const struct hc_list *list = hc_lists;
    while (list->name && strcmp(list->name, subject) != 0)
        list++;
    json_t *rows = json_array();
    if (list->name)
        list->add(rows);
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
        candidate_offer(c, prefix, json_string_value(json_object_get(row, "name")),
                        json_string_value(json_object_get(row, "title")));
    json_decref(rows);
}

/* Quicker than by that list, which has thousands of cases. */
static void offer_cases(struct hc_candidates *c)
{
    int n;
    const struct hc_case *const *cases = hc_all_cases(&n);
    for (int i = 0; cases && i < n; i++)
        candidate_offer(c, "", cases[i]->name, cases[i]->title);
}

static void offer_subjects(struct hc_candidates *c)
{
    for (const struct hc_list *list = hc_lists; list->name; list++)
        candidate_offer(c, "", list->name, NULL);
}

static void offer_commands(struct hc_candidates *c)
{
    int n;
    const struct hc_command *const *commands = hc_commands(&n);
    for (int i = 0; i < n; i++)
        if (!commands[i]->hidden)
            candidate_offer(c, "", commands[i]->name, commands[i]->summary);
}

static void offer_benches(struct hc_candidates *c)
{
    static const struct hc_bench_table *const tables[] = {HC_LIST};
    for (size_t t = 0; tables[t]; t++)
        for (int b = 0; b < tables[t]->count; b++)
            candidate_offer(c, "", tables[t]->benches[b].name, NULL);
}

static void offer_rules(struct hc_candidates *c)
{
    offer_list(c, "scalers", "scaler/");
    offer_list(c, "scales", "scale/");
}

static void offer_casts(struct hc_candidates *c)
{
    for (int f = 0; f < HC_FORMAT_COUNT; f++)
        if (hc_formats[f].bytes == 1 && !hc_is_integer(&hc_formats[f]))
            candidate_offer(c, "cast/", hc_formats[f].name, NULL);
}

/* What the words in capitals of usages and options stand for. One that is missing here stands for
   something that only its user knows. */
static const struct meaning {
    const char *word;
    const char *command; /* NULL: in the others */
    const char *kind;    /* of struct hc_candidates */
    const char *list;    /* a subject of halfcheck list */
    const char *prefix;
    void (*offer)(struct hc_candidates *candidates);
} meanings[] = {
    {.word = "FILE", .kind = "files"},
    {.word = "RECORD", .kind = "files"},
    {.word = "DIR", .kind = "folders"},
    {.word = "B", .list = "backends", .prefix = ""},
    {.word = "R", .list = "recipes", .prefix = ""},
    {.word = "FAULT", .list = "faults", .prefix = ""},
    {.word = "CASE", .offer = offer_cases},
    {.word = "SLUG", .list = "reports", .prefix = ""},
    {.word = "NAME", .command = "explain", .list = "ops", .prefix = "op/"},
    {.word = "OP", .list = "ops", .prefix = ""},
    {.word = "RULE", .offer = offer_rules},
    {.word = "FORMAT", .command = "vectors", .list = "formats", .prefix = ""},
    {.word = "FORMAT", .offer = offer_casts},
    {.word = "PATTERN", .command = "bench", .offer = offer_benches},
    {.word = "PATTERN", .command = "selftest", .list = "faults", .prefix = ""},
    {.word = "PATTERN", .offer = offer_cases},
    {.word = "SUBJECT", .offer = offer_subjects},
    {.word = "COMMAND", .offer = offer_commands},
};

static const struct meaning *meaning_of(const char *command, const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
        if (strlen(meanings[i].word) == length && memcmp(meanings[i].word, word, length) == 0 &&
            (!meanings[i].command || strcmp(meanings[i].command, command) == 0))
            return &meanings[i];
    return NULL;
}

/* Offers what a placeholder of the help stands for: "B[,B]", "[SLOT=]FILE", "CASE|SLUG|op/NAME".
   `command` is the command's name. */
static void candidate_offer_all(struct hc_candidates *c, const char *command,
                                const char *placeholder)
{
    const struct meaning *last = NULL; /* B[,B] is one thing */
    const char *end;
    for (const char *at = placeholder; *at; at = end) {
        end = at;
        while (isupper((unsigned char)*end))
            end++;
        const struct meaning *meaning = meaning_of(command, at, (size_t)(end - at));
        end += end == at;
        if (!meaning || meaning == last)
            continue;
        last = meaning;
        if (meaning->kind)
            c->kind = meaning->kind;
        if (meaning->list)
            offer_list(c, meaning->list, meaning->prefix);
        if (meaning->offer)
            meaning->offer(c);
    }
}

struct line {
    int count;
    char **words; /* words[0] is the command's name, words[count - 1] is being typed */
    struct hc_candidates candidates;
};

static const struct hc_option *named(const struct hc_option *options, const char *word)
{
    size_t length = strcspn(word, "=");
    for (const struct hc_option *o = options; o->name; o++)
        if (strncmp(word, "--", 2) == 0 && strlen(o->name) == length - 2 &&
            memcmp(o->name, word + 2, length - 2) == 0)
            return o;
    return NULL;
}

static void offer_values(struct hc_candidates *c, const char *command,
                         const struct hc_option *option)
{
    const char *comma = strrchr(c->typed + c->kept, ',');
    if (comma && strchr(option->value, ','))
        c->kept = (size_t)(comma + 1 - c->typed);
    for (int i = 0; option->choices && option->choices[i]; i++)
        candidate_offer(c, "", option->choices[i], NULL);
    if (!option->choices)
        candidate_offer_all(c, command, option->value);
}

static bool given(const struct line *line, const struct hc_option *options,
                  const struct hc_option *option)
{
    bool again = option->list || option->words || option->take;
    for (int i = 1; i < line->count - 1 && !again; i++)
        if (named(options, line->words[i]) == option)
            return true;
    return false;
}

static void offer_options(struct line *line, const struct hc_option *options)
{
    for (const struct hc_option *o = options; o->name; o++)
        if (!given(line, options, o))
            candidate_offer(&line->candidates, "--", o->name, o->help);
    candidate_offer(&line->candidates, "--", "help", hc_help_of_help);
}

/* Writes the word of a usage at which the given number of words stand that are neither options nor
   their values. One with dots may be repeated; behind others nothing stands. */
static void place_of(const char *usage, int place, char *word, size_t size)
{
    bool value = false;
    for (size_t length; *usage; usage += length) {
        usage += strspn(usage, " ");
        length = strcspn(usage, " ");
        bool option = strncmp(usage, "--", 2) == 0 || strncmp(usage, "[--", 3) == 0;
        if (!option && !value && length && strncmp(usage, "[options]", 9) != 0) {
            (void)snprintf(word, size, "%.*s", (int)length, usage);
            if (place-- == 0)
                return;
        }
        value = option && length && usage[length - 1] != ']';
    }
    if (!strstr(word, "..."))
        word[0] = '\0';
}

/* Goes through the words as hc_read_options does. */
static void offer(void *context, const struct hc_command *command, const struct hc_option *options)
{
    struct line *line = context;
    struct hc_candidates *c = &line->candidates;
    const char *typed = c->typed;
    const struct hc_option *open = NULL; /* the option whose value comes next */
    bool ended = false;
    int place = 0;
    for (int i = 1; i < line->count - 1; i++) {
        const char *word = line->words[i];
        const struct hc_option *option = open || ended ? NULL : named(options, word);
        ended = ended || (!open && strcmp(word, "--") == 0);
        place += !open && !ended && word[0] != '-';
        open = option && !option->flag && !strchr(word, '=') ? option : NULL;
    }
    const struct hc_option *whole = named(options, typed);
    if (!open && !ended && whole && !whole->flag && strchr(typed, '=')) {
        open = whole;
        c->kept = (size_t)(strchr(typed, '=') + 1 - typed);
    }
    if (open) {
        offer_values(c, command->name, open);
    } else if (typed[0] == '-' && !ended) {
        offer_options(line, options);
    } else {
        char word[128] = "";
        place_of(command->usage, place, word, sizeof word);
        candidate_offer_all(c, command->name, word);
    }
}

static void offer_first(struct hc_candidates *c)
{
    candidate_offer_all(c, "", "COMMAND");
    candidate_offer(c, "", "help", "explain a command");
    candidate_offer(c, "", "--help", "print the commands");
    candidate_offer(c, "", "--version", "print the version");
}

void hc_complete(int count, char **words)
{
    struct line line = {count, words, {.typed = words[count - 1], .kind = "names"}};
    int n;
    const struct hc_command *const *commands = hc_commands(&n);
    if (count == 1)
        offer_first(&line.candidates);
    if (count == 2 && strcmp(words[0], "help") == 0)
        candidate_offer_all(&line.candidates, "", "COMMAND");
    for (int i = 0; i < n && count > 1; i++)
        if (strcmp(commands[i]->name, words[0]) == 0)
            hc_help_options(commands[i], offer, &line);
    (void)puts(line.candidates.kind);
    candidates_free(&line.candidates);
}
