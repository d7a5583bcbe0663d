/* halfcheck find: the cases that somebody means who remembers a few words of a bug. Every word must
   stand in something that is known of the case: its name, title, source or lesson, the slugs and
   sources of its reports, or its formulas. The best come first: a word counts by where it stands,
   and more if it stands by itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/fixture/quote.h"
#include "cases/registry.h"
#include "cases/reports.h"
#include "check/record/json.h"
#include "cli/command.h"
#include "cli/backend_options.h"
#include "cli/search.h"

#include "op/typed.h"
#include "op/wrap.h"

const struct hc_command hc_command_find;

enum { SHOWN = 10, INDENT = 4, WORD = 64, MAX_WORDS = 16 };

/* What a match is worth by where it stands. A bug is worth more than another case. */
enum { IN_NAME = 8, IN_TITLE = 6, IN_LESSON = 3, IN_SOURCE = 2, IN_FORMULA = 1, IS_BUG = 4 };

struct query {
    int words;
    char word[MAX_WORDS][WORD];
    int known[MAX_WORDS]; /* how many cases have the word */
};

struct found {
    const char *name;
    const char *title;
    const char *source;
    int worth;
};

/* The best that each word is worth in one case. */
struct score {
    const struct query *query;
    int worth[MAX_WORDS];
};

static void look(struct score *score, const char *text, int worth)
{
    for (int w = 0; w < score->query->words && text; w++) {
        int here = worth * hc_search_text(text, score->query->word[w]);
        score->worth[w] = here > score->worth[w] ? here : score->worth[w];
    }
}

static void look_in_arm(struct score *score, const struct hc_bug_arm *arm)
{
    look(score, arm->in, IN_FORMULA);
    look(score, arm->with, IN_FORMULA);
    look(score, arm->formula, IN_FORMULA);
    look(score, arm->each, IN_FORMULA);
    look(score, arm->prints, IN_FORMULA);
}

/* The bug of a case, or its quote as one; NULL if it has neither. */
static const struct hc_bug *bug_of(const struct hc_case *what, struct hc_bug *quoted)
{
    const struct hc_quote *quote = hc_quote_of(what);
    if (quote)
        *quoted = hc_quote_bug(quote);
    return quote ? quoted : hc_bug_of(what);
}

static void look_in_bug(struct score *score, const struct hc_bug *bug)
{
    look(score, bug->lesson, IN_LESSON);
    look(score, bug->correction, IN_LESSON);
    look(score, bug->formula, IN_FORMULA);
    look(score, bug->each, IN_FORMULA);
    look(score, bug->show, IN_FORMULA);
    look_in_arm(score, &bug->buggy);
    look_in_arm(score, &bug->fixed);
}

/* The sum over the words; 0 if one is missing. */
static int total(const struct score *score, struct query *query, bool bug)
{
    int sum = bug ? IS_BUG : 0;
    bool whole = true;
    for (int w = 0; w < query->words; w++) {
        sum += score->worth[w];
        query->known[w] += score->worth[w] > 0;
        whole = whole && score->worth[w] > 0;
    }
    return whole ? sum : 0;
}

static int best_first(const void *a, const void *b)
{
    const struct found *x = a;
    const struct found *y = b;
    return x->worth != y->worth ? y->worth - x->worth : strcmp(x->name, y->name);
}

/* All cases, and all reports that no case shows, that have every word; `found` has room for all.
   Returns their number. */
static int search(struct query *query, const struct hc_case *const *cases, int n,
                  const struct hc_report *reports, int r, struct found *found)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        struct score score = {.query = query};
        struct hc_bug quoted;
        const struct hc_bug *bug = bug_of(cases[i], &quoted);
        look(&score, cases[i]->name, IN_NAME);
        look(&score, cases[i]->title, IN_TITLE);
        look(&score, cases[i]->source, IN_SOURCE);
        if (bug)
            look_in_bug(&score, bug);
        for (int k = 0; k < r; k++)
            if (reports[k].shown_by == cases[i]) {
                look(&score, reports[k].slug, IN_TITLE);
                look(&score, reports[k].source, IN_SOURCE);
            }
        found[count] = (struct found){cases[i]->name, cases[i]->title, cases[i]->source,
                                      total(&score, query, bug != NULL)};
        count += found[count].worth > 0;
    }
    for (int k = 0; k < r; k++) {
        struct score score = {.query = query};
        if (reports[k].shown_by)
            continue;
        look(&score, reports[k].slug, IN_NAME);
        look(&score, reports[k].source, IN_SOURCE);
        look(&score, reports[k].reason, IN_LESSON);
        found[count] = (struct found){reports[k].slug, reports[k].reason, reports[k].source,
                                      total(&score, query, true)};
        count += found[count].worth > 0;
    }
    qsort(found, (size_t)count, sizeof *found, best_first);
    return count;
}

static void print_lines(const struct found *found, int count)
{
    for (int i = 0; i < count; i++) {
        printf("%s\n%*s", found[i].name, INDENT, "");
        hc_print_wrapped(stdout, INDENT, INDENT, found[i].title);
    }
}

static int print_json(const struct found *found, int count)
{
    json_t *rows = json_array();
    for (int i = 0; i < count; i++) {
        json_t *o = json_object();
        (void)json_object_set_new(o, "name", hc_json_text(found[i].name));
        (void)json_object_set_new(o, "title", hc_json_text(found[i].title));
        (void)json_object_set_new(o, "source", hc_json_text(found[i].source));
        (void)json_array_append_new(rows, o);
    }
    enum hc_status status = hc_json_print(stdout, rows);
    json_decref(rows);
    return status == HC_OK ? HC_AS_CLAIMED : hc_complain_message();
}

/* The words of a text that are at most one typing error away from what was typed. */
static void near(struct hc_nearest *nearest, const char *text)
{
    char word[WORD];
    while (hc_search_word(&text, word, sizeof word)) {
        word[strcspn(word, ".,;:()")] = '\0';
        hc_nearest_try(nearest, word);
    }
}

/* Says which word no case has, and a near one that some case has. */
static int refuse_words(const struct query *query, const struct hc_case *const *cases, int n)
{
    int missing = 0;
    while (missing < query->words && query->known[missing])
        missing++;
    if (missing == query->words)
        return hc_complain("find: every word is known, but no case has all of them");
    const char *word = query->word[missing];
    struct hc_nearest nearest = hc_nearest_to(word, strlen(word));
    for (int i = 0; i < n; i++) {
        struct hc_bug quoted;
        const struct hc_bug *bug = bug_of(cases[i], &quoted);
        near(&nearest, cases[i]->title);
        near(&nearest, cases[i]->source);
        near(&nearest, bug && bug->lesson ? bug->lesson : "");
    }
    return hc_complain("find: no case has '%s'%s", word, hc_nearest_hint(&nearest));
}

/* False if there are none, or more than anybody needs. */
static bool read_words(struct query *query, char *const *words, int count)
{
    char word[WORD];
    for (int i = 0; i < count; i++)
        for (const char *at = words[i]; hc_search_word(&at, word, sizeof word);) {
            if (query->words == MAX_WORDS)
                return false;
            memcpy(query->word[query->words++], word, sizeof word);
        }
    return query->words > 0;
}

static int run_find(int argc, char **argv)
{
    static struct query query;
    bool all = false;
    bool json = false;
    const struct hc_option options[] = {
        {.name = "all", .flag = &all, .help = "print more than the best 10"},
        {.name = "json", .flag = &json, .help = "print a JSON array of all of them instead"},
        {.include = hc_plugin_option},
        {0},
    };
    int words;
    int status;
    int n;
    int r;
    if (!hc_read_options(&hc_command_find, options, argc, argv, &words, &status))
        return status;
    if (!read_words(&query, argv + 1, words))
        return hc_complain("find needs WORDS, at most %d, such as: halfcheck find \"nan adam\"",
                           MAX_WORDS);
    const struct hc_case *const *cases = hc_all_cases(&n);
    const struct hc_report *reports = cases ? hc_reports(&r) : NULL;
    if (!reports)
        return hc_complain_message();
    struct found *found = calloc((size_t)(n + r) + 1, sizeof *found);
    if (!found)
        return hc_complain("no memory for the cases that were found");
    int count = search(&query, cases, n, reports, r, found);
    int shown = all || count <= SHOWN + 1 ? count : SHOWN;
    status = HC_AS_CLAIMED;
    if (json) {
        status = print_json(found, count);
    } else if (count) {
        print_lines(found, shown);
        if (shown < count)
            printf("... and %d more; --all shows them\n", count - shown);
    } else {
        status = refuse_words(&query, cases, n);
    }
    free(found);
    return status;
}

const struct hc_command hc_command_find = {
    .name = "find",
    .usage = "WORDS [options]",
    .summary = "find cases by a few words of a bug: its symptom, source, lesson or numbers",
    .text = "Every word must stand in the name, title, source, lesson, formulas or reports of a\n"
            "case; capitals do not count, and a number such as 65504 or 1e-8 must stand there by\n"
            "itself. The best come first: name and symptom. A report that no case shows is listed\n"
            "with the reason. Where no case has all words, that is said on stderr, with status 2;\n"
            "--json prints an empty array.\n\n"
            "  halfcheck find \"nan adam\"\n"
            "  halfcheck find 65504",
    .run = run_find,
};
