/* All tensors of a run that its steps change, under the names that step files and checkpoints have
   for them: weights.P, masters.P, buffers.P, optimizer.exp_avg.P, quant.forward.scale and so on
   (docs/step-files.md; P is PyTorch's name of the parameter). */
#ifndef HC_TRAIN_RUN_STATE_TENSORS_H
#define HC_TRAIN_RUN_STATE_TENSORS_H

#include "train/net/net.h"
#include "train/net/torch_names.h"
#include "train/update/update.h"

enum {
    HC_STATE_NAME = HC_TORCH_NAME + 32,
    HC_MAX_STATE_ROWS = 3 * HC_MAX_LAYERS * HC_STATE_COUNT + 2 * HC_MAX_LAYERS + HC_QUANT_STATES
};

struct hc_state_row {
    char name[HC_STATE_NAME];
    struct hc_tensor tensor; /* in the backend's memory, in the layout of the net */
};

struct hc_state_rows {
    int count;
    struct hc_state_row row[HC_MAX_STATE_ROWS];
};

/* What stands before the parameter's name: "weights.", or "optimizer.exp_avg." */
const char *hc_state_prefix(const struct hc_recipe *recipe, enum hc_state_tensor state);

/* Whether a state tensor is kept from one step to the next, under this recipe. */
bool hc_state_is_kept(const struct hc_recipe *recipe, enum hc_state_tensor state);

/* Lists what is kept; NULL with a line if there is no memory. The caller frees it. */
struct hc_state_rows *hc_state_list(const struct hc_net *net, const struct hc_update *update);

#endif
