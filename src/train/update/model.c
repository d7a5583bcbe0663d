#include "train/update/model.h"

enum hc_status hc_model_open(struct hc_update **update, struct hc_device *device,
                             struct hc_net *net, const struct hc_recipe *recipe)
{
    struct hc_tensor tensors[3 * HC_MAX_LAYERS];
    int n = hc_net_plan(net)->parameters;
    *update = NULL;
    enum hc_status status = hc_update_open(update, device, recipe, hc_net_parameters(net), n);
    if (status != HC_OK)
        return status;
    for (int i = 0; i < n; i++)
        tensors[i] = hc_update_tensor(*update, HC_STATE_GRADIENT, i);
    status = hc_net_prepare(net, hc_recipe_numerics(recipe), tensors);
    for (int i = 0; i < n; i++)
        tensors[i] = hc_update_tensor(*update, HC_STATE_MASTER, i);
    hc_net_quantise_from(net, tensors);
    return status;
}
