/* Conversions from fp32 into formats of one byte, to nearest, as tables of runs: the expected side
   of the sweeps over all inputs. */
#ifndef HC_CHECK_SWEEP_RUNS8_H
#define HC_CHECK_SWEEP_RUNS8_H

#include <stdbool.h>
#include <stdint.h>

#include "num/format.h"

/* A correctly rounded conversion is monotone: over the patterns of fp32 of one sign, in their
   order, each code is the result of one run of patterns. Run r has the patterns first[r] to
   first[r + 1] - 1, without their sign. The last run is that of the NaNs. */
enum { HC_RUNS8 = 256 + 2 };

struct hc_runs8 {
    int count;
    uint32_t first[HC_RUNS8 + 1]; /* the one behind the last run is 2^31 */
    uint8_t code[HC_RUNS8];
    bool nan[HC_RUNS8]; /* any NaN of the format is right, if there is one */
};

/* The runs of inputs of that sign (0 or 1), computed from the values of the codes and the exact
   middles between them. check/sweep/runs8_test.c holds both ends of every run against MPFR, and
   with that, by monotony, all inputs. */
void hc_runs8_build(struct hc_runs8 *runs, enum hc_format to, bool saturate, int negative);

/* The number of the run that has the pattern. */
int hc_runs8_at(const struct hc_runs8 *runs, uint32_t magnitude);

/* Whether a code is right in that run. */
bool hc_runs8_right(const struct hc_runs8 *runs, int run, enum hc_format to, uint8_t code);

#endif
