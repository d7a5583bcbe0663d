/* What a case file may use: claims, the op table, formats, random numbers, real numbers. */
#ifndef HC_CASE_H
#define HC_CASE_H

#include "check/check.h"
#include "check/sweep/sweep.h"
#include "num/bits.h"
#include "num/format.h"
#include "num/rng.h"
#include "num/ulp.h"
#include "op/call.h"
#include "reference.h"
#include "train/case.h"

#endif
