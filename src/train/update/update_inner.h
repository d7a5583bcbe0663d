/* The inside of an update, for the files that open it, step it and read its state. */
#ifndef HC_TRAIN_UPDATE_UPDATE_INNER_H
#define HC_TRAIN_UPDATE_UPDATE_INNER_H

#include "train/update/update.h"

/* Neighbours in an arena start a multiple of so many elements apart, so that each start is aligned
   to 64 bytes in every format. The padding between them is zero and belongs to nobody. */
enum { HC_UPDATE_ALIGN = 64 };

/* A parameter with its state. */
struct hc_update_slot {
    struct hc_parameter *parameter;
    struct hc_slot_plan plan;
    struct hc_storage *state[HC_STATE_COUNT]; /* those that the plan calls its own, but MODEL */
    int number;                               /* of the parameter, as the caller counts */
    int64_t count;                            /* elements of the parameter */
    int64_t first; /* number of its first element among those of all slots */
};

/* What a layer group has of its own at each step. */
struct hc_update_layer_group {
    double rate;
    double decay;             /* of its weights */
    struct hc_storage *hyper; /* the optimizers' input */
    struct hc_storage
        *keep; /* HC_TRAIT_STEPS_ON_OVERFLOW: the factor of decay is its first element */
};

/* What a recipe asks of a step. A stage of the step runs if the update has all traits that the
   stage names (update_step.c). */
enum hc_update_trait {
    HC_TRAIT_NONE = 0,
    HC_TRAIT_DECAY_SCALED_GRADIENT = 1 << 0, /* the defect HC_DECAY_SCALED */
    HC_TRAIT_DECAY_MODEL_COPY = 1 << 1,      /* the defect HC_DECAY_MODEL */
    HC_TRAIT_CLIP_SCALED = 1 << 2,           /* the defect clip_scaled */
    HC_TRAIT_CLIP_UNSCALED = 1 << 3,
    HC_TRAIT_STEPS_ON_OVERFLOW = 1 << 4, /* fastai's rule: hc_recipe_steps_on_overflow */
    HC_TRAIT_DECAYS_APART = 1 << 5,      /* and decays weights before it steps */
    HC_TRAIT_ERROR_AT_FLOOR = 1 << 6,    /* the rule takes no step at scale 0 */
    HC_TRAIT_LOGS_STEPS = 1 << 7,
    HC_TRAIT_WATCHED = 1 << 8,
    HC_TRAIT_SHARED = 1 << 9 /* ranks agree on what they found */
};

struct hc_update {
    struct hc_device *device;
    struct hc_recipe recipe;
    struct hc_scaler_update rule;
    unsigned traits;
    enum hc_op optimizer;
    uint64_t seed;

    int n;
    struct hc_update_slot *slots; /* in memory's order: by parameter groups, then by formats */
    int *place;                   /* of parameter i's slot */
    int layer_groups;
    struct hc_update_layer_group layer_group[HC_MAX_LAYER_GROUPS];

    struct hc_storage *scale;
    struct hc_storage *found; /* not 0: this step's gradients hold an infinity or NaN */
    struct hc_storage *counts;
    struct hc_storage *verdict; /* of overflow_verdict; NULL: `found` says it all */

    const struct hc_storage *rates; /* of this step: `single` or `schedule` */
    struct hc_storage *single;      /* tables of one row, hc_update_step's (update_step.c) */
    struct hc_storage *schedule;    /* tables of all steps; or NULL */
    double host_lr;                 /* this step's, for HC_TRAIT_DECAY_MODEL_COPY */

    struct hc_storage *squares; /* clipping: the sum over each norm's gradients */
    struct hc_storage *factors; /* and what they are multiplied with */
    double wide_squares;        /* in fp64: the sum so far */

    struct hc_storage *sums;   /* HC_TRAIT_STEPS_ON_OVERFLOW: of each slot's gradient */
    struct hc_storage *zeros;  /* as many as the longest span */
    struct hc_storage *unread; /* takes a second `found`, which nobody reads */

    struct hc_storage *step_log;  /* or NULL */
    struct hc_tensor reported[2]; /* the caller's columns of it */

    hc_step_watch *watch; /* HC_TRAIT_WATCHED */
    void *watch_context;
    hc_step_watch *agree; /* HC_TRAIT_SHARED */
    void *agree_context;
};

static inline int64_t hc_update_padded(int64_t count)
{
    return (count + HC_UPDATE_ALIGN - 1) / HC_UPDATE_ALIGN * HC_UPDATE_ALIGN;
}

/* One pass over the slots. `run` is called for spans of slots, from `first` to
   `last`. Slots are in one span if every state tensor that the pass touches continues in memory
   where the one before it ends, so that one op does them all. */
struct hc_pass {
    int touches;
    enum hc_state_tensor touched[5];
    bool by_group;             /* a span stays within a parameter group */
    bool decaying;             /* only slots that decay */
    enum hc_state_tensor owns; /* only slots that have this of their own; MODEL, that is 0: all */
    enum hc_status (*run)(struct hc_update *update, int first, int last);
};

enum hc_status hc_update_walk(struct hc_update *update, const struct hc_pass *pass);

/* The state tensor of a span as one vector, padding included. */
struct hc_tensor hc_update_span(const struct hc_update *update, int first, int last,
                                enum hc_state_tensor state);

/* Learning rates: the layer groups' tensors; the table of a single step; the stage
   that looks up this step's row. */
enum hc_status hc_rate_tables_open(struct hc_update *update);
void hc_rate_tables_close(struct hc_update *update);

/* Clipping to a norm: in two passes over the gradients, scaled or unscaled. */
enum hc_status hc_clipping_open(struct hc_update *update);
void hc_clipping_close(struct hc_update *update);
extern const struct hc_pass hc_clipping_sum_scaled;
extern const struct hc_pass hc_clipping_sum_unscaled;
extern const struct hc_pass hc_clipping_multiply;

/* fastai's step on stale gradients. */
enum hc_status hc_stale_open(struct hc_update *update);
void hc_stale_close(struct hc_update *update);
extern const struct hc_pass hc_stale_sum;

extern const struct hc_pass hc_stale_decay;
extern const struct hc_pass hc_stale_zero;

#endif
