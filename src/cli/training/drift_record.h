/* What `compare --drift` leaves in its folder, and what it claims. */
#ifndef HC_CLI_TRAINING_DRIFT_RECORD_H
#define HC_CLI_TRAINING_DRIFT_RECORD_H

#include <jansson.h>
#include <stdio.h>

#include "check/record/record.h"
#include "cli/training/comparison.h"
#include "train/drift/drift.h"

struct hc_drift_report {
    const struct hc_comparison *c;
    const char *folder;
    int steps;
    int seeds;
    uint64_t seed;    /* the first one */
    char of_seed[32]; /* "-seed7" in the names of claims, if there is more than one; otherwise "" */
    int parts;        /* numbers of ranks, 1 if none were asked for */
    int ranks;        /* the first of them; 0: nothing is cut into shards */
    struct hc_plan plan;
    struct hc_drift *drift; /* by recipe, seed after seed, one number of ranks after the other */
    struct hc_drift_shares (*shares)[HC_DRIFT_QUANTITIES]; /* likewise; NULL: not asked for */
};

/* Whether tables have this source: a matrix unit's row is there if any recipe meets one, that of
   ranks if any batch is cut into shards, and those of operands if any recipe quantises them. */
bool hc_drift_has_source(const struct hc_drift_report *report, int source);

/* The same of one number of ranks, or of one seed of such a part; the first one being 0. */
struct hc_drift_report hc_drift_of_ranks(const struct hc_drift_report *report, int part);
struct hc_drift_report hc_drift_of_seed(const struct hc_drift_report *report, int seed);

/* What records call a recipe: "amp", or "amp-ranks8" where its batch is cut into shards. */
enum { HC_DRIFT_NAME = HC_RECIPE_NAME + 20 };
void hc_drift_name(const struct hc_drift *drift, char text[HC_DRIFT_NAME]);

/* The name of a source of rounding ("all of them" for HC_SOURCE_COUNT), and its format under the
   recipe ("-" for that). */
const char *hc_drift_source(int source);
const char *hc_drift_format(const struct hc_drift *drift, int source);

/* Writes three files, or five with shares, the csv files of the first seed and the record of all:
   - layers.csv: recipe, layer, error, cosine, underflow, lost; where a recipe quantises, of each
     of x, w and dy x_error, x_at_max, x_flushed, x_least_scale, x_most_scale; and with several
     backends backend, and where ranks were asked for ranks;
   - attribution.csv: recipe, source, format, gradient_alone, gradient_without, free_alone,
     free_without, gradient_measured, free_measured, gradient_residual, free_residual, and the
     same;
   - shares.csv, of the mean over all seeds: recipe, of (gradient or weights), source, square (the
     squared error of all), alone and share (of it), low and high (the 95 % interval of share /
     square), and the same;
   - pairs.csv: recipe, of, source, other, square, source_alone, other_alone, together, interaction
     (hc_drift_shares), and the same;
   - record.json. */
enum hc_status hc_drift_write(const struct hc_drift_report *report);

/* Adds the claims as results. No bound can be derived for a drift itself, so none is claimed:
   the record has it as a measured number, in "drift". Claimed is that a recipe's drift is
   explained by its roundings: its run is nearer to the fp64 run with these roundings than to the
   plain fp64 run, so that the residual is below the drift. This is SKIPPED if the drift is not
   finite. Two claims have the bound 0: fp64 does not drift from itself, and recipes that differ
   only in where their masters lie drift alike. What the average over ranks does alone to a gradient
   is within a bound that is derived. With more than one seed, each has claims of its
   own, "drift/<recipe>-seed<n>-...", and with ranks each number of them,
   "drift/<recipe>-ranks<n>-...". */
void hc_drift_claims(const struct hc_drift_report *report, json_t *record);

/* How many of the claims failed; prints a line for each. */
int hc_drift_failures(const struct hc_drift_report *report);

/* compare --drift: what recipes below half do to the operands of their products, in tables, csv
   files and records. */

/* Whether a recipe of the report quantises. */
bool hc_drift_has_operands(const struct hc_drift_report *report);

/* A row for each operand of each such recipe of one number of ranks: means over layers, and the
   layer where most is lost. */
void hc_drift_print_operands(const struct hc_drift_report *part, FILE *out);

/* Measures the recipes of the comparison over so many steps, with each of its seeds, prints tables
   of the first seed and what the others change, and leaves
   record.json, table.txt, layers.csv, attribution.csv and pictures in the folder, with shares
   shares.csv and pairs.csv too. Returns the exit status. */
int hc_drift_command(const struct hc_comparison *comparison, int steps, const char *folder);

#endif
