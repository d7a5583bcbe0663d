/* A small network's forward pass in MPFR, from the definitions of op/call.h at 256 bits: the loss, and no
   backward pass. */
#ifndef HC_CASES_SHADOW_H
#define HC_CASES_SHADOW_H

#include "case.h"

enum { HC_REFERENCE_NET_BATCH = 2, HC_REFERENCE_NET_CLASSES = 3, HC_REFERENCE_NET_SIDE = 4, HC_REFERENCE_NET_CHANNELS = 2 };
enum {
    HC_REFERENCE_NET_PIXELS = HC_REFERENCE_NET_BATCH * HC_REFERENCE_NET_SIDE * HC_REFERENCE_NET_SIDE * HC_REFERENCE_NET_CHANNELS,
    HC_REFERENCE_NET_MAX = 128 /* numbers of a value, [batch, side, side, channels] */
};

struct hc_reference_net {
    const struct hc_plan *plan;
    const int32_t *labels;
    struct hc_real **parameter[3 * HC_MAX_LAYERS];
    struct hc_real *value[HC_MAX_LAYERS + 1][HC_REFERENCE_NET_MAX];
    struct hc_real *mean;
    struct hc_real *variance;
    struct hc_real *term;
    struct hc_real *loss;
};

/* Of a net of that batch and so many classes: its plan, its parameters as they are now, and a batch.
   The net and the labels outlive it. */
void hc_reference_net_open(struct hc_check *check, struct hc_reference_net *reference, struct hc_net *net,
                    const float *images, const int32_t *labels);
void hc_reference_net_close(struct hc_reference_net *reference, struct hc_net *net);

/* reference->loss of the parameters and images as they are. */
void hc_reference_net_forward(struct hc_reference_net *reference);

#endif
