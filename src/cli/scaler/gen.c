#include <stdio.h>
#include <stdlib.h>

#include "cli/scaler/trace.h"
#include "cli/subject.h"

static int print(struct hc_scaler_plan plan)
{
    char line[HC_PLAN_LINE];
    char sent_line[HC_STEP_LINE];
    if (plan.steps == 0)
        plan.steps = hc_scaler_trace(&plan, NULL).length;
    unsigned char *sent = malloc((size_t)plan.steps);
    if (!sent)
        return hc_complain("gen: no memory for %d steps", plan.steps);
    int length = hc_scaler_trace(&plan, sent).length;
    hc_scaler_plan_line(&plan, line);
    puts(line);
    for (int i = 0; i < length; i++) {
        hc_scaler_step_line(sent_line, i + 1, length, (enum hc_gradients)sent[i]);
        puts(sent_line);
    }
    free(sent);
    return HC_AS_CLAIMED;
}

int hc_scaler_gen(const char *name, const struct hc_gen *gen)
{
    struct hc_scaler_plan plan = {
        .seed = gen->seed, .steps = gen->steps, .interval = gen->interval, .initial = gen->initial};
    int status = hc_scaler_plan_for("gen", name, &plan);
    return status == HC_AS_CLAIMED ? print(plan) : status;
}
