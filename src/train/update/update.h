/* The update path: from the model's (scaled) gradients to the model's new weights.

   A recipe for mixed precision is, in the end, an order of operations: what is unscaled before what
   is clipped, which copy of a weight decays, who finds out about an overflow and when. The update
   is that order, driven by the recipe's row of data. The trainer runs it on the network's
   gradients, cases run it on gradients made by hand, and both get every number from the backend's
   op table, so that what a case proves holds in training:

     decay of the scaled gradient   axpy on the model's gradients (the defect HC_DECAY_SCALED)
     unscaling                      unscale, which also detects infinities; cast if there is no
                                    scaler; nothing if the optimizer reads the model's gradients
     clipping to a norm             sum_squares, clip and scale, over all gradients or by parameter
                                    group; before unscaling if the recipe has that defect
     decay of the model's copy      axpy on it (the defect HC_DECAY_MODEL)
     optimizer on the masters       sgd, adam or adamw; it changes nothing if an overflow was found
                                    and the scaler's rule skips
     masters to model               master_to_model
     scaler's rule                  scaler_update, on the scale and the counts

   A rule that ends the run at its floor asks overflow_verdict before the optimizer runs: at scale 0
   it takes no step, whatever was found. The full table, with fastai's stages, is in update_step.c.

   The state of each parameter is planned once (hc_slot_plan). Parameters of one parameter group and
   one format lie one behind the other in the backend's memory, and so do their gradients, masters
   and momenta: an op is queued once for all of them, or once for each if the recipe keeps them
   `apart`. */
#ifndef HC_TRAIN_UPDATE_UPDATE_H
#define HC_TRAIN_UPDATE_UPDATE_H

#include <stdint.h>

#include "train/net/net.h"
#include "train/net/parameter.h"
#include "train/update/recipe.h"

/* The one-cycle schedule (Smith, Super-convergence, 2018; fastai's form): a pure function of the
   step. */

struct hc_rates {
    double lr;
    double beta1;
};

/* The rates of a step, as a pure function; `plan` is whatever it needs. */
typedef struct hc_rates hc_schedule(int64_t step, const void *plan);

/* The rates of step 0..steps-1. The learning rate rises linearly from max_lr / 25 to max_lr over
   the first half, beta1 falls linearly from .95 to .85; over the second half both follow half a
   cosine, the rate to max_lr / 25 / 1e4 and beta1 back to .95. The last step has exactly the end's
   rates. Computed in fp64; with a cosine in it, within 4 ulp of the real value relative to max_lr.
   */
struct hc_rates hc_one_cycle(double max_lr, int64_t steps, int64_t step);

/* The schedule of GPTs: step s of the first `warmup` has (s + 1) / warmup of max_lr; then the rate
   falls over half a cosine to a tenth of it, which the last step has; beta1 is 0.9. */
struct hc_rates hc_warmup_cosine(double max_lr, int64_t warmup, int64_t steps, int64_t step);

/* What a recipe makes of one parameter.

   A recipe speaks of the whole model: "weights in fp16, masters in fp32, no decay on norms". A step
   of the optimizer needs the answer for one parameter: which state tensors it has, in which
   formats, how fast it learns, how much it decays. The answer depends on the parameter's role and
   on its layer group alone. So it is worked out once, when an update is opened, and every stage of
   a step reads it from the slot.

   Three of its rules do not show in the recipe's fields:
   - An fp32 parameter without a master is stepped in fp32, whatever the recipe says of gradients,
     momenta and arithmetic: torch's optimizers compute in each parameter's own format.
   - The optimizer's gradient has storage of its own only if something happens to it on the way: a
     scaler divides it, or it changes its format. A 16-bit gradient that nothing unscales is read
     as it is, since widening it to fp32 is exact.
   - Parameters of one parameter group share one learning rate and one decay. A layer group is one
     parameter group, or two: then norm parameters and biases come behind the weights, because they
     decay otherwise or because the recipe asks for it (split_bn_bias). */

/* The state tensors of a parameter. */
enum hc_state_tensor {
    HC_STATE_MODEL,           /* the parameter's own storage, the model's copy */
    HC_STATE_GRADIENT,        /* of the scaled loss, in the parameter's format */
    HC_STATE_MASTER,          /* what the optimizer works on: the model's copy without masters */
    HC_STATE_MASTER_GRADIENT, /* unscaled; the model's gradient itself where nothing is unscaled */
    HC_STATE_M,               /* momentum */
    HC_STATE_V,               /* second moment; count 0 for SGD */
    HC_STATE_COMPENSATION,    /* Kahan's, of a 16-bit weight; else count 0 */
    HC_STATE_COUNT
};

extern const char *const hc_state_tensor_names[HC_STATE_COUNT];

struct hc_slot_plan {
    bool
        own[HC_STATE_COUNT]; /* whether the parameter has storage for it that no other tensor has */
    enum hc_format format[HC_STATE_COUNT]; /* of that storage */
    enum hc_format arithmetic;             /* of its optimizer */
    int layer_group;
    int group;    /* parameter group, counted over all layer groups */
    double rate;  /* factor of the schedule's learning rate */
    double decay; /* 0: none */
};

/* layer_group < hc_recipe_layer_groups(recipe). For HC_ROLE_STATISTIC only format[HC_STATE_MODEL]
   means something. */
struct hc_slot_plan hc_slot_plan(const struct hc_recipe *recipe, enum hc_role role,
                                 int layer_group);

struct hc_update;

/* Opens an update over n parameters (not statistics), which stay the caller's and must outlive it.
   Converts them as the recipe says and makes the masters, in the order that recipe->masters states:
   opening again over the same parameters is what "masters made again at each fit" means. The recipe
   is copied. HC_INVALID (from hc_recipe_check, or for more layer groups than layers), HC_NO_MEMORY
   or what the backend returned. */
enum hc_status hc_update_open(struct hc_update **update, struct hc_device *device,
                              const struct hc_recipe *recipe,
                              struct hc_parameter *const *parameters, int n);
void hc_update_close(struct hc_update *update); /* NULL is fine */

/* Sets the seed of the random bits that a stochastic recipe rounds with; it is 0 at first. It is
   called before the first step. */
void hc_update_seed(struct hc_update *update, uint64_t seed);

/* One step with the gradients that lie in HC_STATE_GRADIENT. `lr` and `beta1` (momentum for SGD)
   are rounded to fp32. */
enum hc_status hc_update_step(struct hc_update *update, double lr, double beta1);

/* Trainings whose steps read nothing from the host call it. The rates of all steps are given once;
   hc_update_queue takes those that the count of steps names, and queues a list of ops whose
   arguments never change. That needs hc_update_is_fixed, which is false under HC_DECAY_MODEL: its
   factor comes from the host. */
enum hc_status hc_update_schedule(struct hc_update *update, const struct hc_rates *rates,
                                  int64_t steps);
bool hc_update_is_fixed(const struct hc_update *update);
enum hc_status hc_update_queue(struct hc_update *update);

/* From now on each step writes row steps % rows of a step log on the device, with two numbers that
   the caller's ops leave in `loss` and `right` (fp32 [1] in the backend's memory). */
struct hc_step_log_row {
    float loss;
    float right;
    float scale; /* that the step had */
    float found; /* not 0: a gradient held an infinity or NaN */
};

enum hc_status hc_update_step_log(struct hc_update *update, int64_t rows, struct hc_tensor loss,
                                  struct hc_tensor right);
enum hc_status hc_update_read_step_log(const struct hc_update *update,
                                       struct hc_step_log_row *rows);

/* Called in every step when HC_STATE_MASTER_GRADIENT is what the optimizer will read: unscaled and
   clipped. Another status than HC_OK ends the step. NULL ends the watch. Not for captured steps. */
typedef enum hc_status hc_step_watch(void *context);
void hc_update_watch(struct hc_update *update, hc_step_watch *watch, void *context);

/* Called in every step when hc_update_found says what this rank found, and before anything reads
   it: so that ranks agree on it. Another status than HC_OK ends the step. Only for recipes with a
   scaler; not for captured steps. */
void hc_update_share(struct hc_update *update, hc_step_watch *agree, void *context);

/* What the recipe makes of parameter i. */
const struct hc_slot_plan *hc_update_plan(const struct hc_update *update, int i);

/* Whether a step that finds an infinity or NaN changes nothing but the scale and the counts. */
bool hc_update_skips(const struct hc_update *update);

/* A state tensor of parameter i, in the backend's memory and with the parameter's shape. */
struct hc_tensor hc_update_tensor(const struct hc_update *update, enum hc_state_tensor state,
                                  int i);

/* Element `index` of it, from and to host memory. Setting rounds to nearest. */
enum hc_status hc_update_get(const struct hc_update *update, enum hc_state_tensor state, int i,
                             int64_t index, double *value);
enum hc_status hc_update_set(const struct hc_update *update, enum hc_state_tensor state, int i,
                             int64_t index, double value);

/* All of it, as elements of its format. */
enum hc_status hc_update_read(const struct hc_update *update, enum hc_state_tensor state, int i,
                              void *to);
enum hc_status hc_update_write(const struct hc_update *update, enum hc_state_tensor state, int i,
                               const void *from);

/* Everything else that a step changes. It lies on the device. */
struct hc_counters {
    int32_t steps;   /* calls of hc_update_step and hc_update_queue */
    int32_t taken;   /* those in which the optimizer ran: Adam's t */
    int32_t skipped; /* the others */
    int32_t found;   /* those with an infinity or NaN in a gradient, skipped or not */
    int32_t clean;   /* from here on: what the scaler's rule keeps (op/counts.h) */
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

/* Not 0 if the gradients of the last step held an infinity or NaN: fp32 [1] in the backend's
   memory, without data if the recipe has no scaler. */
struct hc_tensor hc_update_found(const struct hc_update *update);

/* i32 [HC_COUNTS] in the backend's memory, whose first is how many steps are done. */
struct hc_tensor hc_update_steps(const struct hc_update *update);

int hc_update_parameters(const struct hc_update *update);
const struct hc_recipe *hc_update_recipe(const struct hc_update *update);

/* A network and its update: the model that a recipe trains. */

/* Opens the update over the network's parameters, which become what the recipe says, and prepares
   the network for steps that allocate nothing. The caller closes the update, then the network;
   after a failure *update is NULL or what there is to close. */
enum hc_status hc_model_open(struct hc_update **update, struct hc_device *device,
                             struct hc_net *net, const struct hc_recipe *recipe);

#endif
