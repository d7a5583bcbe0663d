/* What `train` and `compare` share: their options, the data and the backend that the options
   name, and one run of one recipe. */
#ifndef HC_CLI_TRAINING_TRAINING_H
#define HC_CLI_TRAINING_TRAINING_H

#include "backend.h"
#include "check/runner.h"
#include "cli/backend_options.h"
#include "train/data/data.h"
#include "train/run/trainer.h"
#include "train/update/recipe.h"

enum { HC_MAX_DUMPS = 1000 };

struct hc_training {
    const char *data;
    const char *classes;
    struct hc_backend_options backends;
    const char *out;
    uint64_t seed;
    uint64_t data_seed;
    double max_lr;
    int epochs;
    int batch;
    int threads;
    int images;   /* training images of each class in the synthetic set */
    int hold_out; /* training images of each class that are tested on instead; 0: none */
    int network_choice;
    int checkpoint_every;
    int measure_every;
    int ranks; /* that share a run: threads of this process, or those of the job; 0: one */
    struct hc_words overrides; /* added to every recipe */
    bool resume;
    bool alone;                  /* each process of a job trains runs of its own */
    bool lr_find;                /* of `train`: look for a learning rate instead */
    int64_t dumps[HC_MAX_DUMPS]; /* of `train`: steps of which step files are written */
    int dump_count;
    const char *load; /* of `train`: the file to begin with, or NULL */

    struct hc_dataset set;
    const struct hc_backend *backend;
    const struct hc_network *network;

    /* `compare` takes several backends, and `backend` is the first. The rest is empty if it was
       given one. */
    bool takes_several;
    const struct hc_backend *several[HC_MAX_BACKENDS];
    int backend_count;  /* of `several` */
    bool among_several; /* `backend` is one of them, and what is said of a run names it */
};

/* One run of it. */
struct hc_training_run {
    const struct hc_recipe *recipe;
    uint64_t seed;
    char folder[1024];
    bool resume;
    double others; /* CPUs that other processes used meanwhile (machine_load.h); NaN: not known */
    struct hc_train_result result;
};

enum { HC_TRAINING_OPTIONS = 16 };

/* Indexed by network_choice; NULL ends it. */
extern const struct hc_network *const hc_training_networks[];

/* Sets the defaults, and HC_TRAINING_OPTIONS options that change them. */
void hc_training_options(struct hc_training *training, struct hc_option *options);

/* Fills in the network, and what the options leave to it. It is called when they are read, before
   anything below. */
void hc_training_settle(struct hc_training *training);

/* RECIPE-seedN, the name of a run's folder. A list in the recipe's name has slashes between its
   numbers; they become underscores, which no number has, so that every run has one folder. */
void hc_training_folder(const struct hc_recipe *recipe, uint64_t seed, char *name, size_t bytes);

/* The recipe that a text of `length` bytes names (hc_recipe_read), with the overrides of --set
   behind those of the text; its name has all of them. NULL, with a line. The recipe is never
   freed. */
const struct hc_recipe *hc_training_recipe(const struct hc_training *training, const char *text,
                                           size_t length);

/* The names of the backends that it trains on, parted by `between`. */
enum { HC_BACKEND_NAMES = 512 };
void hc_training_backend_names(const struct hc_training *training, const char *between,
                               char text[HC_BACKEND_NAMES]);

/* Counts the ranks of the job (cli/ranks/ranks.h), where there are several. HC_INVALID if --ranks
   asks for others. */
enum hc_status hc_training_ranks(struct hc_training *training);

/* Finds the backends that the options name. Called again it does nothing. */
enum hc_status hc_training_choose(struct hc_training *training);

/* Finds the backend, reads the data, and prints what will be trained on what, with the
   optimizers of these recipes. Close it also after a failure. */
enum hc_status hc_training_open(struct hc_training *training,
                                const struct hc_recipe *const *recipes, int n);
void hc_training_close(struct hc_training *training);

/* How many results a test has: one an image, or one a byte of each piece. */
int64_t hc_training_tests(const struct hc_training *t);

/* Prints which calls ran on the fallback, if there is one. */
void hc_training_print_fallback(const struct hc_training *training);

/* Training a run. */

/* Trains into run->folder, which it makes, and leaves run.json there. Shows a bar on a terminal,
   and a line for each epoch. */
enum hc_status hc_training_run(const struct hc_training *training, struct hc_training_run *run);

/* halfcheck train --lr-find */

/* Looks for a learning rate, and leaves lr_find.csv and its picture in run->folder. Returns the
   exit status. */
int hc_lr_find_command(const struct hc_training *training, const struct hc_training_run *run);

#endif
