/* What the comparison of trainings says in words. */
#include <math.h>
#include <stdio.h>

#include "cli/gate/gate_training.h"
#include "cli/statistics/power.h"
#include "op/text.h"

void hc_training_say(const struct hc_training_question *q, const struct hc_training_verdict *v,
                     char text[HC_TRAINING_TEXT])
{
    const struct hc_difference *d = &v->accuracy;
    char sets[64];
    if (v->answer == HC_TRAINS_IDENTICAL) {
        (void)snprintf(text, HC_TRAINING_TEXT,
                       "+0.00 points in %d pair%s: accuracy and losses are equal; margin %g",
                       v->pairs, v->pairs == 1 ? "" : "s", q->margin);
        return;
    }
    if (v->answer == HC_TRAINS_TOO_FEW && v->is == 0) {
        (void)snprintf(text, HC_TRAINING_TEXT, "no run learned");
        return;
    }
    if (v->answer == HC_TRAINS_TOO_FEW) {
        (void)snprintf(text, HC_TRAINING_TEXT,
                       "%d run%s learned, %d in the baseline: fewer than %d show nothing", v->is,
                       v->is == 1 ? "" : "s", v->was, HC_LEAST_SEEDS);
        return;
    }
    (void)snprintf(sets, sizeof sets, d->paired ? "%d pairs" : "%d runs, were %d",
                   d->paired ? d->n : v->is, v->was);
    (void)hc_text_write(text, HC_TRAINING_TEXT,
                        "accuracy %+.2f points, %g %% interval %+.2f .. %+.2f (%s), margin %g",
                        d->mean, 100 - 200 * (q->level > 0 ? q->level : 0.05), d->low, d->high,
                        sets, q->margin);
}

void hc_training_say_plan(double margin, const struct hc_training_plan *plan,
                          char text[HC_TRAINING_TEXT])
{
    if (plan->needed == 0)
        (void)snprintf(text, HC_TRAINING_TEXT,
                       "%d seeds a side at least, whose spread then says how many", HC_LEAST_SEEDS);
    else
        (void)hc_text_write(text, HC_TRAINING_TEXT,
                            "%s%d %s for %g points with 80 %% power (%d to %d by the 90 %% "
                            "interval of their spread, %.2g)",
                            plan->needed == HC_MAX_PLANNED ? "at least " : "about ", plan->needed,
                            plan->paired ? "pairs" : "seeds a side", margin, plan->range[0],
                            plan->range[1], plan->deviation);
}

void hc_training_say_epochs(const struct hc_training_verdict *v, char text[HC_TRAINING_TEXT])
{
    text[0] = '\0';
    if (v->answer != HC_TRAINS_IDENTICAL && v->answer != HC_TRAINS_TOO_FEW)
        (void)hc_text_write(text, HC_TRAINING_TEXT, "%.1f epochs to %.2f %%, was %.1f",
                            v->epochs_is, v->target, v->epochs_was);
}
