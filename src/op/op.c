#include "op/op.h"

#include <string.h>

#include "op/later.h"

enum {
#define HC_OP(name, class, inputs, outputs, title) ROW_##name,
#include "op/ops.def"
#undef HC_OP
    ROWS
};

#define HC_OP(name, class, inputs, outputs, title)                                                 \
    _Static_assert((int)HC_OP_##name == (int)ROW_##name, #name " has not the number of its row");
#include "op/ops.def"
#undef HC_OP

int hc_op_count(void)
{
    return ROWS;
}

const struct hc_op_info hc_ops[HC_OP_ROOM] = {
#define HC_OP(name, class, inputs, outputs, title)                                                 \
    [HC_OP_##name] = {#name, title, HC_CLASS_##class, inputs, outputs},
#include "op/ops.def"
#undef HC_OP
};

enum hc_op hc_op_by_name(const char *name)
{
    int op = 0;
    while (op < HC_OP_COUNT && strcmp(hc_ops[op].name, name) != 0)
        op++;
    return (enum hc_op)op;
}

bool hc_op_settled(enum hc_op op)
{
    enum hc_op_class class_ = hc_ops[op].class_;
    return class_ == HC_CLASS_ELEMENTWISE || class_ == HC_CLASS_OPTIMIZER ||
           class_ == HC_CLASS_CONTROL || class_ == HC_CLASS_COLLECTIVE || class_ == HC_CLASS_QUANT;
}
