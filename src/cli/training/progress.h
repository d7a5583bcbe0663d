/* The progress of a training, on the terminal. */
#ifndef HC_CLI_TRAINING_PROGRESS_H
#define HC_CLI_TRAINING_PROGRESS_H

#include "train/run/trainer.h"

struct hc_progress_bar {
    const char *recipe;
    uint64_t seed;
    bool terminal; /* stderr is one: draw a bar there */
    double drawn;  /* when it was last drawn, hc_clock() */
    double started;
    int64_t first; /* steps that were done before */
};

struct hc_progress_bar hc_progress_bar(const char *recipe, uint64_t seed);

/* The callback of hc_train_options; `context` is the bar. Prints a line on stdout after each
   evaluation, and draws the bar in between, on a terminal. */
bool hc_progress_show(const struct hc_progress *progress, void *context);

/* Removes the bar. */
void hc_progress_end(struct hc_progress_bar *bar);

#endif
