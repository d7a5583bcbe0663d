/* How a run is shared among ranks: who works through which shards of a step's batch, and how ranks
   agree.

   A step's batch is cut into shards of equal size. Each rank works through its own, one after the
   other. One rank with one shard is a run as it always was: then nothing here does anything. */
#ifndef HC_TRAIN_PARALLEL_PARALLEL_H
#define HC_TRAIN_PARALLEL_PARALLEL_H

#include <stdbool.h>

#include "comm/comm.h"
#include "train/update/recipe.h"

struct hc_parallel {
    struct hc_comm *comm;
    int rank;
    int ranks;
    int shards;  /* of a step's batch, over all ranks */
    int own;     /* of these, this rank's */
    int first;   /* number of its first one */
    int images;  /* of a shard */
    bool ended;  /* the run has failed on all ranks: no call is collective any more */
    bool agreed; /* and all know of it, with one line */
    struct hc_parallel_word *words; /* room for what all ranks say */
};

/* HC_INVALID with a line if ranks, the recipe's shards and a batch of so many images do not divide
   each other. */
enum hc_status hc_parallel_check(int ranks, const struct hc_recipe *recipe, int batch);

/* How a batch is shared. HC_INVALID as above, or HC_NO_MEMORY. */
enum hc_status hc_parallel_plan(struct hc_parallel *parallel, struct hc_comm *comm,
                                const struct hc_recipe *recipe, int batch);
void hc_parallel_close(struct hc_parallel *parallel); /* zeros are fine */

/* What each rank brings to an agreement, and gets from it. */
struct hc_agreement {
    bool goes_on;  /* as rank 0 has it */
    double number; /* the largest of all ranks */
};

/* Collective. Ranks agree whether all is well, and on the rest (NULL: on nothing else). If a rank
   comes with another status than HC_OK, then all get the status of the lowest such rank, and its
   line, which names it unless it is rank 0. Ranks that wait here and ranks that failed on their way
   to another agreement understand each other. */
enum hc_status hc_parallel_agree(struct hc_parallel *parallel, enum hc_status status,
                                 struct hc_agreement *agreement);

#endif
