/* The inside of an update, for the files that open it, step it and look into it. */
#ifndef HC_TRAIN_UPDATE_UPDATE_INNER_H
#define HC_TRAIN_UPDATE_UPDATE_INNER_H

#include "train/update/update.h"

/* Elements between the starts of neighbours in an arena: a multiple of this, so that each starts
   aligned to 64 bytes in every format. What lies between is zero and belongs to nobody. */
enum { HC_UPDATE_ALIGN = 64 };

struct hc_update_slot {
    struct hc_parameter *parameter;
    struct hc_storage *state[HC_STATE_COUNT]; /* all but MODEL */
    enum hc_format arithmetic;
    int layer_group; /* its layer group */
    int group;       /* hc_recipe_parameter_group */
    double decay;    /* 0: none */
    int64_t first;   /* number of its first element among all, in their order in memory */
};

/* What a layer group has of its own at each step. */
struct hc_update_layer_group {
    struct hc_storage *hyper; /* as rates gives it */
    struct hc_storage
        *keep; /* step_on_overflow: its first is the factor of decay, as rates gives it */
};

struct hc_update {
    struct hc_device *device;
    struct hc_recipe recipe;
    struct hc_scaler_update rule;
    int n;
    struct hc_update_slot *slots;
    int *order; /* of the slots in memory: by their groups, then by the parameters' formats */
    int layer_groups;
    struct hc_update_layer_group layer_group[HC_MAX_LAYER_GROUPS];
    uint64_t seed;
    bool step_on_overflow; /* hc_recipe_steps_on_overflow */
    struct hc_storage
        *decided; /* step_on_overflow: what decide says, and a place for what nobody reads */
    struct hc_storage *sums;  /* step_on_overflow: of each slot's gradient */
    struct hc_storage *zeros; /* step_on_overflow: as many as the longest span */
    struct hc_storage
        *squares; /* where it clips: the sum over each norm's gradients, and the factor */
    struct hc_storage *factors; /* that they are clipped with */
    struct hc_storage *scale;
    struct hc_storage *found;
    struct hc_storage *judged; /* what decide says, where the rule raises: at scale 0 too */
    struct hc_storage *counts;
    struct hc_storage *single;   /* tables of one row, hc_update_step's (update_groups.c) */
    struct hc_storage *schedule; /* of as many as there are steps; or NULL */
    struct hc_storage *step_log; /* or NULL */
    struct hc_tensor reported[2];
};

/* The storage of a state, where it is another's that one's; NULL: there is none. */
struct hc_storage *hc_update_storage(const struct hc_update *update, enum hc_state_tensor state,
                                     int i);

/* Groups (update_groups.c): the slots' and the layer groups' storages; the tables of one step, into
   `single`; the rates of this step, and the factor of decay where that is a step of its own. */
enum hc_status hc_groups_open(struct hc_update *update);
void hc_groups_close(struct hc_update *update);
enum hc_status hc_groups_set(struct hc_update *update, double lr, double beta1);
enum hc_status hc_groups_rates(struct hc_update *update, const struct hc_storage *tables);

/* What fastai's rule needs beside the rest (update_anyway.c): storages, and the gradients as they
   begin; whether something was found, and what is decided; decay, which needs no gradients; the
   gradients zeroed after the step. */
enum hc_status hc_stale_open(struct hc_update *update);
void hc_stale_close(struct hc_update *update);
enum hc_status hc_stale_detect(struct hc_update *update);
enum hc_status hc_stale_decay(struct hc_update *update);
enum hc_status hc_stale_zero(struct hc_update *update);

/* Clipping (update_clip.c); nothing where the recipe has no norm to clip to. */
enum hc_status hc_clip_open(struct hc_update *update);
void hc_clip_close(struct hc_update *update);
enum hc_status hc_clip(struct hc_update *update);

/* One pass over the slots: where the pieces that it touches lie one after the other, one call does
   several slots at once. */
struct hc_pass {
    int states;
    enum hc_state_tensor state[5];
    bool groups; /* are told apart */
    bool (*wants)(const struct hc_update *update, const struct hc_update_slot *slot);
    enum hc_status (*run)(struct hc_update *update, int first, int last);
};

enum hc_status hc_update_walk(struct hc_update *update, const struct hc_pass *pass);

/* The piece of the slots at these places of the order, with what lies between them. */
struct hc_tensor hc_update_span(const struct hc_update *update, int first, int last,
                                enum hc_state_tensor state);

static inline int64_t hc_update_padded(int64_t count)
{
    return (count + HC_UPDATE_ALIGN - 1) / HC_UPDATE_ALIGN * HC_UPDATE_ALIGN;
}

#endif
