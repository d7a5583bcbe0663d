/* What a case may use of the training engine. A case opens a device on the backend under test, a
   few parameters and an update over them, writes gradients, takes a step, and reads every state
   tensor:

     struct hc_device device = {.backend = hc_check_backend(check), .queue = hc_check_queue(check)};
     struct hc_tensor one = hc_tensor1(HC_FP32, 1, NULL);
     struct hc_parameter w;
     struct hc_parameter *list[] = {&w};
     hc_parameter_open(&w, &device, "w", HC_ROLE_WEIGHT, &one);
     hc_update_open(&update, &device, hc_recipe_by_name("fastai-004b-flat"), list, 1);
     hc_update_set(update, HC_STATE_MASTER, 0, 0, 1.0);
     hc_update_set(update, HC_STATE_GRADIENT, 0, 0, 1e-4 * 512);
     hc_update_step(update, 1e-3, 0.9);
     hc_update_get(update, HC_STATE_MODEL, 0, 0, &value);

   and closes them in the reverse order. Whole networks come from train/net/net.h, whole trainings
   from train/run/trainer.h. A status that is not HC_OK ends the case: HC_UNSUPPORTED as
   UNIMPLEMENTED, the others as ERROR (hc_check_ok). */
#ifndef HC_TRAIN_CASE_H
#define HC_TRAIN_CASE_H

#include "train/data/data.h"
#include "train/net/device.h"
#include "train/run/metrics.h"
#include "train/net/net.h"
#include "train/net/parameter.h"
#include "train/update/recipe.h"
#include "train/update/scaler.h"
#include "train/run/trainer.h"
#include "train/update/update.h"

#endif
