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

/* The backend under test as the device that the training engine's objects are opened on. */
static inline struct hc_device hc_case_device(const struct hc_check *check)
{
    return (struct hc_device){.backend = hc_check_backend(check), .queue = hc_check_queue(check)};
}

/* The last line of a case file. It exports the rows to the registry (cmake/registry.cmake), which
   finds them by the file's path. `name` is <folder>_<file>. */
#define HC_CASES(name, rows)                                                                       \
    extern const struct hc_case_table hc_cases_##name;                                             \
    const struct hc_case_table hc_cases_##name = {rows, sizeof(rows) / sizeof(rows)[0]}

#endif
