/* Recipes side by side: each recipe is trained with each seed, and pairs of runs are compared.

   Two runs with the same seed share initial weights, order and augmentation, so that their
   difference is the recipe's, and the scatter between seeds drops out of it. What remains
   scatters, too: runs that differ in one bit drift apart within a few hundred steps. So a
   difference of one pair says nothing, and "no significant difference" would say no more. What
   is asked instead is whether the mean difference is shown to lie within a margin (equivalent),
   shown to lie outside (different), or neither: cli/statistics/equivalence.h has the tests.
   Accuracy is what is compared; runs without a finite loss make no pair, and a recipe that alone
   has such runs fails. */
#ifndef HC_CLI_TRAINING_COMPARISON_H
#define HC_CLI_TRAINING_COMPARISON_H

#include <stdio.h>

#include "cli/statistics/equivalence.h"
#include "cli/training/training.h"
#include "train/update/recipe_fields.h"

enum { HC_MAX_COMPARED = 48, HC_MAX_SEEDS = 1000, HC_MAX_DRIFT_RANKS = 16 };

/* With several backends each recipe stands there once for each of them, side by side, and "recipe"
   below means one on its backend. All are compared with the same base.

   Seed s of recipe r is training->seed + s, and its run is run[r + s * recipes], which is zero
   if the recipe does not get that seed. */
struct hc_comparison {
    const struct hc_training *training;
    const struct hc_training
        *on[HC_MAX_COMPARED]; /* `training` on one of several backends, or NULL */
    const struct hc_recipe *recipe[HC_MAX_COMPARED];
    int recipes;
    int base; /* the recipe that the others are compared with: fp32, or the first */
    int seeds_of[HC_MAX_COMPARED]; /* how many seeds each recipe gets */
    int seeds;                     /* the most of these */
    double margin;                 /* of accuracy, in points */
    bool drift; /* measure drift instead (cli/training/drift_record.h), over `steps` */
    int steps;
    bool shares; /* share each drift out among its sources (cli/training/drift_shares.h) */
    int ranks[HC_MAX_DRIFT_RANKS]; /* numbers of ranks that drift is measured with */
    int ranks_count;               /* 0: nothing is cut into shards */
    struct hc_training_run *run;
};

/* Chooses the recipes of "R,R:SEEDS,..."; R alone gets `seeds`. HC_INVALID, with a line, where a
   recipe is not known, named twice, or one too many. */
enum hc_status hc_comparison_choose(struct hc_comparison *comparison, const char *list, int seeds);

/* Gives each of several backends this training, which has its data and backends by now. */
void hc_comparison_part(const struct hc_training *training);

/* The training of a recipe, on its backend. */
const struct hc_training *hc_comparison_training(const struct hc_comparison *comparison,
                                                 int recipe);

/* "amp", or "amp on host" with several backends. */
enum { HC_COMPARED_LABEL = HC_RECIPE_NAME + 80 };
void hc_comparison_label(const struct hc_comparison *comparison, int recipe,
                         char text[HC_COMPARED_LABEL]);

/* The width of the column of labels. */
int hc_comparison_width(const struct hc_comparison *comparison);

/* The same recipe on the base's backend: itself if there is one backend. */
int hc_comparison_counterpart(const struct hc_comparison *comparison, int recipe);

/* The name of a run's folder (hc_training_folder), which names the backend if there are several. */
void hc_comparison_folder(const struct hc_comparison *comparison, int recipe, uint64_t seed,
                          char *name, size_t bytes);

/* What a backend alone changes: means over the pairs of runs of a recipe and its counterpart with
   the same seed, of the first minus the second. */
struct hc_backend_change {
    int pairs;
    bool identical;  /* as in struct hc_recipe_pairs */
    double accuracy; /* in points */
    double test_loss;
    double train_loss;
};
struct hc_backend_change hc_comparison_change(const struct hc_comparison *comparison, int recipe);

const struct hc_training_run *hc_comparison_run(const struct hc_comparison *comparison, int recipe,
                                                int seed);

/* Run i of those that there are, seed by seed and recipe by recipe; NULL after the last one. */
struct hc_training_run *hc_comparison_next(const struct hc_comparison *comparison, int i);

/* How many runs of a recipe ended with losses that were not finite, and a text for them: "NaN from
   step 1" if all did, "1 of 3 runs NaN from step 17" if some did, "" if none did. */
enum { HC_NAN_TEXT = 96 };
int hc_comparison_nan(const struct hc_comparison *comparison, int recipe, char text[HC_NAN_TEXT]);

/* The pairs of runs of a recipe and the base with the same seed. A pair counts if both runs came to
   their end with finite losses. */
struct hc_recipe_pairs {
    struct hc_difference test; /* of the accuracies in points, recipe minus base */
    bool identical;            /* accuracy and both losses are equal in each of one or more pairs */
};
struct hc_recipe_pairs hc_comparison_pairs(const struct hc_comparison *comparison, int recipe);

/* What the pairs show, in words: "equivalent: 4 pairs, 90 % interval -0.14 .. +0.14, p 1.3e-05". */
enum { HC_CONCLUSION_TEXT = 192 };
void hc_comparison_conclusion(const struct hc_comparison *comparison, int recipe,
                              char text[HC_CONCLUSION_TEXT]);

/* Prints a line for each recipe, with means over its seeds, then a line for each recipe against the
   base, then the runs that did not learn. */
void hc_comparison_print(const struct hc_comparison *comparison, FILE *out);

/* How many runs did not learn, and how many recipes are shown to differ from the base. */
int hc_comparison_failures(const struct hc_comparison *comparison);

/* Writes into the folder:
   - table.txt: what hc_comparison_print prints;
   - runs.csv: a row for each run: recipe, seed, learned (0, 1), nan_from (-1: nowhere), accuracy,
     test_loss, train_loss, skipped, final_scale, underflow, unscaled, activation_underflow,
     activation_unscaled, update_lost, memory (0: not known), images_per_second (hc_train_result),
     and, with several backends, backend;
   - record.json: a result for each run (cli/training/training_record.h), and for each recipe
     "compare/<recipe>-as-<base>", whose error is the mean difference without its sign and whose
     bound is the margin, both in points. It is SKIPPED if the pairs do not decide, and FAIL if
     losses of the recipe alone were not finite. With several backends the base's is named,
     "compare/<recipe>-as-<base>-on-<backend>", and the member "backends_alone" has an object for
     each recipe that is not on the base's backend: recipe, backend, against, pairs, accuracy,
     test_loss, train_loss (struct hc_backend_change). */
enum hc_status hc_comparison_write(const struct hc_comparison *comparison, const char *folder);

/* Draws curves, scale, gradients and summary into the folder, and prints where they are, or why
   they could not be drawn. */
void hc_comparison_draw(const struct hc_comparison *comparison, const char *folder);

#endif
