/* The products of a net that are quantised: which these are, and in what order. */
#include "train/net/net_inner.h"

#include <string.h>

/* The first convolution has no place among those that are quantised, nor have a GPT's embedding and
   head. */
static bool can_be_quantised(const struct hc_layer *layer)
{
    return (layer->kind == HC_LAYER_CONV && layer->in > 0) || layer->kind == HC_LAYER_ATTENTION ||
           layer->kind == HC_LAYER_MATRIX || layer->kind == HC_LAYER_GATED ||
           layer->kind == HC_LAYER_GELU;
}

/* A block of a GPT begins with its attention. */
bool hc_plan_quantises(const struct hc_plan *plan, int l, int plain_ends)
{
    bool text = plan->network->gpt != NULL;
    int blocks = 0;
    int before = 0; /* blocks that have begun up to layer l */
    for (int i = 0; i < plan->layers; i++) {
        bool begins = can_be_quantised(&plan->layer[i]) &&
                      (!text || plan->layer[i].kind == HC_LAYER_ATTENTION);
        blocks += begins;
        before += begins && i <= l;
    }
    return can_be_quantised(&plan->layer[l]) && before > plain_ends &&
           before <= blocks - plain_ends;
}

static int quantised_in(const struct hc_net *net, int l)
{
    const struct hc_layer *layer = &net->plan.layer[l];
    if (!hc_plan_quantises(&net->plan, l, net->numerics.plain_ends))
        return 0;
    return layer->kind == HC_LAYER_CONV ? 1 : layer->parameters;
}

int hc_net_quant_of(const struct hc_net *net, int l)
{
    int before = 0;
    for (int i = 0; i < l && net->quant; i++)
        before += quantised_in(net, i);
    return net->quant && quantised_in(net, l) > 0 ? before : -1;
}

/* A matrix is a filter of one pixel, which meets images of one pixel: the rows of a text. */
static struct hc_quant_shape quant_shape(const struct hc_net *net, const struct hc_layer *layer,
                                         int p)
{
    const struct hc_layer *from = &net->plan.layer[layer->in - 1];
    struct hc_tensor w = hc_plan_parameter(&net->plan, layer->parameter + p);
    bool conv = layer->kind == HC_LAYER_CONV;
    return (struct hc_quant_shape){.images = (int64_t)net->batch * net->plan.places,
                                   .side = from->side,
                                   .channels = from->channels,
                                   .filters = w.shape[0],
                                   .kernel = conv ? layer->kernel : 1,
                                   .stride = conv ? layer->stride : 1,
                                   .pad = layer->pad};
}

static enum hc_status make_quant(struct hc_net *net)
{
    struct hc_quant_shape shapes[HC_MAX_PARAMETERS];
    int n = 0;
    for (int l = 0; l < net->plan.layers; l++)
        for (int p = 0; p < quantised_in(net, l); p++)
            shapes[n++] = quant_shape(net, &net->plan.layer[l], p);
    if (n == 0)
        return hc_fail(HC_INVALID, "plain_ends=%d leaves nothing of %s to quantise",
                       net->numerics.plain_ends, net->plan.network->name);
    return hc_quant_open(&net->quant, net->device, net->numerics.quant, net->numerics.amax_history,
                         shapes, n, net->numerics.format);
}

enum hc_status hc_net_requantise(struct hc_net *net, const struct hc_quant_recipe *recipe,
                                 int64_t amax_history, int plain_ends)
{
    hc_quant_close(net->quant);
    net->quant = NULL;
    net->numerics.quant = recipe;
    net->numerics.amax_history = amax_history;
    net->numerics.plain_ends = plain_ends;
    return recipe ? make_quant(net) : HC_OK;
}

void hc_net_quantise_from(struct hc_net *net, const struct hc_tensor *weights)
{
    memcpy(net->quantised, weights, (size_t)net->plan.parameters * sizeof *weights);
}

struct hc_tensor hc_net_filter(const struct hc_net *net, int p)
{
    return net->quantised[p].data ? net->quantised[p] : hc_parameter_tensor(&net->parameter[p]);
}

struct hc_quant *hc_net_quant(const struct hc_net *net)
{
    return net->quant;
}
