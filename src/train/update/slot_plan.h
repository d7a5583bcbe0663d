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
#ifndef HC_TRAIN_UPDATE_SLOT_PLAN_H
#define HC_TRAIN_UPDATE_SLOT_PLAN_H

#include "train/update/recipe.h"

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

#endif
