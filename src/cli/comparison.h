/* Recipes side by side: every recipe with every seed, and what the pairs show. */
#ifndef HC_CLI_COMPARISON_H
#define HC_CLI_COMPARISON_H

#include <stdio.h>

#include "cli/training.h"
#include "train/statistics.h"

enum { HC_MAX_COMPARED = 16, HC_MAX_SEEDS = 1000 };

/* Seeds are training->seed, + 1, ... . run[recipe + seed * recipes]. */
struct hc_comparison {
    const struct hc_training *training;
    const struct hc_recipe *recipe[HC_MAX_COMPARED];
    int recipes;
    int base; /* the recipe that the others are compared with: fp32, or the first */
    int seeds;
    double margin; /* of accuracy, in points */
    struct hc_training_run *run;
};

const struct hc_training_run *hc_comparison_run(const struct hc_comparison *comparison, int recipe,
                                                int seed);

/* Accuracy in points, recipe minus base, over the pairs in which both runs came to their end. */
struct hc_paired hc_comparison_pairs(const struct hc_comparison *comparison, int recipe);

/* A line per recipe, means over the seeds; then a line per pair of recipes; then the runs that did
   not learn. */
void hc_comparison_print(const struct hc_comparison *comparison, FILE *out);

/* Runs that did not learn and pairs that are shown to differ. */
int hc_comparison_failures(const struct hc_comparison *comparison);

/* folder/record.json: a result per run (cli/training_record.h) and per recipe that is compared,
   "compare/<recipe>-as-<base>": error: |mean difference|, bound: the margin, both in points; SKIPPED
   where the pairs do not decide. */
enum hc_status hc_comparison_write(const struct hc_comparison *comparison, const char *folder);

#endif
