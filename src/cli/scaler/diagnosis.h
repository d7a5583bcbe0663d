/* What a wrong loss scaler is. A first wrong number says little: "step 40: want 131072, got 65536".
   But the answers together say much, because wrong scalers are wrong in few ways: a number of the
   rule is another, a limit is missing, clean steps are counted differently, the detector misses a
   kind of overflow, the scale is read at the wrong moment, or the rule is another system's.

   So each of these is tried on a model of the rule (cli/scaler/model.h): a change explains the
   answers if the changed model gives all of them up to and including the wrong one. Of the
   changes that do, the one that gives most of the later answers is named; of equal ones the
   first, in the order of how often each mistake is met. A change that gives little more than the
   wrong answer itself explains nothing and is not named. A diagnosis is a hint and never the
   verdict. */
#ifndef HC_CLI_SCALER_DIAGNOSIS_H
#define HC_CLI_SCALER_DIAGNOSIS_H

#include "cli/scaler/model.h"

/* Writes the explanation into `text`: "" if there is none. */
enum { HC_DIAGNOSIS = 320 };
void hc_scaler_diagnose(const struct hc_scaler_answers *answers, char text[HC_DIAGNOSIS]);

#endif
