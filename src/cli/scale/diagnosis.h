/* What wrong answers are, if another rule gives them: another system's, the same with another
   option, its reciprocal, or its answer a step late. */
#ifndef HC_CLI_SCALE_DIAGNOSIS_H
#define HC_CLI_SCALE_DIAGNOSIS_H

#include "cli/scale/answer.h"

/* Writes the explanation into `text`: "" if nothing explains more answers than the asked rule. */
enum { HC_SCALE_DIAGNOSIS = 600 };
void hc_scale_diagnose(const struct hc_scale_plan *plan, const struct hc_scale_trace *trace,
                       const struct hc_scale_answers *answers, char text[HC_SCALE_DIAGNOSIS]);

#endif
