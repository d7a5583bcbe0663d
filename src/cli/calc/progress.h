/* The progress of a long calculation, on a terminal. */
#ifndef HC_CLI_CALC_PROGRESS_H
#define HC_CLI_CALC_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct hc_calc_progress {
    bool terminal; /* stderr is one */
    int64_t steps;
    double started; /* hc_clock() */
    double drawn;   /* when the line was last drawn; 0: it is not there */
};

struct hc_calc_progress hc_calc_progress(int64_t steps);
void hc_calc_progress_show(struct hc_calc_progress *progress, int64_t step);

/* Removes the line. */
void hc_calc_progress_end(struct hc_calc_progress *progress);

#endif
