/* A small network's pass forward in MPFR, from the definitions of op/call.h at 256 bits: the loss, and no
   pass backward. */
#ifndef HC_CASES_SHADOW_H
#define HC_CASES_SHADOW_H

#include "case.h"

enum { HC_SHADOW_BATCH = 2, HC_SHADOW_CLASSES = 3, HC_SHADOW_SIDE = 4, HC_SHADOW_CHANNELS = 2 };
enum {
    HC_SHADOW_PIXELS = HC_SHADOW_BATCH * HC_SHADOW_SIDE * HC_SHADOW_SIDE * HC_SHADOW_CHANNELS,
    HC_SHADOW_MOST = 128 /* numbers of a value, [batch, side, side, channels] */
};

struct hc_shadow {
    const struct hc_plan *plan;
    const int32_t *labels;
    struct hc_real **parameter[3 * HC_MAX_LAYERS];
    struct hc_real *value[HC_MAX_LAYERS + 1][HC_SHADOW_MOST];
    struct hc_real *mean;
    struct hc_real *variance;
    struct hc_real *term;
    struct hc_real *loss;
};

/* Of a net of that batch and so many classes: its plan, its parameters as they are now, and a batch.
   The net and the labels outlive it. */
void hc_shadow_open(struct hc_check *check, struct hc_shadow *shadow, struct hc_net *net,
                    const float *images, const int32_t *labels);
void hc_shadow_close(struct hc_shadow *shadow, struct hc_net *net);

/* shadow->loss of the parameters and images as they are. */
void hc_shadow_forward(struct hc_shadow *shadow);

#endif
