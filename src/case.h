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

/* The last line of a case file: exports its rows to the registry (cmake/registry.cmake), which finds
   them by the file's path. `name` is <folder>_<file>. */
#define HC_CASES(name, rows)                                                                       \
    extern const struct hc_case_table hc_cases_##name;                                             \
    const struct hc_case_table hc_cases_##name = {rows, sizeof(rows) / sizeof(rows)[0]}

#endif
