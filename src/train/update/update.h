/* The update path: from the model's (scaled) gradients to the model's new weights. The trainer uses
   it with the network's gradients, cases with gradients made by hand. Every number passes through
   the backend's op table:

     decay of the scaled gradient        axpy on the model's gradients (HC_DECAY_SCALED)
     model gradients -> unscaled, found  unscale; cast where there is no scaler; nothing where the
                                         optimizer reads the model's own gradients
     clipping to a norm                  sum_squares, clip, scale on them, over all or by group; before
                                         unscale where the recipe has that defect
     decay of the model's copy           axpy on it (HC_DECAY_MODEL)
     optimizer on the masters            sgd, adam, adamw; nothing changes when found and the
                                         scaler's rule skips
       (a rule that raises asks decide)  first: at scale 0 it takes no step, whatever was found
     masters -> model                    master_to_model
     scaler's rule                       scaler_update, on the scale and the counts

   Parameters of one group (hc_recipe_parameter_group) and one format lie one after the other in the backend's
   memory, and so do their gradients, masters and momenta: an op is queued once for all of them (with the
   recipe's `apart` once for each; the bits are the same). The optimizer is queued for each group, with
   its layer group's learning rate and its decay. */
#ifndef HC_TRAIN_UPDATE_UPDATE_H
#define HC_TRAIN_UPDATE_UPDATE_H

#include "train/net/parameter.h"
#include "train/update/recipe.h"
#include "train/update/schedule.h"
#include "train/update/slot_plan.h"

struct hc_update;

/* Over n parameters (not statistics), which stay the caller's and must outlive it. Converts them as
   the recipe says and makes the masters, in the order that recipe->masters states: opening again
   over the same parameters is what "masters made again at each fit" means. The recipe is copied.
   HC_INVALID (hc_recipe_check, or more layer groups than layers), HC_NO_MEMORY or what the backend returned. */
enum hc_status hc_update_open(struct hc_update **update, struct hc_device *device,
                              const struct hc_recipe *recipe,
                              struct hc_parameter *const *parameters, int n);
void hc_update_close(struct hc_update *update); /* NULL is fine */

/* Of the random bits that a stochastic recipe rounds with; 0 at first. Before the first step. */
void hc_update_seed(struct hc_update *update, uint64_t seed);

/* One step with the gradients that lie in HC_STATE_GRADIENT. `lr` and `beta1` (momentum for SGD)
   are rounded to fp32. */
enum hc_status hc_update_step(struct hc_update *update, double lr, double beta1);

/* For trainings, whose steps touch nothing of the host: the rates of all steps, given once, and a
   step that takes those of the count of steps. It queues a list of ops whose arguments never change.
   That needs hc_update_is_fixed: it is not under HC_DECAY_MODEL, whose factor comes from the host. */
enum hc_status hc_update_schedule(struct hc_update *update, const struct hc_rates *rates,
                                  int64_t steps);
bool hc_update_is_fixed(const struct hc_update *update);
enum hc_status hc_update_queue(struct hc_update *update);

/* From now on each step leaves a row in a step log on the device, row steps % rows, with two numbers
   that the caller's ops leave in `loss` and `right` (fp32 [1] in the backend's memory). */
struct hc_step_log_row {
    float loss;
    float right;
    float scale; /* that the step had */
    float found; /* not 0: an infinity or NaN in a gradient */
};

enum hc_status hc_update_step_log(struct hc_update *update, int64_t rows, struct hc_tensor loss,
                                  struct hc_tensor right);
enum hc_status hc_update_read_step_log(const struct hc_update *update,
                                       struct hc_step_log_row *rows);

/* What the recipe makes of parameter i. */
const struct hc_slot_plan *hc_update_plan(const struct hc_update *update, int i);

/* Whether a step with something found changes nothing but the scale and the counts. */
bool hc_update_skips(const struct hc_update *update);

/* The piece of parameter i, in the backend's memory and with the parameter's shape. */
struct hc_tensor hc_update_tensor(const struct hc_update *update, enum hc_state_tensor state,
                                  int i);

/* Element `index` of it, from and to host memory; `put` rounds to nearest. */
enum hc_status hc_update_get(const struct hc_update *update, enum hc_state_tensor state, int i,
                             int64_t index, double *value);
enum hc_status hc_update_set(const struct hc_update *update, enum hc_state_tensor state, int i,
                             int64_t index, double value);

/* The whole of it, count elements of its format. */
enum hc_status hc_update_read(const struct hc_update *update, enum hc_state_tensor state, int i,
                              void *to);
enum hc_status hc_update_write(const struct hc_update *update, enum hc_state_tensor state, int i,
                               const void *from);

/* Everything else that a step moves; it lies on the device. */
struct hc_counters {
    int32_t steps;   /* calls of hc_update_step and hc_update_queue */
    int32_t taken;   /* those in which the optimizer ran: Adam's t */
    int32_t skipped; /* the others */
    int32_t found;   /* those with an infinity or NaN in a gradient, skipped or not */
    int32_t clean;   /* this and the rest: what the scaler's rule keeps (op/counts.h) */
    int32_t held_back;
    int32_t gave_up;
    int32_t spare;
    float scale; /* of the next step */
};

/* Both wait for the device. */
enum hc_status hc_update_counters(const struct hc_update *update, struct hc_counters *counters);
enum hc_status hc_update_set_counters(struct hc_update *update, const struct hc_counters *counters);

/* The loss scale of the next step: fp32 [1] in the backend's memory. */
struct hc_tensor hc_update_scale(const struct hc_update *update);

/* i32 [HC_COUNTS] in the backend's memory, whose first is how many steps are done. */
struct hc_tensor hc_update_steps(const struct hc_update *update);

int hc_update_parameters(const struct hc_update *update);
const struct hc_recipe *hc_update_recipe(const struct hc_update *update);

#endif
