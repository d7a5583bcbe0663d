/* The headers of the ops that came after op/call.h was closed, for the few files that go through
   all of ops.def: nobody else is compiled again when an op is added. Such a header states the
   contract, names the slots, defines the op's name as its number,

       #define HC_OP_name HC_OP_51

   and reads the op's parameters, if it has any, out of hc_params.later by value. So
   far they are those that definitions say. */
#ifndef HC_OP_LATER_H
#define HC_OP_LATER_H

#include "op/defined.h"

#endif
