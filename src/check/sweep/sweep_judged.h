/* Sweeps on a backend that judges results where they lie (backend.h: operands, judge). */
#ifndef HC_CHECK_SWEEP_SWEEP_JUDGED_H
#define HC_CHECK_SWEEP_SWEEP_JUDGED_H

#include "check/sweep/threads.h"

/* Runs of operands by their numbers, `size` (up to 2^24) in each of `count` parts. */
struct hc_parts {
    enum hc_op op;
    enum hc_format from;
    enum hc_format to;
    enum hc_direction direction; /* of a cast */
    int64_t count;
    uint32_t size;
    const uint32_t *first; /* of each part; NULL: one after the other from 0 on */
};

/* All 2^32 operands, in parts that a device's cache can hold. */
struct hc_parts hc_parts_of_all(enum hc_op op, enum hc_format from, enum hc_format to,
                                enum hc_direction direction);

bool hc_can_judge(const struct hc_backend *backend);

/* Runs all parts. The first wrong result is fetched and held against MPFR; where none is wrong, the
   judge must find what is then planted into the results of one part, and a sample of these is held
   against MPFR. `where` of *miss is an operand's number. False when something other than a comparison
   failed, the judge included; the verdict is set then. */
bool hc_parts_run(struct hc_check *check, const struct hc_parts *parts, struct hc_miss *miss);

#endif
