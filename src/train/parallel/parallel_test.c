#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/parallel/parallel.h"
#include "train/parallel/step_model.h"
#include "train/update/recipe_fields.h"

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

static struct hc_plan network;

static char name[HC_RECIPE_NAME];

/* Links without latency, and of 1 GB/s. */
static const struct hc_protocol instant[] = {{"instant", 0, 0, 0, 1, HUGE_VAL, HUGE_VAL}};
static const struct hc_cluster plain = {
    .gpus = 64, .inside = 1e9, .across = 1e9, .cards = 1, .protocols = instant, .n = 1};

static struct hc_step_time time_of(const char *text, int ranks, double alone)
{
    struct hc_step_time time;
    hc_plan_make(&hc_darknet16, 10, &network);
    cr_assert_eq(hc_recipe_read(&recipe, name, text, strlen(text)), HC_OK, "%s", hc_message());
    struct hc_step_model model = {&recipe, &network, &plain, ranks, alone};
    cr_assert_eq(hc_step_model(&model, &time), HC_OK);
    return time;
}

Test(step_model, counts_the_gradients_and_products_of_the_plan)
{
    struct hc_gradient gradients[3 * HC_MAX_LAYERS];
    int64_t macs[HC_MAX_LAYERS];
    int64_t elements = 0;
    int64_t products = 0;
    (void)time_of("amp", 1, 1);
    int n = hc_step_model_gradients(&recipe, &network, gradients, 3 * HC_MAX_LAYERS, macs);
    cr_assert_eq(n, network.parameters);
    for (int i = 0; i < n; i++)
        elements += gradients[i].count;
    for (int l = 0; l < network.layers; l++)
        products += macs[l];
    cr_expect_eq(elements, network.weights + network.norm_weights);
    cr_expect_eq(products, network.macs);
}

Test(step_model, one_gpu_needs_its_own_time)
{
    struct hc_step_time time = time_of("amp+wrapper=torch-ddp", 1, 0.25);
    cr_expect_eq(time.step, 0.25);
    cr_expect_eq(time.in_turns, 0.25);
    cr_expect_eq(time.sent.bytes, 0);
}

/* All gradients in fp32 by links of 1 GB/s: 2 (R - 1) / R of their bytes, up to a chunk's. */
Test(step_model, what_is_sent_takes_its_time)
{
    struct hc_step_time time = time_of("amp", 8, 1);
    int64_t bytes = 4 * (network.weights + network.norm_weights);
    cr_expect_eq(time.bytes, bytes);
    cr_expect_float_eq(time.reduction, 1.75 * (double)bytes / 1e9, 1e-6);
    cr_expect_float_eq((double)time.sent.bytes, 1.75 * (double)bytes, 64);
}

/* One bucket is ready when the backward pass ends; nothing is hidden. */
Test(step_model, one_bucket_hides_nothing)
{
    struct hc_step_time time = time_of("fp32", 8, 1);
    cr_expect_eq(time.buckets, 1);
    cr_expect_float_eq(time.step, time.in_turns, 1e-12);
}

/* All but the last bucket is hidden where the step is long; where it is short, nothing is but the
   time up to the first bucket. */
Test(step_model, buckets_hide_behind_the_backward_pass)
{
    struct hc_step_time few = time_of("fp32+wrapper=torch-ddp", 8, 100);
    struct hc_step_time whole = time_of("fp32", 8, 100);
    cr_expect_gt(few.buckets, 1);
    cr_expect_lt(few.step, whole.step);
    cr_expect_gt(few.step, 100);
    few = time_of("fp32+wrapper=torch-ddp", 8, 1e-9);
    cr_expect_float_eq(few.step, few.reduction, 1e-9);
    cr_expect_leq(few.step, few.in_turns);
}

/* Half of the bytes. */
Test(step_model, sixteen_bits_are_half_as_many_bytes)
{
    int64_t whole = time_of("amp+wrapper=torch-ddp", 8, 1).bytes;
    int64_t half = time_of("amp+wrapper=torch-ddp+reduce=fp16", 8, 1).bytes;
    cr_expect_eq(2 * half, whole);
}
