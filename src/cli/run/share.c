#include "cli/run/share.h"

#include <stdlib.h>
#include <string.h>

#include "check/record/json.h"
#include "cli/ranks/ranks.h"
#include "cli/run/lines.h"
#include "cli/run/shared_rows.h"
#include "cli/stop.h"
#include "op/digest.h"

void hc_run_share_out(struct hc_run_command *s)
{
    const struct hc_comm *comm = hc_ranks()->comm;
    if (comm->size < 2)
        return;
    s->share = (struct hc_shard){.index = comm->rank + 1, .of = comm->size};
    s->options.share = &s->share;
}

/* What this rank would run, with the digest of the plan, in which every case counts. */
static void describe(const struct hc_run_command *s, struct hc_lines *t)
{
    const struct hc_run_options *o = &s->options;
    hc_lines_add(t, "%d results on", s->length);
    for (int b = 0; b < o->backend_count; b++)
        hc_lines_add(t, "%s %s", b ? "," : "", o->backends[b]->name);
    hc_lines_add(t, " (plan %016llx)", (unsigned long long)s->share.plan);
}

enum hc_status hc_run_share_begin(struct hc_run_command *s, enum hc_status mine)
{
    struct hc_lines plan = {.used = 0};
    if (!hc_ranks_several())
        return mine;
    if (mine == HC_OK)
        mine = hc_run_possible(&s->options);
    char *sums = mine == HC_OK ? json_dumps(s->fingerprints, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (mine == HC_OK && !sums)
        mine = hc_fail(HC_NO_MEMORY, "no memory for the fingerprints");
    if (mine == HC_OK)
        describe(s, &plan);
    const struct hc_ranks_fact facts[] = {{"would run", plan.text},
                                          {"has the fingerprints", sums ? sums : ""}};
    enum hc_status status = hc_ranks_agree("plan", mine, facts, 2);
    free(sums);
    return status;
}

/* Rank 0 gets the documents of the others, one after the other, and joins them to its own rows. */
static enum hc_status receive(struct hc_run_command *s, struct hc_comm *comm, int rank,
                              int64_t bytes)
{
    char *text = malloc((size_t)bytes + 1);
    if (!text)
        return hc_fail(HC_NO_MEMORY, "no memory for the results of rank %d", rank);
    enum hc_status status = hc_comm_send_receive(comm, -1, NULL, 0, rank, text, (size_t)bytes);
    if (status == HC_OK)
        status = hc_shared_rows_join(s, rank, text, (size_t)bytes);
    free(text);
    return status;
}

static enum hc_status exchange(struct hc_run_command *s, const char *text)
{
    struct hc_comm *comm = hc_ranks()->comm;
    int64_t mine = text ? (int64_t)strlen(text) : 0;
    int64_t *bytes = calloc((size_t)comm->size, sizeof *bytes);
    enum hc_status status = bytes ? HC_OK : hc_fail(HC_NO_MEMORY, "no memory for the results");
    /* What one rank has no memory for ends all, because the others wait for it. */
    status = hc_ranks_agree("results", status, NULL, 0);
    if (!bytes || status != HC_OK) {
        free(bytes);
        return status;
    }
    status = hc_comm_all_gather(comm, &mine, sizeof mine, bytes);
    if (status == HC_OK && comm->rank > 0)
        status = hc_comm_send_receive(comm, 0, text, (size_t)mine, -1, NULL, 0);
    for (int r = 1; r < comm->size && comm->rank == 0 && status == HC_OK; r++)
        status = receive(s, comm, r, bytes[r]);
    free(bytes);
    return status;
}

enum hc_status hc_run_share_end(struct hc_run_command *s, enum hc_status mine)
{
    if (!hc_ranks_several())
        return mine;
    char *text = NULL;
    if (mine == HC_OK && !hc_ranks_speaks())
        mine = hc_shared_rows_text(s, &text);
    enum hc_status status = hc_ranks_agree("results", mine, NULL, 0);
    if (status == HC_OK)
        status = exchange(s, text);
    free(text);
    if (status != HC_OK || !hc_ranks_speaks())
        return status;
    status = hc_shared_rows_order(s);
    for (int i = 0; i < s->rows.count && status == HC_OK; i++)
        hc_run_command_print(s, i);
    return status;
}
