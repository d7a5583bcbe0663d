/* Ops of the table that a definition says (op/defined.h): how far a result may be from its real
   value. The real value itself is hc_reference_defined's (reference.h). */
#ifndef HC_DEFINE_OP_H
#define HC_DEFINE_OP_H

#include "reference.h"

struct hc_definition;

/* An element of a call of such an op: whatever a right implementation gives is the rounding, into
   the output's format, of a number within this radius of the real value. Where the promise of
   hc_reference_begin holds, rows are computed once. Where an evaluation fails, for want of memory,
   the value is NaN and the radius 0, so that nothing passes. */
double hc_defined_op_radius(const struct hc_element *e);

/* The results of such a call as its text says, computed plainly (define/plain.h) from the same
   inputs, into `out`, tensors of the outputs' shapes: in fp64, and nothing is stored between; or as
   eager code in 16 bits has them, where the result of each equation is stored in the format of the
   tensors. HC_INVALID or HC_NO_MEMORY with a message. */
enum hc_plainly { HC_PLAINLY_FP64, HC_PLAINLY_EAGER };
enum hc_status hc_defined_op_plainly(const struct hc_call *call, enum hc_plainly how,
                                     const struct hc_tensor *out);

/* The definition of an op, parsed once; it stays. NULL for an op of another class. */
const struct hc_definition *hc_defined_op(enum hc_op op);

/* Whether all elements along an axis, which shapes write as this letter, are alike: no equation
   asks for a place on it, so that equal operands give equal results wherever they stand. */
bool hc_defined_is_placeless(enum hc_op op, char letter);

/* Whether it has a shift: exponentials of what is less than its maximum. */
bool hc_defined_has_shift(enum hc_op op);

#endif
