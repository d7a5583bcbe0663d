/* What a case file may use: claims, the op table, formats, random numbers, real numbers. */
#ifndef HC_CASE_H
#define HC_CASE_H

#include <string.h>

#include "check/check.h"
#include "check/sweep/sweep.h"
#include "hc_case_abi.h"
#include "num/bits.h"
#include "num/format.h"
#include "num/rng.h"
#include "num/ulp.h"
#include "op/call.h"
#include "reference.h"
#include "train/case.h"

/* The backend under test as the device that the training engine's objects are opened on. */
static inline struct hc_device hc_case_device(struct hc_check *check)
{
    struct hc_device device;
    memset(&device, 0, sizeof device);
    device.digest = hc_check_digest(check);
    device.backend = hc_check_backend(check);
    device.queue = hc_check_queue(check);
    return device;
}

/* The last line of a case file. It exports the rows to the registry (cmake/registry.cmake), which
   finds them by the file's path. `name` is <folder>_<file>. */
#define HC_CASES(name, rows)                                                                       \
    extern const struct hc_case_table hc_cases_##name;                                             \
    const struct hc_case_table hc_cases_##name = {rows, sizeof(rows) / sizeof(rows)[0]}

/* What a plug-in with cases exports, as hc_plugin_cases. `abi` is the first member in every
   version; of another version nothing else is read. */
struct hc_case_plugin {
    unsigned abi; /* HC_CASE_ABI */
    struct hc_case_table table;
};

/* The last line of a plug-in's case file. Its cases have a component of their own: what stands
   before the slash in their names. */
#define HC_PLUGIN_CASES(rows)                                                                      \
    extern const struct hc_case_plugin hc_plugin_cases;                                            \
    const struct hc_case_plugin hc_plugin_cases = {HC_CASE_ABI,                                    \
                                                   {rows, sizeof(rows) / sizeof(rows)[0]}}

#endif
