/* What wrong answers are, if another rule gives them: another system's, the same with another
   option, its reciprocal, or its answer a step late. */
#ifndef HC_CLI_SCALE_DIAGNOSIS_H
#define HC_CLI_SCALE_DIAGNOSIS_H

#include <stdint.h>

#include "cli/scale/answer.h"
#include "num/format.h"

/* Writes the explanation into `text`: "" if nothing explains more answers than the asked rule. */
enum { HC_SCALE_DIAGNOSIS = 600 };
void hc_scale_diagnose(const struct hc_scale_plan *plan, const struct hc_scale_trace *trace,
                       const struct hc_scale_answers *answers, char text[HC_SCALE_DIAGNOSIS]);

/* Wrong ways to round an element into a code, which halfcheck verify recognises. */

struct hc_wrong_rounding {
    const char *name;
    uint32_t (*round)(enum hc_format codes, float x);
};

/* Ends with a NULL name. */
extern const struct hc_wrong_rounding hc_wrong_roundings[];

#endif
