/* Loss scalers: the rules of the systems, as a table of pure functions on a small state, so that
   they can run on a device too. */
#ifndef HC_TRAIN_SCALER_H
#define HC_TRAIN_SCALER_H

#include <stdbool.h>
#include <stdint.h>

#include "op/call.h"

enum hc_scaler_rule {
    HC_SCALER_NONE,   /* scale 1; infinities and NaNs go into the weights */
    HC_SCALER_STATIC, /* a fixed scale, no check (fastai nb_004b, Apex amp's static scales) */
    HC_SCALER_TORCH,  /* torch GradScaler, _amp_update_scale_ */
    HC_SCALER_COUNT
};

/* The rule's numbers. Rules that do not use one ignore it. */
struct hc_scaler {
    enum hc_scaler_rule rule;
    float initial;
    float growth;
    float backoff;
    int32_t interval; /* clean steps before growth */
};

struct hc_scaler_state {
    float scale;
    int32_t
        clean; /* steps without a found infinity since the scale last changed or one was found */
};

struct hc_scaler_info {
    const char *name;
    const char *source;
    bool skips; /* a step with an infinity or NaN in a gradient changes no weight and no state */
    void (*update)(const struct hc_scaler *scaler, struct hc_scaler_state *state, bool found);
};

extern const struct hc_scaler_info hc_scalers[HC_SCALER_COUNT];

/* What the op scaler_update is told of it. */
struct hc_scaler_update hc_scaler_params(const struct hc_scaler *scaler);

struct hc_scaler_state hc_scaler_start(const struct hc_scaler *scaler);

#endif
