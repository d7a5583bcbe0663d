/* A call of a definition: an op that is a text (docs/definitions.md), and no row of ops.def. Its
   operands have the text's names, and the text is known by its digest. */
#ifndef HC_OP_DEFINED_CALL_H
#define HC_OP_DEFINED_CALL_H

#include "op/status.h"
#include "op/tensor.h"

struct hc_defined_operand {
    const char *name;
    struct hc_tensor tensor; /* dense, row-major, its axes in the text's order */
};

/* An option of the text that is not its default. */
struct hc_defined_setting {
    const char *name;
    const char *value; /* "2", "1e-5", "true" */
};

struct hc_defined_call {
    const char *name;   /* of the definition, "rms_norm" */
    const char *digest; /* the first 16 hexadecimal digits of the text's SHA-256 */
    const char *text;
    enum hc_format format; /* of the tensors: what `store` rounds to */
    int inputs;
    const struct hc_defined_operand *in;
    int outputs; /* in the order of `return` */
    const struct hc_defined_operand *out;
    int settings;
    const struct hc_defined_setting *set;

    /* Computes the call, whose tensors lie in host memory, by its text: one equation after the
       other, sums from their first term to the last, each operation rounded to fp32 (to fp64 where
       the tensors are fp64). That is one right order. */
    enum hc_status (*plainly)(const struct hc_defined_call *call);
    const void *self; /* for `plainly` */
};

#endif
