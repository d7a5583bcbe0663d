#include "train/net/torch_names.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

enum { BLOCK = 3 }; /* layers of a residual one: two conv_layers and the sum */

/* What stands behind the path of a conv_layer or of the linear layer. */
static const char *const conv_parameters[HC_CONV_PARAMETERS] = {
    [HC_CONV_FILTER] = HC_TORCH_CONV ".weight",
    [HC_CONV_GAMMA] = HC_TORCH_NORM ".weight",
    [HC_CONV_BETA] = HC_TORCH_NORM ".bias",
};
static const char *const conv_statistics[HC_CONV_STATISTICS] = {
    [HC_CONV_MEAN] = HC_TORCH_NORM ".running_mean",
    [HC_CONV_VARIANCE] = HC_TORCH_NORM ".running_var",
};
static const char *const linear_parameters[HC_LINEAR_PARAMETERS] = {
    [HC_LINEAR_WEIGHT] = ".weight",
    [HC_LINEAR_BIAS] = ".bias",
};

/* A GPT's names are its layers'. */
static const char *const gpt_parameters[HC_LAYER_KINDS][HC_GATED_PARAMETERS] = {
    [HC_LAYER_EMBED] = {".weight"},      [HC_LAYER_PLACE] = {".weight"},
    [HC_LAYER_NORM] = {".weight"},       [HC_LAYER_CENTRED] = {".weight", ".bias"},
    [HC_LAYER_ATTENTION] = {".qkv"},     [HC_LAYER_MATRIX] = {".weight"},
    [HC_LAYER_GATED] = {".gate", ".up"}, [HC_LAYER_GELU] = {".up"},
    [HC_LAYER_HEAD] = {".weight"}};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
print(char name[HC_TORCH_NAME], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(name, HC_TORCH_NAME, format, arguments);
    va_end(arguments);
    assert(length > 0 && length < HC_TORCH_NAME);
    (void)length;
}

static bool begins_block(const struct hc_plan *plan, int l)
{
    int sum = l + BLOCK - 1;
    return sum < plan->layers && plan->layer[sum].kind == HC_LAYER_ADD &&
           plan->layer[sum].skip == plan->layer[l].in;
}

void hc_torch_module(const struct hc_plan *plan, int l, char name[HC_TORCH_NAME])
{
    int index = 0;
    if (plan->network->gpt) {
        print(name, "%s", plan->layer[l].name);
        return;
    }
    for (int first = 0, next; first < plan->layers; first = next, index++) {
        bool block = begins_block(plan, first);
        next = first + (block ? BLOCK : 1);
        index += plan->layer[first].kind == HC_LAYER_LINEAR; /* flatten comes before it */
        if (l >= next)
            continue;
        if (block && l < next - 1)
            print(name, "%d.inner.%d", index, l - first);
        else
            print(name, "%d", index);
        return;
    }
    assert(false);
}

void hc_torch_parameter(const struct hc_plan *plan, int p, char name[HC_TORCH_NAME])
{
    char module[HC_TORCH_NAME];
    assert(p >= 0 && p < plan->parameters);
    const struct hc_layer *layer = hc_plan_layer_of(plan, p);
    const char *const *names = plan->network->gpt             ? gpt_parameters[layer->kind]
                               : layer->kind == HC_LAYER_CONV ? conv_parameters
                                                              : linear_parameters;
    hc_torch_module(plan, (int)(layer - plan->layer), module);
    print(name, "%s%s", module, names[p - layer->parameter]);
}

void hc_torch_statistic(const struct hc_plan *plan, int s, char name[HC_TORCH_NAME])
{
    char module[HC_TORCH_NAME];
    int l = 0;
    assert(s >= 0 && s < plan->statistics);
    while (plan->layer[l].statistic < 0 || s >= plan->layer[l].statistic + HC_CONV_STATISTICS)
        l++;
    hc_torch_module(plan, l, module);
    print(name, "%s%s", module, conv_statistics[s - plan->layer[l].statistic]);
}
