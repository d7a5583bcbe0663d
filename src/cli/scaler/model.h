/* A loss scaler whose numbers and habits can all be changed. halfcheck verify uses it to see which
   change explains wrong answers. It does not judge: cases/fixture/scaler_oracle.h does. */
#ifndef HC_CLI_SCALER_MODEL_H
#define HC_CLI_SCALER_MODEL_H

#include "cli/scaler/answer.h"

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

/* How many of the answers, from the first on, the model gives. */
int hc_scaler_model_gives(struct hc_scaler_model model, const struct hc_scaler_answers *answers);

#endif
