/* A whole training by the trainer's own loop, seen from below: the backend under test with kernels
   that show each call to the case before and after the sound kernel runs. What the loop does is
   read from what it hands to its ops, and nothing of the trainer need be asked. */
#ifndef HC_CASES_OBSERVED_H
#define HC_CASES_OBSERVED_H

#include "case.h"

struct hc_observed;

/* `there` is the call as the loop made it, whose pointers tell tensors apart. `copy` is the same
   with tensors in host memory, inputs as they were before the kernel and outputs as it left them;
   those of ops that are not looked at have no data. Not to call hc_check_memory. */
typedef void hc_see(struct hc_observed *observed, const struct hc_call *there,
                    const struct hc_call *copy);

struct hc_observed {
    struct hc_check *check;
    hc_see *see;
    void *context;
    bool looks[HC_OP_COUNT]; /* whose tensors `see` wants */

    /* The ops that really run; where only those run that the loop needs to go on (batches, rates,
       counts), a training of many steps costs nothing, and activations stay as they were. */
    bool computes;

    /* The backend is taken for one with memory of its own: the set lies there, batches are made by
       the op augment, and the journal is read once in many steps. */
    bool away;
};

/* Trains on the backend under test, options->backend and threads being filled in. False where it
   could not: the verdict is set then. One at a time. */
bool hc_observe_training(struct hc_observed *observed, struct hc_train_options *options,
                         struct hc_train_result *result);

#endif
