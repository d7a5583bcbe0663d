/* halfcheck find: the cases that somebody means who types what he sees. The best come first
   (cli/find/find.c), and there is always an answer: where no word is known, the nearest names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/json.h"
#include "cli/command.h"
#include "cli/backend_options.h"
#include "cli/find/find.h"

#include "op/wrap.h"

const struct hc_command hc_command_find;

enum { SHOWN = 5, INDENT = 4, TEXT = 1024 };

static void print_lines(const struct hc_found *found, int count)
{
    for (int i = 0; i < count; i++) {
        printf("%s\n%*s", found[i].name, INDENT, "");
        hc_print_wrapped(stdout, INDENT, INDENT, found[i].title);
    }
}

static int print_json(const struct hc_found *found, int count)
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

/* Says which words were taken for others, and which were left out since no case has them. */
static void tell_words(const struct hc_asked *asked)
{
    for (int w = 0; w < asked->words; w++) {
        if (asked->typed[w][0])
            (void)fprintf(stderr, "halfcheck: find: '%s' is taken for '%s'\n", asked->typed[w],
                          asked->word[w].typed);
        else if (!asked->known[w])
            (void)fprintf(stderr, "halfcheck: find: '%s' is ignored: no case has it\n",
                          asked->word[w].typed);
    }
}

static int answer(struct hc_asked *asked, const char *typed, bool all, bool json)
{
    struct hc_found *found;
    int count;
    int status = HC_AS_CLAIMED;
    bool known = false;
    if (hc_find(asked, typed, &found, &count) != HC_OK) {
        free(found);
        return hc_complain_message();
    }
    for (int w = 0; w < asked->words; w++)
        known = known || asked->known[w];
    int shown = all || count <= SHOWN + 1 ? count : SHOWN;
    tell_words(asked);
    if (json) {
        status = print_json(found, count);
    } else {
        if (!known)
            printf("no case has these words; nearest by their letters:\n\n");
        print_lines(found, shown);
        if (shown < count)
            printf("... and %d more; --all shows them\n", count - shown);
        printf("\nnone of these? halfcheck calc shows what your formula does in each format, and\n"
               "halfcheck judge says whether your kernel's numbers are right.\n");
    }
    free(found);
    return status;
}

static int run_find(int argc, char **argv)
{
    static struct hc_asked asked;
    bool all = false;
    bool json = false;
    const struct hc_option options[] = {
        {.name = "all", .flag = &all, .help = "print all of them, not the best five"},
        {.name = "json", .flag = &json, .help = "print a JSON array of all of them instead"},
        {.include = hc_plugin_option},
        {0},
    };
    char typed[TEXT] = "";
    int words;
    int status;
    if (!hc_read_options(&hc_command_find, options, argc, argv, &words, &status))
        return status;
    for (int i = 1; i <= words; i++) {
        size_t used = strlen(typed);
        (void)snprintf(typed + used, sizeof typed - used, "%s%s", i > 1 ? " " : "", argv[i]);
    }
    hc_asked_read(&asked, typed);
    if (asked.words == 0)
        return hc_complain("find needs WORDS, such as: halfcheck find \"nan adam\"");
    return answer(&asked, typed, all, json);
}

const struct hc_command hc_command_find = {
    .name = "find",
    .usage = "WORDS [options]",
    .summary = "find cases by what you see: a symptom, a thread's title, a number",
    .text =
        "Type the symptom as you would into a search engine. Endings of words do not matter, and\n"
        "words of the same meaning count, too: fp16 finds half, epsilon finds eps, stuck finds\n"
        "what stalls. A case need not have all words; the best come first. A number such as\n"
        "65504 or 1e-8 is found only as a whole. Words that no case has are named on standard\n"
        "error. A report that no case shows is listed with the reason.\n\n"
        "  halfcheck find loss scale stuck at 0\n"
        "  halfcheck find 65504",
    .run = run_find,
};
