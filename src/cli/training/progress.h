/* How a training shows its progress. */
#ifndef HC_CLI_TRAINING_PROGRESS_H
#define HC_CLI_TRAINING_PROGRESS_H

#include "train/run/trainer.h"

struct hc_progress_bar {
    const char *recipe;
    uint64_t seed;
    bool terminal; /* of stderr: draw a bar there */
    double drawn;  /* when it last was, hc_clock() */
    double started;
    int64_t first; /* steps that were done when it started */
};

struct hc_progress_bar hc_progress_bar(const char *recipe, uint64_t seed);

/* The callback of hc_train_options, `context` being the bar: a line on stdout after each
   evaluation, on a terminal a bar in between. */
bool hc_progress_show(const struct hc_progress *progress, void *context);

/* Removes the bar. */
void hc_progress_end(struct hc_progress_bar *bar);

#endif
