#include "cli/manual/complete.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/help.h"
#include "cli/manual/candidates.h"

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
        hc_candidate_offer(c, "", option->choices[i], NULL);
    if (!option->choices)
        hc_candidate_offer_all(c, command, option->value);
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
            hc_candidate_offer(&line->candidates, "--", o->name, o->help);
    hc_candidate_offer(&line->candidates, "--", "help", hc_help_of_help);
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
        hc_candidate_offer_all(c, command->name, word);
    }
}

static void offer_first(struct hc_candidates *c)
{
    hc_candidate_offer_all(c, "", "COMMAND");
    hc_candidate_offer(c, "", "help", "explain a command");
    hc_candidate_offer(c, "", "--help", "print the commands");
    hc_candidate_offer(c, "", "--version", "print the version");
}

void hc_complete(int count, char **words)
{
    struct line line = {count, words, {.typed = words[count - 1], .kind = "names"}};
    int n;
    const struct hc_command *const *commands = hc_commands(&n);
    if (count == 1)
        offer_first(&line.candidates);
    if (count == 2 && strcmp(words[0], "help") == 0)
        hc_candidate_offer_all(&line.candidates, "", "COMMAND");
    for (int i = 0; i < n && count > 1; i++)
        if (strcmp(commands[i]->name, words[0]) == 0)
            hc_help_options(commands[i], offer, &line);
    (void)puts(line.candidates.kind);
    hc_candidates_free(&line.candidates);
}
