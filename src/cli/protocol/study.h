/* A study is the runs that a protocol asks for, in one folder, and what they show.

   The folder has one for each run, as `compare` names them, and what is known of a run is read from
   the run.json in it. So runs that were made on several machines are one study once their folders
   stand side by side, and several processes with one folder share the work: each takes a run that
   nobody has, until every arm has decided. Who may not share a folder gives each its seeds
   (--shard).

   A pair is a run of an arm and one of the base with the same seed. Both are made on the same model
   of processor with the same instructions, because their bits depend on these. Accuracies of pairs
   that are made on different processors may stand in one test: each difference was made on one. */
#ifndef HC_CLI_PROTOCOL_STUDY_H
#define HC_CLI_PROTOCOL_STUDY_H

#include <jansson.h>

#include "check/runner.h"
#include "cli/protocol/protocol.h"
#include "cli/training/training.h"
#include "train/update/recipe_fields.h"

enum { HC_STUDY_SEEDS = 64, HC_STUDY_CPU = 320 };

enum hc_study_state {
    HC_STUDY_ABSENT, /* not begun */
    HC_STUDY_BEGUN,  /* interrupted, or another process is at it */
    HC_STUDY_OVER,   /* the numbers below are there */
};

/* One run, as its run.json has it. */
struct hc_study_run {
    enum hc_study_state state;
    char cpu[HC_STUDY_CPU]; /* hc_study_processor; "": not known */
    bool learned;
    char reason[200];
    double accuracy; /* 0..1; NaN if it ended without */
    double test_loss;
    double train_loss;
    int64_t skipped;
    double final_scale;
    double images_per_second;
    double others; /* CPUs in other hands meanwhile; NaN: not known */
};

/* Subject 0 is the base, subject a + 1 is arm a. Seed s is protocol->seed + s. */
struct hc_study {
    const struct hc_protocol *protocol;
    const char *folder;
    const struct hc_recipe *recipe[HC_MAX_ARMS + 1]; /* with the protocol's settings */
    struct hc_training *training;
    struct hc_shard shard; /* of the seeds; of one: all */
    int64_t test_images;
    struct hc_study_run run[HC_MAX_ARMS + 1][HC_STUDY_SEEDS];
};

/* Begins a study of a protocol that was read from `path`: sets the options of `training` that the
   protocol decides, finds its recipes and its network, and knows the sizes of its data, whose
   images are not read. No run is known yet, and nothing is trained. Close the training afterwards,
   even after a failure. HC_INVALID, with a line, for a recipe, a class or a network that there is
   not. */
enum hc_status hc_study_open(struct hc_study *study, const struct hc_protocol *protocol,
                             const char *path, struct hc_training *training);

/* The pairs of an arm that count: both runs over with finite accuracies, on the same processor, in
   the order of seeds. */
struct hc_study_pairs {
    int n;
    int seed[HC_STUDY_SEEDS];
    double subject[HC_STUDY_SEEDS]; /* accuracies in points */
    double base[HC_STUDY_SEEDS];
    int lost;  /* runs of the arm that did not learn */
    int mixed; /* pairs whose runs were made on different processors, which do not count */
};
struct hc_study_pairs hc_study_pairs(const struct hc_study *study, int arm);

/* What the bits of a run depend on, from the environment of its record: the processor's model and
   its instructions, since clouds call several kinds by one name. */
void hc_study_processor(const json_t *environment, char cpu[HC_STUDY_CPU]);

/* The folder of a run: RECIPE-seedN in the study's. */
enum { HC_STUDY_PATH = 1100 };
void hc_study_run_folder(const struct hc_study *study, int subject, int seed,
                         char path[HC_STUDY_PATH]);

/* Reads what there is of all runs. HC_INVALID, with a line, for a run that was made with other
   settings, or whose run.json is damaged. */
enum hc_status hc_study_read(struct hc_study *study);

/* Trains what the protocol asks for, as far as it is not there, and reads it. HC_INVALID after a
   request to stop, with a line. */
enum hc_status hc_study_train(struct hc_study *study);

#endif
