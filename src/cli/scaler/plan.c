#include "cli/scaler/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases/fixture/scaler_oracle.h"
#include "op/typed.h"

static const char beginning[] = "# halfcheck gen scaler/";

/* Lists the rules that begin with the name, such as a system's name without its version; or names
   the one that may have been meant. */
static int no_rule(const char *command, const char *name)
{
    char others[160] = "";
    size_t at = 0;
    struct hc_nearest nearest = hc_nearest_to(name, strlen(name));
    for (int rule = 0; rule < HC_SCALER_COUNT; rule++)
        if (*name && strncmp(hc_scalers[rule].name, name, strlen(name)) == 0 && at < sizeof others)
            at += (size_t)snprintf(others + at, sizeof others - at, "%s%s",
                                   at ? ", " : "; there are ", hc_scalers[rule].name);
    for (int rule = 0; rule < HC_SCALER_COUNT; rule++)
        hc_nearest_try(&nearest, hc_scalers[rule].name);
    return hc_complain("%s: there is no rule '%s'%s; see: halfcheck list scalers", command, name,
                       others[0] ? others : hc_nearest_hint(&nearest));
}

int hc_scaler_plan_for(const char *command, const char *name, struct hc_scaler_plan *plan)
{
    static const char folder[] = "scaler/";
    size_t length = sizeof folder - 1;
    int log2 = 0;
    if (!name || strncmp(name, folder, length) != 0)
        return hc_complain("%s needs scaler/RULE; see: halfcheck list scalers", command);
    plan->rule = hc_scaler_by_name(name + length);
    if (plan->rule == HC_SCALER_COUNT)
        return no_rule(command, name + length);
    if (plan->steps < 0 || plan->steps > HC_PLAN_STEPS || plan->interval < 0 ||
        plan->interval > HC_PLAN_INTERVAL)
        return hc_complain("%s: out of range: %d steps, interval %d", command, plan->steps,
                           plan->interval);
    if (plan->initial == 0)
        plan->initial = ldexp(1, hc_oracle_initial(plan->rule));
    if (frexp(plan->initial, &log2) != 0.5)
        return hc_complain("%s: --initial %g is not a power of two", command, plan->initial);
    if (!hc_oracle_allows(plan->rule, hc_oracle_held(plan->rule), log2 - 1))
        return hc_complain("%s: %s cannot start at scale %g", command, name, plan->initial);
    int usual = (int)hc_oracle_interval(plan->rule);
    plan->interval = usual && plan->interval ? plan->interval : usual;
    return HC_AS_CLAIMED;
}

void hc_scaler_plan_line(const struct hc_scaler_plan *plan, char line[HC_PLAN_LINE])
{
    (void)snprintf(line, HC_PLAN_LINE,
                   "%s%s --seed %" PRIu64 " --steps %d --interval %d --initial %a", beginning,
                   hc_scalers[plan->rule].name, plan->seed, plan->steps, plan->interval,
                   plan->initial);
}

bool hc_scaler_plan_is(const char *line)
{
    return strncmp(line, beginning, sizeof beginning - 1) == 0;
}

/* The plan that was read must give the same line again: then nothing in it was ignored. */
int hc_scaler_plan_read(const char *line, struct hc_scaler_plan *plan)
{
    char name[40] = "scaler/";
    char again[HC_PLAN_LINE];
    size_t length = strcspn(line, "\r\n");
    *plan = (struct hc_scaler_plan){0};
    int words = sscanf(
        line,
        "# halfcheck gen scaler/%31s --seed %" SCNu64 " --steps %d --interval %d --initial %la",
        name + strlen(name), &plan->seed, &plan->steps, &plan->interval, &plan->initial);
    if (words == 5) {
        if (hc_scaler_plan_for("verify", name, plan) != HC_AS_CLAIMED)
            return HC_WRONG;
        hc_scaler_plan_line(plan, again);
        if (plan->steps > 0 && strlen(again) == length && strncmp(line, again, length) == 0)
            return HC_AS_CLAIMED;
    }
    return hc_complain("verify: this is not a first line of gen: '%.*s'", (int)length, line);
}

struct hc_oracle hc_scaler_oracle(const struct hc_scaler_plan *plan)
{
    int log2 = 0;
    (void)frexp(plan->initial, &log2);
    return hc_oracle_start(plan->rule, hc_oracle_held(plan->rule), log2 - 1, plan->interval);
}

const char *const hc_gradients_words[HC_GRADIENTS_COUNT] = {"0", "inf", "nan", "-inf"};

void hc_scaler_step_line(char line[HC_STEP_LINE], int step, int steps, enum hc_gradients sent)
{
    (void)snprintf(line, HC_STEP_LINE, "%d %d %s", step, steps, hc_gradients_words[sent]);
}
