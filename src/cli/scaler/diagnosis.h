/* What a wrong loss scaler is. A first wrong number says little: "step 40: want 131072, got 65536".
   But the answers together say much, because wrong scalers are wrong in few ways: a number of the
   rule is another, a limit is missing, clean steps are counted differently, the detector misses a
   kind of overflow, the scale is read at the wrong moment, or the rule is another system's.

   So each of these is tried on a model of the rule: a change explains the answers if the changed
   model gives all of them up to and including the wrong one. The change that does so and gives most
   of the later answers is named, and the first if several are equal; they are in the order of how
   often each mistake is met. A change that gives little more than the wrong answer itself explains
   nothing and is not named. A diagnosis is a hint and never the verdict. */
#ifndef HC_CLI_SCALER_DIAGNOSIS_H
#define HC_CLI_SCALER_DIAGNOSIS_H

#include "cli/scaler/answer.h"

/* A loss scaler whose numbers and habits can all be changed. halfcheck verify uses it to see which
   change explains wrong answers. It does not judge: cases/fixture/scaler_oracle.h does. */
struct hc_scaler_model {
    struct hc_scaler_update rule; /* src/op/control.h */
    double initial;
    enum hc_held held;
    bool seen[HC_GRADIENTS_COUNT]; /* which gradients its detector takes for an overflow */
    int restart;                   /* the count of clean steps after an overflow */
    bool shows_before;             /* it shows the scale before the step */
    bool grows_late;               /* it does so, but only if the step made the scale grow */
    double scale;
    int64_t clean;
    int held_back;
    bool raised;
};

/* The plan's rule, unchanged. */
struct hc_scaler_model hc_scaler_model_of(const struct hc_scaler_plan *plan);

/* Sets the first scale; makes one step and returns the scale that it shows then. */
void hc_scaler_model_begin(struct hc_scaler_model *model);
double hc_scaler_model_step(struct hc_scaler_model *model, enum hc_gradients sent);

/* Writes the explanation into `text`: "" if there is none. */
enum { HC_DIAGNOSIS = 320 };
void hc_scaler_diagnose(const struct hc_scaler_answers *answers, char text[HC_DIAGNOSIS]);

#endif
