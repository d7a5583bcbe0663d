#include "cli/scale/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cast/plan.h"
#include "cli/lines.h"
#include "op/text.h"
#include "op/typed.h"

static const char folder[] = "scale/";
static const char beginning[] = "# halfcheck gen scale/";

const char *const hc_scale_code_names[] = {"e4m3", "e5m2",     "e2m1",     "e2m3",
                                           "e3m2", "e4m3fnuz", "e5m2fnuz", NULL};

static int no_rule(const char *command, const char *name)
{
    struct hc_nearest nearest = hc_nearest_to(name, strlen(name));
    for (int r = HC_SCALE_GIVEN + 1; r < HC_SCALE_RULE_COUNT; r++)
        hc_nearest_try(&nearest, hc_scale_rules[r].name);
    for (int r = 0; r < HC_DELAYED_RULE_COUNT; r++)
        hc_nearest_try(&nearest, hc_delayed_rules[r].name);
    return hc_complain("%s: there is no rule '%s'%s; see: halfcheck list scales", command, name,
                       hc_nearest_hint(&nearest));
}

int hc_scale_plan_for(const char *command, const char *name, const struct hc_gen *options,
                      struct hc_scale_plan *plan)
{
    name += strlen(folder);
    *plan = (struct hc_scale_plan){.seed = options->seed};
    plan->rule = hc_scale_rule_by_name(name);
    plan->delayed.rule = hc_delayed_rule_by_name(name);
    plan->has_history = plan->delayed.rule != HC_DELAYED_RULE_COUNT;
    if (plan->rule == HC_SCALE_GIVEN || (!plan->has_history && plan->rule == HC_SCALE_RULE_COUNT))
        return no_rule(command, name);
    if (!plan->has_history && (options->window || options->margin || options->most_recent))
        return hc_complain("%s: scale/%s keeps no history: --window, --margin and --most-recent "
                           "are for those that do",
                           command, name);
    bool has_choice = plan->has_history && plan->delayed.rule != HC_DELAYED_FLAX &&
                      plan->delayed.rule != HC_DELAYED_MS_AMP;
    if (plan->has_history && !has_choice && options->most_recent)
        return hc_complain("%s: scale/%s has no --most-recent: that is TransformerEngine's",
                           command, name);
    if (plan->has_history && options->from > 0)
        return hc_complain("%s: the amaxes of scale/%s are fp32: --from is for the other rules",
                           command, name);
    bool has_levels = !plan->has_history && hc_scale_rules[plan->rule].kind == HC_SCALE_OF_LEVELS;
    const char *codes = options->codes >= 0 ? hc_scale_code_names[options->codes]
                        : has_levels        ? "e2m1"
                                            : "e4m3";
    plan->codes = hc_format_by_name(codes);
    if (has_levels && plan->codes != HC_E2M1)
        return hc_complain("%s: scale/%s is for e2m1, not for %s", command, name, codes);
    plan->input = hc_format_by_name(hc_cast_sources[options->from >= 0 ? options->from : 0]);
    plan->window = options->window ? options->window : 4;
    plan->delayed.codes = plan->codes;
    plan->delayed.margin = options->margin;
    plan->delayed.most_recent = options->most_recent;
    return HC_AS_CLAIMED;
}

const char *hc_scale_plan_rule(const struct hc_scale_plan *plan)
{
    return plan->has_history ? hc_delayed_rules[plan->delayed.rule].name
                             : hc_scale_rules[plan->rule].name;
}

void hc_scale_plan_line(const struct hc_scale_plan *plan, char line[HC_SCALE_LINE])
{
    (void)snprintf(line, HC_SCALE_LINE, "%s%s --seed %" PRIu64 " --codes %s", beginning,
                   hc_scale_plan_rule(plan), plan->seed, hc_formats[plan->codes].name);
    if (plan->has_history)
        hc_append(line, HC_SCALE_LINE, " --window %d --margin %d%s", plan->window,
                  plan->delayed.margin, plan->delayed.most_recent ? " --most-recent" : "");
    else
        hc_append(line, HC_SCALE_LINE, " --from %s", hc_formats[plan->input].name);
}

bool hc_scale_plan_is(const char *line)
{
    return strncmp(line, beginning, sizeof beginning - 1) == 0;
}

/* The place of a word in a list, or -1. */
static int place_of(const char *word, const char *const *list)
{
    for (int i = 0; list[i]; i++)
        if (strcmp(list[i], word) == 0)
            return i;
    return -1;
}

/* A whole number from 0 to `most`. What is none comes out as 0. */
static int number_up_to(int most, const char *value)
{
    long number = strtol(value, NULL, 10);
    return number >= 0 && number <= most ? (int)number : 0;
}

/* Sets one option. Numbers that are none or out of gen's limits come out as others, and the line
   made again from the plan differs. */
static void set_option(struct hc_gen *options, const char *option, const char *value)
{
    if (strcmp(option, "--seed") == 0)
        options->seed = strtoull(value, NULL, 10);
    else if (strcmp(option, "--codes") == 0)
        options->codes = place_of(value, hc_scale_code_names);
    else if (strcmp(option, "--from") == 0)
        options->from = place_of(value, hc_cast_sources);
    else if (strcmp(option, "--window") == 0)
        options->window = number_up_to(HC_SCALE_WINDOW, value);
    else if (strcmp(option, "--margin") == 0)
        options->margin = number_up_to(HC_SCALE_MARGIN, value);
}

void hc_scale_echo(const char *line, char echo[HC_SCALE_ECHO])
{
    char quoted[HC_SCALE_ECHO];
    size_t length = strcspn(line, "\r\n");
    bool is_long = length >= HC_SCALE_ECHO;
    (void)snprintf(quoted, sizeof quoted, "%.*s%s", is_long ? HC_SCALE_ECHO - 4 : (int)length, line,
                   is_long ? "..." : "");
    hc_text_plain(echo, HC_SCALE_ECHO, quoted);
}

/* The plan that was read must give the same line again: then nothing in it was ignored. */
int hc_scale_plan_read(const char *line, struct hc_scale_plan *plan)
{
    char copy[HC_SCALE_LINE];
    char again[HC_SCALE_LINE];
    char name[64] = "";
    struct hc_gen options = {.codes = -1, .from = -1};
    size_t length = strcspn(line, "\r\n");
    (void)snprintf(copy, sizeof copy, "%.*s", (int)length, line);
    (void)snprintf(name, sizeof name, "%s%.*s", folder,
                   (int)strcspn(copy + sizeof beginning - 1, " "), copy + sizeof beginning - 1);
    char *at = strstr(copy, " --"); /* a rule's name may have dashes */
    for (char *option = at ? strtok(at, " ") : NULL; option; option = strtok(NULL, " ")) {
        char *value = strcmp(option, "--most-recent") == 0 ? NULL : strtok(NULL, " ");
        options.most_recent |= strcmp(option, "--most-recent") == 0;
        if (value)
            set_option(&options, option, value);
    }
    int status = hc_scale_plan_for("verify", name, &options, plan);
    if (status != HC_AS_CLAIMED)
        return status;
    hc_scale_plan_line(plan, again);
    if (strlen(again) == length && strncmp(line, again, length) == 0)
        return HC_AS_CLAIMED;
    char echo[HC_SCALE_ECHO];
    hc_scale_echo(line, echo);
    return hc_complain("verify: this is not a first line of gen: '%s'", echo);
}
