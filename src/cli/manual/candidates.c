#include "cli/manual/candidates.h"

#include <ctype.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/registry.h"
#include "check/timing.h"
#include "cli/command.h"
#include "cli/lists.h"
#include "hc_benches_list.h"
#include "num/format.h"

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

void hc_candidate_offer(struct hc_candidates *c, const char *prefix, const char *name,
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

void hc_candidates_free(struct hc_candidates *c)
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
        hc_candidate_offer(c, prefix, json_string_value(json_object_get(row, "name")),
                           json_string_value(json_object_get(row, "title")));
    json_decref(rows);
}

/* Quicker than by that list, which has thousands of cases. */
static void offer_cases(struct hc_candidates *c)
{
    int n;
    const struct hc_case *const *cases = hc_all_cases(&n);
    for (int i = 0; cases && i < n; i++)
        hc_candidate_offer(c, "", cases[i]->name, cases[i]->title);
}

static void offer_subjects(struct hc_candidates *c)
{
    for (const struct hc_list *list = hc_lists; list->name; list++)
        hc_candidate_offer(c, "", list->name, NULL);
}

static void offer_commands(struct hc_candidates *c)
{
    int n;
    const struct hc_command *const *commands = hc_commands(&n);
    for (int i = 0; i < n; i++)
        if (!commands[i]->hidden)
            hc_candidate_offer(c, "", commands[i]->name, commands[i]->summary);
}

static void offer_benches(struct hc_candidates *c)
{
    static const struct hc_bench_table *const tables[] = {HC_LIST};
    for (size_t t = 0; tables[t]; t++)
        for (int b = 0; b < tables[t]->count; b++)
            hc_candidate_offer(c, "", tables[t]->benches[b].name, NULL);
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
            hc_candidate_offer(c, "cast/", hc_formats[f].name, NULL);
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

void hc_candidate_offer_all(struct hc_candidates *c, const char *command, const char *placeholder)
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
