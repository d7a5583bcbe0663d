/* Which trace: what halfcheck gen is told, what its first line tells halfcheck verify, and what a
   step looks like. */
#ifndef HC_CLI_SCALER_PLAN_H
#define HC_CLI_SCALER_PLAN_H

#include <stdint.h>

#include "cases/fixture/scaler_oracle.h"
#include "cli/command.h"

struct hc_scaler_plan {
    enum hc_scaler_rule rule;
    double initial; /* the first scale, a power of two; 0: the rule's usual one */
    int interval;   /* clean steps before growth; 0: the rule's usual one */
    uint64_t seed;
    int steps; /* 0: as many as it takes */
};

enum { HC_PLAN_STEPS = 200 * 1000 * 1000, HC_PLAN_INTERVAL = 100 * 1000 };

/* "scaler/RULE" into the plan, whose other numbers are then checked and, but for the steps, made those
   of the rule where they are 0. HC_AS_CLAIMED, or HC_WRONG with everything said. */
int hc_scaler_plan_for(const char *command, const char *name, struct hc_scaler_plan *plan);

/* The plan as a comment with gen's command line in it; no newline. */
enum { HC_PLAN_LINE = 200 };
void hc_scaler_plan_line(const struct hc_scaler_plan *plan, char line[HC_PLAN_LINE]);

/* Whether a line looks like one; and the plan in it, HC_AS_CLAIMED or HC_WRONG as above. */
bool hc_scaler_plan_is(const char *line);
int hc_scaler_plan_read(const char *line, struct hc_scaler_plan *plan);

/* What its rule promises before the first step. */
struct hc_oracle hc_scaler_oracle(const struct hc_scaler_plan *plan);

/* What a step's gradients hold; and as a word. */
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
