/* A network and its update: the model that a recipe trains. */
#ifndef HC_TRAIN_UPDATE_MODEL_H
#define HC_TRAIN_UPDATE_MODEL_H

#include "train/net/net.h"
#include "train/update/update.h"

/* Opens the update over the network's parameters, which become what the recipe says, and prepares
   the network for steps that allocate nothing. The caller closes the update, then the network;
   after a failure *update is NULL or what there is to close. */
enum hc_status hc_model_open(struct hc_update **update, struct hc_device *device,
                             struct hc_net *net, const struct hc_recipe *recipe);

#endif
