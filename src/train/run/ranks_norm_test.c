/* Runs whose ranks share batch norm. In fp64 they are one rank's run with the whole batch, up to
   rounding. */
#include <math.h>
#include <string.h>

#include "train/run/testing.h"
#include "train/update/recipe_fields.h"

TestSuite(ranks_norm, .init = open_data, .fini = remove_folder, .timeout = 3600);

static const struct hc_recipe *recipe(const char *text)
{
    static struct hc_recipe read;
    static char name[HC_RECIPE_NAME];
    cr_assert_eq(hc_recipe_read(&read, name, text, strlen(text)), HC_OK, "%s", hc_message());
    return &read;
}

static struct hc_train_result trained(const char *text, int ranks)
{
    struct hc_train_options o = options("fp32");
    struct hc_train_result result;
    o.recipe = recipe(text);
    cr_assert_eq(hc_train_ranks(&o, ranks, &result), HC_OK, "%s on %d ranks: %s", text, ranks,
                 hc_message());
    return result;
}

/* Losses come out in fp32, some 2^-22 of them apart. Batch norm of each rank's own images is
   another function. */
Test(ranks_norm, ranks_that_share_it_train_as_one_rank_with_the_whole_batch)
{
    struct hc_train_result whole = trained("fp64", 1);
    for (int ranks = 1; ranks <= 4; ranks *= 2) {
        struct hc_train_result shared = trained("fp64+norm_sync=true", ranks);
        cr_expect_eq(shared.steps, whole.steps);
        cr_expect_float_eq(shared.train_loss, whole.train_loss, 1e-6, "%d ranks: %.17g, not %.17g",
                           ranks, shared.train_loss, whole.train_loss);
        cr_expect_float_eq(shared.test_loss, whole.test_loss, 1e-6, "%d ranks: %.17g, not %.17g",
                           ranks, shared.test_loss, whole.test_loss);
    }
    struct hc_train_result apart = trained("fp64", 4);
    cr_expect(fabs(apart.train_loss - whole.train_loss) > 1e-4, "%.17g", apart.train_loss);
}

Test(ranks_norm, recipes_with_half_and_loss_scaling_train_too)
{
    static const char *const texts[] = {"amp+norm_sync=true", "amp-bf16+norm_sync=true",
                                        "apex-O2+norm_sync=true", "fp16-bn32+norm_sync=true"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct hc_train_result result = trained(texts[i], 4);
        cr_expect(isfinite(result.train_loss) && result.train_loss > 0, "%s: %g", texts[i],
                  result.train_loss);
    }
}

Test(ranks_norm, several_shards_of_a_rank_are_refused)
{
    struct hc_train_options o = options("fp32");
    struct hc_train_result result;
    o.recipe = recipe("fp32+norm_sync=true+shards=8");
    cr_assert_eq(hc_train_ranks(&o, 2, &result), HC_INVALID);
    cr_assert_str_eq(hc_message(),
                     "batch norm that ranks share takes one shard from each of 2 ranks, not 8 "
                     "shards");
}

/* Of rank 2 of 4, call `fails_at` fails. */
enum { RANKS = 4, SICK = 2 };

static _Thread_local bool sick;
static long calls;
static long fails_at;
static struct hc_backend faulty;

static enum hc_status failing(struct hc_queue *queue, const struct hc_call *call)
{
    if (sick && ++calls == fails_at)
        return hc_fail(HC_DEVICE, "the fan is on fire");
    return hc_backend_by_name("exact")->kernel[call->op](queue, call);
}

static enum hc_status train_rank(struct hc_comm *comm, void *context)
{
    struct hc_train_options o = *(const struct hc_train_options *)context;
    struct hc_train_result result;
    o.comm = comm;
    sick = comm->rank == SICK;
    return hc_train(&o, &result);
}

/* The others wait for it in the middle of a pass, wherever it fails: nobody waits for ever. */
Test(ranks_norm, a_rank_that_fails_within_a_pass_ends_the_others)
{
    struct hc_train_options o = options("fp32");
    o.recipe = recipe("amp+norm_sync=true");
    o.backend = &faulty;
    faulty = *hc_backend_by_name("exact");
    for (int op = 0; op < HC_OP_COUNT; op++)
        faulty.kernel[op] = faulty.kernel[op] ? failing : NULL;
    for (long at = 3; at < 200; at += 11) {
        calls = 0;
        fails_at = at;
        cr_assert_eq(hc_comm_threads(RANKS, train_rank, &o), HC_DEVICE, "call %ld", at);
        cr_assert(strstr(hc_message(), "rank 2: the fan is on fire"), "call %ld: %s", at,
                  hc_message());
    }
}
