/* Recipes side by side: every recipe with every seed, and what the pairs show. */
#ifndef HC_CLI_TRAINING_COMPARISON_H
#define HC_CLI_TRAINING_COMPARISON_H

#include <stdio.h>

#include "cli/training/training.h"
#include "cli/training/statistics.h"

enum { HC_MAX_COMPARED = 48, HC_MAX_SEEDS = 1000 };

/* Seeds are training->seed, + 1, ... . run[recipe + seed * recipes]; those with a seed that the recipe
   does not get are zero. */
struct hc_comparison {
    const struct hc_training *training;
    const struct hc_recipe *recipe[HC_MAX_COMPARED];
    int recipes;
    int base; /* the recipe that the others are compared with: fp32, or the first */
    int seeds_of[HC_MAX_COMPARED]; /* seeds that each recipe gets */
    int seeds;                     /* the most of these */
    double margin;                 /* of accuracy, in points */
    bool drift;                    /* measure drift instead (cli/training/drift.h), over `steps` */
    int steps;
    struct hc_training_run *run;
};

const struct hc_training_run *hc_comparison_run(const struct hc_comparison *comparison, int recipe,
                                                int seed);

/* Which of the runs there is number i of all, the first seeds of all recipes before the second; NULL
   at the end. */
struct hc_training_run *hc_comparison_next(const struct hc_comparison *comparison, int i);

/* "NaN from step 1" where the losses of all runs of a recipe were not finite from there to the end,
   "1 of 3 runs NaN from step 17" where those of some were, "" where none. How many these are. */
enum { HC_NAN_TEXT = 96 };
int hc_comparison_nan(const struct hc_comparison *comparison, int recipe, char text[HC_NAN_TEXT]);

/* The pairs of runs of a recipe and the base with the same seed. A pair counts if both runs came to
   their end with finite losses. */
struct hc_pairs {
    struct hc_paired test; /* of the accuracies in points, recipe minus base */
    bool identical;        /* accuracy and both losses are equal in each of one or more pairs */
};
struct hc_pairs hc_comparison_pairs(const struct hc_comparison *comparison, int recipe);

/* What the pairs show, in words: "equivalent: 4 pairs, 90 % interval -0.14 .. +0.14, p 1.3e-05". */
enum { HC_CONCLUSION_TEXT = 192 };
void hc_comparison_conclusion(const struct hc_comparison *comparison, int recipe,
                              char text[HC_CONCLUSION_TEXT]);

/* folder/runs.csv, a row for each run: recipe, seed, learned (0, 1), nan_from (-1: nowhere),
   accuracy, test_loss, train_loss, skipped, final_scale, underflow, unscaled, activation_underflow,
   activation_unscaled, update_lost, memory (0: not known), images_per_second (hc_train_result). */
enum hc_status hc_comparison_rows(const struct hc_comparison *comparison, const char *folder);

/* A line per recipe, means over the seeds; then a line per pair of recipes; then the runs that did
   not learn. */
void hc_comparison_print(const struct hc_comparison *comparison, FILE *out);

/* Runs that did not learn and pairs that are shown to differ. */
int hc_comparison_failures(const struct hc_comparison *comparison);

/* folder/record.json: a result per run (cli/training/training_record.h) and per recipe that is compared,
   "compare/<recipe>-as-<base>": error: |mean difference|, bound: the margin, both in points; SKIPPED
   where the pairs do not decide, FAIL where losses of the recipe alone were not finite. */
enum hc_status hc_comparison_write(const struct hc_comparison *comparison, const char *folder);

#endif
