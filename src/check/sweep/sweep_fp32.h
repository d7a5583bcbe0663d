/* What the sweeps over conversions from fp32 have in common: the inputs, in blocks of neighbours or
   one by one, and how many of them each level has. What is expected differs. */
#ifndef HC_CHECK_SWEEP_SWEEP_FP32_H
#define HC_CHECK_SWEEP_SWEEP_FP32_H

#include "check/check.h"
#include "check/sweep/threads.h"

enum {
    HC_FP32_BLOCK = 4096, /* inputs of a call; they and the results stay in the first-level cache */
    HC_FP32_UNIT = 16,    /* blocks that a thread takes at once */
    HC_FP32_MAX_UNITS = 16 /* below level exhaustive */
};

#define HC_FP32_UNIT_INPUTS ((uint32_t)(HC_FP32_BLOCK * HC_FP32_UNIT))

/* The expected side of a conversion: over the patterns of one sign each result is that of one run
   of neighbouring patterns. */
struct hc_expected_runs {
    /* The number of the run that has the pattern. */
    int (*run_of)(const void *context, uint32_t pattern);

    /* Compares the results of n neighbouring patterns from `first` on, all of one sign, the first
       of which is of that run. Returns the run of the pattern behind them. */
    int (*compare)(const void *context, uint32_t first, int run, const void *got, uint32_t n,
                   struct hc_miss *miss);
    const void *context;
};

struct hc_fp32_sweep {
    struct hc_call call; /* the cast without memory: its formats and parameters */
    struct hc_expected_runs expected;
    int64_t units;   /* all of them, or as many seeded ones */
    uint64_t seed;   /* of the check, */
    uint64_t digest; /* and of the sweep (hc_sweep_digest) */
};

/* A sweep of this cast at the check's level. */
struct hc_fp32_sweep hc_fp32_sweep_of(struct hc_check *check, const struct hc_call *cast,
                                      const struct hc_expected_runs *expected);

/* The first pattern of a unit. */
uint32_t hc_fp32_sweep_start(const struct hc_fp32_sweep *sweep, int64_t unit);

/* Whether the sweep takes all inputs. */
bool hc_fp32_sweep_is_whole(const struct hc_fp32_sweep *sweep);

/* Converts these patterns, at most HC_FP32_BLOCK of them, in one call, and compares each. */
enum hc_status hc_fp32_sweep_some(struct hc_check *check, const struct hc_fp32_sweep *sweep,
                                  const uint32_t *inputs, uint32_t n, struct hc_miss *miss);

/* Converts and compares the units. False as hc_sweep_run says. */
bool hc_fp32_sweep_units(struct hc_check *check, const struct hc_fp32_sweep *sweep,
                         struct hc_miss *miss);

/* Claims that nothing differed. */
void hc_fp32_sweep_claim(struct hc_check *check, const struct hc_fp32_sweep *sweep,
                         const struct hc_miss *miss);

#endif
