/* Steps of a tiny network under a recipe, in which one element of one tensor becomes an infinity or a
   NaN; and all state that a step can move, as bytes. On the backend under test. */
#ifndef HC_CASES_PLANT_H
#define HC_CASES_PLANT_H

#include "cases/rig.h"

enum { HC_INJECTION_BATCH = 4, HC_INJECTION_INTERVAL = 4, HC_INJECTION_STEPS = 16 };

/* Where it is injected: the first or last element of the gradient of a parameter, after the pass; or of an
   input of a call of the pass, before it is run. */
struct hc_injection_site {
    int parameter; /* or -1 */
    int call;      /* number of the call in the pass, or -1 */
    int slot;      /* of its inputs */
    double bad;
    bool first; /* element */
};

extern const struct hc_injection_site hc_injection_none;

/* After a failure (`failed`; the verdict is set) every function returns at once. */
struct hc_injection {
    struct hc_check *check;
    struct hc_recipe recipe;
    struct hc_device device;
    struct hc_net *net;
    struct hc_update *update;
    struct hc_storage *scale; /* what the backward pass takes for the loss scale, a copy */
    float *images;
    int32_t *labels;
    struct hc_injection_site at;
    bool updating;
    int calls;          /* of the last step's pass */
    enum hc_op op[256]; /* of each */
    void *injected;      /* the element in the backend's memory, NULL when there is none yet */
    unsigned char was[8];
    size_t bytes;
    float hyper[3]; /* of the last step's last optimizer: rate, beta1, t */
    float loss;     /* of the last step */
    bool failed;
};

/* The recipe with a growth interval of HC_INJECTION_INTERVAL, and a first scale of 256 where the rule moves
   its scale, so that clean steps are clean; with an eps of 1e-4 where its own is 0 in its arithmetic and
   makes NaN without any help. The rate of step s is 1e-2 / (1 + s). */
void hc_injection_open(struct hc_injection *injection, struct hc_check *check, const struct hc_recipe *recipe);
void hc_injection_close(struct hc_injection *injection);

/* One pass and one update on the batch of that number. */
void hc_injection_step(struct hc_injection *injection, int batch, const struct hc_injection_site *at);

/* All that a step can move; `pieces` in the order of hc_piece. */
struct hc_injection_state {
    struct hc_bytes piece[HC_STATE_COUNT];
    struct hc_bytes statistics;
    struct hc_counters counters;
};

/* Into memory that the state keeps from one save to the next. */
void hc_injection_save(struct hc_injection *injection, struct hc_injection_state *state);
void hc_injection_restore(struct hc_injection *injection, const struct hc_injection_state *state);

/* How many numbers of a piece are infinite or NaN; of the statistics with HC_STATE_COUNT. */
int64_t hc_injection_nonfinite(const struct hc_injection *injection, const struct hc_injection_state *state,
                      enum hc_state_tensor piece);

#endif
