/* Which trace halfcheck gen makes and halfcheck verify expects. gen prints its plan in the first
   line, and verify makes the trace again from that. */
#ifndef HC_CLI_SCALER_PLAN_H
#define HC_CLI_SCALER_PLAN_H

#include <stdint.h>

#include "cases/fixture/scaler_oracle.h"
#include "cli/command.h"

struct hc_scaler_plan {
    enum hc_scaler_rule rule;
    double initial; /* the first scale, a power of two; 0: the rule's own */
    int interval;   /* clean steps before growth; 0: the rule's own */
    uint64_t seed;
    int steps; /* 0: as many as the whole trace takes */
};

enum { HC_PLAN_STEPS = 200 * 1000 * 1000, HC_PLAN_INTERVAL = 100 * 1000 };

/* Sets the rule from "scaler/RULE", checks the other numbers, and sets those that are 0 to the
   rule's own (but not the steps). HC_AS_CLAIMED; or HC_WRONG, with a line. */
int hc_scaler_plan_for(const char *command, const char *name, struct hc_scaler_plan *plan);

/* The plan as a comment line with gen's command in it; no newline. */
enum { HC_PLAN_LINE = 200 };
void hc_scaler_plan_line(const struct hc_scaler_plan *plan, char line[HC_PLAN_LINE]);

/* Whether a line looks like one; and reads the plan in it, HC_AS_CLAIMED or HC_WRONG as above. */
bool hc_scaler_plan_is(const char *line);
int hc_scaler_plan_read(const char *line, struct hc_scaler_plan *plan);

/* The oracle of its rule, before the first step. */
struct hc_oracle hc_scaler_oracle(const struct hc_scaler_plan *plan);

/* What the gradients of a step hold, and the word for it. */
enum hc_gradients {
    HC_GRADIENTS_FINITE,
    HC_GRADIENTS_INF,
    HC_GRADIENTS_NAN,
    HC_GRADIENTS_MINUS_INF,
    HC_GRADIENTS_COUNT
};
extern const char *const hc_gradients_words[HC_GRADIENTS_COUNT];

/* What gen prints for a step, and what must come back before the scale: "STEP STEPS FOUND". */
enum { HC_STEP_LINE = 64 };
void hc_scaler_step_line(char line[HC_STEP_LINE], int step, int steps, enum hc_gradients sent);

#endif
