/* Steps of a tiny network under a recipe, in which one element of one tensor becomes an infinity or a
   NaN; and all state that a step can move, as bytes. On the backend under test. */
#ifndef HC_CASES_PLANT_H
#define HC_CASES_PLANT_H

#include "cases/rig.h"

enum { HC_PLANT_BATCH = 4, HC_PLANT_INTERVAL = 4, HC_PLANT_STEPS = 16 };

/* Where it is planted: the first or last element of the gradient of a parameter, after the pass; or of an
   input of a call of the pass, before it is run. */
struct hc_plant_at {
    int parameter; /* or -1 */
    int call;      /* number of the call in the pass, or -1 */
    int slot;      /* of its inputs */
    double bad;
    bool first; /* element */
};

extern const struct hc_plant_at hc_plant_nowhere;

/* After a failure (`failed`; the verdict is set) every function returns at once. */
struct hc_plant {
    struct hc_check *check;
    struct hc_recipe recipe;
    struct hc_device device;
    struct hc_net *net;
    struct hc_update *update;
    struct hc_storage *scale; /* what the pass back takes for the loss scale, a copy */
    float *images;
    int32_t *labels;
    struct hc_plant_at at;
    bool updating;
    int calls;          /* of the last step's pass */
    enum hc_op op[256]; /* of each */
    void *planted;      /* the element in the backend's memory, NULL when there is none yet */
    unsigned char was[8];
    size_t bytes;
    float hyper[3]; /* of the last step's last optimizer: rate, beta1, t */
    float loss;     /* of the last step */
    bool failed;
};

/* The recipe with a growth interval of HC_PLANT_INTERVAL, and a first scale of 256 where the rule moves
   its scale, so that clean steps are clean; with an eps of 1e-4 where its own is 0 in its arithmetic and
   makes NaN without any help. The rate of step s is 1e-2 / (1 + s). */
void hc_plant_open(struct hc_plant *plant, struct hc_check *check, const struct hc_recipe *recipe);
void hc_plant_close(struct hc_plant *plant);

/* One pass and one update on the batch of that number. */
void hc_plant_step(struct hc_plant *plant, int batch, const struct hc_plant_at *at);

/* All that a step can move; `pieces` in the order of hc_piece. */
struct hc_plant_state {
    struct hc_bytes piece[HC_PIECE_COUNT];
    struct hc_bytes statistics;
    struct hc_counters counters;
};

/* Into memory that the state keeps from one save to the next. */
void hc_plant_save(struct hc_plant *plant, struct hc_plant_state *state);
void hc_plant_restore(struct hc_plant *plant, const struct hc_plant_state *state);

/* How many numbers of a piece are infinite or NaN; of the statistics with HC_PIECE_COUNT. */
int64_t hc_plant_lost(const struct hc_plant *plant, const struct hc_plant_state *state,
                      enum hc_piece piece);

#endif
