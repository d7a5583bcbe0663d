/* What a loss scaler that answers wrongly may be instead. */
#ifndef HC_CLI_SCALER_DIAGNOSIS_H
#define HC_CLI_SCALER_DIAGNOSIS_H

#include "cli/scaler/model.h"

/* Into `text`: the first change of the rule's numbers, or other rule, that gives all answers up to
   the wrong one, and the most of those behind it. Empty where none does. */
enum { HC_DIAGNOSIS = 320 };
void hc_scaler_diagnose(const struct hc_scaler_answers *answers, char text[HC_DIAGNOSIS]);

#endif
