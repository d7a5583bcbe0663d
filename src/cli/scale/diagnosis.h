/* What wrong answers are, if another rule gives them: another system's, the same with another
   option, its reciprocal, or its answer a step late. */
#ifndef HC_CLI_SCALE_DIAGNOSIS_H
#define HC_CLI_SCALE_DIAGNOSIS_H

#include "cli/scale/answer.h"

/* Answers from the first line on; the one behind them would be line `count` + 1. */
struct hc_scale_answers {
    struct hc_scale_answer *got;
    int count;
    int wrong; /* the first wrong one, counted from 0 */
};

/* Writes the explanation into `text`: "" if there is none. */
enum { HC_SCALE_DIAGNOSIS = 400 };
void hc_scale_diagnose(const struct hc_scale_plan *plan, const struct hc_scale_trace *trace,
                       const struct hc_scale_answers *answers, char text[HC_SCALE_DIAGNOSIS]);

#endif
