/* Sweeps on a backend that judges results where they lie (backend.h: operands, judge).

   A device can compute all 2^32 pairs of a 16-bit op in its own memory faster than the 8 GiB of
   their results can be fetched. So the device makes the operands by their numbers, runs the op
   under test, and compares the results itself with num/integer16.h, in integer arithmetic. Only two
   counts come back.

   Now the judge must be trusted, and it runs on the device under test. It is put to the proof in
   every sweep. If it finds a wrong result, that result is fetched and computed in MPFR: the two
   must disagree. If it finds none, a part that it has passed is fetched, a sample of it is computed
   in MPFR, and then errors are injected into that part's results: the judge must find all of them,
   and the right first one. The arithmetic itself is compared with the host's expected sides
   (hc_claim_judge). What is left is a judge that is right on that part and wrong on others. */
#ifndef HC_CHECK_SWEEP_SWEEP_JUDGED_H
#define HC_CHECK_SWEEP_SWEEP_JUDGED_H

#include "check/sweep/threads.h"

/* Operands by their numbers: `count` parts, each of `size` (up to 2^24) operands in a row. */
struct hc_parts {
    enum hc_op op;
    enum hc_format from;
    enum hc_format to;
    enum hc_direction direction; /* of a cast */
    int64_t count;
    uint32_t size;
    const uint32_t *first; /* of each part; NULL: the parts follow each other from 0 on */
};

/* All 2^32 operands, in parts that fit into a device's cache. */
struct hc_parts hc_parts_of_all(enum hc_op op, enum hc_format from, enum hc_format to,
                                enum hc_direction direction);

bool hc_can_judge(const struct hc_backend *backend);

/* Runs all parts. If no result is wrong, the judge itself is tested: errors are injected into one
   part's results, it must report them all, and a sample is confirmed with MPFR. `miss->where` is
   the operand's number. Returns false, verdict set, if anything but a comparison failed (the judge
   included). */
bool hc_parts_run(struct hc_check *check, const struct hc_parts *parts, struct hc_miss *miss);

#endif
