/* The update path: from the model's (scaled) gradients to the model's new weights. The trainer uses
   it with the network's gradients, cases with gradients made by hand. Every number passes through
   the backend's op table:

     decay of the scaled gradient        axpy on the model's gradients (HC_DECAY_SCALED)
     model gradients -> unscaled, found  unscale; cast where there is no scaler; nothing where the
                                         optimizer reads the model's own gradients
     decay of the model's copy           axpy on it (HC_DECAY_MODEL)
     optimizer on the masters            sgd, adam, adamw; nothing changes when found and the
                                         scaler's rule skips
     masters -> model                    master_to_model
     scaler's rule                       scaler.h, on (scale, clean, found) */
#ifndef HC_TRAIN_UPDATE_H
#define HC_TRAIN_UPDATE_H

#include "train/parameter.h"
#include "train/recipe.h"

struct hc_update;

/* Over n parameters (not statistics), which stay the caller's and must outlive it. Converts them as
   the recipe says and makes the masters, in the order that recipe->masters states: opening again
   over the same parameters is what "masters made again at each fit" means. The recipe is copied.
   HC_INVALID (hc_recipe_check), HC_NO_MEMORY or what the backend returned. */
enum hc_status hc_update_open(struct hc_update **update, struct hc_device *device,
                              const struct hc_recipe *recipe,
                              struct hc_parameter *const *parameters, int n);
void hc_update_close(struct hc_update *update); /* NULL is fine */

/* One step with the gradients that lie in HC_PIECE_GRADIENT. `lr` and `beta1` (momentum for SGD)
   are rounded to fp32. */
enum hc_status hc_update_step(struct hc_update *update, double lr, double beta1);

/* The pieces of state of each parameter. */
enum hc_piece {
    HC_PIECE_MODEL,           /* the parameter's own storage, the model's copy */
    HC_PIECE_GRADIENT,        /* of the scaled loss, in the parameter's format */
    HC_PIECE_MASTER,          /* what the optimizer works on: the model's copy without masters */
    HC_PIECE_MASTER_GRADIENT, /* unscaled; the model's gradient itself where nothing is unscaled */
    HC_PIECE_M,               /* momentum */
    HC_PIECE_V,               /* second moment; count 0 for SGD */
    HC_PIECE_COUNT
};

extern const char *const hc_piece_names[HC_PIECE_COUNT];

/* The piece of parameter i, in the backend's memory and with the parameter's shape. */
struct hc_tensor hc_update_tensor(const struct hc_update *update, enum hc_piece piece, int i);

/* Element `index` of it, from and to host memory; `put` rounds to nearest. */
enum hc_status hc_update_get(const struct hc_update *update, enum hc_piece piece, int i,
                             int64_t index, double *value);
enum hc_status hc_update_put(const struct hc_update *update, enum hc_piece piece, int i,
                             int64_t index, double value);

/* The whole of it, count elements of its format. */
enum hc_status hc_update_read(const struct hc_update *update, enum hc_piece piece, int i, void *to);
enum hc_status hc_update_write(const struct hc_update *update, enum hc_piece piece, int i,
                               const void *from);

/* Everything else that a step moves. */
struct hc_counters {
    struct hc_scaler_state scaler;
    int64_t steps;   /* calls of hc_update_step */
    int64_t taken;   /* those in which the optimizer ran: Adam's t */
    int64_t skipped; /* the others */
    int64_t found;   /* those with an infinity or NaN in a gradient, skipped or not */
};

struct hc_counters hc_update_counters(const struct hc_update *update);
enum hc_status hc_update_set_counters(struct hc_update *update, const struct hc_counters *counters);

/* The loss scale of the next step: fp32 [1] in the backend's memory. */
struct hc_tensor hc_update_scale(const struct hc_update *update);

int hc_update_parameters(const struct hc_update *update);
const struct hc_recipe *hc_update_recipe(const struct hc_update *update);

#endif
