#include "train/parallel/parallel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What ranks tell each other in every agreement. All agreements have this one form, so that a rank
   that failed is understood wherever the others are. */
struct hc_parallel_word {
    int32_t status;
    int32_t goes_on;
    double number;
};

enum { LINE = 512 };

static int shards_of(int ranks, const struct hc_recipe *recipe)
{
    return recipe->shards > 0 ? recipe->shards : ranks;
}

enum hc_status hc_parallel_check(int ranks, const struct hc_recipe *recipe, int batch)
{
    int shards = shards_of(ranks, recipe);
    if (shards % ranks != 0)
        return hc_fail(HC_INVALID, "%d shards are not divisible among %d ranks", shards, ranks);
    if (recipe->norm_sync && shards != ranks)
        return hc_fail(HC_INVALID,
                       "batch norm that ranks share takes one shard from each of %d ranks, not %d "
                       "shards",
                       ranks, shards);
    if (shards > 1 && hc_quant_of(recipe)->delayed)
        return hc_fail(HC_INVALID,
                       "delayed scaling keeps one history, and takes a batch in one piece, not in "
                       "%d shards",
                       shards);
    if (batch % shards != 0)
        return hc_fail(HC_INVALID, "a batch of %d is not divisible into %d shards", batch, shards);
    if (shards > 1 && batch / shards < 2)
        return hc_fail(HC_INVALID,
                       "a batch of %d has only one image for each of %d shards: it needs two",
                       batch, shards);
    return HC_OK;
}

enum hc_status hc_parallel_plan(struct hc_parallel *parallel, struct hc_comm *comm,
                                const struct hc_recipe *recipe, int batch)
{
    int ranks = comm->size;
    int shards = shards_of(ranks, recipe);
    enum hc_status status = hc_parallel_check(ranks, recipe, batch);
    if (status != HC_OK)
        return status;
    *parallel = (struct hc_parallel){.comm = comm,
                                     .rank = comm->rank,
                                     .ranks = ranks,
                                     .shards = shards,
                                     .own = shards / ranks,
                                     .first = comm->rank * (shards / ranks),
                                     .images = batch / shards};
    parallel->words = malloc((size_t)ranks * sizeof *parallel->words);
    return parallel->words ? HC_OK : hc_fail(HC_NO_MEMORY, "no memory for %d ranks", ranks);
}

void hc_parallel_close(struct hc_parallel *parallel)
{
    free(parallel->words);
    parallel->words = NULL;
}

/* The failed rank's line becomes everybody's. */
static enum hc_status fail_together(struct hc_parallel *parallel, int rank, enum hc_status status)
{
    char line[LINE] = "";
    if (parallel->rank == rank)
        (void)snprintf(line, sizeof line, "%s", hc_message());
    parallel->ended = true;
    enum hc_status sent = hc_comm_broadcast(parallel->comm, rank, line, sizeof line);
    if (sent != HC_OK)
        return sent;
    parallel->agreed = true;
    line[LINE - 1] = '\0';
    return rank == 0 ? hc_fail(status, "%s", line) : hc_fail(status, "rank %d: %s", rank, line);
}

enum hc_status hc_parallel_agree(struct hc_parallel *parallel, enum hc_status status,
                                 struct hc_agreement *agreement)
{
    struct hc_agreement none = {0};
    struct hc_agreement *with = agreement ? agreement : &none;
    struct hc_parallel_word mine = {(int32_t)status, with->goes_on, with->number};
    const struct hc_parallel_word *all = parallel->words;
    if (parallel->ranks == 1 || parallel->ended)
        return status;
    enum hc_status sent = hc_comm_all_gather(parallel->comm, &mine, sizeof mine, parallel->words);
    int failed = 0;
    while (sent == HC_OK && failed < parallel->ranks && all[failed].status == HC_OK)
        failed++;
    if (sent != HC_OK) {
        parallel->ended = true;
        status = sent;
    } else if (failed < parallel->ranks) {
        status = fail_together(parallel, failed, (enum hc_status)all[failed].status);
    } else {
        with->goes_on = all[0].goes_on != 0;
        for (int r = 0; r < parallel->ranks; r++)
            with->number =
                isnan(with->number) || all[r].number <= with->number ? with->number : all[r].number;
    }
    return status;
}
