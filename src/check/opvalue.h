/* One value of a fill. */
#ifndef HC_CHECK_OPVALUE_H
#define HC_CHECK_OPVALUE_H

#include "check/opfill.h"

/* Element i of an input slot that plays `role` (opfill.c); slots are filled in order, and a later one
   may look at the elements of an earlier one. */
double hc_op_value(const struct hc_call *call, int slot, char role, int64_t i, enum hc_fill fill,
                   uint64_t seed);

/* Of `least` and the formats of data and result the one whose normal range ends first. */
enum hc_format hc_op_narrow(const struct hc_call *call, enum hc_format least);

#endif
