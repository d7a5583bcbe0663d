/* The descriptors of each family, by op; NULL for ops of other families. hc_descriptor puts them
   together. */
#ifndef HC_OP_FAMILIES_H
#define HC_OP_FAMILIES_H

#include "op/descriptor.h"

extern const struct hc_descriptor *const hc_elementwise_ops[HC_OP_ROOM];
extern const struct hc_descriptor *const hc_reduction_ops[HC_OP_ROOM];
extern const struct hc_descriptor *const hc_gemm_ops[HC_OP_ROOM];
extern const struct hc_descriptor *const hc_conv_ops[HC_OP_ROOM];
extern const struct hc_descriptor *const hc_norm_ops[HC_OP_ROOM];
extern const struct hc_descriptor *const hc_loss_ops[HC_OP_ROOM];
extern const struct hc_descriptor *const hc_optimizer_ops[HC_OP_ROOM];
extern const struct hc_descriptor *const hc_control_ops[HC_OP_ROOM];
extern const struct hc_descriptor *const hc_collective_ops[HC_OP_ROOM];
extern const struct hc_descriptor *const hc_quant_ops[HC_OP_ROOM];
extern const struct hc_descriptor *const hc_defined_ops[HC_OP_ROOM];

#endif
