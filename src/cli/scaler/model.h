/* A loss scaler in which every number can be another: what halfcheck verify takes for a wrong one,
   to see whether it explains the answers. It judges nothing: that is cases/fixture/scaler_oracle.h's. */
#ifndef HC_CLI_SCALER_MODEL_H
#define HC_CLI_SCALER_MODEL_H

#include "cli/scaler/answer.h"

struct hc_scaler_model {
    struct hc_scaler_update rule; /* as in src/op/call.h, but for how the scale is held */
    double initial;
    enum hc_held held;
    bool seen[HC_GRADIENTS_COUNT]; /* whether its detector notices that */
    int restart;                   /* the count of clean steps after an overflow */
    bool shows_before;             /* the scale that it shows is that before the step */
    bool grows_late;               /* and only so where the step made it grow */
    double scale;
    int64_t clean;
    int held_back;
    bool raised;
};

/* The plan's rule as it should be, at its first scale. */
struct hc_scaler_model hc_scaler_model_of(const struct hc_scaler_plan *plan);

/* Puts it to its first scale; one step: the scale that it shows then. */
void hc_scaler_model_begin(struct hc_scaler_model *model);
double hc_scaler_model_step(struct hc_scaler_model *model, enum hc_gradients sent);

/* How many of the answers, from the first on, are its. */
int hc_scaler_model_gives(struct hc_scaler_model model, const struct hc_scaler_answers *answers);

#endif
