/* A training small enough for a case: a Darknet of 8 x 8 images, two classes of stripes (across and
   down, of any phase, in noise), on the backend under test. */
#ifndef HC_CASES_TOY_H
#define HC_CASES_TOY_H

#include "case.h"

enum { HC_TINY_BATCH = 32 };

/* After a failure (`failed`; the verdict is set) every function returns at once and every loss is
   NaN. */
struct hc_tiny {
    struct hc_check *check;
    uint64_t seed;
    struct hc_device device;
    struct hc_net *net;
    struct hc_update *update;
    float *images; /* of the last batch */
    int32_t *labels;
    bool failed;
};

/* The network, in fp32; initial weights and batches from the seed. */
void hc_tiny_open(struct hc_tiny *tiny, struct hc_check *check, uint64_t seed);

/* Converts it as the recipe says and gets it ready to train. */
void hc_tiny_start(struct hc_tiny *tiny, const struct hc_recipe *recipe);
void hc_tiny_close(struct hc_tiny *tiny);

/* One step on batch number `step`; its loss. */
double hc_tiny_step(struct hc_tiny *tiny, int step, double lr);

/* The mean loss over 4 batches that are never trained on. */
double hc_tiny_validate(struct hc_tiny *tiny);

#endif
