/* Whole runs under the wrappers of data parallel training. */
#include <string.h>

#include "train/run/testing.h"
#include "train/update/recipe_fields.h"

TestSuite(wrappers, .init = open_data, .fini = remove_folder);

enum { MOST = 1 << 18 };

struct outcome {
    struct hc_train_result result;
    size_t size;
    unsigned char checkpoint[MOST];
};

static struct outcome want;
static struct outcome got;
static struct hc_recipe recipe;
static char name[HC_RECIPE_NAME];

static struct hc_train_options of(const char *text)
{
    struct hc_train_options o = options("fp32");
    cr_assert_eq(hc_recipe_read(&recipe, name, text, strlen(text)), HC_OK, "%s", hc_message());
    o.recipe = &recipe;
    o.checkpoint_every = 3;
    return o;
}

static void train(const struct hc_train_options *o, int ranks, struct outcome *outcome)
{
    cr_assert_eq(hc_train_ranks(o, ranks, &outcome->result), HC_OK, "%s on %d ranks: %s",
                 o->recipe->name, ranks, hc_message());
    outcome->size = read_file("checkpoint", outcome->checkpoint, MOST);
}

static bool same(void)
{
    return want.size == got.size && memcmp(want.checkpoint, got.checkpoint, want.size) == 0;
}

Test(wrappers, by_a_tree_train_to_the_same_bits_on_any_number_of_ranks)
{
    static const char *const texts[] = {
        "apex-O2+wrapper=apex-ddp+predivide=4+bucket=500+algorithm=tree+shards=8",
        "amp+wrapper=torch-ddp+reduce=fp16+bucket=4096+algorithm=tree+shards=8",
        "amp-bf16+wrapper=fsdp+algorithm=tree+shards=8"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        struct hc_train_options o = of(texts[t]);
        train(&o, 1, &want);
        for (int ranks = 2; ranks <= 8; ranks *= 2) {
            train(&o, ranks, &got);
            cr_expect(same(), "%s on %d ranks", texts[t], ranks);
        }
    }
}

Test(wrappers, by_a_ring_go_on_to_the_same_bits_on_as_many_ranks)
{
    static const char *const texts[] = {"apex-O2+wrapper=apex-ddp+bucket=500",
                                        "amp-bf16+wrapper=torch-ddp+reduce=bf16"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        struct hc_train_options o = of(texts[t]);
        int status;
        train(&o, 4, &want);
        pid_t child = fork();
        cr_assert_geq(child, 0);
        if (child == 0) {
            o.progress = kill_at_seven;
            _exit((int)hc_train_ranks(&o, 4, &got.result));
        }
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        o.resume = true;
        train(&o, 4, &got);
        cr_expect(same(), "%s", texts[t]);
    }
}

/* A checkpoint holds the recipe's name; losses differ as soon as weights do. */
static bool same_loss(void)
{
    return want.result.train_loss == got.result.train_loss;
}

Test(wrappers, have_other_bits_than_ours_where_they_round_elsewhere)
{
    static const char *const texts[] = {"apex-O2+wrapper=apex-ddp+predivide=8",
                                        "apex-O2+wrapper=fsdp", "apex-O2+wrapper=horovod",
                                        "apex-O2+wrapper=apex-ddp+reduce=fp32+algorithm=tree"};
    struct hc_train_options o = of("apex-O2");
    train(&o, 8, &want);
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        o = of(texts[t]);
        train(&o, 8, &got);
        cr_expect_eq(same_loss(), t == 3, "%s: %a and %a", texts[t], want.result.train_loss,
                     got.result.train_loss);
    }
}

/* Gradients that have their place in half on each rank, and none when they are added up. */
Test(wrappers, skip_the_step_in_which_halves_overflow_when_added)
{
    struct hc_train_options o = of("apex-O2+wrapper=apex-ddp");
    train(&o, 8, &want);
    o = of("apex-O2+wrapper=apex-ddp+predivide=8");
    train(&o, 8, &got);
    cr_expect_gt(want.result.skipped, got.result.skipped);
}
