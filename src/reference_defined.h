/* The reference of all ops that a definition says (op/defined.h), and what frees what it keeps for
   this thread. They lie above this floor, in src/define/op.c: a definition's evaluator finds its
   precision by itself. */
#ifndef HC_REFERENCE_DEFINED_H
#define HC_REFERENCE_DEFINED_H

#include "reference.h"

hc_reference hc_reference_defined;
void hc_reference_defined_end(void);

#endif
