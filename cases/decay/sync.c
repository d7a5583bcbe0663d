/* Do masters and model fall out of sync when only the masters decay? */
#include "cases/fixture/update_fixture.h"
#include "cases/fixture/running_tally.h"

#include <math.h>

enum { STEPS = 1000, WEIGHTS = 24, NORMS = 8 };

/* How many elements of the model's copy are not the master rounded once into their format. */
static int64_t out_of_sync(struct hc_fixture *fixture, struct hc_comparisons *tally, int64_t step)
{
    int64_t before = tally->wrong;
    for (int i = 0; i < fixture->n; i++) {
        enum hc_format format = hc_update_tensor(fixture->update, HC_STATE_MODEL, i).format;
        for (int64_t e = 0; e < hc_parameter_count(&fixture->parameter[i]); e++) {
            double master = hc_fixture_get(fixture, HC_STATE_MASTER, i, e);
            double model = hc_fixture_get(fixture, HC_STATE_MODEL, i, e);
            hc_running_tally_note(tally, step, hc_round(format, master), model);
        }
    }
    return tally->wrong - before;
}

/* 1000 steps of AdamW. The forum's code decays the masters. The other arm decays the half copy
   after it was made, which is what it would take to fall out of sync; it uses lr 1e-2 and decay
   0.1, since the factor of lr 1e-3 and decay 1e-2 is 1 in half. */
static struct hc_comparisons train(struct hc_check *check, bool on_copy, double lr, double wd,
                                   bool *failed)
{
    struct hc_recipe recipe = *hc_recipe_by_name("fastai-004b-flat");
    struct hc_comparisons tally = {0};
    struct hc_fixture fixture;
    uint64_t seed = hc_check_seed(check);
    recipe.weight_decay = on_copy ? 0 : wd;
    hc_fixture_open(&fixture, check);
    hc_fixture_add(&fixture, "conv", HC_ROLE_WEIGHT, WEIGHTS, 0);
    hc_fixture_add(&fixture, "gamma", HC_ROLE_NORM, NORMS, 1);
    for (int e = 0; e < WEIGHTS; e++)
        hc_fixture_set_parameter(&fixture, 0, e, 0.1 * hc_random_normal(seed, 9, (uint64_t)e));
    hc_fixture_start(&fixture, &recipe);
    for (int64_t step = 1; step <= STEPS && !fixture.failed; step++) {
        hc_fixture_gradients(&fixture, 1e-3 * hc_random_normal(seed, 10, (uint64_t)step));
        hc_fixture_step(&fixture, lr, 0.9);
        for (int e = 0; step == 1 && e < WEIGHTS && !fixture.failed; e++)
            hc_claim_within(check, "Adam's first step is of the rate's size",
                            0.1 * hc_random_normal(seed, 9, (uint64_t)e),
                            hc_fixture_get(&fixture, HC_STATE_MASTER, 0, e), 4 * lr);
        for (int e = 0; on_copy && e < WEIGHTS; e++)
            hc_fixture_set(&fixture, HC_STATE_MODEL, 0, e,
                           hc_fixture_get(&fixture, HC_STATE_MODEL, 0, e) * (1 - lr * wd));
        int64_t apart = fixture.failed ? 0 : out_of_sync(&fixture, &tally, step);
        if (hc_running_tally_power(step))
            hc_say(check, "%-18s %4lld  %-13.8g %-13.8g %lld of %d",
                   on_copy ? "the copy" : "the masters", (long long)step,
                   hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0),
                   hc_fixture_get(&fixture, HC_STATE_MODEL, 0, 0), (long long)apart,
                   WEIGHTS + NORMS);
    }
    *failed = !hc_fixture_close(&fixture);
    return tally;
}

static void in_sync(struct hc_check *check)
{
    bool failed;
    hc_say(check, "decay on           step  master        model         copies that differ");
    struct hc_comparisons masters = train(check, false, 1e-3, 1e-2, &failed);
    if (failed)
        return;
    struct hc_comparisons copy = train(check, true, 1e-2, 0.1, &failed);
    if (failed)
        return;
    hc_claim_comparisons(check, &masters);
    hc_claim_true(check, "decay on the copy would be seen", copy.wrong > 0);
}

static const struct hc_case cases[] = {
    {.name = "decay/model-is-half-of-master",
     .title = "with decay on the masters, model == half(master) after each of 1000 steps: the "
              "forum's fear is unfounded",
     .source = "fast.ai forums, 'I think to_fp16 behaves in a weird way internally': 'it will "
               "slowly fall out of sync with the fp16 model'",
     .run = in_sync},
};

HC_CASES(decay_sync, cases);
