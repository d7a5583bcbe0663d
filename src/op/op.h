/* What an operation is: the enumeration and the facts of ops.def. */
#ifndef HC_OP_OP_H
#define HC_OP_OP_H

#include <stdbool.h>

#define HC_MAX_IN  7
#define HC_MAX_OUT 5

/* The first input and the first output of any op: `call->in[HC_FIRST]`, `call->out[HC_FIRST]`. For
   code that is generic over ops of several families; everybody else uses the family's names. */
enum { HC_FIRST };

enum hc_op {
#define HC_OP(name, class, inputs, outputs, title) HC_OP_##name,
#include "op/ops.def"
#undef HC_OP
    HC_OP_COUNT
};

enum hc_op_class {
    HC_CLASS_ELEMENTWISE, /* vectors; the same bits on every backend */
    HC_CLASS_REDUCTION,   /* vectors to one element */
    HC_CLASS_GEMM,
    HC_CLASS_CONV,
    HC_CLASS_NORM,
    HC_CLASS_POOL,
    HC_CLASS_LOSS,
    HC_CLASS_OPTIMIZER,  /* vectors and scalars; the same bits on every backend */
    HC_CLASS_CONTROL,    /* what a training step counts and decides, and its batch; the same bits on
                           every backend */
    HC_CLASS_COLLECTIVE, /* the vectors of all ranks to one; the same bits on every backend */
    HC_CLASS_QUANT       /* codes below half, and what goes with them; the same bits everywhere */
};

struct hc_op_info {
    const char *name;
    const char *title;
    enum hc_op_class class_;
    int inputs;
    int outputs;
};

extern const struct hc_op_info hc_ops[HC_OP_COUNT];

/* Whether every backend gives the same bits: in the classes ELEMENTWISE, OPTIMIZER, CONTROL,
   COLLECTIVE and QUANT. */
bool hc_op_settled(enum hc_op op);

/* The op of that name, or HC_OP_COUNT. */
enum hc_op hc_op_by_name(const char *name);

#endif
