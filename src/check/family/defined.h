/* The row of an op that a definition says. */
#ifndef HC_CHECK_FAMILY_DEFINED_H
#define HC_CHECK_FAMILY_DEFINED_H

#include "check/family/family.h"

const struct hc_family *hc_family_defined(enum hc_op op);

#endif
