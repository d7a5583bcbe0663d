/* Norm parameters and biases as groups of their own (split_bn_bias), and flat masters by group. */
#include "cases/fixture/update_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const enum hc_state_tensor state[] = {HC_STATE_MASTER, HC_STATE_MODEL, HC_STATE_M,
                                             HC_STATE_V};

enum { STATES = sizeof state / sizeof state[0], MAX = 2 * HC_FIXTURE_LAYERS };

/* 100 steps of lr 0.01 at zero gradients, decay 0.1. The factor 1 - 1e-3 is rounded once and each
   of the 100 products once, 2^-24 relative each; and 2^-24 for second-order terms. */
static void undecayed(struct hc_check *check)
{
    static const char *const names[] = {"fp32", "amp", "fastai-1.0.61", "fastai-004b-flat"};
    for (size_t k = 0; k < 2 * sizeof names / sizeof names[0]; k++) {
        struct hc_recipe recipe = *hc_recipe_by_name(names[k / 2]);
        double start[MAX] = {0};
        struct hc_fixture fixture;
        recipe.split_bn_bias = true;
        recipe.decay_norm = k % 2 == 1;
        recipe.weight_decay = 0.1;
        hc_fixture_open_layers(&fixture, check, &recipe);
        for (int i = 0; i < fixture.n; i++)
            start[i] = hc_fixture_get(&fixture, HC_STATE_MASTER, i, 0);
        for (int step = 0; step < 100 && !fixture.failed; step++) {
            hc_fixture_gradients(&fixture, 0);
            hc_fixture_step(&fixture, 0.01, 0.9);
        }
        for (int i = 0; i < fixture.n && !fixture.failed; i++) {
            double got = hc_fixture_get(&fixture, HC_STATE_MASTER, i, 0);
            bool norm = fixture.parameter[i].role != HC_ROLE_WEIGHT;
            hc_claim_true(check, "it begins with a number that is not 0", isnormal(start[i]));
            double decayed = start[i] * pow(1 - 0.01 * 0.1, 100);
            if (norm && !recipe.decay_norm)
                hc_claim_value(check, "undecayed", start[i], got);
            else
                hc_claim_within(check, "decayed", decayed, got, 201 * 0x1p-24 * fabs(decayed));
        }
        hc_say(check, "%-17s decay_norm %-6s filters keep %.5f, gammas %.5f", names[k / 2],
               recipe.decay_norm ? "true:" : "false:",
               hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0) / start[0],
               hc_fixture_get(&fixture, HC_STATE_MASTER, 1, 0) / start[1]);
        if (!hc_fixture_close(&fixture))
            return;
    }
}

/* Makes ten steps and claims that they move the model. */
static void ten_steps(struct hc_fixture *fixture, struct hc_bytes bytes[STATES])
{
    struct hc_bytes before = hc_fixture_bytes(fixture, HC_STATE_MODEL);
    for (int step = 0; step < 10; step++) {
        hc_fixture_random_gradients(fixture, (uint64_t)step, 1e-3);
        hc_fixture_step(fixture, 1e-3, 0.9);
    }
    for (int p = 0; p < STATES; p++)
        bytes[p] = hc_fixture_bytes(fixture, state[p]);
    struct hc_bytes after = hc_fixture_bytes(fixture, HC_STATE_MODEL);
    if (!fixture->failed)
        hc_claim_true(fixture->check, "ten steps move the model", !hc_bytes_equal(&before, &after));
}

/* With one rate and one decay for all, the grouping makes no difference. (bf16-sr is left out: its
   random numbers depend on the place in memory.) */
static void no_bit(struct hc_check *check)
{
    static const char *const names[] = {"fp32",           "amp",       "fastai-004b",
                                        "fastai-1.0.61",  "bf16-pure", "fastai-004b-flat",
                                        "fastai2-native", "adamw16",   "bf16-kahan"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        char what[64];
        struct hc_bytes bytes[2][STATES];
        bool failed = false;
        for (int split = 0; split < 2 && !failed; split++) {
            struct hc_recipe recipe = *hc_recipe_by_name(names[k]);
            struct hc_fixture fixture;
            recipe.split_bn_bias = split != 0;
            recipe.group_rates = (struct hc_per_layer_group){split ? 3 : 0, {1, 1, 1}};
            hc_fixture_open_layers(&fixture, check, &recipe);
            ten_steps(&fixture, bytes[split]);
            failed = !hc_fixture_close(&fixture);
        }
        if (failed)
            return;
        hc_say(check, "%-18s in one group, and in three layer groups with norms apart", names[k]);
        for (int p = 0; p < STATES; p++) {
            (void)snprintf(what, sizeof what, "the bytes of %s are the same in both",
                           hc_state_tensor_names[state[p]]);
            hc_claim_true(check, what, hc_bytes_equal(&bytes[0][p], &bytes[1][p]));
        }
    }
}

/* The memory that the optimizer's calls cover, and how often gradients are copied to the
   masters. */
struct seen {
    int copies;
    int calls;
    const unsigned char *from[MAX];
    const unsigned char *to[MAX];
};

static void see(const struct hc_call *call, void *context)
{
    struct seen *seen = context;
    seen->copies += call->op == HC_OP_unscale;
    if (call->op != HC_OP_adamw || seen->calls == MAX)
        return;
    const unsigned char *w = call->in[HC_ADAM_W].data;
    seen->from[seen->calls] = w;
    seen->to[seen->calls++] = w + hc_tensor_bytes(&call->in[HC_ADAM_W]);
}

/* The call that covers parameter i, or -1. */
static int call_of(struct hc_fixture *fixture, const struct seen *seen, int i)
{
    const unsigned char *at = hc_update_tensor(fixture->update, HC_STATE_MASTER, i).data;
    for (int c = 0; c < seen->calls; c++)
        if (at >= seen->from[c] && at < seen->to[c])
            return c;
    return -1;
}

/* Layers a and b, c, linear; in each the weights, then the norms and biases. Everything is in half,
   so that the model's gradients lie in one block: what separates their copies is the masters'
   vectors. */
static void vectors(struct hc_check *check)
{
    static const int want[2][MAX] = {{0, 0, 0, 0, 0, 0, 0, 0}, {0, 1, 0, 1, 2, 3, 4, 5}};
    for (int groups = 0; groups < 2; groups++) {
        struct hc_recipe recipe = *hc_recipe_by_name("fastai-004b-flat");
        struct seen seen = {0};
        struct hc_fixture fixture;
        recipe.norm = HC_FP16;
        recipe.split_bn_bias = groups != 0;
        recipe.group_rates = (struct hc_per_layer_group){groups ? 3 : 0, {0.25, 0.5, 1}};
        hc_fixture_open_layers(&fixture, check, &recipe);
        hc_fixture_gradients(&fixture, 1e-3);
        struct hc_bytes before = hc_fixture_bytes(&fixture, HC_STATE_MASTER);
        fixture.device.observe = see;
        fixture.device.context = &seen;
        hc_fixture_step(&fixture, 1e-3, 0.9);
        fixture.device.observe = NULL;
        struct hc_bytes after = hc_fixture_bytes(&fixture, HC_STATE_MASTER);
        hc_say(check, "%-43s %d calls of the optimizer",
               groups ? "three layer groups, norms and biases apart:" : "one group:", seen.calls);
        hc_claim_value(check, "calls of the optimizer", groups ? 6 : 1, seen.calls);
        hc_claim_value(check, "vectors of gradients", groups ? 6 : 1, seen.copies);
        for (int i = 0; i < fixture.n && !fixture.failed; i++) {
            char what[64];
            (void)snprintf(what, sizeof what, "the call that takes %s", fixture.parameter[i].name);
            hc_claim_value(check, what, want[groups][i], call_of(&fixture, &seen, i));
        }
        bool failed = fixture.failed;
        if (!failed)
            hc_claim_true(check, "the step moves the masters", !hc_bytes_equal(&before, &after));
        if (!hc_fixture_close(&fixture))
            return;
    }
}

static const struct hc_case cases[] = {
    {.name = "groups/split-bn-bias-leaves-norms-undecayed",
     .title = "with norms and biases split from the rest and bn_wd off, they keep their value for "
              "100 steps of decay; with bn_wd on they decay like the rest",
     .source = "fastai1 fastai/torch_core.py @1.0.61, split_no_wd_params; fastai/callback.py, "
               "OptimWrapper.step: if self.bn_wd",
     .run = undecayed},
    {.name = "groups/split-changes-no-bit",
     .title = "splitting parameters that have one rate and one decay into groups changes no bit",
     .source = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: get_master over "
               "split_bn_bias(layer_groups)",
     .run = no_bit},
    {.name = "groups/flat-masters-by-group",
     .title = "flat masters are one vector for each group, which the optimizer sees as one",
     .source = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb, get_master: 'for lg "
               "in model_params: mp = parameters_to_vector(...)'",
     .run = vectors},
};

HC_CASES(groups_split, cases);
