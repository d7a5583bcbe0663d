/* What the tests of scale rules share: the plan that gen has of a rule. */
#ifndef HC_CLI_SCALE_TESTING_H
#define HC_CLI_SCALE_TESTING_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "cli/scale/plan.h"

/* `codes`: NULL for the rule's own; `window`: 0 for gen's own. */
static inline struct hc_scale_plan scale_plan(const char *rule, const char *codes, int window)
{
    struct hc_scale_plan plan;
    struct hc_gen options = {.codes = -1, .from = -1, .window = window};
    char name[64];
    for (int i = 0; codes && hc_scale_code_names[i]; i++)
        if (strcmp(codes, hc_scale_code_names[i]) == 0)
            options.codes = i;
    (void)snprintf(name, sizeof name, "scale/%s", rule);
    cr_assert_eq(hc_scale_plan_for("gen", name, &options, &plan), HC_AS_CLAIMED);
    return plan;
}

#endif
