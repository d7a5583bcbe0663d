/* How trainings ended, in a record, for those who compare trainings.

   The member "trainings" of a record is a list with an object for each run, and "drift" one for
   each recipe and seed whose drift was measured. Both say how they were made ("settings"), so that
   only what was made in the same way is compared. Reals are strings ("0.9645", "nan"), which read
   back to the same bits. A merged record has the lists of all its parts.

     {"recipe": "amp", "backend": "host", "seed": "1", "settings": "...", "test_images": 2000,
      "learned": true, "reason": "", "accuracy": "0.9435", "test_loss": "...",
      "train_loss": "...", "accuracy_by_epoch": ["0.8905", ...]}

   A training may say on which processor it was made ("cpu"), where a record has those of several.

   A baseline has them as lines: "training {...}" and "drift {...}". A drift's line has only the
   numbers that are compared, as "measures". */
#ifndef HC_CHECK_RECORD_OUTCOMES_H
#define HC_CHECK_RECORD_OUTCOMES_H

#include <stdio.h>

#include "check/record/record.h"

enum { HC_MAX_OUTCOME_EPOCHS = 10000 };

/* One training. Texts belong to the record, or to the caller. */
struct hc_outcome {
    const char *recipe;
    const char *backend;
    uint64_t seed;
    const char *settings;
    const char *cpu; /* "" if the record's environment has it, or nothing */
    int64_t test_images;
    bool learned;
    const char *reason; /* why not, or "" */
    double accuracy;    /* of the last epoch, 0..1; NaN if there is none */
    double test_loss;
    double train_loss;
    const double *accuracy_by_epoch;
    int epochs; /* that are over, and in that list */
};

/* One number of a drift: "gradient", "weights", "gradient of LAYER", "gradient by SOURCE",
   "weights by SOURCE". */
struct hc_drift_number {
    char *name;
    double value;
};

struct hc_drift_outcome {
    const char *recipe;
    const char *backend;
    uint64_t seed;
    const char *settings;
    struct hc_drift_number *numbers;
    int count;
};

struct hc_outcomes {
    struct hc_outcome *trainings; /* by recipe, backend and seed */
    int training_count;
    struct hc_drift_outcome *drifts; /* the same */
    int drift_count;
};

/* Finds them in a record. Older records have none. HC_NO_MEMORY; HC_INVALID with a line that says
   what is wrong, as `path`: a member is missing or of another type, a number is none, an accuracy
   lies outside 0..1, or one is duplicated. */
enum hc_status hc_outcomes_read(const char *path, const struct hc_record *record,
                                struct hc_outcomes *outcomes);
void hc_outcomes_free(struct hc_outcomes *outcomes);

/* Adds a training to a document. */
void hc_outcomes_add(json_t *document, const struct hc_outcome *outcome);

/* A real number as a string in decimal, the shortest of those that read back to the same bits. */
json_t *hc_json_decimal(double value);

/* The seed of a result: that which the name of a training or a drift ends its recipe with
   ("train/amp-seed2", "drift/amp-seed2-weights-explained"), otherwise that of the run. A baseline
   says the run's seed alone. */
uint64_t hc_outcome_seed(const char *name, uint64_t run);

/* Prints the lines of a baseline, in an order that is the record's alone, and says how many there
   are. HC_NO_MEMORY;
   HC_INVALID as hc_outcomes_read. */
enum hc_status hc_outcomes_print(const struct hc_record *record, FILE *out, int *lines);

/* Adds what such a line says to the document of a record. Returns false for a line of another
   kind. A damaged line is found by hc_outcomes_read, or `wrong` says what is wrong with it. */
bool hc_outcomes_take_line(json_t *document, const char *line, const char **wrong);

#endif
