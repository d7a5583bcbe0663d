/* What the rules of the families share: checks of a tensor of the call, which is named in the
   message by its slot. */
#ifndef HC_OP_RULE_H
#define HC_OP_RULE_H

#include "op/call.h"

#define HC_SHAPE_TEXT 96

/* "[2, 3]" */
const char *hc_shape_text(const struct hc_tensor *t, char text[HC_SHAPE_TEXT]);

/* HC_INVALID with a line where t, a tensor of the call, has another rank or shape. shape[d] < 0
   stands for any extent. */
enum hc_status hc_rule_rank(const struct hc_call *call, const struct hc_tensor *t, int rank);
enum hc_status hc_rule_shape(const struct hc_call *call, const struct hc_tensor *t, int rank,
                             const int64_t *shape);

#endif
