#include "train/parallel/parallel.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RANKS = 5 };

static struct hc_recipe recipe;

struct seen {
    enum hc_status status;
    char line[512];
    struct hc_agreement agreement;
    bool agreed;
};

struct job {
    int fails[RANKS]; /* the agreement at which a rank fails, from 1; 0: at none */
    double number[RANKS];
    struct seen seen[RANKS];
};

/* Three agreements; a rank that fails skips to its last. */
static enum hc_status work(struct hc_comm *comm, void *context)
{
    struct job *job = context;
    struct hc_parallel parallel;
    struct seen *seen = &job->seen[comm->rank];
    enum hc_status status = hc_parallel_plan(&parallel, comm, &recipe, 20 * RANKS);
    for (int i = 1; i <= 3 && status == HC_OK; i++) {
        seen->agreement = (struct hc_agreement){comm->rank == 0, job->number[comm->rank]};
        if (job->fails[comm->rank] == i)
            status = hc_fail(HC_IO, "no luck");
        status = hc_parallel_agree(&parallel, status, &seen->agreement);
    }
    status = hc_parallel_agree(&parallel, status, NULL);
    seen->status = status;
    seen->agreed = parallel.agreed;
    (void)snprintf(seen->line, sizeof seen->line, "%s", hc_message());
    hc_parallel_close(&parallel);
    return HC_OK;
}

Test(parallel, ranks_agree_on_the_largest_number_and_on_what_rank_0_wants)
{
    struct job job = {.number = {-3, -0.5, -2, -1, -4}};
    cr_assert_eq(hc_comm_threads(RANKS, work, &job), HC_OK, "%s", hc_message());
    for (int r = 0; r < RANKS; r++) {
        cr_expect_eq(job.seen[r].status, HC_OK);
        cr_expect_eq(job.seen[r].agreement.number, -0.5, "%g", job.seen[r].agreement.number);
        cr_expect(job.seen[r].agreement.goes_on);
    }
    job.number[3] = (double)NAN;
    cr_assert_eq(hc_comm_threads(RANKS, work, &job), HC_OK, "%s", hc_message());
    for (int r = 0; r < RANKS; r++)
        cr_expect(isnan(job.seen[r].agreement.number), "rank %d: %g", r,
                  job.seen[r].agreement.number);
}

Test(parallel, a_rank_that_fails_is_named_by_all_and_rank_0_needs_no_name)
{
    for (int fails = 0; fails < RANKS; fails++)
        for (int at = 1; at <= 3; at++) {
            struct job job = {0};
            char want[40] = "no luck";
            job.fails[fails] = at;
            if (fails > 0)
                (void)snprintf(want, sizeof want, "rank %d: no luck", fails);
            cr_assert_eq(hc_comm_threads(RANKS, work, &job), HC_OK, "%s", hc_message());
            for (int r = 0; r < RANKS; r++) {
                cr_expect(job.seen[r].status == HC_IO && job.seen[r].agreed);
                cr_expect_str_eq(job.seen[r].line, want);
            }
        }
}

Test(parallel, of_several_that_fail_the_lowest_is_named)
{
    struct job job = {.fails = {0, 0, 2, 0, 2}};
    cr_assert_eq(hc_comm_threads(RANKS, work, &job), HC_OK, "%s", hc_message());
    for (int r = 0; r < RANKS; r++)
        cr_expect_str_eq(job.seen[r].line, "rank 2: no luck");
}

static enum hc_status plan(struct hc_comm *comm, void *context)
{
    struct hc_parallel *parallel = (struct hc_parallel *)context + comm->rank;
    return hc_parallel_plan(parallel, comm, &recipe, 40);
}

Test(parallel, shards_go_to_ranks_in_order)
{
    struct hc_parallel parallel[2];
    recipe.shards = 10;
    cr_assert_eq(hc_comm_threads(2, plan, parallel), HC_OK, "%s", hc_message());
    for (int r = 0; r < 2; r++) {
        cr_expect(parallel[r].shards == 10 && parallel[r].own == 5 && parallel[r].images == 4);
        cr_expect_eq(parallel[r].first, 5 * r);
        hc_parallel_close(&parallel[r]);
    }
}
