/* A network's layers and parameters under the names that PyTorch has for them.

   In PyTorch the network is an nn.Sequential of what fastai builds it from: conv_layers, each an
   nn.Sequential of convolution, batch norm and leaky ReLU; residual layers, whose attribute `inner`
   is an nn.Sequential of two conv_layers; average pooling; flatten, which is no layer here; and
   linear. state_dict() names a parameter by its module's path, so that these names follow from the
   list of layers alone. A GPT's modules are called as its layers are. docs/step-files.md has them
   all. */
#ifndef HC_TRAIN_NET_TORCH_NAMES_H
#define HC_TRAIN_NET_TORCH_NAMES_H

#include "train/net/net.h"

enum { HC_TORCH_NAME = 48 };

/* Inside a conv_layer: the path of its convolution and of its batch norm, behind its own. */
#define HC_TORCH_CONV ".0"
#define HC_TORCH_NORM ".1"

/* The path of the module whose output is layer l's: stem is "0", g0.0a is "2.inner.0", g0.0 is
   "2". */
void hc_torch_module(const struct hc_plan *plan, int l, char name[HC_TORCH_NAME]);

/* The name in state_dict() of a parameter, such as "0.0.weight", and of a statistic, such as
   "0.1.running_mean"; both counted as in the plan. */
void hc_torch_parameter(const struct hc_plan *plan, int p, char name[HC_TORCH_NAME]);
void hc_torch_statistic(const struct hc_plan *plan, int s, char name[HC_TORCH_NAME]);

#endif
